//! FMSD'15, Definition 3: a property monitor gives the verdict of the definition, at the first event at which it can
//! be given, on all small formulas and traces and on random larger ones; whatever way submonitors are kept.

use std::sync::Arc;

use referee_monitor::property::{
    Derivation, DerivationRule, PropertyFamily, PropertyMonitor, PropertyVerdict,
};
use referee_reference::property::first_verdict;
use referee_theory::Origin;
use referee_theory::expr::{Dialect, Node, Operator, Place};
use referee_theory::property::guard::Condition;
use referee_theory::property::{
    EventKind, EventPattern, EventView, Fixpoint, Formula, FormulaId, Guard, Modality, Pattern, Polarity,
    Property, PropertyBuilder, Scope, Slot, Term, Value,
};

const NONE: Origin = Origin::NONE;

/// Events: a kind and a number.
type Event = (EventKind, i64);

fn view(event: &Event) -> EventView<'static> {
    EventView { payload: Term::Int(event.1), ..EventView::new(event.0) }
}

/// Answers questions: one of `0..n`.
type Choose<'c> = &'c mut dyn FnMut(usize) -> usize;

struct Generator {
    builder: PropertyBuilder,
    polarity: Polarity,
    /// Whether the other connective may occur.
    mixed: bool,
    guards: bool,
}

impl Generator {
    fn property(polarity: Polarity, mixed: bool, guards: bool, size: usize, choose: Choose<'_>) -> Property {
        let mut generator = Self { builder: PropertyBuilder::new(), polarity, mixed, guards };
        let root = generator.formula(size, &mut Vec::new(), &mut Vec::new(), choose);
        generator.builder.finish("p".into(), "".into(), NONE, Scope::Stream, root).unwrap()
    }

    /// A formula with `size` operators; `calls` are the fixpoints around it, and whether a modality lies between.
    fn formula(
        &mut self,
        size: usize,
        slots: &mut Vec<Slot>,
        calls: &mut Vec<(FormulaId, bool)>,
        choose: Choose<'_>,
    ) -> FormulaId {
        let violation = self.polarity == Polarity::Violation;
        let (now, never) =
            if violation { (Formula::False, Formula::True) } else { (Formula::True, Formula::False) };
        if size == 0 {
            let guarded: Vec<FormulaId> = calls.iter().filter(|call| call.1).map(|call| call.0).collect();
            return match choose(2 + guarded.len()) {
                0 => self.builder.add(now, NONE),
                1 => self.builder.add(never, NONE),
                call => self.builder.add(Formula::Call { target: guarded[call - 2] }, NONE),
            };
        }
        match choose(if self.mixed { 4 } else { 3 }) {
            0 => {
                let known = slots.len();
                let pattern = self.pattern(slots, choose);
                let inner: Vec<(FormulaId, bool)> = calls.iter().map(|call| (call.0, true)).collect();
                let next = self.formula(size - 1, slots, &mut inner.clone(), choose);
                slots.truncate(known);
                let pattern = self.builder.pattern(pattern);
                let modality = if violation { Modality::Necessity } else { Modality::Possibility };
                self.builder.add(Formula::Modal { modality, pattern, next }, NONE)
            }
            1 => {
                let node = self.builder.reserve(NONE);
                calls.push((node, false));
                let body = self.formula(size - 1, slots, calls, choose);
                calls.pop();
                let fixpoint = if violation { Fixpoint::Greatest } else { Fixpoint::Least };
                self.builder.set(node, Formula::Fixpoint { fixpoint, name: "X".into(), body });
                node
            }
            connective => {
                let left_size = choose(size);
                let left = self.formula(left_size, slots, calls, choose);
                let right = self.formula(size - 1 - left_size, slots, calls, choose);
                let parts = [left, right].into();
                let formula =
                    if (connective == 2) == violation { Formula::And(parts) } else { Formula::Or(parts) };
                self.builder.add(formula, NONE)
            }
        }
    }

    fn pattern(&mut self, slots: &mut Vec<Slot>, choose: Choose<'_>) -> EventPattern {
        let kind = [Some(EventKind::Receive), Some(EventKind::Send), None][choose(3)];
        let payload = match choose(3 + slots.len()) {
            0 => Pattern::Any,
            1 => Pattern::Literal(Value::Int(1)),
            2 => {
                let slot = self.builder.slot("V".into(), NONE);
                slots.push(slot);
                Pattern::Bind(slot)
            }
            known => Pattern::Test(slots[known - 3]),
        };
        let guard = (self.guards && slots.len() > 1 && choose(3) == 0).then(|| {
            let slot = |slot: Slot| Condition::new(Node::Variable(slot), Place::NONE).unwrap();
            let pair = Box::new([slot(slots[choose(slots.len())]), slot(slots[choose(slots.len())])]);
            let operator = [Operator::LessEqual, Operator::NotIdentical][choose(2)];
            let condition = Condition::new(Node::Binary(operator, pair), Place::NONE).unwrap();
            Guard { dialect: Dialect::Erlang, condition }
        });
        // An exception with a variable of its own, or one that is bound.
        let except = if self.guards && choose(3) == 0 {
            let payload = match choose(2 + slots.len()) {
                0 => Pattern::Literal(Value::Int(1)),
                1 => Pattern::Bind(self.builder.slot("W".into(), NONE)),
                known => Pattern::Test(slots[known - 2]),
            };
            let kind = [Some(EventKind::Receive), Some(EventKind::Send)][choose(2)];
            [EventPattern { kind, payload, ..EventPattern::any() }].into()
        } else {
            Box::default()
        };
        EventPattern { kind, payload, guard, except, ..EventPattern::any() }
    }
}

fn expected(property: &Property, trace: &[Event]) -> Option<i64> {
    let events: Vec<EventView<'_>> = trace.iter().map(view).collect();
    first_verdict(property, property.polarity()?, &[], &events)
}

fn given(monitor: &PropertyMonitor, trace: &[Event]) -> Option<i64> {
    if monitor.verdict_at_start().is_some() {
        return Some(-1);
    }
    let mut memory = monitor.memory();
    let mut instance = trace.first().and_then(|event| monitor.begin(&view(event)))?;
    for (at, event) in trace.iter().enumerate() {
        match monitor.step(&mut memory, &mut instance, &view(event), 100_000) {
            None => {}
            Some(PropertyVerdict::ResourceLimit) => panic!("out of room"),
            Some(verdict) => {
                assert_eq!(verdict, monitor.property().polarity().unwrap().into());
                assert!(instance.is_done() && instance.submonitors() == 0);
                assert_eq!(
                    monitor.step(&mut memory, &mut instance, &view(event), 1),
                    None,
                    "a second verdict"
                );
                return Some(at as i64);
            }
        }
    }
    None
}

/// Compares both ways of keeping submonitors with the definition; whether there was a verdict after an event.
fn check(property: Property, traces: &[Vec<Event>]) -> usize {
    let Ok(monitor) = PropertyMonitor::new(Arc::new(property.clone())) else {
        assert!(property.polarity().is_none());
        return 0;
    };
    let indexed = monitor.clone().indexed_beyond(0);
    let mut verdicts = 0;
    for trace in traces {
        let expected = expected(&property, trace);
        verdicts += usize::from(expected.is_some_and(|at| at >= 0));
        assert_eq!(given(&monitor, trace), expected, "{property:#?} on {trace:?}");
        assert_eq!(given(&indexed, trace), expected, "indexed: {property:#?} on {trace:?}");
        explain(&property, trace, expected);
    }
    verdicts
}

/// A verdict has a derivation over the events up to it, over fewer events there is none, and a changed one is refused.
fn explain(property: &Property, trace: &[Event], expected: Option<i64>) {
    let events: Vec<EventView<'_>> = trace.iter().map(view).collect();
    let Some(length) = expected.map(|at| (at + 1) as usize) else {
        assert_eq!(Derivation::find(property, &events), None);
        return;
    };
    let (events, fewer) = (&events[..length], &events[..length.saturating_sub(1)]);
    let mut derivation = Derivation::find(property, events).unwrap();
    assert_eq!(derivation.check(property, events), Ok(property.polarity().unwrap().into()));
    if length > 0 {
        assert_eq!(Derivation::find(property, fewer), None);
        assert!(derivation.check(property, fewer).is_err());
    }
    let changed = &mut derivation.steps[0];
    changed.rule = match changed.rule {
        DerivationRule::Verdict => DerivationRule::All,
        _ => DerivationRule::Verdict,
    };
    assert!(derivation.check(property, events).is_err());
}

const KINDS: [EventKind; 2] = [EventKind::Receive, EventKind::Send];

/// All traces of this length; shorter ones are their beginnings.
fn traces(length: usize) -> Vec<Vec<Event>> {
    let events = KINDS.map(|kind| [(kind, 1), (kind, 2)]).concat();
    (0..length).fold(vec![Vec::new()], |traces, _| {
        traces.iter().flat_map(|trace| events.iter().map(|event| [&trace[..], &[*event]].concat())).collect()
    })
}

#[test]
fn all_small_formulas_on_all_small_traces() {
    let (mut formulas, mut verdicts) = (0, 0);
    for polarity in [Polarity::Violation, Polarity::Satisfaction] {
        for (size, length) in [(0, 1), (1, 2), (2, 3), (3, 3)] {
            let traces = traces(length);
            formulas += referee_testkit::choices::for_each(
                |choose| Generator::property(polarity, true, false, size, choose),
                |property| verdicts += check(property, &traces),
            );
        }
    }
    assert!(formulas > 10_000 && verdicts > 100_000, "{formulas} formulas, {verdicts} verdicts");
}

/// Properties that are run together say what each says alone, at the same events and in their order.
#[test]
fn a_family_is_its_members() {
    let mut verdicts = 0;
    for seed in 1..600_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut choose = |options: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % options
        };
        let mut monitors = Vec::new();
        while monitors.len() < 12 {
            let size = 2 + choose(8);
            let property = Generator::property(Polarity::Violation, choose(5) == 0, true, size, &mut choose);
            monitors.extend(PropertyMonitor::new(Arc::new(property)).ok().map(Arc::new));
        }
        let trace: Vec<Event> = (0..20).map(|_| (KINDS[choose(2)], 1 + choose(3) as i64)).collect();
        let mut expected: Vec<(i64, usize)> = (0..)
            .zip(&monitors)
            .filter_map(|(member, monitor)| Some((given(monitor, &trace)?, member)))
            .collect();
        expected.retain(|(at, _)| *at >= 0);
        expected.sort_unstable();
        let family = PropertyFamily::new(monitors);
        let mut memories = family.memories();
        let mut bundle = family.begin(&mut memories, &view(&trace[0])).unwrap();
        let mut found = Vec::new();
        let mut submonitors = bundle.submonitors();
        for (at, event) in trace.iter().enumerate() {
            let step = family.step(&mut memories, &mut bundle, &view(event), 100_000);
            found.extend(step.verdicts.iter().map(|(member, _)| (at as i64, *member)));
            submonitors = submonitors.checked_add_signed(step.grown).unwrap();
            assert_eq!(submonitors, bundle.submonitors());
        }
        assert_eq!(found, expected, "seed {seed}");
        verdicts += found.len();
    }
    assert!(verdicts > 500, "{verdicts} verdicts");
}

#[test]
fn random_formulas_with_data_on_random_traces() {
    let mut verdicts = 0;
    for seed in 0..30_000_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut choose = |options: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % options
        };
        let polarity = [Polarity::Violation, Polarity::Satisfaction][choose(2)];
        let (mixed, size) = (choose(3) == 0, 4 + choose(9));
        let property = Generator::property(polarity, mixed, true, size, &mut choose);
        let traces: Vec<Vec<Event>> = (0..4)
            .map(|_| (0..choose(9)).map(|_| (KINDS[choose(2)], 1 + choose(3) as i64)).collect())
            .collect();
        verdicts += check(property, &traces);
    }
    assert!(verdicts > 2_000, "{verdicts} verdicts");
}
