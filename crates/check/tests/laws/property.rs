//! Properties of one's own (`docs/checking.md`): on the product the shortest execution that violates a formula is found, and
//! none where there is none. Against all executions up to a length, judged event by event by the reference. With data: what
//! is said holds whatever the messages carry.

use std::sync::Arc;

use referee_check::{Doubt, Judgement, Options, PropertyAnswer, Stop, check_properties, generate};
use referee_reference::kmc::{self, Act, Configuration};
use referee_reference::property::first_verdict;
use referee_syntax::{Content, hml, kmc as types};
use referee_testkit::systems::Rng;
use referee_theory::property::term::Items;
use referee_theory::property::{EventKind, EventView, Polarity, Property, Term};
use referee_theory::{Action, System};

use crate::support::{act, show};
use crate::{all_pairs, sampled};

fn property(text: &str) -> Arc<Property> {
    let document = hml::parse(text);
    let Content::Properties(file) = document.content else { panic!("{text}") };
    assert!(document.diagnostics.iter().all(|found| !found.is_error()), "{text}: {:?}", document.diagnostics);
    Arc::clone(&file.properties[0])
}

fn system(text: &str) -> System {
    let document = types::parse(text);
    let Content::System(found) = document.content else { panic!("{text}") };
    found.system.unwrap()
}

fn answer(system: &System, property: &Arc<Property>, k: u32) -> PropertyAnswer {
    let options = Options { max_k: k, ..Options::default() };
    check_properties(system, &[Arc::clone(property)], None, &options, None, &mut ()).remove(0)
}

/// The events of an execution, as the property sees them, each value being the next of `values`.
fn judge(system: &System, property: &Property, steps: &[Act], values: &mut dyn FnMut() -> i64) -> bool {
    let has = |kind| property.patterns().iter().any(|pattern| pattern.kind == Some(kind));
    let (receives, sends) = (has(EventKind::Receive), has(EventKind::Send));
    let vocabulary = system.vocabulary();
    let carried: Vec<Vec<Term<'_>>> = steps
        .iter()
        .map(|step| vocabulary.spec(step.message).fields.iter().map(|_| Term::Int(values())).collect())
        .collect();
    let tagged: Vec<Vec<Term<'_>>> = steps
        .iter()
        .zip(&carried)
        .map(|(step, fields)| [&[Term::Atom(vocabulary.label_of(step.message))], &fields[..]].concat())
        .collect();
    let mut events = Vec::new();
    for ((step, fields), tagged) in steps.iter().zip(&carried).zip(&tagged) {
        let (role, peer) = (vocabulary.role_name(step.role), vocabulary.role_name(step.peer));
        let term = if fields.is_empty() { tagged[0] } else { Term::Tuple(Items::Terms(tagged)) };
        events.push(match step.action {
            Action::Receive if !receives => continue,
            Action::Receive => {
                EventView { subject: Term::Atom(role), payload: term, ..EventView::new(EventKind::Receive) }
            }
            Action::Send if sends => EventView {
                subject: Term::Atom(role),
                object: Term::Atom(peer),
                payload: term,
                ..EventView::new(EventKind::Send)
            },
            Action::Send => EventView {
                subject: Term::Text(role),
                object: Term::Text(peer),
                label: Term::Text(vocabulary.label_of(step.message)),
                payload: Term::List(Items::Terms(fields)),
                ..EventView::new(EventKind::Exchange)
            },
        });
    }
    first_verdict(property, Polarity::Violation, &[], &events).is_some()
}

/// Visits every execution of at most `length` steps within `k`, shorter ones first.
fn executions(system: &System, k: usize, length: usize, mut visit: impl FnMut(&[Act]) -> bool) {
    let mut layer: Vec<(Vec<Act>, Configuration)> = vec![(Vec::new(), Configuration::initial(system))];
    for _ in 0..=length {
        let mut next = Vec::new();
        for (steps, configuration) in &layer {
            if !visit(steps) {
                return;
            }
            for (step, target) in kmc::successors(system, configuration, k) {
                next.push(([&steps[..], &[step]].concat(), target));
            }
        }
        layer = next;
    }
}

#[derive(Debug, Default)]
struct Tally {
    holds: usize,
    violated: usize,
    bound: usize,
}

/// Without data: the answer is exact.
fn agree(system: &System, property: &Arc<Property>, tally: &mut Tally) {
    const LENGTH: usize = 4;
    let k = 1;
    let answer = answer(system, property, k);
    let mut shortest = None;
    executions(system, k as usize, LENGTH, |steps| {
        if judge(system, property, steps, &mut || 0) {
            shortest = Some(steps.len());
        }
        shortest.is_none()
    });
    let found = answer.judgement.execution();
    match &answer.judgement {
        Judgement::Violated(execution) => {
            tally.violated += 1;
            let steps: Vec<Act> = execution.steps.iter().map(act).collect();
            assert!(kmc::replay(system, execution.bound as usize, &steps).is_ok());
            assert!(judge(system, property, &steps, &mut || 0), "{execution:?}");
            assert!(shortest == Some(steps.len()) || shortest.is_none() && steps.len() > LENGTH);
        }
        Judgement::Holds => tally.holds += 1,
        Judgement::Unknown(Doubt::Bound) => tally.bound += 1,
        Judgement::Unknown(Doubt::NeverViolated) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(
        found.is_some_and(|found| found.steps.len() <= LENGTH),
        shortest.is_some(),
        "{}",
        show(system)
    );
}

/// A random formula over the roles `A` and `B` and the labels `a` and `b`.
fn formula(rng: &mut Rng, depth: usize, loops: usize, guarded: bool, receptions: bool) -> String {
    let pattern = |rng: &mut Rng| {
        let exchange = ["A -> B : a", "B -> A : a", "_ -> B : b", "$p -> _ : a", "_"];
        let received = ["'A' ? a", "'B' ? a", "'B' ? b"];
        match receptions && rng.below(3) == 0 {
            true => received[rng.below(received.len())],
            false => exchange[rng.below(exchange.len())],
        }
    };
    match rng.below(7) {
        _ if depth == 0 && guarded && loops > 0 => format!("X{}", rng.below(loops)),
        _ if depth == 0 => "ff".to_owned(),
        0 if guarded && loops > 0 => format!("X{}", rng.below(loops)),
        1 | 2 => {
            let word = if rng.below(3) == 0 { "or" } else { "and" };
            let part = |rng: &mut Rng| formula(rng, depth - 1, loops, guarded, receptions);
            format!("({} {word} {})", part(rng), part(rng))
        }
        3 => format!("max X{loops}.({})", formula(rng, depth - 1, loops + 1, false, receptions)),
        _ => format!("[{}]{}", pattern(rng), formula(rng, depth - 1, loops, true, receptions)),
    }
}

#[test]
fn formulas_without_data() {
    let mut tally = Tally::default();
    let mut rng = Rng::new(19);
    let mut formulas: Vec<Arc<Property>> = Vec::new();
    while formulas.len() < 150 {
        let text = formula(&mut rng, 5, 0, false, formulas.len().is_multiple_of(3));
        let document = hml::parse(&text);
        if document.diagnostics.iter().any(|found| found.is_error()) {
            continue;
        }
        let Content::Properties(file) = document.content else { panic!("{text}") };
        formulas.extend(file.properties);
    }
    let mut number = 0;
    let mut visit = |system: &System| {
        number += 1;
        for formula in formulas.iter().skip(number % 31).step_by(31) {
            agree(system, formula, &mut tally);
        }
    };
    all_pairs(1, 2, &mut visit);
    sampled(2, 2, 3, 250, 7, &mut visit);
    sampled(3, 2, 2, 60, 8, &mut visit);
    println!("{tally:?}");
    assert!(tally.holds > 200 && tally.violated > 200 && tally.bound > 20, "{tally:?}");
}

/// With data: `holds` whatever the messages carry, `unsafe` whatever they carry; otherwise it depends.
#[test]
fn formulas_with_data() {
    let systems = [
        "A: B!a<int>; B!b<int>; end  B: A?a<int>; A?b<int>; end",
        "A: {B!a<int>; B!a<int>; end, B!b<int>; end}  B: {A?a<int>; A?a<int>; end, A?b<int>; end}",
        "A: B!a<int>; B?b<int>; B!a<int>; end  B: A?a<int>; A!b<int>; A?a<int>; end",
    ];
    let formulas = [
        ("max X.([A -> B : a(x)][A -> B : a(x)]ff and [_]X)", "unknown"),
        ("max X.([A -> B : a(x)][_ -> _ : $l(y)]ff and [_]X)", "unsafe"),
        ("max X.([A -> B : a(x) when x > 0][_]ff and [_]X)", "unknown"),
        ("max X.([A -> B : a(x, y)]ff and [_]X)", "holds"),
        ("max X.([A -> B : a(x, ...)][$p -> B : $l(y) when p == \"A\" && l == \"b\"]ff and [_]X)", "unsafe"),
        ("[A -> B : a(1)]ff", "unknown"),
        ("[A -> B : a]ff", "unsafe"),
        ("[A -> B : a {tenant: t}]ff", "unknown"),
        ("max X.(['B' ? {a, V}]['B' ? {b, W}]ff and [_]X)", "unsafe"),
        ("max X.([A -> B : a(x)]ff or [A -> B : a(2)]ff and [_]X)", "unknown"),
        ("max X.([{label == \"b\"}]ff and [_]X)", "unsafe"),
    ];
    let mut seen = std::collections::BTreeMap::<&str, usize>::new();
    for text in systems {
        let system = system(text);
        for (formula, _) in &formulas {
            let property = property(formula);
            let answer = answer(&system, &property, 2);
            *seen.entry(answer.judgement.name()).or_default() += 1;
            for seed in 0..8_u32 {
                // Eight choices of the first values, each 1 or 2.
                let values = |count: &mut u32| {
                    *count += 1;
                    i64::from(1 + (seed >> (*count % 3) & 1))
                };
                match &answer.judgement {
                    Judgement::Violated(execution) => {
                        let steps: Vec<Act> = execution.steps.iter().map(act).collect();
                        let mut count = 0;
                        assert!(judge(&system, &property, &steps, &mut || values(&mut count)), "{formula}");
                    }
                    Judgement::Holds => executions(&system, 2, 6, |steps| {
                        let mut count = 0;
                        assert!(!judge(&system, &property, steps, &mut || values(&mut count)), "{formula}");
                        true
                    }),
                    Judgement::Unknown(_) => {}
                }
            }
        }
    }
    assert!(seen["holds"] >= 8 && seen["unsafe"] >= 8 && seen["unknown"] >= 8, "{seen:?}");
    for (formula, expected) in formulas {
        let answers = systems.map(|text| answer(&system(text), &property(formula), 2).judgement);
        assert!(answers.iter().any(|found| found.name() == expected), "{formula}: {answers:?}");
    }
}

/// What an assertion fixes is known.
#[test]
fn assertions_fix_values() {
    let text = "global protocol P(role A, role B) { a(x: int) from A to B where x == 3 && x > 0; }";
    let document = referee_syntax::scr::parse(text);
    let Content::Global(protocols) = &document.content else { panic!() };
    let global = protocols[0].global.as_ref().unwrap();
    let machines = global.vocabulary().roles().map(|role| global.project(role).unwrap());
    let system = System::new(Arc::clone(global.vocabulary()), machines.collect::<Vec<_>>());
    let name = |formula: &str| answer(&system, &property(formula), 2).judgement.name();
    assert_eq!(name("[A -> B : a(3)]ff"), "unsafe");
    assert_eq!(name("[A -> B : a(x: 4)]ff"), "holds");
    assert_eq!(name("[A -> B : a(x) when x < 3]ff"), "holds");
}

/// Where sends are blocked, a property is at most violated, never shown to hold.
#[test]
fn only_what_is_complete_holds() {
    let endless = system("A: rec x. B!a; x  B: rec y. A?a; y");
    // With its own `b` first; that no order of events violates it needs no bound.
    let begun = system("A: B!b; rec x. B!a; x  B: A?b; rec y. A?a; y");
    let after = property("max X.([A -> B : a]max Y.([A -> B : b]ff and [_]Y) and [_]X)");
    let found = answer(&begun, &after, 3);
    assert_eq!((found.k, &found.judgement), (3, &Judgement::Unknown(Doubt::Bound)));
    let found = answer(&endless, &after, 3);
    assert_eq!((found.k, &found.judgement), (0, &Judgement::Holds));
    // Two messages in a row, which needs room for two.
    let twice = property("max X.([A -> B : a]([A -> B : a]ff) and [_]X)");
    let receptions = property("max X.([A -> B : a]([A -> B : a]ff and ['B' ? a]tt) and ['B' ? a]X)");
    assert_eq!(answer(&endless, &twice, 1).judgement.name(), "unsafe");
    let found = answer(&endless, &receptions, 3);
    assert_eq!((found.k, found.judgement.name()), (2, "unsafe"));
}

/// What cannot be asked of a protocol says so.
#[test]
fn what_is_not_a_question() {
    let system = system("A: B!a; end  B: A?a; end");
    let code = |text: &str| match answer(&system, &property(text), 1).judgement {
        Judgement::Unknown(doubt) => doubt.code(),
        other => panic!("{other:?}"),
    };
    assert_eq!(code("property p { min X.(<A -> B : a>tt or <_>X) }"), "never-violated");
    assert_eq!(code("property p for each user { [A -> B : a]ff }"), "keys");
    let once = property("property p for each session { [A -> B : a]ff }");
    assert_eq!(answer(&system, &once, 1).judgement.name(), "unsafe");
}

/// A limit that was reached is the reason why there is no answer; a violation that was found before it is one.
#[test]
fn limits_are_told() {
    let system = generate::pipeline(5, 2);
    let asked = |text: &str, options: Options| {
        check_properties(&system, &[property(text)], None, &options, None, &mut ()).remove(0).judgement
    };
    let never = "[producer -> stage0 : a]max X.([stage4 -> consumer : b]ff and [producer -> _ : _]X and [stage0 -> _ : _]X \
                 and [stage1 -> _ : _]X and [stage2 -> _ : _]X and [stage3 -> _ : _]X)";
    let few = Options { max_states: 500, ..Options::default() };
    assert_eq!(asked(never, few), Judgement::Unknown(Doubt::Stopped(Stop::States)));
    let small = Options { max_memory: 50_000, ..Options::default() };
    assert_eq!(asked(never, small), Judgement::Unknown(Doubt::Stopped(Stop::Memory)));
    assert_eq!(asked("[_]ff", few).name(), "unsafe");
}
