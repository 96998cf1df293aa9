//! Does an event match a pattern, if the values it carries are not known? Yes, no, or perhaps.
//!
//! Roles and labels are known, and how many fields a message has; a field's value only where the message's assertion says
//! `field == constant`. *Yes* and *no* are right whatever the unknown values are (law: `tests/laws/property.rs`).

use std::sync::Arc;

use referee_theory::expr::{Expr, Node, Operator};
use referee_theory::property::pattern::Environment;
use referee_theory::property::{EventKind, EventPattern, Guard, Key, Pattern, Slot, Term, Value};
use referee_theory::{Message, Role, System, payload::Type};

/// What is known about a match. Conjunction is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    No,
    Perhaps,
    Yes,
}

impl From<bool> for Certainty {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// Slots and what they hold; `None`: something that is not known.
pub(super) type Slots = Vec<(Slot, Option<Value>)>;

/// What is known of a value.
#[derive(Clone, Debug)]
enum Datum {
    Absent,
    Unknown,
    Known(Value),
    Tuple(Vec<Datum>),
    /// The fields of a message, by name where the protocol names them.
    Payload(Vec<(Option<Arc<str>>, Datum)>),
}

impl Datum {
    fn value(&self) -> Option<Value> {
        match self {
            Self::Known(value) => Some(value.clone()),
            _ => None,
        }
    }
}

/// A message that is sent, or received.
#[derive(Clone, Debug)]
pub(super) struct ProtocolEvent {
    sent: bool,
    from: Arc<str>,
    to: Arc<str>,
    label: Arc<str>,
    fields: Vec<(Option<Arc<str>>, Datum)>,
}

/// The parts of an event, as patterns of one kind see them.
struct Parts {
    kind: EventKind,
    subject: Datum,
    object: Datum,
    label: Datum,
    payload: Datum,
}

impl ProtocolEvent {
    pub(super) fn new(system: &System, sent: bool, from: Role, to: Role, message: Message) -> Self {
        let vocabulary = system.vocabulary();
        let spec = vocabulary.spec(message);
        let fields = spec.fields.iter().map(|field| {
            let name = field.name.clone();
            let fixed = name.as_deref().zip(spec.assertion.as_deref());
            let fixed = fixed.and_then(|(name, assertion)| fixed_value(assertion, name, &field.ty));
            (name, fixed.map_or(Datum::Unknown, Datum::Known))
        });
        Self {
            sent,
            from: vocabulary.role_name(from).into(),
            to: vocabulary.role_name(to).into(),
            label: vocabulary.label_of(message).into(),
            fields: fields.collect(),
        }
    }

    /// Whether the event matches `pattern` where slots hold `slots`; adds what it binds to `bound`.
    pub(super) fn matches(&self, pattern: &EventPattern, slots: &Slots, bound: &mut Slots) -> Certainty {
        let Some(parts) = self.parts(pattern.kind) else { return Certainty::No };
        let mut found = Certainty::Yes;
        let all = [
            (&pattern.subject, &parts.subject),
            (&pattern.object, &parts.object),
            (&pattern.label, &parts.label),
            (&pattern.payload, &parts.payload),
        ];
        for (pattern, datum) in all {
            found = found.min(matches(pattern, datum, slots, bound));
        }
        for (key, pattern) in &pattern.keys {
            found = found.min(match parts.at(key) {
                Some(part) => matches(pattern, part, slots, bound),
                // What is no part of the message: a record of it may have that, or not.
                None => perhaps(pattern, bound),
            });
        }
        if let Some(guard) = pattern.guard.as_ref().filter(|_| found > Certainty::No) {
            found = found.min(holds(guard, slots, bound));
        }
        for except in &pattern.except {
            let outer: Slots = bound.iter().chain(slots).cloned().collect();
            found = found.min(match self.matches(except, &outer, &mut Slots::new()) {
                Certainty::No => Certainty::Yes,
                Certainty::Perhaps => Certainty::Perhaps,
                Certainty::Yes => Certainty::No,
            });
        }
        found
    }

    fn parts(&self, kind: Option<EventKind>) -> Option<Parts> {
        let text = |name: &Arc<str>| Datum::Known(Value::String(Arc::clone(name)));
        let atom = |name: &Arc<str>| Datum::Known(Value::atom(name));
        let own = if self.sent { EventKind::Exchange } else { EventKind::Receive };
        let kind = kind.unwrap_or(own);
        let term = || match &self.fields[..] {
            [] => atom(&self.label),
            fields => {
                let values = fields.iter().map(|(_, datum)| datum.clone());
                Datum::Tuple([atom(&self.label)].into_iter().chain(values).collect())
            }
        };
        let (subject, object, label, payload) = match (kind, self.sent) {
            (EventKind::Exchange, true) => {
                (text(&self.from), text(&self.to), text(&self.label), Datum::Payload(self.fields.clone()))
            }
            (EventKind::Send, true) => (atom(&self.from), atom(&self.to), Datum::Absent, term()),
            (EventKind::Receive, false) => (atom(&self.to), Datum::Absent, Datum::Absent, term()),
            _ => return None,
        };
        Some(Parts { kind, subject, object, label, payload })
    }
}

impl Parts {
    /// What a record of the event has at `key`, where that is known.
    fn at(&self, key: &Key) -> Option<&Datum> {
        let exchange = self.kind == EventKind::Exchange;
        let [name] = key.steps() else { return None };
        let part = match &**name {
            "subject" => &self.subject,
            "from" if exchange => &self.subject,
            "object" => &self.object,
            "to" if exchange => &self.object,
            "label" => &self.label,
            _ => return None,
        };
        (!matches!(part, Datum::Absent)).then_some(part)
    }
}

/// What `assertion` says `name` is, if it says so: a conjunct `name == constant` of the declared type.
fn fixed_value(assertion: &Expr, name: &str, ty: &Type) -> Option<Value> {
    match assertion.node() {
        Node::And(parts) => parts.iter().find_map(|part| fixed_value(part, name, ty)),
        Node::Binary(Operator::Equal, sides) => {
            let [left, right] = &**sides;
            let (Node::Variable(variable), Node::Literal(value)) = (left.node(), right.node()) else {
                let (Node::Literal(value), Node::Variable(variable)) = (left.node(), right.node()) else {
                    return None;
                };
                return (&**variable == name && fits(value, ty)).then(|| value.clone());
            };
            (&**variable == name && fits(value, ty)).then(|| value.clone())
        }
        _ => None,
    }
}

fn fits(value: &Value, ty: &Type) -> bool {
    matches!(
        (value, ty),
        (Value::Bool(_), Type::Bool) | (Value::Int(_), Type::Int) | (Value::String(_), Type::String)
    )
}

/// Binds everything that `pattern` binds to what is not known.
fn perhaps(pattern: &Pattern, bound: &mut Slots) -> Certainty {
    pattern.each(&mut |part| {
        if let Pattern::Bind(slot) = part {
            bound.push((*slot, None));
        }
    });
    Certainty::Perhaps
}

fn lookup<'a>(slot: Slot, slots: &'a Slots, bound: &'a Slots) -> Option<&'a Option<Value>> {
    let new = bound.iter().find(|(known, _)| *known == slot);
    new.or_else(|| slots.iter().find(|(known, _)| *known == slot)).map(|(_, value)| value)
}

fn matches(pattern: &Pattern, datum: &Datum, slots: &Slots, bound: &mut Slots) -> Certainty {
    match (pattern, datum) {
        (Pattern::Any, _) => Certainty::Yes,
        (_, Datum::Absent) => Certainty::No,
        // A message without fields has no payload, or an empty one.
        (Pattern::Bind(_), Datum::Payload(fields)) if fields.is_empty() => perhaps(pattern, bound),
        (Pattern::Bind(slot), datum) => {
            bound.push((*slot, datum.value()));
            Certainty::Yes
        }
        (_, Datum::Unknown) => perhaps(pattern, bound),
        (Pattern::Literal(literal), Datum::Known(value)) => (literal == value).into(),
        (Pattern::Test(slot), Datum::Known(value)) => match lookup(*slot, slots, bound) {
            Some(Some(held)) => (held == value).into(),
            Some(None) => Certainty::Perhaps,
            None => Certainty::No,
        },
        (Pattern::Tuple(parts), Datum::Tuple(items)) if parts.len() == items.len() => {
            let each = parts.iter().zip(items);
            each.fold(Certainty::Yes, |found, (part, item)| found.min(matches(part, item, slots, bound)))
        }
        (
            Pattern::Tuple(_) | Pattern::List { .. } | Pattern::Record(_),
            Datum::Known(_) | Datum::Tuple(_),
        ) => Certainty::No,
        (Pattern::Fields { positions, names, open }, Datum::Payload(fields)) => {
            let exact = *open || !names.is_empty() || fields.len() == positions.len();
            if fields.len() < positions.len() || !exact {
                return Certainty::No;
            }
            let mut found = Certainty::Yes;
            for (pattern, (_, datum)) in positions.iter().zip(fields) {
                found = found.min(matches(pattern, datum, slots, bound));
            }
            for (name, pattern) in names {
                let field = fields.iter().find(|(known, _)| known.as_ref() == Some(name));
                found = found.min(match field {
                    Some((_, datum)) => matches(pattern, datum, slots, bound),
                    None if fields.iter().all(|(name, _)| name.is_some()) => Certainty::No,
                    None => perhaps(pattern, bound),
                });
            }
            found
        }
        _ => perhaps(pattern, bound),
    }
}

/// Slots of which all values are known.
struct Known<'a>(&'a Slots, &'a Slots);

impl Environment for Known<'_> {
    fn get(&self, slot: Slot) -> Option<Term<'_>> {
        lookup(slot, self.0, self.1)?.as_ref().map(Value::view)
    }
}

fn holds(guard: &Guard, slots: &Slots, bound: &Slots) -> Certainty {
    let mut read = Vec::new();
    guard.slots(&mut read);
    if read.iter().any(|slot| matches!(lookup(*slot, slots, bound), Some(None))) {
        return Certainty::Perhaps;
    }
    guard.holds(&Known(slots, bound)).into()
}
