//! Messages sent ahead of their turn (`Ahead`), against a proxy that reads each side only in its turn, as the monitor
//! of ECOOP'21 (Figure 6) does: whatever order messages arrive in, the same ones are forwarded, and the same one is
//! blamed. Whether a side may have anything left to say is what trying all answers says.

use std::collections::VecDeque;
use std::sync::Arc;

use referee_monitor::{Ahead, Lead, Monitor, Payload, Registry, Side, Verdict};
use referee_theory::{Action, MachineBuilder, Origin, State, Transition, Vocabulary};

use crate::random::Random;
use crate::terms::Tally;

/// For each state but the last, which is final: who speaks, and where `a` and `b` lead.
type Table = Vec<(Action, [Option<usize>; 2])>;

const LABELS: [&str; 2] = ["a", "b"];

fn monitor(table: &Table) -> Monitor {
    let mut vocabulary = Vocabulary::new();
    let (client, server) = (vocabulary.add_role("client"), vocabulary.add_role("server"));
    let messages = LABELS.map(|label| vocabulary.add_plain_message(label));
    let mut machine = MachineBuilder::new(client);
    let states: Vec<_> = (0..=table.len()).map(|_| machine.add_state()).collect();
    for (state, (action, targets)) in table.iter().enumerate() {
        for (message, target) in messages.iter().zip(targets) {
            if let Some(target) = target {
                let (action, target) = (*action, states[*target]);
                let transition =
                    Transition { action, peer: server, message: *message, target, origin: Origin::NONE };
                machine.add_transition(states[state], transition);
            }
        }
    }
    Monitor::synthesise(&machine.finish(), &Arc::new(vocabulary), &Registry::new()).unwrap()
}

/// What comes of what both sides send.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    /// The message of a side with this number is wrong.
    Blamed(Side, usize),
    /// The session is over.
    Over,
    /// It is the turn of a side that has nothing more to say.
    Waits,
}

fn index(side: Side) -> usize {
    usize::from(side == Side::Environment)
}

/// Reads each side only in its turn.
fn in_turn(table: &Table, sent: &[Vec<usize>; 2]) -> (End, [usize; 2]) {
    let (mut state, mut read) = (0, [0, 0]);
    loop {
        let Some((action, targets)) = table.get(state) else { return (End::Over, read) };
        let side = if *action == Action::Send { Side::Process } else { Side::Environment };
        let Some(&label) = sent[index(side)].get(read[index(side)]) else { return (End::Waits, read) };
        let Some(target) = targets[label] else { return (End::Blamed(side, read[index(side)]), read) };
        read[index(side)] += 1;
        state = target;
    }
}

/// Whether `side` may have anything to say after it has sent `led` ahead of its turn in `state`, by trying all answers.
fn may_speak(monitor: &Monitor, state: State, led: &[usize], side: Side) -> bool {
    let own = if side == Side::Process { Action::Send } else { Action::Receive };
    let (mut seen, mut open) = (Vec::new(), vec![state]);
    while let Some(state) = open.pop() {
        if seen.contains(&state) {
            continue;
        }
        seen.push(state);
        for transition in monitor.machine().transitions(state) {
            let Some((label, rest)) = led.split_first().filter(|_| transition.action == own) else {
                if transition.action == own {
                    return true;
                }
                open.push(transition.target);
                continue;
            };
            let is_next = monitor.vocabulary().label_of(transition.message) == LABELS[*label];
            if is_next && may_speak(monitor, transition.target, rest, side) {
                return true;
            }
        }
    }
    false
}

/// Offers messages as they arrive, keeps those that are early, and counts those that go on.
fn as_they_come(
    monitor: &Monitor,
    ahead: &Ahead,
    arrivals: &[(Side, usize)],
    tally: &mut Tally,
) -> (End, [usize; 2]) {
    let (mut session, mut lead) = (monitor.session(), Lead::default());
    let mut kept = [VecDeque::new(), VecDeque::new()];
    let mut forwarded = [0, 0];
    let mut led = Vec::new();
    for (side, label) in arrivals {
        kept[index(*side)].push_back(*label);
        let mut progress = true;
        while std::mem::take(&mut progress) {
            for side in [Side::Process, Side::Environment] {
                let Some(&label) = kept[index(side)].front() else { continue };
                if monitor.is_over(&session) {
                    continue;
                }
                let before = lead.len();
                let id = monitor.label(LABELS[label]);
                match ahead.judge(monitor, &mut session, &mut lead, side, id, Payload::Positional(&[])) {
                    Verdict::Forward => {
                        forwarded[index(side)] += 1;
                        led.extend((lead.len() > before).then_some(label));
                        led.drain(..led.len() - lead.len());
                        kept[index(side)].pop_front();
                        progress = true;
                        tally.count(if lead.len() > before { "ahead" } else { "in turn" });
                    }
                    Verdict::Early => {
                        let found = ahead.may_speak(&session, &lead, side);
                        let expected = may_speak(monitor, session.state(), &led, side);
                        // Whoever is ahead may not know yet what the other side has made impossible since.
                        assert!(found == expected || (found && !led.is_empty()), "{arrivals:?} {led:?}");
                        tally.count(if found { "early" } else { "late" });
                    }
                    _ => return (End::Blamed(side, forwarded[index(side)]), forwarded),
                }
            }
        }
    }
    (if monitor.is_over(&session) { End::Over } else { End::Waits }, forwarded)
}

/// All orders in which the messages of both sides can arrive.
fn orders(sent: &[Vec<usize>; 2]) -> Vec<Vec<(Side, usize)>> {
    fn extend(
        sent: &[Vec<usize>; 2],
        at: [usize; 2],
        order: &mut Vec<(Side, usize)>,
        all: &mut Vec<Vec<(Side, usize)>>,
    ) {
        let mut last = true;
        for side in [Side::Process, Side::Environment] {
            if let Some(&label) = sent[index(side)].get(at[index(side)]) {
                last = false;
                let mut next = at;
                next[index(side)] += 1;
                order.push((side, label));
                extend(sent, next, order, all);
                order.pop();
            }
        }
        if last {
            all.push(order.clone());
        }
    }
    let mut all = Vec::new();
    extend(sent, [0, 0], &mut Vec::new(), &mut all);
    all
}

fn sequences(longest: u32) -> Vec<Vec<usize>> {
    (0..=longest)
        .flat_map(|length| {
            (0..1_usize << length).map(move |bits| (0..length).map(|i| bits >> i & 1).collect())
        })
        .collect()
}

fn check(table: &Table, sent: &[Vec<usize>; 2], orders: &[Vec<(Side, usize)>], tally: &mut Tally) {
    let monitor = monitor(table);
    let ahead = Ahead::new(&monitor);
    let (end, read) = in_turn(table, sent);
    for order in orders {
        let (found, forwarded) = as_they_come(&monitor, &ahead, order, tally);
        assert_eq!(found, end, "{table:?} {order:?}");
        for side in [0, 1] {
            // What is forwarded beyond what was read is ahead, and right whatever the other side says next.
            assert!(forwarded[side] >= read[side], "{table:?} {order:?}");
            if let End::Blamed(blamed, number) = end
                && index(blamed) == side
            {
                assert_eq!(forwarded[side], number, "{table:?} {order:?}");
            }
        }
    }
}

#[test]
fn all_machines_of_two_states() {
    let mut tally = Tally::default();
    let targets = [None, Some(0), Some(1), Some(2)];
    let states: Vec<(Action, [Option<usize>; 2])> = [Action::Send, Action::Receive]
        .into_iter()
        .flat_map(|action| targets.into_iter().flat_map(move |a| targets.map(|b| (action, [a, b]))))
        .filter(|(_, targets)| *targets != [None, None])
        .collect();
    let sequences = sequences(2);
    let pairs: Vec<_> = sequences
        .iter()
        .flat_map(|p| sequences.iter().map(|e| [p.clone(), e.clone()]))
        .map(|sent| (orders(&sent), sent))
        .collect();
    for first in &states {
        for second in &states {
            let table = vec![*first, *second];
            for (orders, sent) in &pairs {
                check(&table, sent, orders, &mut tally);
            }
        }
    }
    tally.at_least("ahead", 10_000);
    tally.at_least("early", 10_000);
    tally.at_least("late", 10_000);
}

#[test]
fn random_larger_ones() {
    let mut tally = Tally::default();
    for seed in 0..1_500 {
        let mut random = Random::new(seed);
        let states = 3 + random.below(3);
        let table: Table = (0..states)
            .map(|_| {
                let action = if random.below(2) == 0 { Action::Send } else { Action::Receive };
                let mut target = || (random.below(5) > 0).then(|| random.below(states + 1));
                let targets = [target(), target()];
                (action, if targets == [None, None] { [Some(states), None] } else { targets })
            })
            .collect();
        for _ in 0..10 {
            let sent =
                [4, 4].map(|most| (0..random.below(most)).map(|_| random.below(2)).collect::<Vec<_>>());
            let orders = orders(&sent);
            check(&table, &sent, &orders, &mut tally);
        }
    }
    tally.at_least("ahead", 5_000);
}

/// Teeth: what only some answers allow waits, and a message that was allowed to go would have been wrong.
#[test]
fn what_only_some_answers_allow_waits() {
    // The server answers `a` or `b`; only after `a` may the client say `a`.
    let table = vec![
        (Action::Receive, [Some(1), Some(2)]),
        (Action::Send, [Some(3), None]),
        (Action::Send, [None, Some(3)]),
    ];
    let monitor = monitor(&table);
    let ahead = Ahead::new(&monitor);
    let (mut session, mut lead) = (monitor.session(), Lead::default());
    let mut say = |side, label| {
        ahead.judge(&monitor, &mut session, &mut lead, side, monitor.label(label), Payload::Positional(&[]))
    };
    assert_eq!(say(Side::Process, "a"), Verdict::Early);
    assert_eq!(say(Side::Environment, "b"), Verdict::Forward);
    assert!(matches!(say(Side::Process, "a"), Verdict::Violation(_)));
}
