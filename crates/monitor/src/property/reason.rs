//! Why a verdict was given, in words: the event with what its pattern names, and the guard with the values it had. Nothing of this
//! is worked out before there is a verdict.

use std::fmt::Write as _;
use std::sync::Arc;

use referee_theory::expr::{
    Computed, Dialect, Expr, Node, Operator, Place, TooDeep, UnaryOperator, Variables, guard_value,
};
use referee_theory::property::guard::Condition;
use referee_theory::property::pattern::Environment;
use referee_theory::property::window::placeholder;
use referee_theory::property::{
    EventPattern, EventView, Formula, FormulaId, Pattern, Property, Slot, Term, TimeBound, Value, Window,
    WindowSpan,
};
use referee_theory::time;

use super::automaton::StateId;
use super::datum::Datum;
use super::matcher::Bound;
use super::program::{ModalityId, is_over};
use super::rows::Submonitor;
use super::window::Windows;
use super::{PropertyMemory, PropertyMonitor, State};

/// Why a verdict was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// In words: no `Reply(17)` came within 5 s of event 203.
    pub sentence: String,
    /// When the time was over in which nothing came; nothing if an event gave the verdict.
    pub deadline: Option<i64>,
}

/// When something timed began, and when it is over.
#[derive(Clone, Copy, Debug)]
struct Period {
    until: i64,
    /// How many events had happened when it began.
    since: u64,
}

/// A part of a property that gave the verdict, and what its variables hold.
struct Closing<'a> {
    property: &'a Property,
    node: FormulaId,
    /// Of variables that are bound before, by the event, and of windows.
    values: Vec<(Slot, Value)>,
}

/// A value that is longer is cut.
const LONGEST: usize = 120;

impl PropertyMonitor {
    /// Why `state`, which has just given the verdict, gave it.
    pub(super) fn reason(
        &self,
        memory: &PropertyMemory,
        state: &State,
        event: Option<&EventView<'_>>,
    ) -> Option<Reason> {
        let modalities = |state: StateId| {
            let found = memory.automaton.states.get(state as usize);
            found.map(|state| &*state.modalities).unwrap_or_default().iter().copied()
        };
        let by = |modality, row: &[Datum]| self.reason_of((modality, row), None, event, None);
        let submonitor = |Submonitor { state, row }: &Submonitor| {
            modalities(*state).find_map(|modality| by(modality, row))
        };
        match state {
            State::Done => None,
            State::Table(state) => modalities(*state).find_map(|modality| by(modality, &[])),
            State::Few(submonitors) => match submonitors.as_slice() {
                [only] => submonitor(only),
                _ => memory.spare.first().and_then(submonitor),
            },
            State::Many(index) => {
                let (state, row) = index.closing.as_ref()?;
                modalities(*state).find_map(|modality| by(modality, row))
            }
            State::Mixed(clauses) => {
                clauses.0.iter().flatten().find_map(|(modality, row)| by(*modality, row))
            }
            State::Timed(timed) => timed.closing.iter().flatten().find_map(|member| {
                let period = Period { until: member.until, since: member.since };
                self.reason_of((member.modality, &member.row), Some(period), event, Some(timed.windows()))
            }),
        }
    }

    /// Why the modality `id` with the values `row` gave the verdict, if it did.
    fn reason_of(
        &self,
        (id, row): (ModalityId, &[Datum]),
        period: Option<Period>,
        event: Option<&EventView<'_>>,
        windows: Option<&Windows>,
    ) -> Option<Reason> {
        let modality = self.program.modalities.get(id as usize)?;
        let kept = modality.slots.iter().zip(row).map(|(slot, datum)| (*slot, datum.view().to_owned()));
        let mut closing = Closing { property: &self.property, node: modality.node, values: kept.collect() };
        if modality.timed.as_ref().is_some_and(|part| part.bound == TimeBound::Expect) {
            return closing.by_time(period?);
        }
        let (event, matcher) = (event?, self.program.matchers.get(modality.pattern as usize)?);
        let (mut bound, none) = (Bound::new(), Windows::default());
        let windows = windows.unwrap_or(&none);
        if !matcher.matches_in(event, row, &mut bound, windows)
            || modality.timed.is_none() && !is_over(&modality.after)
        {
            return None;
        }
        let (Formula::Modal { pattern, .. } | Formula::Timed { pattern, .. }) =
            self.property.node(modality.node)
        else {
            return None;
        };
        closing.values.extend(matcher.asked(row, &bound, windows));
        let binds = self.property.pattern(*pattern).binds();
        closing.values.extend(binds.into_iter().zip(bound.iter().map(|term| Term::to_owned(*term))));
        closing.by_event(event, period)
    }
}

impl Environment for Closing<'_> {
    fn get(&self, slot: Slot) -> Option<Term<'_>> {
        self.values.iter().rev().find(|(known, _)| *known == slot).map(|(_, value)| value.view())
    }
}

impl Variables<Slot> for Closing<'_> {
    fn value(&self, variable: &Slot) -> Option<Computed<'_>> {
        self.get(*variable).map(Computed::Term)
    }

    fn name(&self, variable: &Slot) -> Arc<str> {
        Arc::clone(&self.property.slots()[variable.index()].name)
    }
}

impl Closing<'_> {
    /// That `event` came where it must not; nothing if the event's own name says it all.
    fn by_event(&self, event: &EventView<'_>, period: Option<Period>) -> Option<Reason> {
        let (pattern, sentence) = match self.property.node(self.node) {
            Formula::Modal { pattern, .. } => {
                let pattern = self.property.pattern(*pattern);
                if pattern.guard.is_none() && !matches!(event.label, Term::Absent) {
                    return None;
                }
                (pattern, format!("{} came", self.event(pattern)))
            }
            Formula::Timed { bound: TimeBound::Never, pattern, duration } => {
                let (pattern, period) = (self.property.pattern(*pattern), period?);
                let length = self.length(duration)?;
                let passed = event.time?.saturating_sub(period.until.saturating_sub(length));
                let came = format!(
                    "{} came {} after {}; none is allowed for {}",
                    self.event(pattern),
                    time::words(passed),
                    beginning(period.since),
                    time::words(length)
                );
                (pattern, came)
            }
            _ => return None,
        };
        let facts = self.facts(pattern);
        if facts.is_empty() && pattern.guard.is_none() && self.shown(pattern).is_empty() {
            return None;
        }
        let facts = if facts.is_empty() { String::new() } else { format!("; {}", facts.join(", ")) };
        Some(Reason { sentence: sentence + &facts, deadline: None })
    }

    /// That nothing came in `period`.
    fn by_time(&self, period: Period) -> Option<Reason> {
        let Formula::Timed { pattern, duration, .. } = self.property.node(self.node) else { return None };
        let shown = self.shown(self.property.pattern(*pattern));
        let sentence = format!(
            "no {} came within {} of {}",
            if shown.is_empty() { "event".to_owned() } else { format!("`{shown}`") },
            time::words(self.length(duration)?),
            beginning(period.since)
        );
        Some(Reason { sentence, deadline: Some(period.until) })
    }

    fn length(&self, duration: &Condition) -> Option<i64> {
        match guard_value(Dialect::Native, duration, self)?.into_value() {
            Value::Duration(length) => Some(length),
            _ => None,
        }
    }

    /// What the guard of `pattern` compares, each with its value.
    fn facts(&self, pattern: &EventPattern) -> Vec<String> {
        let Some(guard) = &pattern.guard else { return Vec::new() };
        let mut told = Vec::new();
        self.tell(guard.dialect, &guard.condition, &mut told);
        let mut facts: Vec<String> = Vec::new();
        for part in told {
            let Some(value) = guard_value(guard.dialect, part, self) else { continue };
            let value = match value.view() {
                Term::Duration(length) => time::words(length),
                other => cut(other.to_string()),
            };
            let fact = format!("`{}` is {value}", self.text(part, &pattern.windows));
            if !facts.contains(&fact) {
                facts.push(fact);
            }
        }
        facts
    }

    /// The parts of `condition` whose values decide it.
    fn tell<'c>(&self, dialect: Dialect, condition: &'c Condition, told: &mut Vec<&'c Condition>) {
        let holds = |part: &Condition| {
            guard_value(dialect, part, self).is_some_and(|value| matches!(value.view(), Term::Bool(true)))
        };
        match condition.node() {
            // Of alternatives, one that holds is enough.
            Node::Or(parts) | Node::OrElse(parts) => match parts.iter().find(|part| holds(part)) {
                Some(part) => self.tell(dialect, part, told),
                None => parts.iter().for_each(|part| self.tell(dialect, part, told)),
            },
            Node::And(parts) | Node::AndAlso(parts) => {
                parts.iter().for_each(|part| self.tell(dialect, part, told));
            }
            Node::Unary(UnaryOperator::Not, inner) => self.tell(dialect, inner, told),
            Node::Binary(operator, sides) if is_comparison(*operator) => {
                sides.iter().for_each(|side| varying(side, told));
            }
            _ => varying(condition, told),
        }
    }

    /// `condition` as it is written.
    fn text(&self, condition: &Condition, windows: &[(Slot, Arc<Window>)]) -> String {
        let mut text =
            self.named(condition, windows).map_or_else(|TooDeep| "…".into(), |expr| expr.to_string());
        for (number, (_, window)) in windows.iter().enumerate() {
            let name = format!("`{}`", placeholder(number));
            if text.contains(&name) {
                text = text.replace(&name, &self.window(window));
            }
        }
        text
    }

    fn named(&self, condition: &Condition, windows: &[(Slot, Arc<Window>)]) -> Result<Expr, TooDeep> {
        let node = match condition.node() {
            Node::Variable(slot) => match windows.iter().position(|(own, _)| own == slot) {
                Some(number) => Node::Variable(placeholder(number).into()),
                None => Node::Variable(self.name(slot)),
            },
            other => match other.over(&mut |part| self.named(part, windows))? {
                Some(node) => node,
                // Variables are dealt with above.
                None => Node::Literal(Value::Unit),
            },
        };
        Expr::new(node, Place::NONE)
    }

    fn window(&self, window: &Window) -> String {
        let value = window.value.map(|slot| format!("{} of ", self.name(&slot))).unwrap_or_default();
        let span = match &window.span {
            WindowSpan::Duration(length) => time::show_duration(*length),
            WindowSpan::Last(count) => format!("last {count}"),
            WindowSpan::LastOf(count, of) => format!("last {count} of [{}]", self.written(of)),
            WindowSpan::Day => "day".to_owned(),
        };
        format!("{}({value}[{}] in {span})", window.aggregate.name(), self.written(&window.pattern))
    }

    /// A pattern, with its guard.
    fn written(&self, pattern: &EventPattern) -> String {
        let mut text = self.shown(pattern);
        if text.is_empty() {
            text.push('_');
        }
        if let Some(guard) = &pattern.guard {
            let _ = write!(text, " when {}", self.text(&guard.condition, &pattern.windows));
        }
        text
    }

    fn event(&self, pattern: &EventPattern) -> String {
        match self.shown(pattern) {
            empty if empty.is_empty() => "an event".to_owned(),
            text => format!("`{text}`"),
        }
    }

    /// What `pattern` names of an event, with the values that are known.
    fn shown(&self, pattern: &EventPattern) -> String {
        let part = |part: &Pattern| self.part(part);
        let keys: Vec<String> =
            pattern.keys.iter().map(|(key, value)| format!("{key}: {}", part(value))).collect();
        let keys = if keys.is_empty() { String::new() } else { format!("{{{}}}", keys.join(", ")) };
        let name = match &pattern.label {
            Pattern::Literal(Value::String(label)) => label.to_string(),
            Pattern::Any => String::new(),
            label => part(label),
        };
        let payload = match &pattern.payload {
            Pattern::Any => String::new(),
            Pattern::Fields { positions, names, .. } => {
                let names = names.iter().map(|(name, field)| format!("{name}: {}", part(field)));
                let fields: Vec<String> = positions.iter().map(part).chain(names).collect();
                format!("({})", fields.join(", "))
            }
            other => part(other),
        };
        format!("{name}{payload}{keys}")
    }

    fn part(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Literal(value) => cut(value.view().to_string()),
            Pattern::Test(slot) => {
                self.get(*slot).map_or_else(|| "_".to_owned(), |term| cut(term.to_string()))
            }
            Pattern::Bind(slot) => {
                self.get(*slot).map_or_else(|| self.name(slot).to_string(), |term| cut(term.to_string()))
            }
            _ => "_".to_owned(),
        }
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator as Op;
    matches!(
        operator,
        Op::Equal
            | Op::NotEqual
            | Op::Identical
            | Op::NotIdentical
            | Op::Less
            | Op::LessEqual
            | Op::Greater
            | Op::GreaterEqual
            | Op::In
    )
}

/// Adds what of `condition` is no constant: of `n + 10`, `n`.
fn varying<'c>(condition: &'c Condition, told: &mut Vec<&'c Condition>) {
    let constant = |part: &Condition| matches!(part.node(), Node::Literal(_));
    match condition.node() {
        Node::Literal(_) => {}
        Node::Binary(_, sides) if constant(&sides[1]) => varying(&sides[0], told),
        Node::Binary(_, sides) if constant(&sides[0]) => varying(&sides[1], told),
        Node::Unary(_, inner) => varying(inner, told),
        _ => told.push(condition),
    }
}

fn beginning(since: u64) -> String {
    match since.checked_sub(1) {
        Some(event) => format!("event {event}"),
        None => "the beginning".to_owned(),
    }
}

fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
    text
}
