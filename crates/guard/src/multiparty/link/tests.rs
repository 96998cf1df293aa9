//! Every interleaving of sending, arriving, acknowledging, losing and reconnecting, for a few letters and breaks.

use std::collections::{HashSet, VecDeque};

use hyper::body::Bytes;

use super::{Inbox, Outbox, Taking};

const LETTERS: u8 = 3;
const BREAKS: u8 = 2;

/// The two ends and what is under way between them on the present connection.
#[derive(Clone)]
struct World {
    outbox: Outbox,
    inbox: Inbox,
    written: u8,
    breaks: u8,
    connected: bool,
    forth: VecDeque<(u64, u8)>,
    /// What the receiver may still read from connections that the sender has given up.
    late: Vec<VecDeque<(u64, u8)>>,
    back: VecDeque<u64>,
    taken: Vec<u8>,
}

/// Which rule is left out, to see that it is needed.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// The receiver takes whatever comes.
    Numbers,
    /// The sender does not send again.
    Resending,
    /// The network gives a letter a second time, which TCP does not.
    AHonestNetwork,
}

impl World {
    fn new() -> Self {
        Self {
            outbox: Outbox::default(),
            inbox: Inbox::default(),
            written: 0,
            breaks: 0,
            connected: false,
            forth: VecDeque::new(),
            late: Vec::new(),
            back: VecDeque::new(),
            taken: Vec::new(),
        }
    }

    fn key(&self) -> String {
        let (first, given) = (self.outbox.first, self.outbox.given);
        format!(
            "{first} {given} {} {} {} {} {:?} {:?} {:?} {:?} {}",
            self.outbox.kept.len(),
            self.inbox.expected,
            self.written,
            self.breaks,
            self.forth,
            self.late,
            self.back,
            self.taken,
            self.connected
        )
    }

    /// Everything that can happen next.
    fn steps(&self, without: Without) -> Vec<Self> {
        let mut all = Vec::new();
        let mut step = |change: &dyn Fn(&mut Self)| {
            let mut next = self.clone();
            change(&mut next);
            all.push(next);
        };
        if self.written < LETTERS {
            step(&|world| {
                world.outbox.push(Bytes::copy_from_slice(&[world.written]));
                world.written += 1;
            });
        }
        for pipe in 0..self.late.len() {
            step(&|world| {
                let Some((number, letter)) = world.late[pipe].pop_front() else {
                    world.late.remove(pipe);
                    return;
                };
                let taking = world.inbox.take(number);
                if taking == Taking::Take || without == Without::Numbers {
                    world.taken.push(letter);
                }
            });
            step(&|world| drop(world.late.remove(pipe)));
        }
        if !self.connected {
            step(&|world| {
                world.connected = true;
                let expected = world.inbox.expected();
                if without == Without::Resending {
                    let given = world.outbox.given;
                    world.outbox.connected(expected).unwrap();
                    world.outbox.given = given.min(world.outbox.kept.len());
                } else {
                    world.outbox.connected(expected).unwrap();
                }
            });
            return all;
        }
        if self.outbox.given < self.outbox.kept.len() {
            step(&|world| {
                let (number, letter) = world.outbox.give().unwrap();
                world.forth.push_back((number, letter[0]));
            });
        }
        if !self.forth.is_empty() {
            let arrive = |world: &mut Self, keep: bool| {
                let (number, letter) = world.forth[0];
                if !keep {
                    world.forth.pop_front();
                }
                let taking = world.inbox.take(number);
                match taking {
                    Taking::Take => world.taken.push(letter),
                    _ if without == Without::Numbers => world.taken.push(letter),
                    Taking::Again => {}
                    Taking::Gap => return world.cut(),
                }
                world.back.push_back(world.inbox.expected());
            };
            step(&|world| arrive(world, false));
            if without == Without::AHonestNetwork && self.back.len() < 3 {
                step(&|world| arrive(world, true));
            }
        }
        if !self.back.is_empty() {
            step(&|world| {
                let expected = world.back.pop_front().unwrap();
                world.outbox.acknowledged(expected).unwrap();
            });
        }
        if self.breaks < BREAKS {
            step(&|world| {
                world.breaks += 1;
                world.cut();
            });
        }
        all
    }

    fn cut(&mut self) {
        self.connected = false;
        let under_way = std::mem::take(&mut self.forth);
        if !under_way.is_empty() {
            self.late.push(under_way);
        }
        self.back.clear();
    }
}

/// How many worlds there are, and the first that is wrong.
fn explore(without: Without) -> (usize, Option<String>) {
    let mut seen = HashSet::new();
    let mut open = vec![World::new()];
    while let Some(world) = open.pop() {
        if !seen.insert(world.key()) {
            continue;
        }
        let in_order = world.taken.iter().enumerate().all(|(i, letter)| usize::from(*letter) == i);
        if !in_order || world.taken.len() > usize::from(world.written) {
            return (seen.len(), Some(format!("taken {:?}", world.taken)));
        }
        let next = world.steps(without);
        // Nothing more can happen but breaks: then everything has arrived and nothing is kept.
        let breaks = usize::from(world.connected && world.breaks < BREAKS);
        if next.len() == breaks && (world.taken.len() != usize::from(LETTERS) || world.outbox.len() != 0) {
            return (seen.len(), Some(format!("stuck with {:?}", world.taken)));
        }
        open.extend(next);
    }
    (seen.len(), None)
}

#[test]
fn nothing_is_lost_doubled_or_reordered() {
    let (worlds, wrong) = explore(Without::Nothing);
    assert_eq!(wrong, None);
    assert!(worlds > 500, "only {worlds} worlds: the search is empty");
    println!("{worlds} worlds");
    // Even if what carries frames repeats them.
    assert_eq!(explore(Without::AHonestNetwork).1, None);
}

#[test]
fn each_rule_is_needed() {
    assert!(explore(Without::Numbers).1.is_some());
    assert!(explore(Without::Resending).1.is_some());
}

#[test]
fn what_cannot_have_been_taken_is_noticed() {
    let mut outbox = Outbox::default();
    outbox.push(Bytes::new());
    assert!(outbox.connected(2).is_err() && outbox.connected(1).is_ok() && outbox.len() == 0);
    assert!(outbox.acknowledged(0).is_ok(), "an old acknowledgement");
}
