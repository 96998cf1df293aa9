//! Agreement with KMC on its own files.

use referee_check::{Model, Reduction, Semantics, examine_bound};
use referee_testkit::corpus::{corpus_root, read_automata, read_types};
use serde_json::Value;

#[test]
fn paper_reduction_counts_as_kmc_does() {
    let Some(root) = corpus_root() else {
        println!("skipped: no corpus");
        return;
    };
    let text = std::fs::read_to_string(root.join("kmc/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let mut bad = 0;
    let mut good = 0;
    for (file, answers) in expected["files"].as_object().unwrap() {
        let text = std::fs::read_to_string(root.join("kmc").join(file)).unwrap();
        let system = match answers["mode"].as_str().unwrap() {
            "kmc" => read_types(&text),
            "fsm" => read_automata(&text),
            _ => continue,
        };
        let system = match system {
            Ok(s) => s,
            Err(e) => {
                println!("{file}: {e}");
                bad += 1;
                continue;
            }
        };
        let model = Model::new(&system, Semantics::PeerToPeer);
        for (k, want) in answers["k"].as_object().unwrap() {
            if want["states"].is_null() {
                continue;
            }
            let bound: u32 = k.parse().unwrap();
            let got = examine_bound(&model, bound, Reduction::Paper);
            let pairs = [
                ("states", want["states"] == got.states),
                ("transitions", want["transitions"] == got.transitions),
                ("obi", want["obi"].is_null() || want["obi"].as_bool() == got.obi),
                ("sibi", want["sibi"].is_null() || want["sibi"].as_bool() == got.sibi),
                ("cibi", want["cibi"].is_null() || want["cibi"].as_bool() == got.cibi),
                ("exh", want["exhaustive"].as_bool() == got.exhaustive),
                ("safe", want["safe"].as_bool() == got.safe()),
            ];
            for (what, ok) in pairs {
                if ok {
                    good += 1;
                } else {
                    bad += 1;
                    println!("{file} k={k}: {what}: want {want} got {got:?}");
                }
            }
            let full = &want["unreduced"];
            if full.is_object() {
                for reduction in [Reduction::None, Reduction::Sound] {
                let got = examine_bound(&model, bound, reduction);
                let none = reduction == Reduction::None;
                let pairs = [
                    ("states", !none || full["ts_states"] == got.states),
                    ("transitions", !none || full["ts_transitions"] == got.transitions),
                    ("obi", !none || full["OBI"].is_null() || full["OBI"].as_bool() == got.obi),
                    ("sibi", full["SIBI"].is_null() || full["SIBI"].as_bool() == got.sibi),
                    ("exh", full["exhaustive"].as_bool() == got.exhaustive),
                    ("safe", full["safe"].as_bool() == got.safe()),
                ];
                for (what, ok) in pairs {
                    if ok {
                        good += 1;
                    } else {
                        bad += 1;
                        println!("{file} k={k} {reduction:?}: {what}: want {full} got {got:?}");
                    }
                }
                }
            }
        }
    }
    println!("{good} good {bad} bad");
    assert_eq!(bad, 0);
}
