//! The theorems of CAV'19 as laws: each module cites its claim, builds inputs that satisfy its
//! hypotheses, fails when too few do, and compares with the reference or with the unreduced system.

#![allow(clippy::unwrap_used, clippy::panic, reason = "laws are tests throughout")]

#[path = "../support/replay.rs"]
mod support;

mod agnosticity;
mod blocks;
mod complete;
mod fairness;
mod faults;
mod independence;
mod inevitable;
mod instances;
mod lifting;
mod property;
mod reduction;
mod repair;
mod symmetry;
mod waiting;
mod witness;

use referee_testkit::systems::{Alphabet, all_pairs, sampled};
use referee_theory::System;

/// Every `stride`-th system of three roles with at most two states over one label; all 5,545,233 of them with
/// `REFEREE_LAWS=full`.
fn all_triples(stride: usize, mut visit: impl FnMut(&System)) {
    let alphabet = Alphabet::new(3, 1);
    let machines: Vec<_> = (0..3).map(|role| alphabet.machines(role, 2)).collect();
    let count = machines[0].len();
    let stride = if referee_testkit::everything() { 1 } else { stride };
    for number in (0..count * count * count).step_by(stride) {
        let pick = [number / (count * count), number / count % count, number % count];
        visit(&alphabet.system((0..3).map(|role| machines[role][pick[role]].clone())));
    }
}
