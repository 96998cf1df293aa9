//! What properties mean: read from text, they give the verdicts of Definition 3 of FMSD'15, at the same event; the
//! satisfactions are those of the dual formula; a property gives one kind of verdict at most. And the corpus.

use std::sync::Arc;

use referee_reference::property::first_verdict;
use referee_reference::shml::{Action, Formula, System, first_violation};
use referee_syntax::hml::{OwnedEvent, action};
use referee_syntax::{Content, Language, parse};
use referee_testkit::choices::{Random, law_seeds};
use referee_testkit::formulas::{atom, cases, exactly, formula, formulas, input, relevant_trace, traces};
use referee_testkit::plain::{read_action, read_formula};
use referee_theory::property::{EventView, Polarity, Property};

fn property(text: &str) -> Arc<Property> {
    let document = parse(text, Language::Hml);
    assert!(document.is_usable(), "{text}: {:?}", document.diagnostics);
    let Content::Properties(file) = document.content else { panic!("{text}") };
    Arc::clone(&file.properties[0])
}

fn events(trace: &[impl ToString]) -> Vec<OwnedEvent> {
    trace.iter().map(|text| action(&text.to_string()).unwrap()).collect()
}

fn first(property: &Property, polarity: Polarity, events: &[OwnedEvent]) -> Option<i64> {
    let views: Vec<EventView<'_>> = events.iter().map(OwnedEvent::view).collect();
    first_verdict(property, polarity, &[], &views)
}

/// The dual of a formula in the plain form.
fn dual(text: &str) -> String {
    let swapped = text.replace('[', "<").replace(']', ">").replace("max", "min").replace("and", "or");
    swapped.replace("tt", "t!").replace("ff", "tt").replace("t!", "ff")
}

/// Compares the product's reading of `formula` with Definition 3; says whether it was violated.
fn compare(formula: &Formula, trace: &[Action], with_dual: bool) -> bool {
    let text = formula.to_string();
    let property = property(&text);
    let events = events(trace);
    let system = System::of_traces(&[trace.to_vec()]);
    let expected = first_violation(&system, trace, &formula.resolve());
    assert_eq!(first(&property, Polarity::Violation, &events), expected, "{text} on {trace:?}");
    if expected.is_some() {
        assert_eq!(property.polarity(), Some(Polarity::Violation), "{text}");
    }
    if with_dual {
        let dual = self::property(&dual(&text));
        assert_eq!(first(&dual, Polarity::Satisfaction, &events), expected, "dual of {text} on {trace:?}");
        assert_eq!(first(&dual, Polarity::Violation, &events), None, "dual of {text}");
    }
    expected.is_some()
}

#[test]
fn every_small_formula_means_what_definition_3_says_and_its_dual_the_dual() {
    let letters = [input("i", atom("x")), input("i", atom("y"))];
    let mut violated = 0;
    for formula in formulas(6, &letters.clone().map(|letter| exactly(&letter))) {
        for trace in traces(3, &letters) {
            violated += usize::from(compare(&formula, &trace, true));
        }
    }
    assert!(violated > 2_000, "{violated}");
}

#[test]
fn random_formulas_with_data_mean_what_definition_3_says() {
    let mut violated = 0;
    for seed in law_seeds(1_500) {
        let mut random = Random::new(seed);
        let formula = formula(&mut random, 12);
        let trace = relevant_trace(&mut random, &formula, 8);
        violated += usize::from(compare(&formula, &trace, false));
    }
    assert!(violated > 300, "{violated}");
}

#[test]
fn the_corpus_passes() {
    let Some(cases) = cases() else {
        eprintln!("skipped: there is no corpus");
        return;
    };
    for case in &cases {
        let formula = read_formula(&case.formula).unwrap().resolve();
        let actions = |texts: &[String]| -> Vec<Action> {
            texts.iter().map(|text| read_action(text).unwrap()).collect()
        };
        let trace = actions(&case.trace);
        let system = match &case.system_traces {
            Some(traces) => System::of_traces(&traces.iter().map(|trace| actions(trace)).collect::<Vec<_>>()),
            None => System::of_traces(std::slice::from_ref(&trace)),
        };
        assert_eq!(first_violation(&system, &trace, &formula), case.first_violation, "{}", case.id);
        // What the product observes has happened, so the system could do it.
        if case.system_traces.is_none() {
            let found = first(&property(&case.formula), Polarity::Violation, &events(&case.trace));
            assert_eq!(found, case.first_violation, "{}", case.id);
        }
    }
    assert!(cases.len() >= 70, "{} cases", cases.len());
}

/// A formula gives violations or satisfactions, never both, whatever the trace.
#[test]
fn no_formula_gives_both_kinds_of_verdict() {
    let letters = [input("i", atom("x")), input("i", atom("y"))];
    let mixed = [
        "[i?x]ff and <i?y>tt",
        "[i?x]ff or <i?y>tt",
        "<i?x>([i?y]ff or tt)",
        "[i?x](<i?y>tt and ff)",
        "max X.([i?x]X and <i?y>tt) or ff",
        "min X.(<i?x>X or [i?y]ff) and tt",
        "[i?x]tt",
        "<i?x>ff",
        "(tt and [i?x]ff) or (ff or <i?y>tt)",
    ];
    let mut verdicts = 0;
    for text in mixed {
        let property = property(text);
        let mut seen = Vec::new();
        for trace in traces(4, &letters) {
            let events = events(&trace);
            for polarity in [Polarity::Violation, Polarity::Satisfaction] {
                if first(&property, polarity, &events).is_some() && !seen.contains(&polarity) {
                    seen.push(polarity);
                }
            }
        }
        assert!(seen.len() <= 1, "{text}: {seen:?}");
        assert_eq!(property.polarity().as_slice(), &seen[..], "{text}");
        verdicts += seen.len();
    }
    assert!(verdicts >= 5, "{verdicts}");
}

/// detectEr's `and` takes the first branch that matches and forgets the others.
#[test]
fn overlapping_branches_are_all_followed() {
    let text = "with m:f(_) check [{_ ? go}]tt and [{_ ? go}][{_ ? stop}]ff.";
    let events = events(&["p?go", "p?stop"]);
    assert_eq!(first(&property(text), Polarity::Violation, &events), Some(1));
}

/// An event that one branch does not expect ends that branch alone.
#[test]
fn an_unexpected_event_ends_one_branch_and_not_the_others() {
    let text = "max X.([p?a]X and [p?_]X and [p?bad]ff)";
    assert_eq!(first(&property(text), Polarity::Violation, &events(&["p?c", "p?c", "p?bad"])), Some(2));
    // With nothing left that could be violated, it is not violated by Definition 3 either.
    let text = "max X.([p?a]X and [p?bad]ff)";
    assert_eq!(first(&property(text), Polarity::Violation, &events(&["p?c", "p?bad"])), None);
}

/// `max(X. X)` makes detectEr's compiler hang.
#[test]
fn an_unguarded_formula_is_refused_at_once() {
    for text in ["with m:f(_) check max X.(X).", "with m:f(_) monitor max(X. X)."] {
        let codes: Vec<&str> = parse(text, Language::Hml).diagnostics.iter().map(|d| d.code.id).collect();
        assert_eq!(codes, ["RF0801"], "{text}");
    }
}

/// In detectEr's files an inner variable hides an outer one; in Referee's it is compared with it.
#[test]
fn a_bound_variable_tests_except_in_detecters_files() {
    let events = events(&["p?1", "p?2"]);
    let native = property("[P?V][P?V]ff");
    assert_eq!(first(&native, Polarity::Violation, &events), None);
    let theirs = property("with m:f(_) check [{P ? V}][{P ? V}]ff.");
    assert_eq!(first(&theirs, Polarity::Violation, &events), Some(1));
}
