//! Theorems 4 and 6 for the sound reduction.
//!
//! Theorem 6: let S be reduced k-OBI and reduced k-IBI; then S is reduced k-safe iff it is k-safe, and
//! reduced k-exhaustive iff it is k-exhaustive. Theorem 4: let S be reduced k-OBI; then it is reduced k-SIBI
//! (k-CIBI) iff it is k-SIBI (k-CIBI). Lemma 3: k-OBI implies reduced k-OBI.

use referee_check::{BoundReport, Model, Reduction, Semantics, examine_bound};
use referee_theory::System;

use crate::support::{justified, show};
use crate::{all_pairs, all_triples, sampled};

#[derive(Default)]
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
    assert!(tally.justified > tally.all / 2 && tally.unsafe_ones > 1000);
    println!("{} {} {} {}", tally.all, tally.justified, tally.unsafe_ones, tally.smaller);
}

#[test]
fn systems_of_three_roles() {
    let mut tally = Tally::default();
    all_triples(97, |system| compare(system, 1, &mut tally));
    println!("{} {} {} {}", tally.all, tally.justified, tally.unsafe_ones, tally.smaller);
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
    assert!(tally.justified > 1000);
    println!("{} {} {} {}", tally.all, tally.justified, tally.unsafe_ones, tally.smaller);
}
