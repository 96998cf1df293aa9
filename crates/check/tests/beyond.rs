//! What lies outside the theorems: machines that are not session automata, mailboxes, limits; and KMC's
//! defects, each with the definition that proves us right.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

#[path = "support/replay.rs"]
mod support;

use std::sync::atomic::AtomicBool;

use referee_check::{
    Completeness, Defect, Ground, Model, Observer, Options, Progress, Property, Reason, Reduction, Report,
    SafeGround, Semantics, Stop, Verdict, Violation, check, examine_bound, generate,
};
use referee_testkit::corpus::{read_automata, read_types};
use referee_theory::System;

fn types(text: &str) -> System {
    read_types(text).unwrap()
}

fn run(system: &System, options: &Options) -> Report {
    let report = check(system, options, None, &mut ());
    let plain = options.semantics == Semantics::PeerToPeer;
    if let Some(witness) = report.verdict.witness().filter(|_| plain) {
        support::replay(system, witness);
    }
    report
}

/// Remark 1: an action that leads to two states is not a session automaton's. KMC: "CSA: True", "1-MC: True". Only
/// complete exploration shows such a system to be safe.
#[test]
fn nondeterminism_is_safe_only_where_all_was_explored() {
    let system = types("A: {B!a; B!b; end, B!a; B!c; end}  B: A?a; A?b; end");
    let report = run(&system, &Options::default());
    assert!(matches!(report.shape.defects[0], Defect::Nondeterministic { .. }));
    assert!(matches!(report.verdict, Verdict::Unsafe { .. }), "{:?}", report.verdict);
    let harmless = types("A: {B!a; B!b; end, B!a; B!c; end}  B: A?a; {A?b; end, A?c; end}");
    let report = run(&harmless, &Options::default());
    assert_eq!(report.verdict, Verdict::Safe { k: 2, ground: SafeGround::Complete });
    assert_eq!(report.complete, Some(Completeness { k: 2, largest_queue: 2 }));
    let endless = types("A: rec x. {B!a; B!b; x, B!a; B!c; x}  B: rec y. A?a; {A?b; y, A?c; y}");
    let report = run(&endless, &Options::default());
    let Verdict::Unknown { reason: Reason::NotSessionAutomata(_), explanation, .. } = &report.verdict else {
        panic!("{:?}", report.verdict)
    };
    let expected = "the theorems do not apply, because state `q0` of `A` has two transitions for `B!a`";
    assert!(explanation.starts_with(expected), "{explanation}");
}

/// Remark 1: mixed states.
#[test]
fn mixed_states_are_safe_only_where_all_was_explored() {
    let system = types("A: {B!a; B?b; end, B?b; B!a; end}  B: {A!b; A?a; end, A?a; A!b; end}");
    let report = run(&system, &Options::default());
    assert_eq!(report.verdict, Verdict::Safe { k: 1, ground: SafeGround::Complete });
    let endless = types("A: rec x. {B!a; x, B?b; x}  B: rec y. {A!b; y, A?a; y}");
    let report = run(&endless, &Options::default());
    let Verdict::Unknown { reason: Reason::NotSessionAutomata(_), explanation, .. } = &report.verdict else {
        panic!("{:?}", report.verdict)
    };
    assert!(
        explanation.starts_with("the theorems do not apply, because state `q0` of `A` mixes"),
        "{explanation}"
    );
    let stuck = types("A: {B!a; end, B?b; end}  B: A?c; end");
    assert!(matches!(run(&stuck, &Options::default()).verdict, Verdict::Unsafe { .. }));
}

/// Simultaneous close of TCP, and SIP's CANCEL that crosses the answer: both sides may speak first.
#[test]
fn messages_that_cross_are_answered() {
    let closing = |name: &str, peer: &str| {
        let (p, fin) = (peer, format!("{peer}!fin; {{{peer}?ack; {peer}?fin; {peer}!ack; end"));
        format!(
            "{name}: {{{fin}, {p}?fin; {p}!ack; {p}?ack; end}}, {p}?fin; {p}!ack; {p}!fin; {p}?ack; end}} "
        )
    };
    let report = run(&types(&(closing("A", "B") + &closing("B", "A"))), &Options::default());
    assert!(
        matches!(report.verdict, Verdict::Safe { ground: SafeGround::Complete, .. }),
        "{:?}",
        report.verdict
    );
    let cancel = "U: S!invite; {S?ok; S!ack; end, S!cancel; {S?okCancel; S?terminated; S!ack; end, S?ok; S!ack; S?okCancel; end}}
        S: U?invite; {U!ok; {U?ack; end, U?cancel; U!okCancel; U?ack; end}, U?cancel; U!okCancel; U!terminated; U?ack; end}";
    let report = run(&types(cancel), &Options::default());
    assert_eq!(report.verdict.name(), "safe", "{:?}", report.verdict);
    assert_eq!(report.complete.map(|found| found.largest_queue), Some(2));
}

/// KMC's sets are runs of one subject in its list of enabled actions, by channel. Here those of R are apart, for M's
/// message to C stands between them: KMC fires one of them only, sees no race, and says "1-MC: True". But R may take
/// `z` first, and then never takes `a`. The counts are the tool's; Definition 15, by which both are in one set, decides.
#[test]
fn a_race_that_kmc_does_not_see_is_no_ground_for_safety() {
    let system = types("A: R!a; end  C: M?c; end  M: C!c; end  R: {A?a; Z?z; end, Z?z; end}  Z: R!z; end");
    let paper = Options { reduction: Reduction::Paper, ..Options::exactly(1) };
    let report = run(&system, &paper);
    let bound = &report.bounds[0];
    assert_eq!((bound.states, bound.transitions), (7, 6));
    assert_eq!((bound.sibi, bound.exhaustive, bound.safe()), (Some(true), Some(true), Some(true)));
    assert!(matches!(report.verdict, Verdict::Unsafe { .. }), "{:?}", report.verdict);
    // The same with a continuation that makes either order good: safe, but only because all was explored.
    let good = types("A: R!a; end  C: M?c; end  M: C!c; end  R: {A?a; Z?z; end, Z?z; A?a; end}  Z: R!z; end");
    let report = run(&good, &paper);
    assert_eq!(report.verdict, Verdict::Safe { k: 1, ground: SafeGround::Complete });
    // And with a loop beside it, so that not all can be explored: not shown to be safe.
    let endless = types(
        "A: R!a; end  C: rec x. M?c; x  M: rec x. C!c; x  R: {A?a; Z?z; end, Z?z; A?a; end}  Z: R!z; end",
    );
    let report = run(&endless, &paper);
    let Verdict::Unknown { reason, .. } = &report.verdict else { panic!("{:?}", report.verdict) };
    assert_eq!(reason.code(), "cibi");
}

/// A mixed state has two sets as well, one of sends and one of receptions.
#[test]
fn mixed_states_have_the_sets_of_kmc() {
    let machine = |transitions: &str| format!(".outputs\n.state graph\n{transitions}\n.marking q0\n.end\n");
    let count = |machines: [&str; 2]| {
        let system = read_automata(&machines.map(machine).join("\n")).unwrap();
        let report = examine_bound(&Model::new(&system, Semantics::PeerToPeer), 1, Reduction::Paper);
        (report.states, report.transitions, report.exhaustive, report.safe())
    };
    let one = count(["q0 1 ! a q0 q0 1 ? b q0", "q0 0 ! b q0 q0 0 ? a q0"]);
    assert_eq!(one, (4, 4, Some(false), Some(true)));
    let two = count(["q0 1 ! a q1 q0 1 ? b q1 q1 1 ! a q0", "q0 0 ! b q1 q0 0 ? a q0 q1 0 ? a q0"]);
    assert_eq!(two, (9, 9, Some(false), Some(true)));
}

/// KMC's front end merges states whose paths concatenate to the same text (b01–b07); a state is a position.
#[test]
fn states_are_positions() {
    // After `ab` A sends `c`, after `a` then `b` it ends: with merged states `c` would be possible in both.
    let system = types("A: {B!ab; B!c; end, B!a; B!b; end}  B: {A?ab; A?c; end, A?a; A?b; end}");
    assert!(matches!(run(&system, &Options::default()).verdict, Verdict::Safe { k: 1, .. }));
    let orphan = types("A: {B!ab; B!c; end, B!a; B!b; B!c; end}  B: {A?ab; A?c; end, A?a; A?b; end}");
    let Verdict::Unsafe { witness, .. } = run(&orphan, &Options::default()).verdict else { panic!() };
    assert_eq!(witness.property, Property::EventualReception);
}

/// The explanation the issue asks for: who waits for what, who has ended, what is left.
#[test]
fn the_explanation_names_everything() {
    let system = types("C: S!req; end  S: C?req; C!ko; C?ack; end");
    let Verdict::Unsafe { witness, ground, .. } = run(&system, &Options::default()).verdict else { panic!() };
    assert_eq!(ground, Ground::Premises(witness_premises(&system)));
    let [first, ..] = &witness.steps[..] else { panic!() };
    assert_eq!(system.vocabulary().label_of(first.message), "req");
    assert!(witness.shortest);
    let late = types("C: S!req; end  S: C?req; C?ack; end");
    let Verdict::Unsafe { witness, .. } = run(&late, &Options::default()).verdict else { panic!() };
    assert_eq!(witness.explanation, "`S` waits for `ack` from `C`, which has ended");
}

/// Every kind of explanation, as people read it.
#[test]
fn explanations_are_plain() {
    let said = |text: &str| match run(&types(text), &Options::default()).verdict {
        Verdict::Unsafe { witness, .. } => witness.explanation,
        Verdict::Unknown { explanation, .. } => explanation,
        Verdict::Safe { .. } => panic!("{text} is safe"),
    };
    assert_eq!(
        said("S: {Q!a; end, Q!b; end} Q: {S?a; end, S?b; R!c; end} R: Q?c; end"),
        "`R` waits for `c` from `Q`, which has ended"
    );
    assert_eq!(
        said("A: B!y; end  B: A?x; end"),
        "`B` waits for `x` from `A`, but the next message from `A` is `y`; queue A→B holds `y`"
    );
    assert_eq!(
        said("A: rec x. C!a; x B: rec y. C!b; y C: rec z. {A?a; z, B?b; z}"),
        "with 1 message per channel `C` can receive `a` from `A`, but `b` from `B` may come instead, and `C` does not decide which is first; queue A→C holds `a`; queue B→C holds `b`. \
         No larger k can change that. `A` can send `a` to `C` for ever before `C` reads it: no bound leaves room for all \
         of it"
    );
    let unknown = said("P: rec x. Q!a; Q!a; Q?b; x  Q: rec y. P!b; P?a; y");
    assert!(
        unknown.starts_with(
            "with 4 messages per channel `Q` wants to send `b` to `P`, but that channel is \
             full with 4 messages and nobody can make room before `Q` moves; queue"
        ),
        "{unknown}"
    );
}

fn witness_premises(system: &System) -> referee_check::Premises {
    match check(system, &Options::default(), None, &mut ()).verdict {
        Verdict::Unsafe { ground: Ground::Premises(premises), .. } => premises,
        other => panic!("{other:?}"),
    }
}

/// CAV'19, Section 7: safe with a channel per pair, unsafe with a mailbox, since `r` may get `b` first.
#[test]
fn mailboxes_differ() {
    let system = types("P: R!a; end  Q: R!b; end  R: P?a; Q?b; end");
    assert!(matches!(run(&system, &Options::default()).verdict, Verdict::Safe { .. }));
    let mailbox = Options { semantics: Semantics::Mailbox, ..Options::default() };
    let report = run(&system, &Options { min_k: 2, ..mailbox });
    let Verdict::Unsafe { witness, ground, .. } = &report.verdict else { panic!("{:?}", report.verdict) };
    assert_ne!(*ground, Ground::Premises(witness_premises(&types("A: end B: A?x; end"))));
    let says = "`R` waits for `a` from `P`, but the next message in its mailbox is `b` from `Q`; \
                the mailbox of `R` holds `b` from `Q`";
    assert_eq!(witness.explanation, says);
    let fine = types("A: B!a; end  B: A?a; end");
    let report = run(&fine, &mailbox);
    assert_eq!(report.verdict, Verdict::Safe { k: 1, ground: SafeGround::Complete });
    let endless = types("A: rec x. B!a; x  B: rec y. A?a; y");
    let report = run(&endless, &mailbox);
    assert!(matches!(report.verdict, Verdict::Unknown { reason: Reason::Mailbox, .. }));
}

/// Two-phase commit with votes in any order: racy, so never k-MC, and finite: the same configurations at every k.
#[test]
fn votes_in_any_order_are_answered() {
    let voter = |name: &str| {
        format!("{name}: C?prepare; {{C!yes; {{C?commit; end, C?abort; end}}, C!no; C?abort; end}}")
    };
    let decide = |p: &str, q: &str| {
        format!(
            "{p}?yes; {{{q}?yes; P!commit; Q!commit; end, {q}?no; P!abort; Q!abort; end}}, \
                 {p}?no; {{{q}?yes; P!abort; Q!abort; end, {q}?no; P!abort; Q!abort; end}}"
        )
    };
    let text = format!(
        "C: P!prepare; Q!prepare; {{{}, {}}}  {}  {}",
        decide("P", "Q"),
        decide("Q", "P"),
        voter("P"),
        voter("Q")
    );
    let report = run(&types(&text), &Options::default());
    assert_eq!(report.verdict, Verdict::Safe { k: 1, ground: SafeGround::Complete }, "{:?}", report.bounds);
    assert_eq!(report.complete, Some(Completeness { k: 1, largest_queue: 1 }));
    let counts = (1..4)
        .map(|k| examine_bound(&Model::new(&types(&text), Semantics::PeerToPeer), k, Reduction::None).states);
    let counts: Vec<usize> = counts.collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    let polite = run(&generate::philosophers(4, true), &Options::default());
    assert!(
        matches!(polite.verdict, Verdict::Safe { ground: SafeGround::Complete, .. }),
        "{:?}",
        polite.verdict
    );
}

/// Example 4, (Mp, Mq) of Figure 3: safe, but no bound shows it, and no bound disproves it.
#[test]
fn a_failure_of_the_bound_is_not_a_violation() {
    let system = types("P: rec x. Q!a; Q!a; Q?b; x   Q: rec y. P!b; P?a; y");
    let report = run(&system, &Options::default());
    assert!(report.bounds.iter().all(|bound| bound.exhaustive == Some(false)));
    assert!(
        matches!(report.verdict, Verdict::Unknown { reason: Reason::Premise(_), .. }),
        "{:?}",
        report.verdict
    );
}

#[test]
fn limits_stop_and_say_so() {
    let system = generate::pipeline(6, 2);
    let few = Options { max_states: 1_000, reduction: Reduction::None, ..Options::default() };
    let report = check(&system, &few, None, &mut ());
    assert!(matches!(
        report.verdict,
        Verdict::Unknown { reason: Reason::Stopped { stop: Stop::States, k: 1 }, .. }
    ));
    assert!(report.bounds[0].states >= 1_000 && report.bounds[0].safe().is_none());
    assert_eq!(report.limit, Some((Stop::States, 1)));
    let small = Options { max_memory: 100_000, reduction: Reduction::None, ..Options::default() };
    let report = check(&system, &small, None, &mut ());
    assert!(matches!(
        report.verdict,
        Verdict::Unknown { reason: Reason::Stopped { stop: Stop::Memory, .. }, .. }
    ));
    let options = Options { reduction: Reduction::None, ..Options::default() };
    let report = check(&system, &options, Some(&AtomicBool::new(true)), &mut ());
    assert!(matches!(
        report.verdict,
        Verdict::Unknown { reason: Reason::Stopped { stop: Stop::Cancelled, .. }, .. }
    ));
}

#[test]
fn progress_is_reported() {
    struct Count(usize);
    impl Observer for Count {
        fn progress(&mut self, progress: Progress) {
            assert_eq!(progress.bound, 1);
            assert!(progress.states > self.0);
            self.0 = progress.states;
        }
    }
    let mut count = Count(0);
    let options = Options { reduction: Reduction::None, ..Options::default() };
    let report = check(&generate::pipeline(5, 2), &options, None, &mut count);
    assert!(count.0 > 10_000 && matches!(report.verdict, Verdict::Safe { k: 1, .. }));
}

/// An `.fsm` file's machines may be final from the start; a role may be named and never act.
#[test]
fn idle_machines_are_fine() {
    let system = read_automata(
        ".outputs .state graph q0 1 ! a q1 .marking q0 .end .outputs .state graph q0 0 ? a q1 .marking q0 .end \
         .outputs .state graph .marking q0 .end",
    )
    .unwrap();
    assert!(matches!(run(&system, &Options::default()).verdict, Verdict::Safe { k: 1, .. }));
}

/// A reduced graph that is not bound independent tells nothing of k-safety and k-exhaustivity: when the full
/// one is too large, they are not reported.
#[test]
fn an_unjustified_reduction_tells_nothing() {
    let pipeline = "rec x. {B!l; x, C!r; x}";
    let system =
        types(&format!("A: {pipeline}  B: rec y. A?l; D!l; y  C: rec y. A?r; D!r; y  D: rec z. B?l; C?r; z"));
    let model = Model::new(&system, Semantics::PeerToPeer);
    let [reduced, full] = [Reduction::Sound, Reduction::None].map(|r| examine_bound(&model, 1, r).states);
    assert!(reduced < full);
    let options = Options { max_states: reduced, ..Options::exactly(1) };
    let report = check(&system, &options, None, &mut ());
    let bound = &report.bounds[0];
    assert_eq!((bound.obi, bound.exhaustive, bound.safe()), (Some(false), None, None), "{bound:?}");
    assert!(matches!(report.verdict, Verdict::Unknown { .. }));
    assert_eq!(report.limit, Some((Stop::States, 1)));
}

/// A cycle of roles that wait for each other is told of once; other violations of the same run are told of beside it.
#[test]
fn a_wait_cycle_is_one_violation() {
    let of = |text: &str| {
        let system = read_types(text).unwrap();
        let Verdict::Unsafe { witness, others, .. } =
            check(&system, &Options::default(), None, &mut ()).verdict
        else {
            panic!("{text}")
        };
        std::iter::once(&*witness).chain(&others).filter_map(|found| found.violation).collect::<Vec<_>>()
    };
    assert_eq!(of("A: B?x; B!y; end  B: A?y; A!x; end"), [Violation::WaitCycle]);
    let ring = "A: C?x; B!x; end  B: A?x; C!x; end  C: B?x; A!x; end";
    assert_eq!(of(ring), [Violation::WaitCycle]);
    // Two cycles, and somebody who waits for one of them.
    let two = "A: B?x; B!y; end  B: A?y; A!x; end  C: D?x; D!y; end  D: C?y; C!x; end  E: A?z; end";
    assert_eq!(of(two), [Violation::WaitCycle, Violation::WaitCycle, Violation::NeverSent]);
}

/// `B` never gets its `a`, with room for 4; `A` fills a channel, so that no bound shows that every bound has this.
#[test]
fn a_violation_that_may_be_due_to_the_bound_is_told() {
    let rest =
        "E: rec e. C!p; C?k; C!q; C?k; e  C: rec c. E?p; E!k; {E?q; E!k; c, E?p; B!a; end}  B: C?a; end";
    let mailbox = Options { semantics: Semantics::Mailbox, ..Options::default() };
    let cases = [
        ("A: rec x. D!t; x  D: rec y. A?t; y", mailbox, "mailbox", "with mailboxes no theorem says more"),
        (
            "A: rec x. {D!t; x, D?u; x}  D: rec y. A?t; y",
            Options::default(),
            "channel",
            "state `q0` of `A` mixes",
        ),
    ];
    for (loops, options, queue, why) in cases {
        let report = run(&types(&format!("{loops}  {rest}")), &options);
        let Verdict::Unknown { reason: Reason::Bound(witness), explanation, advice, .. } = &report.verdict
        else {
            panic!("{:?}", report.verdict)
        };
        assert!(witness.violation.is_some() && witness.ground.is_none(), "{witness:?}");
        let start = format!(
            "a violation was found with room for 4 messages per {queue} (it may be due to the bound alone): `B` waits \
             for `a` from `C`, but `C` never sends that"
        );
        assert!(explanation.starts_with(&start) && explanation.contains(why), "{explanation}");
        assert!(!advice.contains("may help"), "{advice}");
    }
    // Without a violation within the bound, it says so.
    let report = run(&types("A: rec x. B!a; x  B: rec y. A?a; y"), &mailbox);
    let Verdict::Unknown { explanation, .. } = &report.verdict else { panic!("{:?}", report.verdict) };
    assert!(explanation.contains("with 4 messages per mailbox no violation was found"), "{explanation}");
}

/// `b` stands behind a `z` whenever `a` can be received: no configuration has both, so nothing "may come instead".
#[test]
fn a_condition_that_fails_is_no_race() {
    let system = types(
        "Ann: rec x. {Bob!stop; end, Bob!more; Cy!a; x}  Bob: rec y. Cy!z; {Ann?stop; Cy!b; end, Ann?more; y}  \
         Cy: rec t. Bob?z; {Bob?b; end, Ann?a; t}",
    );
    let report = run(&system, &Options::default());
    let Verdict::Unknown { reason, explanation, advice, .. } = &report.verdict else {
        panic!("{:?}", report.verdict)
    };
    assert_eq!(reason.code(), "cibi");
    assert!(explanation.contains("no race was seen") && !explanation.contains("instead"), "{explanation}");
    assert!(!advice.contains("speed"), "{advice}");
}

/// What no bound has room for and what a larger bound may show do not contradict each other.
#[test]
fn advice_fits_a_channel_that_grows() {
    let system = types(
        "P: rec x. {Q!a; x, Q!b; rec z. {Q?c; z, Q?d; end}}  Q: rec x. {P!c; x, P!d; rec z. {P?a; z, P?b; end}}",
    );
    let Verdict::Unknown { explanation, advice, .. } = run(&system, &Options::default()).verdict else {
        panic!()
    };
    assert!(explanation.contains("no bound leaves room for all of it"), "{explanation}");
    assert!(!advice.contains("may help") && advice.starts_with("let the sender wait"), "{advice}");
}
