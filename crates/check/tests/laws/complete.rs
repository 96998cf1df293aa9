//! Complete exploration (`docs/checking.md`): where no send is blocked within k, every bound has the same
//! configurations, and what holds of them is the verdict. With channels and with mailboxes, against the reference.

use referee_check::{
    Growth, Model, Options, Reason, Reduction, SafeGround, Semantics, Verdict, check, examine_bound,
};
use referee_reference::kmc::{self, Act, mailbox, properties};
use referee_testkit::corpus::read_types;
use referee_theory::{Role, System};

use crate::support::{act, show};
use crate::{all_pairs, all_triples, sampled};

#[derive(Default, Debug)]
struct Tally {
    complete: usize,
    safe_only_by_it: usize,
    blocked: usize,
    growing: usize,
    unread: usize,
}

fn types(text: &str) -> System {
    read_types(text).unwrap()
}

/// What the engine says of completeness is what the definition says, and it is true of larger bounds.
fn complete(system: &System, k: u32, tally: &mut Tally) {
    let model = Model::new(system, Semantics::PeerToPeer);
    let report = examine_bound(&model, k, Reduction::None);
    let ts = kmc::transition_system(system, k as usize);
    let expected = properties::blocked(system, &ts).is_empty();
    assert_eq!(report.complete, Some(expected), "{}", show(system));
    if !expected {
        assert_eq!(report.largest_queue, None);
        tally.blocked += 1;
        return;
    }
    tally.complete += 1;
    let longest = ts.states.iter().flat_map(|s| s.channels.values().map(|w| w.len() as u32)).max();
    assert_eq!(report.largest_queue, Some(longest.unwrap_or(0)), "{}", show(system));
    let more = kmc::transition_system(system, k as usize + 2);
    assert_eq!(
        (ts.states.len(), ts.transitions()),
        (more.states.len(), more.transitions()),
        "{}",
        show(system)
    );
}

/// The verdict of a complete system is its safety within the bound; a loop that is said to grow does.
fn answered(system: &System, max_k: u32, tally: &mut Tally) {
    let report = check(system, &Options { max_k, ..Options::default() }, None, &mut ());
    if let Some(found) = report.complete {
        let ts = kmc::transition_system(system, found.k as usize);
        let safe =
            properties::eventual_reception(&ts).is_empty() && properties::progress(system, &ts).is_empty();
        assert_eq!(report.verdict.name(), if safe { "safe" } else { "unsafe" }, "{}", show(system));
    }
    match &report.verdict {
        Verdict::Safe { ground: SafeGround::Complete, .. } => {
            assert!(report.complete.is_some());
            tally.safe_only_by_it += 1;
        }
        Verdict::Unknown { growth: Some(growth), .. } => {
            tally.growing += 1;
            tally.unread += usize::from(growth.unread);
            grows(system, growth, max_k as usize);
        }
        _ => {}
    }
}

/// Each round of the loop leaves the channel longer; and if nobody reads it, no bound is exhaustive.
fn grows(system: &System, growth: &Growth, k: usize) {
    let channel = (growth.from.unwrap(), growth.to);
    let mut steps: Vec<Act> = growth.approach.iter().map(act).collect();
    let mut before = None;
    for round in 0..4 {
        let ends = kmc::replay(system, 100, &steps);
        let ends = ends.unwrap_or_else(|at| panic!("round {round}, step {at}: {growth:?}\n{}", show(system)));
        let longest = ends.iter().map(|end| end.length(channel)).max();
        assert!(longest > before, "{growth:?}\n{}", show(system));
        before = longest;
        steps.extend(growth.cycle.iter().map(act));
    }
    if growth.unread {
        for n in k..k + 2 {
            let ts = kmc::transition_system(system, n);
            assert!(!properties::exhaustive(system, &ts).is_empty(), "{n}: {growth:?}\n{}", show(system));
        }
    }
}

/// The same with mailboxes.
fn by_mailbox(system: &System, k: u32, tally: &mut Tally) {
    let model = Model::new(system, Semantics::Mailbox);
    let report = examine_bound(&model, k, Reduction::None);
    let reference = mailbox::transition_system(system, k as usize);
    assert_eq!(report.complete, Some(!reference.blocked), "{}", show(system));
    assert_eq!((report.states, report.safe()), (reference.states.len(), Some(reference.is_safe(system))));
    if reference.blocked {
        tally.blocked += 1;
        return;
    }
    tally.complete += 1;
    assert_eq!(report.largest_queue, Some(reference.largest() as u32));
    let more = mailbox::transition_system(system, k as usize + 1);
    assert_eq!(more.states.len(), reference.states.len(), "{}", show(system));
    let options = Options { semantics: Semantics::Mailbox, ..Options::exactly(k) };
    let verdict = check(system, &options, None, &mut ()).verdict;
    assert_eq!(verdict.name(), if reference.is_safe(system) { "safe" } else { "unsafe" }, "{}", show(system));
    tally.safe_only_by_it += usize::from(verdict.name() == "safe");
}

#[test]
fn all_systems_of_two_roles() {
    let mut tally = Tally::default();
    all_pairs(1, 3, |system| {
        (1..=2).for_each(|k| complete(system, k, &mut tally));
        answered(system, 3, &mut tally);
    });
    all_pairs(2, 2, |system| complete(system, 1, &mut tally));
    println!("{tally:?}");
    assert!(tally.complete > 2_000 && tally.blocked > 2_000, "{tally:?}");
}

#[test]
fn systems_of_three_roles() {
    let mut tally = Tally::default();
    all_triples(997, |system| {
        complete(system, 1, &mut tally);
        answered(system, 2, &mut tally);
    });
    for seed in 0..6 {
        sampled(3, 2, 3, 200, 900 + seed, |system| {
            complete(system, 1, &mut tally);
            answered(system, 2, &mut tally);
        });
    }
    println!("{tally:?}");
    assert!(tally.complete > 300 && tally.blocked > 300 && tally.growing > 5, "{tally:?}");
}

#[test]
fn mailboxes() {
    let mut tally = Tally::default();
    all_pairs(1, 3, |system| by_mailbox(system, 2, &mut tally));
    sampled(3, 1, 3, 400, 31, |system| by_mailbox(system, 2, &mut tally));
    println!("{tally:?}");
    assert!(tally.complete > 300 && tally.blocked > 300 && tally.safe_only_by_it > 20, "{tally:?}");
}

/// Teeth: the reduced graph never fills the channel, and the queue reaches 2.
#[test]
fn only_the_unreduced_graph_shows_it() {
    let system = types("A: B!a; C!x; B!b; end  B: A?a; A?b; end  C: A?x; end");
    let model = Model::new(&system, Semantics::PeerToPeer);
    let reduced = examine_bound(&model, 1, Reduction::Sound);
    assert_eq!((reduced.complete, reduced.largest_queue), (None, None));
    assert_eq!(examine_bound(&model, 1, Reduction::None).complete, Some(false));
    assert_eq!(examine_bound(&model, 2, Reduction::None).largest_queue, Some(2));
}

/// Teeth: all configurations but one are not blocked, and behind that one is the deadlock: B takes `x` only while the
/// second `a` waits, for which one place is not enough.
#[test]
fn one_blocked_send_anywhere_forbids_it() {
    let text =
        "A: B!a; B!a; C!go; B?ok; end  B: {A?a; {A?a; A!ok; end, C?x; end}, C?x; end}  C: A?go; B!x; end";
    let system = types(text);
    let model = Model::new(&system, Semantics::PeerToPeer);
    let one = examine_bound(&model, 1, Reduction::None);
    assert_eq!(one.complete, Some(false));
    assert_eq!(examine_bound(&model, 2, Reduction::None).complete, Some(true));
    assert_ne!(one.states, examine_bound(&model, 2, Reduction::None).states);
}

/// A race at k is a race at every larger bound: the search goes on for completeness and violations only.
#[test]
fn a_race_is_not_looked_at_twice() {
    let text = "A: rec x. C!a; x  B: rec y. C!b; y  C: rec z. {A?a; z, B?b; z}";
    let report = check(&types(text), &Options::default(), None, &mut ());
    let Verdict::Unknown { reason: Reason::Premise(witness), growth: Some(growth), .. } = &report.verdict
    else {
        panic!("{:?}", report.verdict)
    };
    assert_eq!((witness.bound, report.verdict.witness().unwrap().role()), (1, Some(Role(2))));
    assert!(!growth.unread);
    let sibi: Vec<_> = report.bounds.iter().map(|bound| (bound.obi, bound.sibi, bound.exhaustive)).collect();
    assert_eq!(sibi[0], (Some(true), Some(false), Some(true)));
    assert!(sibi[1..].iter().all(|found| *found == (None, Some(false), None)), "{sibi:?}");
}

/// Where only a bound that leaves room for everything could show safety and none does, a larger k is no advice.
#[test]
fn no_larger_bound_is_advised_where_none_suffices() {
    let mailbox = Options { semantics: Semantics::Mailbox, ..Options::default() };
    let cases = [
        ("A: rec x . {B!a; x, B!b; x}  B: rec x . {A?a; x, A?b; x}", mailbox, "mailbox"),
        ("A: rec x . {B!a; x, B?c; end}  B: rec x . A?a; x", Options::default(), "mixed-state"),
    ];
    for (text, options, code) in cases {
        let Verdict::Unknown { reason, advice, growth: Some(growth), .. } =
            check(&types(text), &options, None, &mut ()).verdict
        else {
            panic!("{text}")
        };
        assert_eq!((reason.code(), growth.unread, growth.no_bound_suffices), (code, false, true));
        assert!(!advice.contains("a larger k may") && !advice.contains("try a larger k"), "{advice}");
    }
}

/// The sentence of the issue: `B` reads only after `A` is done.
#[test]
fn growth_is_told() {
    let text = "A: rec x. {B!data; x, B!last; C!bye; end}  B: C?go; rec y. {A?data; y, A?last; end}
                C: A?bye; B!go; end";
    let system = types(text);
    let report = check(&system, &Options::default(), None, &mut ());
    let Verdict::Unknown { growth: Some(growth), reason, .. } = &report.verdict else {
        panic!("{:?}", report.verdict)
    };
    assert_eq!(reason.code(), "exhaustive");
    assert!(growth.unread);
    assert_eq!(growth.explanation, "`A` can send `data` for ever while `B` never reads: no bound suffices");
    grows(&system, growth, 4);
}
