//! What is accepted and what is refused among the small inputs that probe KMC's grammar and its defects.

use referee_syntax::{Content, Language, Severity};

use crate::support::{corpus, parse, read, said};

/// Probe, language, and the codes of all errors and warnings in the order of the text.
const PROBES: &[(&str, Language, &[&str])] = &[
    // Session types. KMC refuses g01, g02, g04 to g11, g13 and g18 for reasons of its lexer alone.
    ("g01-space-before-colon", Language::Kmc, &[]),
    ("g02-space-around-bang", Language::Kmc, &[]),
    ("g03-space-after-bang", Language::Kmc, &[]),
    ("g04-var-r", Language::Kmc, &[]),
    ("g05-var-e", Language::Kmc, &[]),
    ("g06-var-endx", Language::Kmc, &[]),
    ("g07-lower-participant", Language::Kmc, &[]),
    ("g08-digit-participant", Language::Kmc, &[]),
    ("g09-upper-label", Language::Kmc, &[]),
    ("g10-underscore-label", Language::Kmc, &[]),
    ("g11-label-end", Language::Kmc, &[]),
    ("g12-payload", Language::Kmc, &[]),
    ("g13-payload-upper", Language::Kmc, &[]),
    ("g14-payload-parens", Language::Kmc, &["RF0004", "RF0004"]),
    ("g15-empty", Language::Kmc, &["RF0004"]),
    ("g16-missing-final-end", Language::Kmc, &["RF0004"]),
    ("g17-block-comment", Language::Kmc, &[]),
    ("g18-comment-after-comma", Language::Kmc, &[]),
    ("g19-comment-before-comma", Language::Kmc, &[]),
    ("g20-trailing-comma", Language::Kmc, &["RF0004"]),
    ("g21-choice-prefix", Language::Kmc, &["RF0004"]),
    ("g22-dup-participant", Language::Kmc, &["RF0501"]),
    ("g23-unbound-var", Language::Kmc, &["RF0105"]),
    ("g24-unguarded", Language::Kmc, &["RF0203"]),
    ("g25-undeclared-participant-send", Language::Kmc, &["RF0502"]),
    ("g26-undeclared-participant-recv", Language::Kmc, &["RF0502"]),
    ("g27-self-send", Language::Kmc, &["RF0201", "RF0201"]),
    ("g28-mixed", Language::Kmc, &["RF0507", "RF0507"]),
    ("g29-nondet", Language::Kmc, &["RF0508"]),
    ("g30-branch-end", Language::Kmc, &["RF0503"]),
    ("g31-branch-var", Language::Kmc, &["RF0503"]),
    ("g32-nested-choice-braces", Language::Kmc, &[]),
    ("g33-singleton-choice", Language::Kmc, &[]),
    ("g34-all-end", Language::Kmc, &[]),
    ("g35-parens-rec", Language::Kmc, &["RF0004"]),
    ("g36-mu", Language::Kmc, &["RF0004"]),
    ("g37-recx-nospace", Language::Kmc, &["RF0509"]),
    ("g38-tabs-crlf", Language::Kmc, &[]),
    ("g39-nested-comment", Language::Kmc, &[]),
    ("g40-choice-single-end-semi", Language::Kmc, &["RF0004"]),
    // Automata.
    ("f01-ok", Language::Fsm, &[]),
    ("f02-two-spaces", Language::Fsm, &[]),
    ("f03-outputs-names", Language::Fsm, &["RF0004", "RF0004"]),
    ("f04-nospace", Language::Fsm, &[]),
    ("f05-underscore", Language::Fsm, &[]),
    ("f06-unknown-partner", Language::Fsm, &["RF0502"]),
    ("f07-named-partner", Language::Fsm, &["RF0502"]),
    ("f08-unknown-init", Language::Fsm, &["RF0504", "RF0504"]),
    ("f09-no-marking", Language::Fsm, &["RF0505"]),
    ("f10-no-transition", Language::Fsm, &["RF0510"]),
    ("f11-payload", Language::Fsm, &[]),
    ("f12-label-graph", Language::Fsm, &[]),
    ("f13-self", Language::Fsm, &["RF0201"]),
    ("f14-comments", Language::Fsm, &[]),
    ("f15-named", Language::Fsm, &["RF0004", "RF0004"]),
    ("f16-inputs", Language::Fsm, &["RF0004", "RF0004"]),
    ("f17-two-per-line", Language::Fsm, &[]),
    ("f18-hash-comment", Language::Fsm, &["RF0001", "RF0001"]),
    ("f19-tau", Language::Fsm, &["RF0506"]),
    ("f20-leading-zero", Language::Fsm, &["RF0502"]),
    ("f21-braces-marking", Language::Fsm, &["RF0004", "RF0004"]),
    // KMC's defects: the texts are in order, its answers are not.
    ("b01-merge-same-label-diff-peer", Language::Kmc, &[]),
    ("b02-merge-concat", Language::Kmc, &[]),
    ("b03-merge-case", Language::Kmc, &[]),
    ("b04-payload-merge", Language::Kmc, &[]),
    ("b05-mergehide", Language::Kmc, &[]),
    ("b06-unsound-concat", Language::Kmc, &[]),
    ("b06-unsound-concat-fsm", Language::Fsm, &[]),
    ("b07-unsound-peer", Language::Kmc, &[]),
    ("b07-fsm", Language::Fsm, &[]),
    ("b08-nondet-deferred", Language::Fsm, &["RF0508"]),
    ("b09-mixed-crash", Language::Fsm, &["RF0507"]),
    ("b10-two-senders-crash", Language::Fsm, &[]),
    ("b11-ignoring-false-alarm", Language::Kmc, &[]),
    ("b12-ignoring-single", Language::Kmc, &[]),
    ("b13-ignoring-symmetric", Language::Kmc, &[]),
    ("b14-payload-sort", Language::Kmc, &["RF0508"]),
    ("sndprojnocommute2-res-faithful-fsm", Language::Fsm, &[]),
];

#[test]
fn every_probe_is_judged_as_expected() {
    let Some(corpus) = corpus() else { return };
    let mut wrong = Vec::new();
    for (name, language, expected) in PROBES {
        let text = read(&corpus.join("kmc-probes").join(format!("{name}.txt")));
        let document = parse(*language, &text).expect("one of our languages");
        let found: Vec<&str> = document.diagnostics.iter().map(|d| d.code.id).collect();
        if found != *expected {
            wrong.push(format!("{name}: expected {expected:?}\n{}", said(&document)));
        }
        let Content::System(content) = &document.content else { panic!("{name} is a system") };
        assert_eq!(content.system.is_some(), document.is_usable(), "{name}");
        let severe = document.diagnostics.iter().any(|d| d.code.severity == Severity::Error);
        assert_eq!(severe, !document.is_usable(), "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_probe_is_forgotten() {
    let Some(corpus) = corpus() else { return };
    for (path, _) in crate::support::files(&corpus.join("kmc-probes"), "txt") {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let known = name == "res" || PROBES.iter().any(|(probe, ..)| *probe == name);
        assert!(known, "{name} is not in the table");
    }
}

#[test]
fn the_language_of_a_text_file_is_told_by_its_content() {
    let Some(corpus) = corpus() else { return };
    for (name, language, _) in PROBES {
        // Neither is recognisable: one is empty, the other begins like a session type.
        if matches!(*name, "g15-empty" | "f15-named") {
            continue;
        }
        let text = read(&corpus.join("kmc-probes").join(format!("{name}.txt")));
        assert_eq!(Language::detect(&format!("{name}.txt"), &text), Some(*language), "{name}");
    }
}
