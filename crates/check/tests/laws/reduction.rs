//! Theorems 4 and 6 for the sound reduction.
//!
//! Theorem 6: let S be reduced k-OBI and reduced k-IBI; then S is reduced k-safe iff it is k-safe, and
//! reduced k-exhaustive iff it is k-exhaustive. Theorem 4: let S be reduced k-OBI; then it is reduced k-SIBI
//! (k-CIBI) iff it is k-SIBI (k-CIBI). Lemma 3: k-OBI implies reduced k-OBI.

use referee_check::{BoundReport, Model, Reduction, Semantics, examine_bound};
use referee_theory::System;

use crate::support::{justified, show};
use crate::{all_pairs, all_triples, sampled};

#[derive(Default, Debug)]
struct Tally {
    all: usize,
    justified: usize,
    unsafe_ones: usize,
    smaller: usize,
}

fn compare(system: &System, k: u32, tally: &mut Tally) {
    let model = Model::new(system, Semantics::PeerToPeer);
    let full = examine_bound(&model, k, Reduction::None);
    let reduced = examine_bound(&model, k, Reduction::Sound);
    tally.all += 1;
    let text = || format!("k = {k}\n{reduced:?}\n{full:?}\n{}", show(system));
    if full.obi == Some(true) {
        assert_eq!(reduced.obi, Some(true), "Lemma 3: {}", text());
    }
    if reduced.obi == Some(true) {
        assert_eq!(reduced.sibi, full.sibi, "Theorem 4: {}", text());
        assert_eq!(reduced.cibi, full.cibi, "Theorem 4: {}", text());
    }
    if justified(system, &reduced) {
        tally.justified += 1;
        tally.unsafe_ones += usize::from(full.safe() == Some(false));
        tally.smaller += usize::from(reduced.states < full.states);
        let asked = |r: &BoundReport| (r.exhaustive, r.eventual_reception, r.progress);
        assert_eq!(asked(&reduced), asked(&full), "Theorem 6: {}", text());
    }
}

#[test]
fn all_systems_of_two_roles() {
    let mut tally = Tally::default();
    all_pairs(1, 3, |system| (1..=3).for_each(|k| compare(system, k, &mut tally)));
    all_pairs(2, 2, |system| (1..=2).for_each(|k| compare(system, k, &mut tally)));
    assert!(tally.justified > tally.all / 2 && tally.unsafe_ones > 1_000, "{tally:?}");
    assert!(tally.smaller > 1_000, "nothing was reduced: {tally:?}");
}

#[test]
fn systems_of_three_roles() {
    let mut tally = Tally::default();
    all_triples(97, |system| compare(system, 1, &mut tally));
    println!("{tally:?}");
    assert!(tally.justified > tally.all / 5 && tally.unsafe_ones > 1_000, "{tally:?}");
}

#[test]
fn random_systems() {
    let mut tally = Tally::default();
    for seed in 0..20 {
        sampled(2, 2, 3, 500, 100 + seed, |system| compare(system, 2, &mut tally));
        sampled(3, 1, 3, 300, 200 + seed, |system| compare(system, 1, &mut tally));
        sampled(4, 1, 3, 200, 300 + seed, |system| compare(system, 1, &mut tally));
        sampled(4, 2, 2, 100, 400 + seed, |system| compare(system, 1, &mut tally));
    }
    assert!(tally.justified > 1_000 && tally.smaller > 1_000, "{tally:?}");
}

/// Teeth: Algorithm 1 as printed fails the law on the smallest systems that ignore a pending action, and the
/// sound reduction passes.
mod teeth {
    use referee_check::{Model, Options, Reason, Reduction, Semantics, Verdict, check, examine_bound};
    use referee_testkit::corpus::read_types;

    /// An independent pair beside a loop with a choice, listed before or after it.
    const BESIDE: [&str; 2] = [
        "A: rec x. {B!a; x, B!c; x}  B: rec y. {A?a; y, A?c; y}  C: D!m; end  D: C?m; end",
        "A: B!m; end  B: A?m; end  C: rec x. {D!a; x, D!c; x}  D: rec y. {C?a; y, C?c; y}",
    ];

    #[test]
    fn a_pending_action_is_not_ignored() {
        let mut alarms = 0;
        for text in BESIDE {
            let system = read_types(text).unwrap();
            let model = Model::new(&system, Semantics::PeerToPeer);
            assert_eq!(examine_bound(&model, 1, Reduction::None).safe(), Some(true));
            assert_eq!(examine_bound(&model, 1, Reduction::Sound).safe(), Some(true));
            alarms += usize::from(examine_bound(&model, 1, Reduction::Paper).safe() == Some(false));
            let report = check(&system, &Options::default(), None, &mut ());
            assert!(matches!(report.verdict, Verdict::Safe { k: 1, .. }));
        }
        assert!(alarms > 0, "Algorithm 1 as printed would be right");
    }

    /// Asked for Algorithm 1 as printed, the checker does not repeat its false alarm.
    #[test]
    fn a_false_alarm_is_not_a_verdict() {
        let reports = BESIDE.map(|text| {
            let options = Options { max_k: 1, reduction: Reduction::Paper, ..Options::default() };
            check(&read_types(text).unwrap(), &options, None, &mut ()).verdict
        });
        assert!(reports.iter().all(|verdict| !matches!(verdict, Verdict::Unsafe { .. })));
        let alarm =
            |verdict: &Verdict| matches!(verdict, Verdict::Unknown { reason: Reason::FalseAlarm { .. }, .. });
        assert!(reports.iter().any(alarm), "{reports:?}");
    }
}
