//! FMSD'15: Theorem 1 (violation is the dual of satisfaction), Theorem 2 (violations stay), Lemmas 3 and 4 and Theorem 3
//! (the actors of Definition 7 flag exactly the violations, in every order of their steps), on the transcriptions.

use std::collections::BTreeSet;

use referee_reference::shml::monitor::{Step, failing, monitor, reachable, steps};
use referee_reference::shml::{Action, Formula, System, first_violation, satisfies, violates};
use referee_testkit::choices::{Choices as _, Random, law_seeds, law_size};
use referee_testkit::formulas::{atom, exactly, formula, formulas, input, relevant_trace, traces};
use referee_testkit::plain::{read_action, read_formula};

fn letters() -> [Action; 2] {
    [input("i", atom("a")), input("i", atom("b"))]
}

fn small_formulas(size: usize) -> Vec<Formula> {
    formulas(size + law_size(), &letters().map(|letter| exactly(&letter)))
}

/// All systems of two states over the two letters without τ, and random ones with τ.
fn systems() -> Vec<System> {
    let edges: Vec<(usize, Option<Action>, usize)> = (0..2)
        .flat_map(|from| letters().map(Some).map(|letter| (from, letter)))
        .flat_map(|(from, letter)| (0..2).map(move |to| (from, letter.clone(), to)))
        .collect();
    let mut all: Vec<System> = (0..1usize << edges.len())
        .map(|chosen| {
            let mut states = vec![Vec::new(); 2];
            for (bit, (from, letter, to)) in edges.iter().enumerate() {
                if chosen >> bit & 1 == 1 {
                    states[*from].push((letter.clone(), *to));
                }
            }
            System { states }
        })
        .collect();
    for seed in law_seeds(200) {
        let mut random = Random::new(seed);
        let mut states = vec![Vec::new(); 3];
        for _ in 0..5 {
            let letter =
                [Some(letters()[0].clone()), Some(letters()[1].clone()), None][random.choose(3)].clone();
            let (from, to) = (random.choose(3), random.choose(3));
            states[from].push((letter, to));
        }
        all.push(System { states });
    }
    all
}

/// Theorem 1: ∃s. A, s ⊨ᵥ φ iff not A ⊨ₛ φ. A shortest violating trace passes no pair of a state and a residual formula
/// twice; with at most three states and the few residuals of these formulas six events are enough.
#[test]
fn a_system_violates_a_formula_on_some_trace_unless_it_satisfies_it() {
    let traces = traces(6, &letters());
    let (mut violating, mut satisfying) = (0, 0);
    for system in systems() {
        // What a system cannot do violates nothing: leave such traces out early.
        let can: Vec<&Vec<Action>> = traces.iter().filter(|trace| can_do(&system, trace)).collect();
        for formula in small_formulas(3) {
            let violated = can.iter().any(|trace| violates(&system, trace, &formula));
            assert_eq!(violated, !satisfies(&system, &formula), "{formula}\n{system:?}");
            violating += usize::from(violated);
            satisfying += usize::from(!violated);
        }
    }
    assert!(violating > 500 && satisfying > 500, "{violating} violating, {satisfying} satisfying");
}

fn can_do(system: &System, trace: &[Action]) -> bool {
    let mut states = system.silently(0);
    for action in trace {
        states = states.iter().flat_map(|state| system.after(*state, action)).collect::<BTreeSet<_>>();
    }
    !states.is_empty()
}

/// Theorem 2: A, s ⊨ᵥ φ and s ≤ t imply A, t ⊨ᵥ φ, for every t that A can perform.
#[test]
fn a_violation_stays_a_violation() {
    let mut violated = 0;
    let mut check = |formula: &Formula, trace: &[Action]| {
        let system = System::of_traces(&[trace.to_vec()]);
        let verdicts: Vec<bool> =
            (0..=trace.len()).map(|length| violates(&system, &trace[..length], formula)).collect();
        assert!(verdicts.is_sorted(), "{formula} on {trace:?}: {verdicts:?}");
        violated += usize::from(verdicts.contains(&true));
    };
    for formula in small_formulas(6) {
        for trace in traces(3, &letters()) {
            check(&formula, &trace);
        }
    }
    for seed in law_seeds(1_000) {
        let mut random = Random::new(seed);
        let formula = formula(&mut random, 12).resolve();
        let trace = relevant_trace(&mut random, &formula, 8);
        check(&formula, &trace);
    }
    assert!(violated > 2_000, "{violated}");
}

/// Lemma 3: A, s ⊨ᵥ φ iff the monitor, given tr(s), can flag it. Lemma 4: if it can, then after any steps it still can.
/// Returns whether it can.
fn detects(formula: &Formula, trace: &[Action]) -> bool {
    let start = monitor(formula, trace);
    let all = reachable(&start);
    let failing = failing(&all);
    let detects = failing.contains(&start);
    assert!(!detects || failing.len() == all.len(), "{formula} on {trace:?}: some order of steps loses it");
    let system = System::of_traces(&[trace.to_vec()]);
    assert_eq!(detects, violates(&system, trace, formula), "{formula} on {trace:?}");
    detects
}

#[test]
fn the_actors_flag_exactly_the_violations_in_every_order() {
    let (mut flagged, mut quiet) = (0, 0);
    for formula in small_formulas(4) {
        for trace in traces(3, &letters()) {
            *(if detects(&formula, &trace) { &mut flagged } else { &mut quiet }) += 1;
        }
    }
    for seed in law_seeds(200) {
        let mut random = Random::new(seed);
        let formula = formula(&mut random, 6).resolve();
        let trace = relevant_trace(&mut random, &formula, 3);
        // The orders of steps are exponentially many in the actors that run at once.
        if conjunctions(&formula) <= 1 {
            *(if detects(&formula, &trace) { &mut flagged } else { &mut quiet }) += 1;
        }
    }
    assert!(flagged > 200 && quiet > 200, "{flagged} flagged, {quiet} not");
}

fn conjunctions(formula: &Formula) -> usize {
    match formula {
        Formula::And(left, right) => 1 + conjunctions(left) + conjunctions(right),
        Formula::Necessity(_, next) => conjunctions(next),
        // A loop may come round again within the trace.
        Formula::Max(_, body) => 2 * conjunctions(body),
        Formula::Ff | Formula::Tt | Formula::Variable(_) => 0,
    }
}

/// Theorem 3: whenever the system has done s beside the monitor, with any steps of the monitor in between, the monitor
/// is bound to flag a violation iff A, s ⊨ᵥ φ.
#[test]
fn beside_a_running_system_the_monitor_is_bound_to_flag_exactly_the_violations() {
    let mut flagged = 0;
    for formula in small_formulas(4) {
        for trace in traces(2, &letters()) {
            let violated = violates(&System::of_traces(std::slice::from_ref(&trace)), &trace, &formula);
            // All states of the monitor before the next action of the system; each action joins the tracer's mailbox.
            let mut now: BTreeSet<_> = reachable(&monitor(&formula, &[])).into_keys().collect();
            for action in &trace {
                let mut next = BTreeSet::new();
                for mut actors in now {
                    if let Some(tracer) = actors.get_mut(&Vec::new()) {
                        tracer.mailbox.push(action.clone());
                    }
                    next.extend(reachable(&actors).into_keys());
                }
                now = next;
            }
            for actors in now {
                let all = reachable(&actors);
                let bound_to_fail = failing(&all).len() == all.len();
                assert_eq!(bound_to_fail, violated, "{formula} on {trace:?}");
            }
            flagged += usize::from(violated);
        }
    }
    assert!(flagged > 100, "{flagged}");
}

/// Teeth: where a nested recursion takes the name of an outer one, `lookUp` of Definition 7 finds the wrong monitor, for the
/// environment of the caller is used: the actors miss a violation. Referee's variables are resolved, not looked up.
#[test]
fn definition_7_needs_distinct_variables() {
    let formula = |inner: &str, call: &str| {
        let text = format!("max Y.([a?x]ff and [p?x]max X.([b?x]Y and [c?x]max {inner}.([d?x]{call})))");
        read_formula(&text).map(|formula| formula.resolve())
    };
    let trace: Vec<Action> =
        ["p?x", "c?x", "d?x", "b?x", "a?x"].iter().filter_map(|action| read_action(action)).collect();
    let system = System::of_traces(std::slice::from_ref(&trace));
    for (inner, flags) in [("Z", true), ("Y", false)] {
        let formula = formula(inner, "X").unwrap();
        assert_eq!(first_violation(&system, &trace, &formula), Some(4));
        // One order of steps up to the end is enough: by Theorem 3 each is bound to flag the violation.
        let mut actors = monitor(&formula, &trace);
        let flagged = loop {
            match steps(&actors).into_iter().next() {
                Some(Step::Silent(after)) => actors = after,
                Some(Step::Fail) => break true,
                None => break false,
            }
        };
        assert_eq!(flagged, flags, "{formula}");
    }
}

/// Teeth for guardedness: unguarded recursion makes the actors turn round for ever; Definition 3 still has an answer.
#[test]
fn an_unguarded_formula_is_never_violated_through_its_loop() {
    let system = System::of_traces(&[Vec::new()]);
    let formula = |text| read_formula(text).unwrap();
    assert!(!violates(&system, &[], &formula("max X.(X)")));
    assert!(violates(&system, &[], &formula("max X.(X and ff)")));
    let start = monitor(&formula("max X.(X)"), &[]);
    let turns = reachable(&start).values().any(|(_, next)| next.contains(&start));
    assert!(turns || reachable(&start).values().all(|(_, next)| !next.is_empty()), "it never comes to rest");
}
