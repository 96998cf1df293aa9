//! Law C3 of `docs/concurrency.md`: blocks side by side between two roles. Nobody is blamed who sends ahead in the order of its
//! parts, however messages arrive; and whoever is blamed could not have been right.
//!
//! A side's messages stay in order, also where one of them waits: then those behind it wait as well. What that costs is a gap below.

use std::collections::VecDeque;

use referee_monitor::{Ahead, Lead, Monitor, Payload, Registry, Side, Verdict};
use referee_reference::par::{Tree, interleavings, message, par};

use crate::terms::Tally;

const SIDES: [Side; 2] = [Side::Process, Side::Environment];

type Messages = Vec<String>;

fn index(side: Side) -> usize {
    usize::from(side == Side::Environment)
}

/// Blocks of one or two messages between `a` and `b`.
fn blocks(name: &str) -> Vec<Tree> {
    let channels = [("a", "b"), ("b", "a")];
    let mut all = Vec::new();
    for (from, to) in channels {
        all.push(message(from, to, &format!("{name}1"), Tree::End));
        for (second, other) in channels {
            let last = message(second, other, &format!("{name}2"), Tree::End);
            all.push(message(from, to, &format!("{name}1"), last));
        }
    }
    all
}

/// Two such blocks, and perhaps a message behind them.
fn trees() -> Vec<Tree> {
    let mut all = Vec::new();
    for left in blocks("x") {
        for right in blocks("y") {
            for next in [Tree::End, message("a", "b", "k", Tree::End), message("b", "a", "k", Tree::End)] {
                all.push(par(vec![left.clone(), right.clone()], next));
            }
        }
    }
    all
}

/// What `a` and `b` say in `tree`, which has no choices, one after the other.
fn said(tree: &Tree) -> [Messages; 2] {
    match tree {
        Tree::Exchange { sender, branches, .. } => {
            let (label, next) = &branches[0];
            let mut rest = said(next);
            rest[usize::from(*sender == "b")].insert(0, label.clone());
            rest
        }
        _ => [Messages::new(), Messages::new()],
    }
}

/// All that `a`, and `b`, may say in the order of its parts.
fn ahead_of_all(tree: &Tree) -> [Vec<Messages>; 2] {
    let Tree::Par(blocks, next) = tree else { panic!("not a par") };
    [0, 1].map(|side| {
        let behind = &said(next)[side];
        let (left, right) = (&said(&blocks[0])[side], &said(&blocks[1])[side]);
        interleavings(left, right).into_iter().map(|first| [&first[..], behind].concat()).collect()
    })
}

fn monitor(tree: &Tree) -> Monitor {
    let global = tree.to_theory(&["a", "b"]).unwrap();
    let machine = global.project(global.vocabulary().find_role("a").unwrap()).unwrap();
    Monitor::synthesise(&machine, global.vocabulary(), &Registry::new()).unwrap()
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Blamed(Side),
    Over,
    Waits,
}

/// Offers messages as they arrive, each side's in order, and keeps those that are early.
fn as_they_come(monitor: &Monitor, ahead: &Ahead, arrivals: &[(Side, String)]) -> (End, [Messages; 2]) {
    let (mut session, mut lead) = (monitor.session(), Lead::default());
    let mut kept: [VecDeque<&String>; 2] = Default::default();
    let mut forwarded: [Messages; 2] = Default::default();
    for (side, label) in arrivals {
        kept[index(*side)].push_back(label);
        let mut progress = true;
        while std::mem::take(&mut progress) {
            for side in SIDES {
                let Some(&label) = kept[index(side)].front() else { continue };
                let id = monitor.label(label);
                match ahead.judge(monitor, &mut session, &mut lead, side, id, Payload::Positional(&[])) {
                    Verdict::Forward => {
                        forwarded[index(side)].extend(kept[index(side)].pop_front().cloned());
                        progress = true;
                    }
                    Verdict::Early => {}
                    _ => {
                        forwarded[index(side)].push(label.clone());
                        return (End::Blamed(side), forwarded);
                    }
                }
            }
        }
    }
    (if monitor.is_over(&session) { End::Over } else { End::Waits }, forwarded)
}

/// All orders in which the messages of both can arrive.
fn arrivals(sent: [&Messages; 2]) -> Vec<Vec<(Side, String)>> {
    let [left, right] = SIDES.map(|side| -> Vec<(Side, String)> {
        sent[index(side)].iter().map(|label| (side, label.clone())).collect()
    });
    interleavings(&left, &right)
}

#[test]
fn nobody_who_keeps_to_the_order_of_its_parts_is_blamed() {
    let mut tally = Tally::default();
    for tree in trees() {
        let monitor = monitor(&tree);
        let ahead = Ahead::new(&monitor);
        let [process, environment] = ahead_of_all(&tree);
        for left in &process {
            for right in &environment {
                for order in arrivals([left, right]) {
                    let (end, _) = as_they_come(&monitor, &ahead, &order);
                    assert!(!matches!(end, End::Blamed(_)), "{tree:?} {order:?}");
                    tally.count(if end == End::Over { "over" } else { "waits" });
                }
            }
        }
    }
    tally.at_least("over", 1_000);
}

/// Whatever is sent: who is blamed has said what stands in no trace beside what the other side has said.
#[test]
fn whoever_is_blamed_could_not_have_been_right() {
    let mut tally = Tally::default();
    for tree in trees() {
        let monitor = monitor(&tree);
        let ahead = Ahead::new(&monitor);
        let traces: Vec<[Messages; 2]> = tree
            .traces("a", 8)
            .all
            .iter()
            .map(|trace| {
                [true, false].map(|sends| {
                    trace.iter().filter(|step| step.sends == sends).map(|step| step.label.clone()).collect()
                })
            })
            .collect();
        let labels = ["x1", "x2", "y1", "y2", "k"].map(str::to_owned);
        let mut sequences: [Vec<Messages>; 2] = [vec![Vec::new()], vec![Vec::new()]];
        for (sequences, longest) in sequences.iter_mut().zip([3, 1]) {
            for _ in 0..longest {
                let longer = sequences.iter().flat_map(|sequence| {
                    labels.iter().map(|label| [&sequence[..], std::slice::from_ref(label)].concat())
                });
                let longer: Vec<Messages> = longer.collect();
                sequences.extend(longer);
            }
            sequences.sort();
            sequences.dedup();
        }
        for left in &sequences[0] {
            for right in &sequences[1] {
                for order in arrivals([left, right]) {
                    let (end, passed) = as_they_come(&monitor, &ahead, &order);
                    let right = traces
                        .iter()
                        .any(|trace| [0, 1].iter().all(|side| trace[*side].starts_with(&passed[*side])));
                    match end {
                        End::Blamed(side) => {
                            assert!(!right, "{tree:?} {order:?}: {side:?} is innocent");
                            tally.count("blamed");
                        }
                        // What went on is right.
                        End::Over | End::Waits => {
                            assert!(right, "{tree:?} {order:?}: {passed:?}");
                            tally.count("right");
                        }
                    }
                }
            }
        }
    }
    tally.at_least("blamed", 10_000);
    tally.at_least("right", 1_000);
}

mod gaps {
    use super::*;

    /// `a` sends `x2` ahead of `x1`, then `y1`; a right `b` may read `y1` before it says `x1`. Each side's messages stay in order here, so `y1`
    /// waits behind `x2`, and both wait for ever unless `x2` is certain (`docs/limits.md`). Nobody is blamed.
    #[test]
    fn a_message_that_waits_holds_up_those_of_other_blocks() {
        let early = message("b", "a", "x1", message("a", "b", "x2", Tree::End));
        let tree = par(vec![early, message("a", "b", "y1", Tree::End)], Tree::End);
        let monitor = monitor(&tree);
        let ahead = Ahead::new(&monitor);
        let order = [(Side::Process, "x2".to_owned()), (Side::Process, "y1".to_owned())];
        assert_eq!(as_they_come(&monitor, &ahead, &order), (End::Waits, [Vec::new(), Vec::new()]));
        let answered = [&order[..], &[(Side::Environment, "x1".to_owned())]].concat();
        assert_eq!(as_they_come(&monitor, &ahead, &answered).0, End::Over);
    }
}
