//! Names that properties ask for and no event had, but for a name like it: a misspelt `metod` finds nothing, and says nothing either.
//! And members that were compared with a constant of a kind that they never were.
//!
//! That an event has no `error` is no mistake, so a name alone that is missing says nothing.
//! The text of the input is searched for each name until it is found, so only what is missing costs anything.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memchr::memmem::Finder;
use referee_theory::expr::{Node, Operator};
use referee_theory::property::guard::{Condition, constant};
use referee_theory::property::{EventPattern, Pattern, Property, Scope, Slot};
use referee_theory::value;

use crate::options::EventsFormat;
use crate::report::{Unseen, UnseenKind};

const TEXT: u8 = 1;
const NUMBER: u8 = 2;
const TRUTH: u8 = 4;
const OTHER: u8 = 8;

/// What properties ask for.
pub(super) struct Wanted {
    names: Vec<Name>,
    /// How many were not seen so far.
    missing: AtomicUsize,
    /// For each property, what each of its patterns asks for, by place in `names`.
    patterns: Vec<Vec<Vec<usize>>>,
    is_json: bool,
    /// Names and texts of some events, to find one that is alike.
    known: Mutex<BTreeSet<String>>,
}

/// A name, what it is the name of, and the kinds of what it is compared with.
type Term = (UnseenKind, String, u8);

struct Name {
    kind: UnseenKind,
    name: String,
    finder: Finder<'static>,
    /// What it is compared with, as bits; 0 if it need only be there.
    compared: u8,
    /// What it was.
    was: AtomicU8,
    is_seen: AtomicBool,
}

/// So many names are remembered, of at most so many bytes, from so many bytes at the beginning of what is read at a time.
const MAX_KNOWN: usize = 512;
const MAX_NAME: usize = 64;
const LOOKED_AT: usize = 16 << 10;

impl Wanted {
    pub(super) fn new<'a>(properties: impl Iterator<Item = &'a Property>, format: EventsFormat) -> Self {
        let is_json = format == EventsFormat::JsonLines;
        let mut terms: Vec<Term> = Vec::new();
        let mut patterns = Vec::new();
        for property in properties.filter(|_| is_json) {
            let each = collect(property).into_iter().map(|asked| {
                let place = |term: Term| {
                    terms.iter().position(|known| *known == term).unwrap_or_else(|| {
                        terms.push(term);
                        terms.len() - 1
                    })
                };
                asked.into_iter().map(place).collect::<Vec<_>>()
            });
            patterns.push(each.filter(|asked: &Vec<usize>| !asked.is_empty()).collect());
        }
        let name = |(kind, name, compared): Term| Name {
            finder: Finder::new(&format!("\"{name}\"")).into_owned(),
            kind,
            name,
            compared,
            was: AtomicU8::new(0),
            is_seen: AtomicBool::new(false),
        };
        let names: Vec<Name> = terms.into_iter().map(name).collect();
        Self { missing: AtomicUsize::new(names.len()), names, patterns, is_json, known: Mutex::default() }
    }

    /// Looks for what was not seen so far.
    pub(super) fn look(&self, text: &str) {
        if self.missing.load(Ordering::Relaxed) == 0 || text.is_empty() {
            return;
        }
        for name in self.names.iter().filter(|name| !name.is_seen.load(Ordering::Relaxed)) {
            let is_seen = match name.compared {
                0 => name.finder.find(text.as_bytes()).is_some(),
                compared => {
                    let was = kinds(text.as_bytes(), name, compared);
                    name.was.fetch_or(was, Ordering::Relaxed);
                    was & compared != 0
                }
            };
            if is_seen && !name.is_seen.swap(true, Ordering::Relaxed) {
                self.missing.fetch_sub(1, Ordering::Relaxed);
            }
        }
        if self.is_json && self.missing.load(Ordering::Relaxed) > 0 {
            self.remember(text);
        }
    }

    /// Remembers what stands between quotes.
    fn remember(&self, text: &str) {
        let mut end = text.len().min(LOOKED_AT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut known = self.known();
        for quoted in text.get(..end).unwrap_or_default().split('"').skip(1).step_by(2) {
            if known.len() < MAX_KNOWN && quoted.len() <= MAX_NAME && !known.contains(quoted) {
                known.insert(quoted.to_owned());
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was never seen and is probably a mistake, and whether no property could find anything because of that.
    pub(super) fn unseen(&self) -> (Vec<Unseen>, bool) {
        let known = self.known();
        let unseen = |name: &Name| {
            if name.is_seen.load(Ordering::Relaxed) {
                return None;
            }
            let was = name.was.load(Ordering::Relaxed);
            let compared = (was != 0).then(|| (words(name.compared), words(was)));
            let alike = || known.iter().find(|known| is_alike(&name.name, known)).cloned();
            let alike = if name.compared == 0 { Some(alike()?) } else { compared.as_ref().and(None) };
            (name.compared == 0 || compared.is_some()).then(|| Unseen {
                kind: name.kind,
                name: name.name.clone(),
                compared,
                alike,
            })
        };
        let found: Vec<Option<Unseen>> = self.names.iter().map(unseen).collect();
        let is_missing = |place: &usize| found.get(*place).is_some_and(Option::is_some);
        let is_blind = |patterns: &Vec<Vec<usize>>| {
            !patterns.is_empty() && patterns.iter().all(|asked| asked.iter().any(is_missing))
        };
        let all_blind = !self.patterns.is_empty() && self.patterns.iter().all(is_blind);
        (found.into_iter().flatten().collect(), all_blind)
    }
}

/// Whether `left` and `right` are not the same, but for one letter, or two that changed places, or their case.
fn is_alike(left: &str, right: &str) -> bool {
    let (left, right) = (left.to_lowercase(), right.to_lowercase());
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    if left == right {
        return true;
    }
    let (short, long) = if left.len() <= right.len() { (&left, &right) } else { (&right, &left) };
    if short.len() < 3 || long.len() - short.len() > 1 {
        return false;
    }
    let front = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let back = short.iter().rev().zip(long.iter().rev()).take_while(|(a, b)| a == b).count();
    if long.len() > short.len() {
        return front + back >= short.len();
    }
    let rest = short.len().saturating_sub(front + back);
    let swapped =
        rest == 2 && short.get(front) == long.get(front + 1) && short.get(front + 1) == long.get(front);
    rest <= 1 || swapped
}

/// What the member is in `text`, as far as that need be known.
fn kinds(text: &[u8], name: &Name, compared: u8) -> u8 {
    let mut was = 0;
    let mut at = 0;
    while let Some(found) = name.finder.find(text.get(at..).unwrap_or_default()) {
        at += found + name.name.len() + 2;
        let rest = text.get(at..).unwrap_or_default().trim_ascii_start();
        let Some(value) = rest.strip_prefix(b":") else { continue };
        was |= match value.trim_ascii_start().first() {
            Some(b'"') => TEXT,
            Some(b'-' | b'0'..=b'9') => NUMBER,
            Some(b't' | b'f') => TRUTH,
            _ => OTHER,
        };
        if was & compared != 0 {
            return was;
        }
    }
    was
}

fn words(kinds: u8) -> String {
    let names = [(TEXT, "a text"), (NUMBER, "a number"), (TRUTH, "true or false"), (OTHER, "something else")];
    let found: Vec<&str> =
        names.iter().filter(|(kind, _)| kinds & kind != 0).map(|(_, name)| *name).collect();
    found.join(" or ")
}

/// What each pattern of `property` asks for, with the keys of its instances.
fn collect(property: &Property) -> Vec<Vec<Term>> {
    let keys: Vec<Term> = match property.scope() {
        Scope::PerKey(keys) => {
            let names = keys.iter().flat_map(|key| key.steps());
            names.map(|name| (UnseenKind::Key, name.to_string(), 0)).collect()
        }
        Scope::Stream | Scope::PerProcess(_) => Vec::new(),
    };
    let patterns = property.patterns().iter().flat_map(EventPattern::with_inner);
    let asked = patterns.map(asked).filter(|asked| !asked.is_empty());
    asked.map(|asked| keys.iter().cloned().chain(asked).collect()).collect()
}

/// What `pattern` asks for.
fn asked(pattern: &EventPattern) -> Vec<Term> {
    let literal = |pattern: &Pattern| match pattern {
        Pattern::Literal(value) => match value.view() {
            value::Term::Text(text) | value::Term::Atom(text) => Some(text.to_owned()),
            _ => None,
        },
        _ => None,
    };
    let mut asked: Vec<Term> = Vec::new();
    let roles = [&pattern.subject, &pattern.object];
    asked.extend(roles.into_iter().filter_map(literal).map(|name| (UnseenKind::Role, name, 0)));
    asked.extend(literal(&pattern.label).map(|name| (UnseenKind::Label, name, 0)));
    for (key, inner) in &pattern.keys {
        let member = |name: &str, compared| (UnseenKind::Member, name.to_owned(), compared);
        asked.extend(key.steps().iter().map(|name| member(name, 0)));
        let [name] = key.steps() else { continue };
        match inner {
            Pattern::Literal(value) => asked.extend(kind(value.view()).map(|kind| member(name, kind))),
            Pattern::Bind(slot) => {
                if let Some(guard) = &pattern.guard {
                    compared(&guard.condition, *slot, &mut |kind| asked.push(member(name, kind)));
                }
            }
            _ => {}
        }
    }
    asked
}

/// What kind of JSON `term` is, if it is of one.
fn kind(term: value::Term<'_>) -> Option<u8> {
    match term {
        value::Term::Text(_) => Some(TEXT),
        value::Term::Int(_) | value::Term::Float(_) => Some(NUMBER),
        value::Term::Bool(_) => Some(TRUTH),
        _ => None,
    }
}

/// What is never true of values of different kinds.
const COMPARISONS: [Operator; 5] =
    [Operator::Equal, Operator::Less, Operator::LessEqual, Operator::Greater, Operator::GreaterEqual];

/// The kinds of the constants with which `condition` compares `slot`.
fn compared(condition: &Condition, slot: Slot, add: &mut dyn FnMut(u8)) {
    if let Node::Binary(operator, sides) = condition.node()
        && COMPARISONS.contains(operator)
    {
        let [left, right] = &**sides;
        for (one, other) in [(left, right), (right, left)] {
            if let (Node::Variable(variable), Some(constant)) = (one.node(), constant(other))
                && *variable == slot
            {
                kind(constant.view()).into_iter().for_each(&mut *add);
            }
        }
    }
    condition.node().children().iter().for_each(|child| compared(child, slot, add));
}

#[cfg(test)]
mod tests {
    use super::is_alike;

    #[test]
    fn names_are_alike() {
        for (left, right) in
            [("metod", "method"), ("Method", "method"), ("stauts", "status"), ("statuz", "status")]
        {
            assert!(is_alike(left, right) && is_alike(right, left), "{left} {right}");
        }
        for (left, right) in
            [("id", "ip"), ("error", "errand"), ("user", "users_"), ("abcd", "badc"), ("", "a")]
        {
            assert!(!is_alike(left, right) && !is_alike(right, left), "{left} {right}");
        }
    }
}
