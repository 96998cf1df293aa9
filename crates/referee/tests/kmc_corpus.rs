//! KMC's files as users give them to Referee: its parser, then the same numbers of configurations as KMC's.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

use referee::check::{Model, Reduction, Semantics, examine_bound};
use referee::{Analysis, Content, Language, parse};
use referee_testkit::corpus::corpus_root;

#[test]
fn states_and_transitions_are_kmcs() {
    let Some(root) = corpus_root() else {
        println!("skipped: no corpus beside the repository and REFEREE_CORPUS is not set");
        return;
    };
    let expected = std::fs::read_to_string(root.join("kmc/expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let mut compared = 0;
    for (name, answers) in expected["files"].as_object().unwrap() {
        let language = match answers["mode"].as_str().unwrap() {
            "kmc" => Language::Kmc,
            "fsm" => Language::Fsm,
            _ => continue,
        };
        let text = std::fs::read_to_string(root.join("kmc").join(name)).unwrap();
        let analysis = Analysis::of(parse(&text, language));
        let Content::System(local) = &analysis.document.content else { panic!("not a system: {name}") };
        let Some(system) = &local.system else { continue };
        let model = Model::new(system, Semantics::PeerToPeer);
        for (k, expected) in answers["k"].as_object().unwrap() {
            let bound = k.parse().unwrap();
            let mut compare = |reduction, states: &serde_json::Value, transitions: &serde_json::Value| {
                if states.is_u64() {
                    let found = examine_bound(&model, bound, reduction);
                    assert_eq!(
                        (states, transitions),
                        (&found.states.into(), &found.transitions.into()),
                        "{name} at k = {k}"
                    );
                    compared += 1;
                }
            };
            compare(Reduction::Paper, &expected["states"], &expected["transitions"]);
            let unreduced = &expected["unreduced"];
            compare(Reduction::None, &unreduced["ts_states"], &unreduced["ts_transitions"]);
        }
    }
    assert!(compared > 500, "{compared}");
}

/// Our own smallest case: two ends are two states.
#[test]
fn places_are_counted() {
    let text = "A: {B!x; end, B!y; end}  B: {A?x; end, A?y; end}";
    let analysis = Analysis::of(parse(text, Language::Kmc));
    let Content::System(local) = &analysis.document.content else { panic!("not a system") };
    let model = Model::new(local.system.as_ref().unwrap(), Semantics::PeerToPeer);
    let found = examine_bound(&model, 1, Reduction::None);
    assert_eq!((found.states, found.transitions), (5, 4));
}
