//! From what a rule says to the formula that says the same.
//!
//! With A for the messages that the rule judges and B for those it asks for, in each instance:
//!
//! | rule | formula |
//! |---|---|
//! | before A there must be B | `max X.([A except B]ff and [_ except B]X)` |
//! | before each A there must be a new B | `max X.([A except B]ff and [_ except A, B]X and [B]max Y.([A except B]X and [B]Y and [_ except A]Y))` |
//! | never A | `max X.([A]ff and [_]X)` |
//! | never A after B | `max X.([B]max Y.([A]ff and [_]Y) and [_]X)` |
//! | A at most once | `max X.([A]max Y.([A]ff and [_]Y) and [_]X)`, and so on for more |
//! | A at most n times in D | `max X.([A when count([A] in D) > n]ff and [_]X)` |
//!
//! Exceptions that can match nothing are left out: a call is no result.

use std::sync::Arc;

use referee_theory::expr::{Dialect, Expr, Node, Operator};
use referee_theory::property::guard::Condition;
use referee_theory::property::{
    Aggregate, EventKind, EventPattern, Fixpoint, Formula, FormulaId, Guard, Key, Modality, Pattern, Slot,
    Value, Window, WindowSpan,
};

use super::super::cursor::{MAX_NESTING, Parsed};
use super::super::guard;
use super::super::parser::Parser;
use super::{Field, Leaf, RuleEvent, Says, Subject};
use crate::diagnostics::lexical::nested_too_deep;
use crate::diagnostics::rules::{places_differ, too_many_alternatives, used_once};
use crate::source::Span;

/// A variable that is compared, and where it is; the session has no variable.
pub(super) type Compared = Vec<(Option<Arc<str>>, Key)>;

/// So many patterns a rule that counts may have.
const MOST_PATTERNS: usize = 4096;

/// A part of a payload that must be there.
enum Part {
    Leaf(Pattern),
    Members(Vec<(Arc<str>, Part)>),
}

impl Subject {
    /// Label, sender and receiver, where they are known.
    fn message(&self) -> (&str, Option<(&str, &str)>) {
        match self {
            Self::Call(_) => ("Call", Some(("client", "server"))),
            Self::Result(_) | Self::Failure(_) => ("CallResult", Some(("server", "client"))),
            Self::Message { label, roles } => (label, roles.as_ref().map(|(from, to)| (&**from, &**to))),
        }
    }

    fn tool(&self) -> Option<&Arc<str>> {
        match self {
            Self::Call(tool) | Self::Result(tool) | Self::Failure(tool) => tool.as_ref(),
            Self::Message { .. } => None,
        }
    }
}

/// Whether a message might be both, as far as names say.
fn overlap(one: &RuleEvent, other: &RuleEvent) -> bool {
    let ((label, roles), (other_label, other_roles)) = (one.subject.message(), other.subject.message());
    let tools = one.subject.tool().zip(other.subject.tool()).is_none_or(|(one, other)| one == other);
    let outcomes = !matches!(
        (&one.subject, &other.subject),
        (Subject::Result(_), Subject::Failure(_)) | (Subject::Failure(_), Subject::Result(_))
    );
    label == other_label
        && roles.zip(other_roles).is_none_or(|(one, other)| one == other)
        && tools
        && outcomes
}

impl Field {
    pub(super) fn variable(&self) -> Option<&Arc<str>> {
        match &self.leaf {
            Leaf::Variable(name) => Some(name),
            _ => None,
        }
    }

    fn key(&self) -> Option<Key> {
        let steps = self.path.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1")));
        Key::pointer(&format!("/payload{}", steps.collect::<String>()))
    }
}

impl RuleEvent {
    /// Where `name` stands first.
    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.variable().is_some_and(|own| **own == *name))
    }

    fn asks(&self, name: &str) -> bool {
        self.condition
            .as_ref()
            .is_some_and(|condition| condition.free_variables().iter().any(|own| ***own == *name))
    }

    /// How often `name` stands in it, the condition apart.
    fn times(&self, name: &str) -> usize {
        self.fields.iter().filter(|field| field.variable().is_some_and(|own| **own == *name)).count()
    }
}

impl Says {
    fn events(&self) -> impl Iterator<Item = &RuleEvent> {
        let (first, second): (&[RuleEvent], &[RuleEvent]) = match self {
            Self::Before { later, needed, .. } => (later, needed),
            Self::Never { forbidden, after } => (forbidden, after),
            Self::AtMost { events, .. } => (events, &[]),
        };
        first.iter().chain(second)
    }

    /// Whether `name` names one instance each: it is compared, or each value is counted.
    fn compares(&self, name: &str) -> bool {
        let has = |events: &[RuleEvent]| events.iter().any(|event| event.field(name).is_some());
        match self {
            Self::Before { later, needed, .. } => has(later) && has(needed),
            Self::Never { forbidden, after } => has(forbidden) && has(after),
            Self::AtMost { each, .. } => each.iter().any(|(known, _)| **known == *name),
        }
    }
}

impl Parser<'_> {
    /// The keys of the rule: the session if it is asked for, and each variable that is compared.
    pub(super) fn compared(&mut self, says: &Says, in_session: bool) -> Compared {
        let mut keys: Compared = Vec::new();
        keys.extend(in_session.then(|| (None, Key::name("session"))));
        let fields: Vec<Field> = says.events().flat_map(|event| event.fields.clone()).collect();
        let mut seen: Vec<Arc<str>> = Vec::new();
        for field in &fields {
            let Some(name) = field.variable().filter(|name| !seen.contains(name)) else { continue };
            seen.push(Arc::clone(name));
            if !says.compares(name) {
                if says.events().all(|event| !event.asks(name) && event.times(name) < 2) {
                    self.cursor.report(used_once(field.span, name, matches!(says, Says::AtMost { .. })));
                }
                continue;
            }
            let Some(key) = field.key() else { continue };
            for event in says.events() {
                match event.field(name) {
                    Some(other) if other.path == field.path => {}
                    other => {
                        let at = other.map_or(event.span, |other| other.span);
                        self.cursor.report(places_differ(at, field.span, name, other.is_some()));
                    }
                }
            }
            keys.push((Some(Arc::clone(name)), key));
        }
        keys
    }

    /// The formula of the rule, whose name stands at `span`.
    pub(super) fn translate(&mut self, says: &Says, keys: &Compared, span: Span) -> Parsed<FormulaId> {
        let x = self.open(span);
        let mut parts = Vec::new();
        match says {
            Says::Before { later, needed, each: false } => {
                self.forbid(later, needed, keys, &mut parts)?;
                let others = self.others(needed, keys)?;
                parts.push(self.box_to(others, x, span));
            }
            Says::Before { later, needed, each: true } => {
                self.forbid(later, needed, keys, &mut parts)?;
                let all: Vec<RuleEvent> = later.iter().chain(needed).cloned().collect();
                let others = self.others(&all, keys)?;
                parts.push(self.box_to(others, x, span));
                for event in needed {
                    let first = self.pattern(event, &[], keys)?;
                    let y = self.open(span);
                    let mut inner = Vec::new();
                    for used in later {
                        let pattern = self.pattern(used, needed, keys)?;
                        inner.push(self.box_to(pattern, x, used.span));
                    }
                    if later.iter().any(|used| needed.iter().any(|event| overlap(used, event))) {
                        for event in needed {
                            let pattern = self.pattern(event, &[], keys)?;
                            inner.push(self.box_to(pattern, y, event.span));
                        }
                    }
                    let others = self.others(later, keys)?;
                    inner.push(self.box_to(others, y, span));
                    let inner = self.close(y, "Y".into(), inner, span);
                    parts.push(self.box_next(first, inner, event.span));
                }
            }
            Says::Never { forbidden, after } if after.is_empty() => {
                self.forbid(forbidden, &[], keys, &mut parts)?;
                parts.push(self.box_to(EventPattern::any(), x, span));
            }
            Says::Never { forbidden, after } => {
                for event in after {
                    let first = self.pattern(event, &[], keys)?;
                    let y = self.open(span);
                    let mut inner = Vec::new();
                    self.forbid(forbidden, &[], keys, &mut inner)?;
                    inner.push(self.box_to(EventPattern::any(), y, span));
                    let inner = self.close(y, "Y".into(), inner, span);
                    parts.push(self.box_next(first, inner, event.span));
                }
                parts.push(self.box_to(EventPattern::any(), x, span));
            }
            Says::AtMost { events, count, within: Some(within), .. } => {
                for (at, event) in events.iter().enumerate() {
                    let before = events.get(..at).unwrap_or_default();
                    let pattern = self.counted(event, before, events, (*count, *within), keys)?;
                    parts.push(self.box_ff(pattern, event.span));
                }
                parts.push(self.box_to(EventPattern::any(), x, span));
            }
            Says::AtMost { events, count, within: None, .. } => {
                let patterns =
                    u32::try_from(*count).ok().and_then(|count| events.len().checked_pow(count + 1));
                if patterns.is_none_or(|patterns| patterns > MOST_PATTERNS) {
                    return Err(self.cursor.report(too_many_alternatives(span)));
                }
                parts = self.counts(events, *count, x, keys, span)?;
            }
        }
        Ok(self.close(x, "X".into(), parts, span))
    }

    /// `[A]…` for each of `events`, of which `more` are allowed here, and `[_]x`.
    fn counts(
        &mut self,
        events: &[RuleEvent],
        more: u64,
        x: FormulaId,
        keys: &Compared,
        span: Span,
    ) -> Parsed<Vec<FormulaId>> {
        let mut parts = Vec::new();
        if more == 0 {
            self.forbid(events, &[], keys, &mut parts)?;
        } else {
            for event in events {
                let first = self.pattern(event, &[], keys)?;
                let y = self.open(span);
                let inner = self.counts(events, more - 1, y, keys, span)?;
                let inner = self.close(y, format!("Y{more}").into(), inner, span);
                parts.push(self.box_next(first, inner, event.span));
            }
        }
        parts.push(self.box_to(EventPattern::any(), x, span));
        Ok(parts)
    }

    /// `[A except B]ff` for each A.
    fn forbid(
        &mut self,
        events: &[RuleEvent],
        except: &[RuleEvent],
        keys: &Compared,
        parts: &mut Vec<FormulaId>,
    ) -> Parsed<()> {
        for event in events {
            let pattern = self.pattern(event, except, keys)?;
            parts.push(self.box_ff(pattern, event.span));
        }
        Ok(())
    }

    /// `[pattern]next`.
    fn box_next(&mut self, pattern: EventPattern, next: FormulaId, span: Span) -> FormulaId {
        let origin = self.origins.add(span);
        let pattern = self.builder.pattern(EventPattern { origin, ..pattern });
        self.builder.add(Formula::Modal { modality: Modality::Necessity, pattern, next }, origin)
    }

    /// `[pattern]ff`.
    fn box_ff(&mut self, pattern: EventPattern, span: Span) -> FormulaId {
        let origin = self.origins.add(span);
        let next = self.builder.add(Formula::False, origin);
        self.box_next(pattern, next, span)
    }

    /// `[pattern]X`, where X is that of `target`.
    fn box_to(&mut self, pattern: EventPattern, target: FormulaId, span: Span) -> FormulaId {
        let origin = self.origins.add(span);
        let next = self.builder.add(Formula::Call { target }, origin);
        self.box_next(pattern, next, span)
    }

    fn open(&mut self, span: Span) -> FormulaId {
        let origin = self.origins.add(span);
        self.builder.reserve(origin)
    }

    fn close(&mut self, node: FormulaId, name: Arc<str>, parts: Vec<FormulaId>, span: Span) -> FormulaId {
        let origin = self.origins.add(span);
        let body = self.builder.add(Formula::And(parts.into()), origin);
        self.builder.set(node, Formula::Fixpoint { fixpoint: Fixpoint::Greatest, name, body });
        node
    }

    /// `_ except` each of `events`.
    fn others(&mut self, events: &[RuleEvent], keys: &Compared) -> Parsed<EventPattern> {
        let except = events.iter().map(|event| self.bare_pattern(event, keys)).collect::<Parsed<_>>()?;
        Ok(EventPattern { except, ..EventPattern::any() })
    }

    /// What matches `event` and none of `except`.
    fn pattern(&mut self, event: &RuleEvent, except: &[RuleEvent], keys: &Compared) -> Parsed<EventPattern> {
        let except = except.iter().filter(|other| overlap(event, other));
        let except = except.map(|other| self.bare_pattern(other, keys)).collect::<Parsed<_>>()?;
        Ok(EventPattern { except, ..self.bare_pattern(event, keys)? })
    }

    fn bare_pattern(&mut self, event: &RuleEvent, keys: &Compared) -> Parsed<EventPattern> {
        let mut bound: Vec<(Arc<str>, Slot)> = Vec::new();
        let mut members: Vec<(Arc<str>, Part)> = Vec::new();
        if let Some(tool) = event.subject.tool() {
            members.push(("tool".into(), Part::Leaf(Pattern::Literal(Value::String(Arc::clone(tool))))));
        }
        for field in &event.fields {
            let is_key = |name: &Arc<str>| keys.iter().any(|(key, _)| key.as_ref() == Some(name));
            let pattern = match &field.leaf {
                Leaf::Any => Pattern::Any,
                Leaf::Constant(value) => Pattern::Literal(value.clone()),
                Leaf::Variable(name) if event.asks(name) || event.times(name) > 1 => {
                    let known =
                        bound.iter().find(|(known, _)| known == name).map(|(_, slot)| Pattern::Test(*slot));
                    known.unwrap_or_else(|| {
                        let slot = self.new_slot(name, field.span);
                        bound.push((Arc::clone(name), slot));
                        Pattern::Bind(slot)
                    })
                }
                // It is there, for it is a key of the instance.
                Leaf::Variable(name) if is_key(name) => continue,
                Leaf::Variable(_) => Pattern::Any,
            };
            insert(&mut members, &field.path, pattern);
        }
        let mut guard = None;
        match event.subject {
            Subject::Result(_) => {
                let slot = self.new_slot("failed", event.span);
                members.push(("failed".into(), Part::Leaf(Pattern::Bind(slot))));
                let failed = self.node(Node::Variable(slot), event.span)?;
                let yes = self.node(Node::Literal(Value::Bool(true)), event.span)?;
                let condition =
                    self.node(Node::Binary(Operator::NotEqual, Box::new([failed, yes])), event.span)?;
                guard = Some(Guard { dialect: Dialect::Native, condition });
            }
            Subject::Failure(_) => {
                members.push(("failed".into(), Part::Leaf(Pattern::Literal(Value::Bool(true)))));
            }
            _ => {}
        }
        if let Some(condition) = &event.condition {
            let find = |name: &str| bound.iter().find(|(known, _)| **known == *name).map(|(_, slot)| *slot);
            let names: Vec<&str> = bound.iter().map(|(name, _)| &**name).collect();
            let own = guard::native(condition, &find, &names, &mut self.cursor)?;
            guard = guard::both(guard, own, &mut self.cursor)?;
        }
        let role =
            |name: Option<&str>| name.map_or(Pattern::Any, |name| Pattern::Literal(Value::string(name)));
        let (label, roles) = event.subject.message();
        let payload = match members.is_empty() {
            true => Pattern::Any,
            false => Pattern::Fields { positions: Box::default(), names: finished(members), open: true },
        };
        Ok(EventPattern {
            kind: Some(EventKind::Exchange),
            subject: role(roles.map(|(from, _)| from)),
            object: role(roles.map(|(_, to)| to)),
            label: Pattern::Literal(Value::string(label)),
            payload,
            guard,
            origin: self.origins.add(event.span),
            ..EventPattern::any()
        })
    }

    /// `event when count([each] in D) + … > n`.
    fn counted(
        &mut self,
        event: &RuleEvent,
        before: &[RuleEvent],
        all: &[RuleEvent],
        (count, within): (u64, i64),
        keys: &Compared,
    ) -> Parsed<EventPattern> {
        let mut pattern = self.pattern(event, before, keys)?;
        let (mut windows, mut sum) = (Vec::new(), None);
        for (at, other) in all.iter().enumerate() {
            // What is two of them is counted once.
            let counted = self.pattern(other, all.get(..at).unwrap_or_default(), keys)?;
            let slot = self.new_slot(Aggregate::Count.name(), other.span);
            windows.push((
                slot,
                Arc::new(Window {
                    aggregate: Aggregate::Count,
                    pattern: counted,
                    value: None,
                    span: WindowSpan::Duration(within),
                    outer: Box::default(),
                }),
            ));
            let own = self.node(Node::Variable(slot), other.span)?;
            sum = Some(match sum.take() {
                None => own,
                Some(sum) => self.node(Node::Binary(Operator::Add, Box::new([sum, own])), other.span)?,
            });
        }
        if let Some(sum) = sum {
            let most = Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
            let most = self.node(Node::Literal(most), event.span)?;
            let condition = self.node(Node::Binary(Operator::Greater, Box::new([sum, most])), event.span)?;
            let own = Guard { dialect: Dialect::Native, condition };
            pattern.guard = guard::both(pattern.guard.take(), own, &mut self.cursor)?;
        }
        pattern.windows = windows.into();
        Ok(pattern)
    }

    fn node(&mut self, node: Node<Slot>, span: Span) -> Parsed<Condition> {
        Expr::new(node, span.into()).map_err(|_| self.cursor.report(nested_too_deep(span, MAX_NESTING)))
    }
}

/// Adds `pattern` at `path`.
fn insert(members: &mut Vec<(Arc<str>, Part)>, path: &[Arc<str>], pattern: Pattern) {
    match path {
        [] => {}
        [name] => members.push((Arc::clone(name), Part::Leaf(pattern))),
        [name, rest @ ..] => {
            if let Some((_, Part::Members(inner))) = members.iter_mut().find(|(known, _)| known == name) {
                return insert(inner, rest, pattern);
            }
            let mut inner = Vec::new();
            insert(&mut inner, rest, pattern);
            members.push((Arc::clone(name), Part::Members(inner)));
        }
    }
}

fn finished(members: Vec<(Arc<str>, Part)>) -> Box<[(Arc<str>, Pattern)]> {
    let pattern = |part| match part {
        Part::Leaf(pattern) => pattern,
        Part::Members(inner) => Pattern::Record(finished(inner)),
    };
    members.into_iter().map(|(name, part)| (name, pattern(part))).collect()
}
