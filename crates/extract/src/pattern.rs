//! Regular expressions of a source, in time linear in the text, and what makes most texts cheaper than that: a look at how a
//! text begins, and a smaller automaton for texts that are ASCII.

use regex_automata::Input;
use regex_automata::meta::{Cache, Regex};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_syntax::hir::Look;
use regex_syntax::hir::literal::Extractor;

use crate::names::Names;
use crate::source::SourceError;

/// So many ways in which what matches may begin are compared.
const MAX_BEGINNINGS: usize = 8;

/// A regular expression and those of its groups that something reads.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// The same for texts that are ASCII, where Unicode's classes are small. None if it needs Unicode all the same.
    ascii: Option<Regex>,
    /// What matches begins with one of these; if it is empty, nobody knows.
    beginnings: Vec<Box<[u8]>>,
    /// Groups by their names, before it is known which are read.
    named: Vec<(usize, String)>,
    /// Groups that are read, and the numbers of their names.
    groups: Vec<(usize, usize)>,
    /// How many places of groups are asked for.
    slots: usize,
    /// Which of the searches of an extractor is its own.
    number: usize,
}

/// What searching needs room for, one for each pattern.
#[derive(Debug, Default)]
pub(crate) struct Search {
    any: Option<Box<Cache>>,
    ascii: Option<Box<Cache>>,
    slots: Vec<Option<NonMaxUsize>>,
}

impl Search {
    /// Where group number `group` is, of the match that was found last.
    fn group(&self, group: usize) -> Option<(usize, usize)> {
        let place = |slot: usize| Some(self.slots.get(slot).copied()??.get());
        Some((place(2 * group)?, place(2 * group + 1)?))
    }
}

impl Pattern {
    /// The pattern `text`, the one with this number.
    pub(crate) fn new(text: &str, number: usize) -> Result<Self, SourceError> {
        // Bytes that are not UTF-8 are masked before.
        let wrong = |error: &dyn std::fmt::Display| {
            SourceError::new(format!("`{text}` is no regular expression: {error}"))
        };
        let regex = Regex::builder().syntax(syntax::Config::new().utf8(true)).build(text).map_err(
            |error| match error.syntax_error() {
                Some(error) => wrong(error),
                None => wrong(&error),
            },
        )?;
        let ascii = syntax::Config::new().unicode(false).utf8(false);
        let named = regex.group_info().pattern_names(regex_automata::PatternID::ZERO);
        let named = named.enumerate().filter_map(|(index, name)| Some((index, name?.to_owned()))).collect();
        Ok(Self {
            ascii: Regex::builder().syntax(ascii).build(text).ok(),
            beginnings: beginnings(text),
            regex,
            named,
            groups: Vec::new(),
            slots: 0,
            number,
        })
    }

    /// Says which names are read: groups with other names are not looked for.
    pub(crate) fn resolve(&mut self, names: &Names) {
        let groups = self.named.drain(..).filter_map(|(group, name)| Some((group, names.find(&name)?)));
        self.groups = groups.collect();
        self.slots = self.groups.iter().map(|(group, _)| 2 * group + 2).max().unwrap_or_default();
    }

    /// Whether it matches `text`, and where the match ends; gives its groups there.
    #[inline]
    pub(crate) fn find<'t>(
        &self,
        text: &'t str,
        searches: &mut [Search],
        mut give: impl FnMut(usize, &'t str),
    ) -> Option<usize> {
        let begins = || self.beginnings.iter().any(|beginning| text.as_bytes().starts_with(beginning));
        if !self.beginnings.is_empty() && !begins() {
            return None;
        }
        let search = searches.get_mut(self.number)?;
        let (regex, cache) = match &self.ascii {
            Some(ascii) if text.is_ascii() => (ascii, &mut search.ascii),
            _ => (&self.regex, &mut search.any),
        };
        let cache = cache.get_or_insert_with(|| Box::new(regex.create_cache()));
        if self.groups.is_empty() {
            return regex.search_half_with(cache, &Input::new(text)).map(|found| found.offset());
        }
        search.slots.clear();
        search.slots.resize(self.slots.max(2), None);
        regex.search_slots_with(cache, &Input::new(text), &mut search.slots)?;
        let (_, end) = search.group(0)?;
        for (group, name) in &self.groups {
            if let Some((start, end)) = search.group(*group) {
                give(*name, text.get(start..end).unwrap_or_default());
            }
        }
        Some(end)
    }
}

/// How texts begin that match `pattern`, if it is tied to the beginning and there are few ways.
fn beginnings(pattern: &str) -> Vec<Box<[u8]>> {
    let Ok(hir) = regex_syntax::Parser::new().parse(pattern) else { return Vec::new() };
    if !hir.properties().look_set_prefix().contains(Look::Start) {
        return Vec::new();
    }
    let found = Extractor::new().extract(&hir);
    match found.literals() {
        Some(literals)
            if literals.len() <= MAX_BEGINNINGS && literals.iter().all(|literal| !literal.is_empty()) =>
        {
            literals.iter().map(|literal| literal.as_bytes().into()).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_those_of_all_matches() {
        let texts = |pattern: &str| {
            let found = beginnings(pattern);
            found.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(texts("^Failed (?P<a>x*)"), ["Failed x", "Failed "]);
        assert_eq!(texts("^(?:Received from|Closed) by"), ["Received from by", "Closed by"]);
        for unknown in ["Failed", "(?m)^Failed", "^a?", "^(?:a|)b*", "^\\w+", "x|^a"] {
            assert!(texts(unknown).is_empty(), "{unknown}: {:?}", texts(unknown));
        }
        assert_eq!(texts("^(?i)ab").len(), 4);
    }

    /// Short texts over characters that patterns tell apart, ASCII and not.
    fn texts() -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..4 {
            last = last
                .iter()
                .flat_map(|text| ['a', 'K', '1', ' ', 'é', '"'].map(|c| format!("{text}{c}")))
                .collect();
            all.extend_from_slice(&last);
        }
        all
    }

    /// The plain expression, without any of what makes it fast, gives the same groups for all short texts.
    #[test]
    fn groups_are_those_of_the_plain_expression() {
        let texts = texts();
        for pattern in [
            "^a(?P<x>.*) (?P<y>\\S+)",
            "(?P<x>\\w+)1(?P<y>\\s*)",
            "^(?i)k(?P<x>[^\"]*)\"",
            "^(?:a|1)(?P<x>a?)(?P<y>\\d)?$",
            "(?P<x>\\bK\\b)",
            "^(?P<x>é|a)",
            "^(?P<x>\\p{Lu}+)",
            "(?P<x>)$",
            "^a",
        ] {
            let mut names = Names::default();
            let mut own = Pattern::new(pattern, 0).unwrap();
            own.named.iter().for_each(|(_, name)| {
                names.number(name);
            });
            own.resolve(&names);
            let plain = Regex::new(pattern).unwrap();
            let mut searches = [Search::default()];
            let mut matched = 0;
            for text in &texts {
                let mut found = Vec::new();
                let end = own.find(text, &mut searches, |name, value| found.push((name, value)));
                let mut captures = plain.create_captures();
                plain.captures(text, &mut captures);
                assert_eq!(end, captures.get_match().map(|found| found.end()), "{pattern} {text}");
                matched += usize::from(end.is_some());
                let expected = ["x", "y"].iter().filter_map(|name| {
                    let span = captures.get_group_by_name(name)?;
                    Some((names.find(name)?, text.get(span.range())?))
                });
                assert_eq!(found, expected.collect::<Vec<_>>(), "{pattern} {text}");
            }
            assert!(matched > 0, "{pattern}");
        }
    }
}
