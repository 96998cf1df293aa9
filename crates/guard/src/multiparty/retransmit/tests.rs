//! Every interleaving of sending, arriving, acknowledging, losing and reconnecting, for a few peer messages and breaks.

use std::collections::{HashSet, VecDeque};

use hyper::body::Bytes;

use super::{Deduplicator, Receipt, RetransmitQueue};

const LETTERS: u8 = 3;
const BREAKS: u8 = 2;

/// The two ends and what is under way between them on the present connection.
#[derive(Clone)]
struct World {
    queue: RetransmitQueue,
    dedup: Deduplicator,
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
    /// The network gives a peer message a second time, which TCP does not.
    AHonestNetwork,
}

impl World {
    fn new() -> Self {
        Self {
            queue: RetransmitQueue::default(),
            dedup: Deduplicator::default(),
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
        let (first, given) = (self.queue.first, self.queue.sent);
        format!(
            "{first} {given} {} {} {} {} {:?} {:?} {:?} {:?} {}",
            self.queue.kept.len(),
            self.dedup.expected,
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
                world.queue.push(Bytes::copy_from_slice(&[world.written]));
                world.written += 1;
            });
        }
        for pipe in 0..self.late.len() {
            step(&|world| {
                let Some((number, message)) = world.late[pipe].pop_front() else {
                    world.late.remove(pipe);
                    return;
                };
                let taking = world.dedup.take(number);
                if taking == Receipt::New || without == Without::Numbers {
                    world.taken.push(message);
                }
            });
            step(&|world| drop(world.late.remove(pipe)));
        }
        if !self.connected {
            step(&|world| {
                world.connected = true;
                let expected = world.dedup.expected();
                if without == Without::Resending {
                    let given = world.queue.sent;
                    world.queue.restart_from(expected).unwrap();
                    world.queue.sent = given.min(world.queue.kept.len());
                } else if without == Without::Numbers {
                    world.queue.restart_from(expected).unwrap();
                } else {
                    assert!(world.queue.resume_from(expected), "two ends that remember disagree");
                }
            });
            return all;
        }
        if self.queue.sent < self.queue.kept.len() {
            step(&|world| {
                let (number, message) = world.queue.next_unsent().unwrap();
                world.forth.push_back((number, message[0]));
            });
        }
        if !self.forth.is_empty() {
            let arrive = |world: &mut Self, keep: bool| {
                let (number, message) = world.forth[0];
                if !keep {
                    world.forth.pop_front();
                }
                let taking = world.dedup.take(number);
                match taking {
                    Receipt::New => world.taken.push(message),
                    _ if without == Without::Numbers => world.taken.push(message),
                    Receipt::Duplicate => {}
                    Receipt::Gap => return world.cut(),
                }
                world.back.push_back(world.dedup.expected());
            };
            step(&|world| arrive(world, false));
            if without == Without::AHonestNetwork && self.back.len() < 3 {
                step(&|world| arrive(world, true));
            }
        }
        if !self.back.is_empty() {
            step(&|world| {
                let expected = world.back.pop_front().unwrap();
                world.queue.acknowledged(expected).unwrap();
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
        let in_order = world.taken.iter().enumerate().all(|(i, message)| usize::from(*message) == i);
        if !in_order || world.taken.len() > usize::from(world.written) {
            return (seen.len(), Some(format!("taken {:?}", world.taken)));
        }
        let next = world.steps(without);
        // Nothing more can happen but breaks: then everything has arrived and nothing is kept.
        let breaks = usize::from(world.connected && world.breaks < BREAKS);
        if next.len() == breaks && (world.taken.len() != usize::from(LETTERS) || world.queue.len() != 0) {
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
    let mut queue = RetransmitQueue::default();
    queue.push(Bytes::new());
    assert!(queue.restart_from(2).is_err() && queue.restart_from(1).is_ok() && queue.len() == 0);
    assert!(queue.acknowledged(0).is_ok(), "an old acknowledgement");
}

/// An end that has forgotten the link is not lost for good: from then on everything arrives again.
#[test]
fn a_forgetful_end_is_met_where_it_is() {
    for forgets_at_sender in [true, false] {
        let (mut queue, mut dedup) = (RetransmitQueue::default(), Deduplicator::default());
        for number in 0..5 {
            queue.push(Bytes::new());
            assert_eq!(dedup.take(number), Receipt::New);
        }
        assert!(queue.resume_from(dedup.expected()));
        if forgets_at_sender {
            queue.clear();
        } else {
            dedup = Deduplicator::default();
        }
        queue.push(Bytes::new());
        assert!(!queue.resume_from(dedup.expected()), "what was lost is noticed");
        queue.push(Bytes::from_static(b"x"));
        let (number, message) = queue.next_unsent().unwrap();
        assert_eq!((dedup.take(number), &*message), (Receipt::New, &b"x"[..]));
        assert!(queue.acknowledged(dedup.expected()).is_ok() && queue.resume_from(dedup.expected()));
    }
}
