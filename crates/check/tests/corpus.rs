//! Agreement with KMC on its own files: counts and properties of Algorithm 1's reduction, of TS_k, least k.
//!
//! Where we differ on purpose is listed in [`NOT_SAFE`] and [`beyond_kmc`], with the definition that says so.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test that reads files"
)]

#[path = "support/replay.rs"]
mod support;

use referee_check::{
    Model, Options, Reason, Reduction, SafeGround, Semantics, Verdict, check, examine_bound,
};
use referee_testkit::corpus::{corpus_root, read_automata, read_types};
use referee_theory::System;
use serde_json::Value;

/// Files KMC calls k-MC although they are not communicating session automata (Remark 1 demands no mixed
/// states; in range mode KMC does not look): Theorem 5 says nothing about them.
const NOT_SAFE: [&str; 2] = ["nondir/notrecvbisim-result.txt", "nondir/send-bisim-result.txt"];

struct File {
    name: String,
    system: System,
    answers: Value,
}

/// The corpus, or `None` after saying that there is none.
fn corpus() -> Option<Vec<File>> {
    let Some(root) = corpus_root() else {
        println!("skipped: no corpus beside the repository and REFEREE_CORPUS is not set");
        return None;
    };
    let text = std::fs::read_to_string(root.join("kmc/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let mut files = Vec::new();
    for (name, answers) in expected["files"].as_object().unwrap() {
        let text = std::fs::read_to_string(root.join("kmc").join(name)).unwrap();
        let system = match answers["mode"].as_str().unwrap() {
            "kmc" => read_types(&text),
            "fsm" => read_automata(&text),
            _ => continue,
        };
        let system = system.unwrap_or_else(|error| panic!("{name}: {error}"));
        files.push(File { name: name.clone(), system, answers: answers.clone() });
    }
    assert!(files.len() > 100);
    Some(files)
}

fn bounds(file: &File) -> impl Iterator<Item = (u32, &Value)> {
    file.answers["k"].as_object().unwrap().iter().map(|(k, value)| (k.parse().unwrap(), value))
}

/// `expected` where KMC printed it.
fn same(file: &File, k: u32, what: &str, expected: &Value, found: Option<bool>) {
    if let Some(expected) = expected.as_bool() {
        assert_eq!(found, Some(expected), "{}: {what} at k = {k}", file.name);
    }
}

#[test]
fn algorithm_1_is_kmc() {
    let Some(files) = corpus() else { return };
    for file in &files {
        let model = Model::new(&file.system, Semantics::PeerToPeer);
        for (k, expected) in bounds(file).filter(|(_, value)| value["states"].is_u64()) {
            let found = examine_bound(&model, k, Reduction::Paper);
            assert_eq!(expected["states"], found.states, "{} states at k = {k}", file.name);
            assert_eq!(expected["transitions"], found.transitions, "{} transitions at k = {k}", file.name);
            same(file, k, "obi", &expected["obi"], found.obi);
            same(file, k, "sibi", &expected["sibi"], found.sibi);
            same(file, k, "cibi", &expected["cibi"], found.cibi);
            same(file, k, "exhaustive", &expected["exhaustive"], found.exhaustive);
            same(file, k, "safe", &expected["safe"], found.safe());
        }
    }
}

#[test]
fn the_sound_reduction_answers_as_the_unreduced_system() {
    let Some(files) = corpus() else { return };
    let mut reduced = 0;
    for file in &files {
        let model = Model::new(&file.system, Semantics::PeerToPeer);
        for (k, expected) in bounds(file) {
            let full = examine_bound(&model, k, Reduction::None);
            let unreduced = &expected["unreduced"];
            if unreduced.is_object() {
                assert_eq!(unreduced["ts_states"], full.states, "{} TS_{k}", file.name);
                assert_eq!(unreduced["ts_transitions"], full.transitions, "{} TS_{k}", file.name);
                same(file, k, "obi", &unreduced["OBI"], full.obi);
                same(file, k, "sibi", &unreduced["SIBI"], full.sibi);
                same(file, k, "exhaustive", &unreduced["exhaustive"], full.exhaustive);
                same(file, k, "safe", &unreduced["safe"], full.safe());
            }
            let report = check(&file.system, &Options::exactly(k), None, &mut ());
            let sound = &report.bounds[0];
            assert_eq!(sound.safe(), full.safe(), "{} k = {k}", file.name);
            // Where the premises cannot hold, because of the machines' shape or a race, they are not asked for.
            let answers =
                [(sound.exhaustive, full.exhaustive), (sound.sibi, full.sibi), (sound.cibi, full.cibi)];
            let agree = answers.iter().all(|(sound, full)| sound.is_none() || sound == full);
            assert!(agree, "{} k = {k}: {answers:?}", file.name);
            if full.cibi == Some(true) && report.shape.is_csa() {
                assert_eq!(sound.exhaustive, full.exhaustive, "{} k = {k}", file.name);
            }
            reduced += usize::from(sound.states < full.states);
        }
    }
    assert!(reduced > 200, "{reduced}");
}

#[test]
fn least_k_is_kmcs() {
    let Some(files) = corpus() else { return };
    for file in &files {
        let options = Options { max_k: 5, ..Options::default() };
        for reduction in [Reduction::Paper, Reduction::Sound] {
            let report = check(&file.system, &Options { reduction, ..options }, None, &mut ());
            let found = report.least_k().map_or(Value::Null, Value::from);
            if NOT_SAFE.contains(&file.name.as_str()) {
                let unsure = matches!(
                    report.verdict,
                    Verdict::Unsafe { .. }
                        | Verdict::Unknown { reason: Reason::NotSessionAutomata(_), .. }
                        | Verdict::Safe { ground: SafeGround::Complete, .. }
                );
                assert!(unsure, "{}: {:?}", file.name, report.verdict);
                continue;
            }
            assert_eq!(
                file.answers["least_k"], found,
                "{} with {reduction:?}: {:?}",
                file.name, report.verdict
            );
            // The reference searches once per configuration: only small systems are replayed in it.
            let small = report.bounds.iter().all(|bound| bound.states < 2_000);
            if let Some(witness) = report.verdict.witness().filter(|witness| small && witness.bound < 3) {
                support::replay(&file.system, witness);
            }
        }
    }
}
