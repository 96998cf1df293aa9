//! Witnesses show the mistake (`docs/checking.md`, "Witnesses"): in the last configuration the named obstacle is there
//! and nothing that follows removes it, whatever the bound; every sentence of the explanation is made of facts, each
//! of which the reference finds true there.

use std::collections::BTreeMap;

use referee_check::{Options, Reduction, Semantics, Verdict, Violation, Witness, check};
use referee_testkit::choices::law_seeds;
use referee_testkit::corpus::{read_automata, read_types};
use referee_theory::System;

use crate::support::{Within, assert_shown, ends_of, is_visible, replay, replay_within, show, witnesses};
use crate::{all_pairs, all_triples, sampled};

/// How many there are of each kind, visible and not.
type Kinds = BTreeMap<(Violation, bool), usize>;

fn shown(system: &System, max_k: u32, kinds: &mut Kinds) {
    let options = Options { max_k, ..Options::default() };
    let verdict = check(system, &options, None, &mut ()).verdict;
    let all = witnesses(&verdict);
    let mut seen = Vec::new();
    let mut known = BTreeMap::new();
    for witness in all {
        *kinds.entry((witness.violation.unwrap(), is_visible(witness))).or_default() += 1;
        // With more room than was searched only what follows the point of no return is shown.
        if witness.bound <= max_k {
            let within = known.entry(witness.bound).or_insert_with(|| Within::new(system, witness.bound));
            replay_within(system, witness, within);
        } else {
            assert!(!witness.shortest);
        }
        assert_shown(system, witness);
        let more = witness.bound.min(max_k) + 1;
        nothing_helps(system, witness, more, known.entry(more).or_insert_with(|| Within::new(system, more)));
        let kind = (witness.violation, witness.role());
        assert!(!seen.contains(&kind), "twice: {kind:?}");
        seen.push(kind);
    }
}

/// At the point of no return safety is violated with room for `bound` messages, too.
fn nothing_helps(system: &System, witness: &Witness, bound: u32, within: &Within) {
    let ends = ends_of(system, witness, bound, witness.point_of_no_return);
    let violated = within.violates_safety(&ends);
    assert!(violated, "with room for {bound} something helps: {witness:?}\n{}", show(system));
}

/// There are more than `least` of each kind that are shown.
fn all_kinds_are_shown(kinds: &Kinds, least: usize) {
    let each = kinds.iter().filter(|((_, shown), _)| *shown);
    assert!(each.clone().count() == 5 && each.clone().all(|(_, count)| *count > least), "{kinds:?}");
}

#[test]
fn all_systems_of_two_roles() {
    let mut kinds = Kinds::default();
    all_pairs(1, 3, |system| shown(system, 2, &mut kinds));
    let mut every = 0;
    all_pairs(2, 2, |system| {
        every += 1;
        if every % 5 == 0 {
            shown(system, 2, &mut kinds);
        }
    });
    all_kinds_are_shown(&kinds, 20);
    assert!(kinds.keys().all(|(_, shown)| *shown), "{kinds:?}");
}

#[test]
fn systems_of_three_roles() {
    let mut kinds = Kinds::default();
    all_triples(4_999, |system| shown(system, 2, &mut kinds));
    for seed in law_seeds(4) {
        sampled(3, 2, 3, 150, 1_200 + seed, |system| shown(system, 2, &mut kinds));
        sampled(4, 1, 2, 60, 1_300 + seed, |system| shown(system, 2, &mut kinds));
    }
    all_kinds_are_shown(&kinds, 5);
}

fn said(text: &str) -> (Violation, String, usize, usize) {
    said_with(text, &Options::default())
}

fn said_with(text: &str, options: &Options) -> (Violation, String, usize, usize) {
    let system = read_types(text).unwrap();
    match check(&system, options, None, &mut ()).verdict {
        Verdict::Unsafe { witness, .. } => {
            if options.semantics == Semantics::PeerToPeer {
                replay(&system, &witness);
            }
            let (kind, before) = (witness.violation.unwrap(), witness.point_of_no_return);
            (kind, witness.explanation, before, witness.steps.len())
        }
        other => panic!("{text}: {other:?}"),
    }
}

/// The example of the issue: `quit` against `exit` is what is told, although nothing helps from the start.
#[test]
fn the_mistake_is_shown() {
    let (kind, text, before, steps) = said("A: B!login; B?ok; B!quit; end  B: A?login; A!ok; A?exit; end");
    assert_eq!(kind, Violation::UnexpectedMessage);
    let expected =
        "`B` waits for `exit` from `A`, but the next message from `A` is `quit`; queue A→B holds `quit`";
    assert_eq!(text, expected);
    assert_eq!((before, steps), (3, 5));
}

#[test]
fn each_kind_is_told_in_its_words() {
    let cases = [
        (
            "C: S!req; end  S: C?req; C?ack; end",
            Violation::NeverSent,
            "`S` waits for `ack` from `C`, which has ended",
        ),
        (
            "A: B?x; B!y; end  B: A?y; A!x; end",
            Violation::WaitCycle,
            "`A` waits for `x` from `B` and `B` waits for `y` from `A`: none of them can go on",
        ),
        (
            "A: B!y; B?z; end  B: A!z; end",
            Violation::OrphanMessage,
            "`B` never receives `y` from `A`: it has ended; queue A→B holds `y`",
        ),
        (
            "A: {C!go; rec x. B!a; B?b; x, B!a; B?b; rec x. B!a; B?b; x}  B: rec y. A?a; A!b; y  C: A?go; end",
            Violation::Starved,
            "`C` waits for `go` from `A`, but `A` never sends that; the last 4 steps can be repeated for ever",
        ),
    ];
    for (text, kind, words) in cases {
        let (found, explanation, ..) = said(text);
        assert_eq!((found, explanation.as_str()), (kind, words), "{text}");
    }
    let mailbox = Options { semantics: Semantics::Mailbox, ..Options::default() };
    let (kind, text, ..) = said_with("P: R!a; end  Q: R!b; end  R: P?a; Q?b; end", &mailbox);
    assert_eq!(kind, Violation::UnexpectedMessage);
    assert!(
        text.starts_with("`R` waits for `a` from `P`, but the next message in its mailbox is `b` from `Q`"),
        "{text}"
    );
}

/// What only the bound keeps from helping is no point of no return, and an earlier violation that no ground confirms makes a
/// witness one of which it is not known that it is shortest.
#[test]
fn the_bound_makes_no_point_of_no_return() {
    let automata = ".outputs .state graph q0 2 ? a q7  q7 1 ? a q8  q8 2 ? a q0 .marking q0 .end
                    .outputs .state graph q0 0 ! a q0 .marking q0 .end
                    .outputs .state graph q0 0 ! b q1  q0 0 ! a q7  q7 1 ! a q0 .marking q0 .end";
    let system = read_automata(automata).unwrap();
    let verdict = check(&system, &Options::default(), None, &mut ()).verdict;
    let all = witnesses(&verdict);
    assert!(all.len() > 1, "{verdict:?}");
    for witness in all {
        let more = witness.bound + 2;
        nothing_helps(&system, witness, more, &Within::new(&system, more));
    }
    let text = "A: rec x . B!c; B?a; {B!a; x, B!b; x}  B: rec x . A?c; A!a; x";
    let verdict = check(&read_types(text).unwrap(), &Options::default(), None, &mut ()).verdict;
    let witness = verdict.witness().unwrap();
    assert_eq!((witness.point_of_no_return, witness.shortest), (5, false));
}

/// What only the bound keeps from showing is shown with a little more room; a loop may fill a channel that nobody reads.
#[test]
fn the_bound_hides_nothing() {
    let cases = [
        (
            "A: rec x . B!b; x  B: rec x . A!c; A!d; x",
            Violation::Starved,
            "`B` never receives `b` from `A`: no state that `B` can still reach receives it; the last 2 steps can be repeated for ever",
        ),
        (
            "A: B!b; end  B: A!c; A!d; A!e; end",
            Violation::OrphanMessage,
            "`A` never receives `c` from `B`: it has ended",
        ),
        (
            "A: C!n; C!n; C!n; end  B: A?z; end  C: B?y; end",
            Violation::NeverSent,
            "`B` waits for `z` from `A`, which has ended",
        ),
    ];
    for (text, kind, words) in cases {
        let system = read_types(text).unwrap();
        let verdict = check(&system, &Options::default(), None, &mut ()).verdict;
        let all = witnesses(&verdict);
        all.iter().for_each(|witness| assert_shown(&system, witness));
        assert!(all.iter().all(|witness| is_visible(witness) && witness.is_shown()), "{text}: {all:?}");
        let told = all
            .iter()
            .any(|witness| witness.violation == Some(kind) && witness.explanation.starts_with(words));
        let said: Vec<_> = all.iter().map(|witness| &witness.explanation).collect();
        assert!(told, "{text}: {said:?}");
    }
}

/// A message that is never received is told of once.
#[test]
fn a_message_is_left_once() {
    let verdict = check(
        &read_types("A: rec x . B!b; x  B: rec x . A!c; x").unwrap(),
        &Options::default(),
        None,
        &mut (),
    )
    .verdict;
    let all: Vec<_> = witnesses(&verdict).into_iter().map(|witness| witness.failure).collect();
    for (index, failure) in all.iter().enumerate() {
        assert!(!all[..index].contains(failure), "{all:?}");
    }
}

/// A label that two transitions wait for is said once.
#[test]
fn a_label_is_said_once() {
    let automata = ".outputs .state graph q0 1 ? a q0  q0 1 ? a q1 .marking q0 .end
                    .outputs .state graph q0 0 ! b q1 .marking q0 .end";
    let verdict = check(&read_automata(automata).unwrap(), &Options::default(), None, &mut ()).verdict;
    let said = &verdict.witness().unwrap().explanation;
    assert!(said.starts_with("`0` waits for `a` from `1`, but"), "{said}");
}

/// One run tells of all kinds and roles, and of no more than asked for.
#[test]
fn all_kinds_in_one_run() {
    let text = "A: {B!x; end, B!y; C!m; end}  B: {A?x; A?z; end, A?y; end}  C: end";
    let system = read_types(text).unwrap();
    let kinds = |most: usize| -> Vec<&str> {
        let options = Options { max_witnesses: most, reduction: Reduction::None, ..Options::default() };
        let verdict = check(&system, &options, None, &mut ()).verdict;
        witnesses(&verdict).iter().map(|witness| witness.violation.unwrap().name()).collect()
    };
    assert_eq!(kinds(8), ["never-sent", "orphan-message"]);
    assert_eq!(kinds(1), ["never-sent"]);
}

/// Roles that have nothing to do with a mistake take no part in what shows it, whatever they would do.
#[test]
fn bystanders_take_no_part() {
    let pairs = |count: usize| -> String {
        (0..count).map(|n| format!("  P{n}: Q{n}!a; end  Q{n}: P{n}?a; end")).collect()
    };
    let mistakes = [
        "A: B!a; end  B: A?b; end",
        "A: B!login; B?ok; B!quit; end  B: A?login; A!ok; A?exit; end",
        "A: B?x; B!y; end  B: A?y; A!x; end",
        "C: S!req; end  S: C?req; C?ack; end",
        "A: B!a; end  B: end",
        "A: rec x. {B!a; x, B!b; x}  B: rec x. {A?a; x, A?b; x}  C: A?go; end",
    ];
    for mistake in mistakes {
        let alone = said(mistake);
        for count in [1, 5] {
            assert_eq!(said(&format!("{mistake}{}", pairs(count))), alone);
        }
        let system = read_types(&format!("{mistake}{}", pairs(5))).unwrap();
        let verdict = check(&system, &Options::default(), None, &mut ()).verdict;
        let involved = read_types(mistake).unwrap().machines().len();
        let all = witnesses(&verdict);
        assert!(all.iter().flat_map(|witness| &witness.steps).all(|step| step.role.index() < involved));
    }
}
