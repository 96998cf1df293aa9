//! Lemma 1, Theorem 5 and Lemma 21: what a bounded answer says about every bound.
//!
//! Lemma 1: if S is k-OBI, IBI and k-MC, then it is (k+1)-OBI and (k+1)-MC. Theorem 5: if S is reduced
//! k-OBI, IBI and k-MC, then it is safe. Lemma 21, turned round, and the two grounds of our own: an unsafe
//! verdict's last configuration violates safety under every larger bound too.

use referee_check::{Failure, Model, Options, Reduction, Semantics, Verdict, check, examine_bound};
use referee_reference::kmc::{self, Act};
use referee_testkit::corpus::read_types;
use referee_theory::{Action, System};

use crate::support::show;
use crate::{all_pairs, all_triples, sampled};

/// How far beyond k brute force looks.
const BEYOND: u32 = 2;

#[derive(Default, Debug)]
struct Tally {
    safe: usize,
    safe_beyond_one: usize,
    real: usize,
    unknown: usize,
}

fn lift(system: &System, max_k: u32, tally: &mut Tally) {
    let options = Options { max_k, max_witnesses: 1, ..Options::default() };
    match check(system, &options, None, &mut ()).verdict {
        Verdict::Safe { k, .. } => {
            tally.safe += 1;
            tally.safe_beyond_one += usize::from(k > 1);
            let model = Model::new(system, Semantics::PeerToPeer);
            for n in k..=k + BEYOND {
                let full = examine_bound(&model, n, Reduction::None);
                assert_eq!(full.safe(), Some(true), "safe at {k}, not at {n}: {}", show(system));
                assert_eq!(full.exhaustive, Some(true), "exhaustive at {k}, not at {n}: {}", show(system));
            }
        }
        Verdict::Unsafe { k, witness, .. } => {
            tally.real += 1;
            // The reference is slow: every seventh.
            if !tally.real.is_multiple_of(7) {
                return;
            }
            // What follows the point of no return may need more room; the reference is asked once then.
            let bounds = if witness.bound > k { witness.bound..=witness.bound } else { k..=k + BEYOND };
            for n in bounds {
                assert!(still_fails(system, &witness, n), "{n}: {witness:?}\n{}", show(system));
            }
        }
        Verdict::Unknown { .. } => tally.unknown += 1,
    }
}

/// Whether the end of `witness` violates its property within `bound`, by the reference.
fn still_fails(system: &System, witness: &referee_check::Witness, bound: u32) -> bool {
    let steps: Vec<Act> = witness.steps.iter().map(crate::support::act).collect();
    let Ok(ends) = kmc::replay(system, bound as usize, &steps) else { return false };
    let helps = |act: &Act| match witness.failure {
        Failure::Stuck { role } => act.role == role,
        Failure::Unreceived { from, to, .. } => act.action == Action::Receive && act.channel() == (from, to),
        _ => true,
    };
    kmc::can_happen(system, bound as usize, &ends[0], 3_000, helps) != Some(true)
}

#[test]
fn all_systems_of_two_roles() {
    let mut tally = Tally::default();
    all_pairs(1, 3, |system| lift(system, 3, &mut tally));
    all_pairs(2, 2, |system| lift(system, 2, &mut tally));
    println!("{tally:?}");
    assert!(tally.safe > 500 && tally.real > 1000, "{tally:?}");
}

#[test]
fn systems_of_three_roles() {
    let mut tally = Tally::default();
    all_triples(211, |system| lift(system, 2, &mut tally));
    println!("{tally:?}");
    assert!(tally.safe > 30 && tally.real > 1000, "{tally:?}");
}

#[test]
fn random_systems() {
    let mut tally = Tally::default();
    for seed in 0..10 {
        sampled(2, 2, 3, 300, 500 + seed, |system| lift(system, 3, &mut tally));
        sampled(3, 1, 3, 200, 600 + seed, |system| lift(system, 2, &mut tally));
        sampled(4, 1, 2, 100, 700 + seed, |system| lift(system, 2, &mut tally));
    }
    println!("{tally:?}");
    assert!(tally.safe > 50 && tally.real > 1000, "{tally:?}");
}

/// Teeth: without IBI Theorem 5 is wrong. One message per channel is 1-OBI and 1-MC; with two, `C` may take `B`'s
/// message before `A`'s second one, and all three wait for ever.
#[test]
fn input_independence_is_needed() {
    let text = "A: rec x. C!a; B?a; x  B: rec y. A!a; C!a; y  C: rec z. A?a; {A?a; z, B?a; z}";
    let system = read_types(text).unwrap();
    let model = Model::new(&system, Semantics::PeerToPeer);
    let one = examine_bound(&model, 1, Reduction::None);
    assert_eq!((one.obi, one.exhaustive, one.safe()), (Some(true), Some(true), Some(true)));
    assert_eq!(one.cibi, Some(false));
    assert_eq!(examine_bound(&model, 2, Reduction::None).safe(), Some(false));
    let report = check(&system, &Options::default(), None, &mut ());
    assert!(!matches!(report.verdict, Verdict::Safe { .. }), "{:?}", report.verdict);
}

/// Teeth: without k-OBI Theorem 5 is wrong (Example 5, Figure 4 without its dotted transition). One message per channel
/// is 1-MC and receive-directed; with two, `R` may send `a` before it knows what `P` chose, and waits for ever.
#[test]
fn output_independence_is_needed() {
    let text = "P: Q!y; {Q!v; R!u; S!x; end, S!x; R!w; Q!v; end}  Q: R?z; P?y; P?v; end
                R: S!b; {S!a; P?w; Q!z; end, Q!z; {P?u; S!a; end, P?w; S!a; end}}  S: P?x; R?b; R?a; end";
    let system = read_types(text).unwrap();
    let model = Model::new(&system, Semantics::PeerToPeer);
    let one = examine_bound(&model, 1, Reduction::None);
    assert_eq!((one.exhaustive, one.safe(), one.cibi), (Some(true), Some(true), Some(true)));
    assert_eq!(one.obi, Some(false));
    assert_eq!(examine_bound(&model, 2, Reduction::None).safe(), Some(false));
    let report = check(&system, &Options::default(), None, &mut ());
    assert!(matches!(report.verdict, Verdict::Unsafe { .. }), "{:?}", report.verdict);
}
