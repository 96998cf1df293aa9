//! The regular expressions of one side, as one automaton. They match whole lines.

use referee_monitor::FieldValue;
use referee_theory::Field;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, PatternID, PatternSet};
use smallvec::SmallVec;

use crate::error::TableError;
use crate::reading::Reading;
use crate::signature::{Known, MessageId};
use crate::step::Fields;
use crate::value::Scalar;

/// The expressions.
#[derive(Debug)]
pub(crate) struct Regexes {
    regex: Regex,
    /// By pattern: the message, and where each group goes.
    messages: Vec<(MessageId, Vec<Group>)>,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    group: usize,
    field: usize,
    scalar: Scalar,
}

/// The fields of `fields` that the named groups of `expression` give values.
pub(crate) fn groups(expression: &str, fields: &[Field]) -> Result<Vec<usize>, String> {
    let regex = builder(false).build(expression).map_err(|error| plain(&error))?;
    let names = regex.group_info().all_names().filter_map(|(_, _, name)| name);
    names
        .map(|name| {
            let index = fields.iter().position(|field| field.name.as_deref() == Some(name));
            let index = index.ok_or_else(|| super::template::no_field(name, fields))?;
            match fields.get(index).and_then(|field| Scalar::of(&field.ty)) {
                Some(_) => Ok(index),
                None => Err(format!("`{name}` is of a type that is no single piece of text")),
            }
        })
        .collect()
}

/// How expressions are read. Lines may be of any bytes, so `.` stands for any of them and `\w` for ASCII: a peer that
/// writes in another encoding is not to blame for that.
fn builder(ignore_case: bool) -> regex_automata::meta::Builder {
    let syntax = syntax::Config::new().case_insensitive(ignore_case).unicode(false).utf8(false);
    let config = Regex::config().utf8_empty(false).nfa_size_limit(Some(16 << 20));
    let mut builder = Regex::builder();
    builder.configure(config).syntax(syntax);
    builder
}

/// What the regex library says, in one line.
fn plain(error: &regex_automata::meta::BuildError) -> String {
    let text = error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string);
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

impl Regexes {
    /// Compiles the expressions, which were looked at by [`groups`] before. None if there are none.
    pub(crate) fn compile(
        expressions: &[(MessageId, &Known, &str)],
        ignore_case: bool,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        if expressions.is_empty() {
            return None;
        }
        let texts: Vec<String> = expressions.iter().map(|(_, _, text)| format!("(?:{text})$")).collect();
        let regex = match builder(ignore_case).build_many(&texts) {
            Ok(regex) => regex,
            Err(error) => {
                let first = expressions.first().map_or("", |(_, known, _)| &*known.name);
                errors.push(TableError::new(["messages", first, "regex"], plain(&error)));
                return None;
            }
        };
        let messages = (0..).zip(expressions).map(|(pattern, (id, known, _))| {
            let names = regex.group_info().pattern_names(PatternID::new_unchecked(pattern));
            let groups = names.enumerate().filter_map(|(group, name)| {
                let name = name?;
                let field = known.fields.iter().position(|field| field.name.as_deref() == Some(name))?;
                Some(Group { group, field, scalar: Scalar::of(&known.fields.get(field)?.ty)? })
            });
            (*id, groups.collect())
        });
        let messages = messages.collect();
        Some(Self { regex, messages })
    }

    /// The first expression that `line` matches, or better the first that the protocol takes.
    pub(crate) fn find(&self, line: &[u8], reading: Reading<'_>) -> Option<MessageId> {
        let input = Input::new(line).anchored(Anchored::Yes);
        if let [(only, _)] = &*self.messages {
            return self.regex.is_match(input).then_some(*only);
        }
        let mut set = PatternSet::new(self.messages.len());
        self.regex.which_overlapping_matches(&input, &mut set);
        let found =
            || set.iter().filter_map(|pattern| self.messages.get(pattern.as_usize()).map(|(id, _)| *id));
        found().find(|id| reading.takes(*id)).or_else(|| found().next())
    }

    /// The values of `message` in `line`, which it matches.
    pub(crate) fn read<'b>(&self, message: MessageId, line: &'b [u8], count: usize, fields: &mut Fields<'b>) {
        fields.clear();
        fields.resize(count, FieldValue::Unit);
        let Some(pattern) = self.messages.iter().position(|(id, _)| *id == message) else { return };
        let Ok(id) = PatternID::new(pattern) else { return };
        let input = Input::new(line).anchored(Anchored::Pattern(id));
        let info = self.regex.group_info();
        let mut slots: SmallVec<[_; 32]> = smallvec::smallvec![None; info.slot_len()];
        self.regex.search_slots(&input, &mut slots);
        for group in self.messages.get(pattern).map_or(&[][..], |(_, groups)| groups) {
            let Some((start, end)) = info.slots(id, group.group) else { continue };
            let range = match (slots.get(start).copied().flatten(), slots.get(end).copied().flatten()) {
                (Some(start), Some(end)) => line.get(start.get()..end.get()).unwrap_or_default(),
                // A group that took no part: as if it were empty.
                _ => &[],
            };
            if let Some(slot) = fields.get_mut(group.field) {
                *slot = group.scalar.read(range);
            }
        }
    }
}
