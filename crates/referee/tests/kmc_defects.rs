//! Inputs on which KMC is wrong, crashes or says nothing useful, and what Referee answers: once in our own words,
//! always; once as they stand in the corpus, when it is there. The definitions that decide are in `docs/differences.md`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

use referee::check::{Options, Reduction, Verdict, check};
use referee::{Analysis, Content, Language, Severity, parse};
use referee_testkit::corpus::corpus_root;

/// What is answered: a verdict, or the codes of what is wrong with the text.
fn answer(text: &str, language: Language, reduction: Reduction) -> String {
    let analysis = Analysis::of(parse(text, language));
    if !analysis.is_well_formed() {
        let errors = analysis.diagnostics.iter().filter(|d| d.code.severity == Severity::Error);
        let mut codes: Vec<&str> = errors.map(|d| d.code.id).collect();
        codes.dedup();
        return codes.join(" ");
    }
    let Content::System(local) = &analysis.document.content else { panic!("not a system: {text}") };
    let options = Options { reduction, ..Options::default() };
    match check(local.system.as_ref().unwrap(), &options, None, &mut ()).verdict {
        Verdict::Safe { k, .. } => format!("safe {k}"),
        other => other.name().to_owned(),
    }
}

const SENDER: &str = ".outputs .state graph go 1 ! ping done .marking go .end";
const RECEIVER: &str = ".outputs .state graph go 0 ? ping done .marking go .end";

/// The probe, its language, our own twin of it, and what both must be answered.
const TYPES: [(&str, &str, &str); 21] = [
    // States are positions, not the text of the labels that lead to them.
    (
        "b01-merge-same-label-diff-peer",
        "P: {Q!m; Q!x; end, R!m; R!y; end} Q: P?m; P?x; end R: P?m; P?y; end",
        "unsafe",
    ),
    (
        "b02-merge-concat",
        "P: {Q!no; Q!one; end, Q!n; Q!o; Q!two; end} Q: {P?no; P?one; end, P?n; P?o; P?two; end}",
        "safe 1",
    ),
    ("b03-merge-case", "P: {Q!xY; Q!l; end, Q!xy; Q!r; end} Q: {P?xY; P?l; end, P?xy; P?r; end}", "safe 1"),
    (
        "b04-payload-merge",
        "P: {Q!m<n>; Q!l; end, Q!mn; Q!r; end} Q: {P?m<n>; P?l; end, P?mn; P?r; end}",
        "safe 1",
    ),
    ("b05-mergehide", "P: {Q!m; end, R!m; Q!n; end} Q: {P?m; end, P?n; end} R: P?m; end", "unsafe"),
    (
        "b06-unsound-concat",
        "P: {Q!no; Q!one; end, Q!n; Q!o; Q!two; end} Q: {P?no; P?two; end, P?n; P?o; P?one; end}",
        "unsafe",
    ),
    (
        "b07-unsound-peer",
        "P: {Q!m; R!w; end, R!m; Q!w; end} Q: {P?m; end, P?w; end} R: {P?m; end, P?w; end}",
        "safe 1",
    ),
    // A pending action is not ignored for ever, whatever the roles are called.
    (
        "b11-ignoring-false-alarm",
        "P: rec t. {Q!x; t, Q!y; t} Q: rec t. {P?x; t, P?y; t} R: S!once; end S: R?once; end",
        "safe 1",
    ),
    (
        "b12-ignoring-single",
        "P: rec t. Q!x; t Q: rec t. P?x; t R: S!once; S!once; end S: R?once; R?once; end",
        "safe 1",
    ),
    (
        "b13-ignoring-symmetric",
        "P: Q!once; end Q: P?once; end R: rec t. {S!x; t, S!y; t} S: rec t. {R?x; t, R?y; t}",
        "safe 1",
    ),
    // Payload types tell messages apart.
    ("b14-payload-sort", "P: {Q!m<int>; end, Q!m<bool>; end} Q: P?m<int>; end", "unsafe"),
    ("g12-payload", "P: Q!m<int>; end Q: P?m<bool>; end", "unsafe"),
    // What KMC accepts silently, or drops.
    ("g22-dup-participant", "P: Q!m; end P: Q!n; end Q: P?m; end", "RF0501"),
    ("g23-unbound-var", "P: Q!m; t Q: P?m; end", "RF0105"),
    ("g24-unguarded", "P: rec t. t Q: end", "RF0203"),
    ("g25-undeclared-participant-send", "P: S!m; end Q: end", "RF0502"),
    ("g26-undeclared-participant-recv", "P: S?m; end Q: end", "RF0502"),
    ("g27-self-send", "P: P!m; P?m; end Q: end", "RF0201"),
    ("g28-mixed", "P: {Q!m; Q?n; end, Q?n; Q!m; end} Q: {P!n; P?m; end, P?m; P!n; end}", "safe 1"),
    ("g30-branch-end", "P: {Q!m; end, end} Q: P?m; end", "RF0503"),
    ("g31-branch-var", "P: rec t. {Q!m; t, t} Q: rec t. P?m; t", "RF0503"),
];

const AUTOMATA: [(&str, &[&str], &str); 9] = [
    (
        "b06-unsound-concat-fsm",
        &[
            ".outputs .state graph s 1 ! no a a 1 ! one b s 1 ! n c c 1 ! o d d 1 ! two e .marking s .end",
            ".outputs .state graph s 0 ? no a a 0 ? two b s 0 ? n c c 0 ? o d d 0 ? one e .marking s .end",
        ],
        "unsafe",
    ),
    (
        "b07-fsm",
        &[
            ".outputs .state graph s 1 ! m a a 2 ! w b s 2 ! m c c 1 ! w d .marking s .end",
            ".outputs .state graph s 0 ? m a s 0 ? w b .marking s .end",
            ".outputs .state graph s 0 ? m a s 0 ? w b .marking s .end",
        ],
        "safe 1",
    ),
    // Nondeterminism that shows only later: "CSA: True", "1-MC: True".
    (
        "b08-nondet-deferred",
        &[
            ".outputs .state graph s 1 ! m a s 1 ! m b a 1 ! x c b 1 ! y c .marking s .end",
            ".outputs .state graph s 0 ? m a a 0 ? x b .marking s .end",
            ".outputs .state graph s 3 ! on a .marking s .end",
            ".outputs .state graph s 2 ? on a .marking s .end",
        ],
        "unsafe",
    ),
    // Mixed states, and two senders for one state: KMC crashes.
    (
        "b09-mixed-crash",
        &[
            ".outputs .state graph s 1 ! m a s 2 ? n b .marking s .end",
            ".outputs .state graph s 0 ? m a .marking s .end",
            ".outputs .state graph s 0 ! n a a 3 ! x b a 3 ! y b .marking s .end",
            ".outputs .state graph s 2 ? x a s 2 ? y a .marking s .end",
        ],
        "unsafe",
    ),
    (
        "b10-two-senders-crash",
        &[
            ".outputs .state graph s 2 ! m a a 3 ! x b .marking s .end",
            ".outputs .state graph s 2 ! n a .marking s .end",
            ".outputs .state graph s 0 ? m a s 1 ? n b .marking s .end",
            ".outputs .state graph s 0 ? x a .marking s .end",
        ],
        "unsafe",
    ),
    ("f06-unknown-partner", &[".outputs .state graph go 5 ! ping done .marking go .end", RECEIVER], "RF0502"),
    // Vacuously safe in KMC.
    (
        "f08-unknown-init",
        &[
            ".outputs .state graph go 1 ! ping done .marking gone .end",
            ".outputs .state graph go 0 ? ping done .marking gone .end",
        ],
        "RF0504",
    ),
    ("f10-no-transition", &[".outputs .state graph .marking go .end", RECEIVER], "unsafe"),
    ("f13-self", &[".outputs .state graph go 0 ! ping done .marking go .end", RECEIVER], "RF0201"),
];

/// Our own words first, then the corpus, with every reduction.
fn judge(name: &str, twin: &str, language: Language, expected: &str) {
    let probe = corpus_root().map(|root| root.join("kmc-probes").join(format!("{name}.txt")));
    let probe = probe.map(|path| std::fs::read_to_string(&path).unwrap());
    if probe.is_none() {
        println!("{name}: only our own text, no corpus beside the repository and REFEREE_CORPUS is not set");
    }
    for text in [Some(twin), probe.as_deref()].into_iter().flatten() {
        for reduction in [Reduction::Sound, Reduction::None] {
            assert_eq!(answer(text, language, reduction), expected, "{name}, {reduction:?}:\n{text}");
        }
    }
}

#[test]
fn session_types() {
    for (name, twin, expected) in TYPES {
        judge(name, twin, Language::Kmc, expected);
    }
}

#[test]
fn automata() {
    for (name, machines, expected) in AUTOMATA {
        judge(name, &machines.join(" "), Language::Fsm, expected);
    }
}

/// The twins are not wrong by accident: the plain pair is safe.
#[test]
fn a_plain_pair_is_safe() {
    assert_eq!(answer(&format!("{SENDER} {RECEIVER}"), Language::Fsm, Reduction::Sound), "safe 1");
}

/// Algorithm 1 as printed raises a false alarm in one order of roles, and it is not passed on as a verdict.
#[test]
fn false_alarms_are_named() {
    let answers = ["b11-ignoring-false-alarm", "b13-ignoring-symmetric"].map(|name| {
        let (_, twin, _) = TYPES.iter().find(|(probe, ..)| *probe == name).unwrap();
        answer(twin, Language::Kmc, Reduction::Paper)
    });
    assert!(
        answers.contains(&"unknown".to_owned()) && !answers.contains(&"unsafe".to_owned()),
        "{answers:?}"
    );
}
