//! A line as an event: the part of decoding that builds terms.

use std::collections::BTreeSet;

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use referee_theory::property::{
    EventKind, EventPattern, EventView, Fields, Items, Key, Property, Scope, Term,
};

use super::{json, plain};
use crate::decode::csv::Columns;
use crate::decode::fields::{Fields as Spans, Scanner, Span, scalar};
use crate::options::EventsFormat;
use crate::scan::Flaw;
use crate::shape::{MOST_MEMBERS, Part, Shape, Tree};

/// How lines become events.
pub(super) struct Reader {
    format: EventsFormat,
    pub(super) tree: Tree,
    /// The members of a line that properties ask for, beside the parts of the event.
    pub(super) wanted: BTreeSet<String>,
    /// Those that patterns ask for, by the numbers that the tree gives them: all that steps read. `None` if they are too many for it.
    stepped: Option<Box<[Box<str>]>>,
}

/// The member of a guard's record that says whether the message went on.
pub(super) const FORWARDED: &str = "forwarded";

impl Reader {
    /// A reader of the lines that `properties` are about.
    /// The reader of events for `properties`; of a guard's records if they are judged again.
    pub(super) fn new<'p>(
        format: EventsFormat,
        shape: &Shape,
        replay: bool,
        properties: impl Iterator<Item = &'p Property>,
    ) -> Self {
        // Members of these names are the parts themselves, unless the parts are elsewhere.
        let usual = Shape::default();
        let own = |name: &str| match name {
            "from" => shape.from == usual.from,
            "to" => shape.to == usual.to,
            "label" => shape.label == usual.label,
            "payload" => shape.payload == usual.payload,
            _ => false,
        };
        let (mut wanted, mut stepped) = (BTreeSet::new(), BTreeSet::new());
        for property in properties {
            let scope: &[Key] = match property.scope() {
                Scope::PerKey(keys) => keys,
                Scope::Stream | Scope::PerProcess(_) => &[],
            };
            let first = |key: &Key| key.steps().first().map(ToString::to_string).filter(|name| !own(name));
            let patterns = property.patterns().iter().flat_map(EventPattern::with_inner);
            stepped.extend(patterns.flat_map(|pattern| &*pattern.keys).filter_map(|(key, _)| first(key)));
            wanted.extend(scope.iter().filter_map(first));
        }
        stepped.extend(replay.then(|| FORWARDED.to_owned()));
        wanted.extend(stepped.iter().cloned());
        let stepped: Option<Box<[Box<str>]>> =
            (stepped.len() <= MOST_MEMBERS).then(|| stepped.into_iter().map(Into::into).collect());
        let tree = Tree::new(shape);
        let tree = match &stepped {
            Some(names) => tree.with_members(names.iter().map(|name| &**name)),
            None => tree,
        };
        Self { format, tree, wanted, stepped }
    }

    /// The place of the member `key` among those that steps read, of lines of JSON.
    pub(super) fn place_of(&self, key: &Key) -> Option<usize> {
        let names = self.stepped.as_ref().filter(|_| self.format == EventsFormat::JsonLines)?;
        let [step] = key.steps() else { return None };
        // Where the line has no member of this name, it is a part of the event.
        if matches!(&**step, "kind" | "subject" | "object" | "label" | "payload" | "from" | "to") {
            return None;
        }
        names.iter().position(|name| **name == **step)
    }

    /// Where the parts of a JSON line are; nothing for other formats.
    pub(super) fn spans(&self, line: &str) -> Result<Spans, Flaw> {
        match self.format {
            EventsFormat::JsonLines => {
                Scanner::new(&self.tree).line(line.as_bytes(), 0).map(|(spans, _)| spans)
            }
            _ => Ok(Spans::default()),
        }
    }

    /// The event in `line`, whose parts are at `spans` within `text`, and the members that steps read at `members`; all members that are
    /// asked for, if it is not known where they are.
    #[inline]
    pub(super) fn event<'a>(
        &'a self,
        text: &'a str,
        spans: &Spans,
        members: Option<&[Span]>,
        line: &'a str,
        columns: Option<&'a Columns>,
        bump: &'a Bump,
    ) -> Result<EventView<'a>, Flaw> {
        match (self.format, columns) {
            (EventsFormat::JsonLines, _) => self.json(text, spans, members, line, bump),
            (EventsFormat::Csv, Some(columns)) => csv(line, columns, bump),
            (EventsFormat::Csv, None) => Err(Flaw::new("there is no header", 0)),
            (EventsFormat::Actions, _) => plain::action(line, bump),
            (EventsFormat::Detecter, _) => plain::detecter(line, bump),
        }
    }

    #[inline]
    fn json<'a>(
        &'a self,
        text: &'a str,
        spans: &Spans,
        members: Option<&[Span]>,
        line: &'a str,
        bump: &'a Bump,
    ) -> Result<EventView<'a>, Flaw> {
        if let (Some(names), Some(members)) = (&self.stepped, members)
            && spans.has_no(&[Part::From, Part::To, Part::Label, Part::Payload])
        {
            let keys = Fields::Terms(stepped(names, members, (text, line), bump)?);
            return Ok(EventView { keys, ..EventView::new(EventKind::Exchange) });
        }
        let name = |part: Part| {
            let span = spans.get(part);
            if span.is_empty() {
                return Ok(Term::Absent);
            }
            let raw = span.of(text);
            match raw.as_bytes() {
                [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
                    Ok(Term::Text(raw.get(1..raw.len() - 1).unwrap_or_default()))
                }
                _ => unusual_name(raw, bump),
            }
        };
        let payload = spans.get(Part::Payload);
        let payload = if payload.is_empty() {
            Term::Absent
        } else {
            let payload = payload.of(text);
            // A flaw is told by its place in the line.
            let start = payload.as_ptr().addr().saturating_sub(line.as_ptr().addr());
            let in_line = |flaw: Flaw| Flaw { at: start + flaw.at, ..flaw };
            json::term(payload, bump).map_err(in_line)?
        };
        let mut event = EventView {
            subject: name(Part::From)?,
            object: name(Part::To)?,
            label: name(Part::Label)?,
            payload,
            ..EventView::new(EventKind::Exchange)
        };
        if let (Some(names), Some(members)) = (&self.stepped, members) {
            event.keys = Fields::Terms(stepped(names, members, (text, line), bump)?);
        } else if !self.wanted.is_empty() {
            let wanted = |name: &str| self.wanted.contains(name);
            let start = line.len() - line.trim_ascii_start().len();
            let (members, _) = json::members(line, start, 1, Some(&wanted), bump)?;
            event.keys = Fields::Terms(members);
        }
        Ok(event)
    }
}

/// The members called `names`, which are at `members` in `text`, in this `line` of it.
#[inline]
fn stepped<'a>(
    names: &'a [Box<str>],
    members: &[Span],
    (text, line): (&'a str, &'a str),
    bump: &'a Bump,
) -> Result<&'a [(&'a str, Term<'a>)], Flaw> {
    let in_line = |at: usize| at.saturating_sub(line.as_ptr().addr().saturating_sub(text.as_ptr().addr()));
    let mut terms = BumpVec::with_capacity_in(names.len(), bump);
    for (name, span) in names.iter().zip(members).filter(|(_, span)| !span.is_empty()) {
        if let Some(again) = span.twice() {
            return Err(Flaw::new(json::TWICE, in_line(again)));
        }
        let raw = span.of(text);
        let term = match raw.as_bytes() {
            [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
                Term::Text(raw.get(1..raw.len() - 1).unwrap_or_default())
            }
            _ => json::term(raw, bump)
                .map_err(|flaw| Flaw { at: in_line(span.start as usize + flaw.at), ..flaw })?,
        };
        terms.push((&**name, term));
    }
    Ok(terms.into_bump_slice())
}

/// Roles and labels are texts, whatever they are written as.
#[cold]
fn unusual_name<'a>(raw: &'a str, bump: &'a Bump) -> Result<Term<'a>, Flaw> {
    let mut scratch = String::new();
    Ok(match scalar(raw, &mut scratch)? {
        Some(text) => Term::Text(bump.alloc_str(text)),
        None => Term::Absent,
    })
}

/// A row: its parts by their columns, the other cells as payload and as members. What a cell holds is decided by
/// how it is written.
fn csv<'a>(row: &'a str, columns: &'a Columns, bump: &'a Bump) -> Result<EventView<'a>, Flaw> {
    let parts = columns.parts(row).map_err(|why| Flaw::new(why, 0))?;
    let part = |part: Part| match parts[part as usize].as_deref() {
        Some(text) => Term::Text(bump.alloc_str(text)),
        None => Term::Absent,
    };
    let mut members: BumpVec<'_, (&str, Term<'_>)> = BumpVec::new_in(bump);
    for (name, text) in columns.cells(row) {
        if members.iter().all(|(known, _)| *known != name) {
            members.push((name, cell(bump.alloc_str(&text))));
        }
    }
    let payload = Fields::Terms(bump.alloc_slice_copy(&members));
    if let Term::Text(session) = part(Part::Session) {
        members.push(("session", Term::Text(session)));
    }
    let keys = Fields::Terms(members.into_bump_slice());
    Ok(EventView {
        subject: part(Part::From),
        object: part(Part::To),
        label: part(Part::Label),
        payload: Term::Record(payload),
        keys,
        ..EventView::new(EventKind::Exchange)
    })
}

fn cell(text: &str) -> Term<'_> {
    let number = || crate::scan::number::end(text.as_bytes(), 0).ok().filter(|(end, _)| *end == text.len());
    match text {
        "true" | "True" | "TRUE" => Term::Bool(true),
        "false" | "False" | "FALSE" => Term::Bool(false),
        _ => match number() {
            Some((_, true)) => text.parse().map_or(Term::Big(text), Term::Int),
            Some((_, false)) => {
                text.parse().ok().filter(|v: &f64| v.is_finite()).map_or(Term::Text(text), Term::Float)
            }
            None => Term::Text(text),
        },
    }
}

/// The event in words.
pub(super) fn show(event: &EventView<'_>) -> String {
    match (event.kind, event.label) {
        (EventKind::Exchange, Term::Text(label)) => label.to_owned(),
        (EventKind::Exchange, _) => "an event".to_owned(),
        (EventKind::Receive, _) => format!("{}?{}", event.subject, event.payload),
        (EventKind::Send, _) => match event.subject {
            Term::Absent => format!("{}!{}", event.object, event.payload),
            from => format!("{from}:{}!{}", event.object, event.payload),
        },
        (kind @ (EventKind::Fork | EventKind::Init), _) => {
            format!("{}({},{},{})", kind.name(), event.subject, event.object, event.payload)
        }
        (EventKind::Exit, _) => format!("exit({},{})", event.subject, event.payload),
    }
}

/// A list of terms as one key.
pub(super) fn key_text(terms: &[Term<'_>]) -> String {
    match terms {
        [Term::Text(text)] => (*text).to_owned(),
        [only] => only.to_string(),
        several => Term::Tuple(Items::Terms(several)).to_string(),
    }
}
