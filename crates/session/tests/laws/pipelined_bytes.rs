//! With pipelining on both sides, what is forwarded and who is blamed is what a proxy says that reads each side only in its
//! turn (ECOOP'21, Figure 6): however the bytes are cut, and in whichever order the messages of the two sides arrive. What such a proxy
//! would never come to, or never take whenever it came to it, is blamed as soon as it is there.

use referee_session::Options;
use referee_verdict::EndReason;
use referee_wire::Sender;

use crate::cuts::all_cuts;
use crate::machines::{LABELS, Machine, Sent, all_machines, all_streams, rules};
use crate::relay::Relay;

/// What comes of reading each side only in its turn.
struct InTurn {
    /// How many messages of each side are read.
    read: [usize; 2],
    /// Whose next message is wrong.
    wrong: Option<Sender>,
    state: usize,
}

fn in_turn(machine: &Machine, stream: &[Sent]) -> InTurn {
    let sent = Sender::BOTH.map(|sender| labels(stream, sender).collect::<Vec<_>>());
    let (mut state, mut read) = (0, [0, 0]);
    loop {
        let Some((speaker, targets)) = machine.get(state) else {
            return InTurn { read, wrong: None, state };
        };
        let index = speaker.index();
        let Some(label) = sent[index].get(read[index]) else { return InTurn { read, wrong: None, state } };
        let Some(Some(target)) = targets.get(*label) else {
            return InTurn { read, wrong: Some(*speaker), state };
        };
        read[index] += 1;
        state = *target;
    }
}

/// The labels of what `sender` sends.
fn labels(stream: &[Sent], sender: Sender) -> impl Iterator<Item = usize> {
    stream.iter().filter(move |(by, _)| *by == sender).map(|(_, label)| *label)
}

/// Whether `sender` sends `label` anywhere.
fn sends(machine: &Machine, sender: Sender, label: usize) -> bool {
    machine.iter().any(|(speaker, targets)| *speaker == sender && targets[label].is_some())
}

/// Whether `sender` may say anything in `state` or after it.
fn may_speak(machine: &Machine, state: usize, sender: Sender) -> bool {
    let (mut seen, mut open) = (Vec::new(), vec![state]);
    while let Some((state, (speaker, targets))) = open.pop().and_then(|at| Some((at, machine.get(at)?))) {
        if *speaker == sender {
            return true;
        }
        if !seen.contains(&state) {
            seen.push(state);
            open.extend(targets.iter().flatten().filter(|target| **target < machine.len()));
        }
    }
    false
}

#[test]
fn bytes_are_judged_as_if_each_side_were_read_in_its_turn() {
    let (mut blamed, mut over, mut never, mut cuts) = (0, 0, 0, 0);
    let streams: Vec<(Vec<Sent>, _)> =
        all_streams(3, 2).into_iter().map(|stream| (stream.clone(), all_cuts(&stream))).collect();
    for machine in &all_machines(2) {
        let rules = rules(machine, Options { pipelining: [true; 2], ..Options::default() });
        for (stream, all) in &streams {
            let InTurn { read, wrong, state } = in_turn(machine, stream);
            let is_over = state == machine.len();
            for chunks in all {
                cuts += 1;
                let mut relay = Relay::new(&rules);
                relay.receive(chunks);
                let context = || format!("{machine:?} {chunks:?}");
                let verdicts = relay.engine_verdicts();
                let found = verdicts.first().map(|verdict| {
                    let is_client = verdict.blame.as_deref() == Some("client");
                    if is_client { Sender::Client } else { Sender::Server }
                });
                assert_eq!(relay.closed, found.map(|_| EndReason::Violation), "{}", context());
                // What its sender never sends is blamed before it has its turn.
                let is_unknown = found.is_some_and(|found| {
                    let next = labels(stream, found).nth(relay.forwarded[found.index()].len() / 2);
                    next.is_some_and(|label| !sends(machine, found, label))
                });
                for sender in Sender::BOTH {
                    let all: Vec<u8> = labels(stream, sender)
                        .flat_map(|label| [LABELS[label].as_bytes()[0], b'\n'])
                        .collect();
                    let forwarded = &relay.forwarded[sender.index()];
                    // What goes on is a prefix of what was sent, and all that was read goes on.
                    assert!(all.starts_with(forwarded), "{}", context());
                    if found == wrong && !is_unknown {
                        let read = 2 * read[sender.index()];
                        assert!(forwarded.len() >= read, "{}", context());
                        assert!(forwarded.len() == read || wrong != Some(sender), "{}", context());
                    }
                }
                if found == wrong {
                    blamed += usize::from(wrong.is_some());
                    over += usize::from(is_over);
                } else {
                    let found = found.unwrap_or_else(|| panic!("nobody is blamed: {}", context()));
                    assert!(is_unknown || !may_speak(machine, state, found), "{}", context());
                    never += 1;
                }
            }
        }
    }
    assert!(blamed > 10_000 && over > 5_000 && never > 10_000, "{blamed} {over} {never} of {cuts}");
}

/// Teeth: without pipelining, what is sent before its turn is blamed, although in its turn it would have been right.
#[test]
fn without_pipelining_the_order_of_arrival_matters() {
    let machine = vec![(Sender::Server, [Some(1), None]), (Sender::Client, [Some(2), None])];
    let stream = [(Sender::Client, 0), (Sender::Server, 0)];
    assert!(in_turn(&machine, &stream).wrong.is_none());
    let closed = |pipelining| {
        let rules = rules(&machine, Options { pipelining, ..Options::default() });
        let mut relay = Relay::new(&rules);
        relay.receive(&all_cuts(&stream)[0]);
        relay.closed
    };
    assert_eq!((closed([true; 2]), closed([false; 2])), (None, Some(EndReason::Violation)));
}
