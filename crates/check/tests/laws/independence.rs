//! Proposition 1 and Lemmas 22, 23, 27: directed systems are bound independent, SIBI implies CIBI, both imply
//! IBI; and a binary session type with its dual is always 1-MC.

use referee_check::{Model, Options, Reduction, Semantics, Verdict, check, examine_bound};
use referee_reference::kmc::{self, properties};
use referee_testkit::systems::{Alphabet, Rng};
use referee_theory::System;

use crate::support::show;
use crate::{all_pairs, all_triples, sampled};

#[derive(Default, Debug)]
struct Tally {
    sibi: usize,
    cibi_only: usize,
    messages_only: usize,
    directed: usize,
}

fn implications(system: &System, k: usize, tally: &mut Tally) {
    let ts = kmc::transition_system(system, k);
    let sibi = properties::sibi(system, &ts).is_empty();
    let cibi = properties::cibi(system, &ts).is_empty();
    let by_messages = properties::cibi_by_messages(system, &ts).is_empty();
    let ibi = properties::ibi(&ts).is_empty();
    let text = || format!("k = {k}: {}", show(system));
    assert!(!sibi || cibi, "Lemma 27, {}", text());
    assert!(!cibi || by_messages, "dependence by messages is the finer relation, {}", text());
    assert!(!by_messages || ibi, "Lemma 23, {}", text());
    tally.sibi += usize::from(sibi);
    tally.cibi_only += usize::from(cibi && !sibi);
    tally.messages_only += usize::from(by_messages && !cibi);
    if properties::is_send_directed(system) && properties::is_receive_directed(system) {
        tally.directed += 1;
        assert!(properties::obi(system, &ts).is_empty() && ibi && sibi, "Proposition 1, {}", text());
    }
}

#[test]
fn proposition_1_and_lemmas_22_23_27() {
    let mut tally = Tally::default();
    all_pairs(1, 3, |system| implications(system, 2, &mut tally));
    all_triples(1009, |system| implications(system, 1, &mut tally));
    sampled(3, 1, 3, 600, 41, |system| implications(system, 1, &mut tally));
    sampled(3, 1, 4, 300, 42, |system| implications(system, 1, &mut tally));
    assert!(tally.directed > 1_000 && tally.cibi_only > 20, "{tally:?}");
}

#[test]
fn a_type_and_its_dual_are_1_mc() {
    let mut rng = Rng::new(51);
    let mut sizes = 0;
    let alphabet = Alphabet::new(2, 3);
    let mut confirm = |system: &System| {
        let report = check(system, &Options::exactly(1), None, &mut ());
        assert!(matches!(report.verdict, Verdict::Safe { k: 1, .. }), "{}", show(system));
        let model = Model::new(system, Semantics::PeerToPeer);
        sizes += examine_bound(&model, 2, Reduction::None).states;
    };
    for machine in Alphabet::new(2, 2).machines(0, 2) {
        let alphabet = Alphabet::new(2, 2);
        confirm(&alphabet.system([machine.clone(), alphabet.dual(&machine, 1)]));
    }
    for states in 1..=8 {
        for _ in 0..100 {
            let machine = alphabet.random_machine(0, states, 4, &mut rng);
            confirm(&alphabet.system([machine.clone(), alphabet.dual(&machine, 1)]));
        }
    }
    assert!(sizes > 5_000, "{sizes}");
}
