//! Keyed sub-sessions: when a trace is *right*, by the definition (`docs/concurrency.md`, section 2, *What a trace means*).
//!
//! A trace is a sequence of messages in the order in which a guard passes them on. Machines are small and given by hand.

use std::collections::BTreeSet;

/// `true` is the client.
pub type Client = bool;

/// For each state, who says what, and where that leads. A state without steps is final.
pub type Machine = Vec<Vec<(Client, &'static str, usize)>>;

/// A message: who says it, its label, and its key if it has one.
pub type Event = (Client, &'static str, Option<u8>);

/// Whether calls may be opened in a state of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before `open`, or behind the message after `close`.
    Closed,
    /// Behind `open`.
    Open,
    /// Behind `close`, before the next message.
    Closing,
    /// The parent is over; it was open.
    Ended,
}

/// A parent and the protocol that it opens.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The parent.
    pub parent: Machine,
    /// Where calls may be opened, by state of the parent.
    pub places: Vec<Place>,
    /// `P`.
    pub call: Machine,
    /// `interrupted by M from r`.
    pub interrupted_by: Option<(Client, &'static str)>,
}

/// Where the calls of one key may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    /// Every call is finished.
    None,
    Running(usize),
    /// Interrupted, with the state as if it were not.
    Interrupted(usize),
}

impl Protocol {
    fn opener(&self) -> Client {
        self.call[0][0].0
    }

    /// Whether `trace` is right: conditions 1 to 4.
    #[must_use]
    pub fn right(&self, trace: &[Event]) -> bool {
        let mut parent = 0;
        let mut ended_by = None;
        let keys: BTreeSet<u8> = trace.iter().filter_map(|event| event.2).collect();
        let mut calls: Vec<(u8, BTreeSet<Call>)> =
            keys.into_iter().map(|key| (key, BTreeSet::from([Call::None]))).collect();
        for &(client, label, key) in trace {
            let Some(key) = key else {
                // 4. Behind `close`, every call is finished or interrupted.
                let left =
                    |states: &BTreeSet<Call>| !states.iter().any(|call| !matches!(call, Call::Running(_)));
                if self.places[parent] == Place::Closing && calls.iter().any(|(_, states)| left(states)) {
                    return false;
                }
                // 1. The parent's messages are a trace of the parent.
                let Some(step) = self.parent[parent].iter().find(|step| (step.0, step.1) == (client, label))
                else {
                    return false;
                };
                parent = step.2;
                if self.parent[parent].is_empty() {
                    ended_by = Some(client);
                }
                continue;
            };
            // 3. The first message of a call stands where P is open.
            let opens = self.call[0].iter().any(|step| (step.0, step.1) == (client, label));
            let may_open = match self.places[parent] {
                Place::Open | Place::Closing => true,
                Place::Ended => ended_by != Some(self.opener()),
                Place::Closed => false,
            };
            if opens && !may_open {
                return false;
            }
            // 2. The messages of a key are calls, one after the other, the last perhaps not finished.
            for (_, states) in calls.iter_mut().filter(|(own, _)| *own == key) {
                *states = states.iter().flat_map(|call| self.next(*call, client, label)).collect();
                if states.is_empty() {
                    return false;
                }
            }
        }
        true
    }

    /// Where a key may be after a message of it.
    fn next(&self, call: Call, client: Client, label: &str) -> Vec<Call> {
        let step = |state: usize| {
            self.call[state].iter().find(|step| (step.0, step.1) == (client, label)).map(|step| step.2)
        };
        let running =
            |state: usize| if self.call[state].is_empty() { Call::None } else { Call::Running(state) };
        let interrupts = self.interrupted_by == Some((client, label));
        match call {
            // No effect.
            Call::None | Call::Interrupted(_) if interrupts => vec![call],
            Call::Running(state) if interrupts => vec![self.interrupted(state)],
            Call::None => step(0).map(running).into_iter().collect(),
            Call::Running(state) => step(state).map(running).into_iter().collect(),
            Call::Interrupted(state) => {
                let Some((by, _)) = self.interrupted_by else { return Vec::new() };
                // The other side goes on as if nothing had happened, or begins the next call if it is the opener.
                let opens = self.call[0].iter().any(|step| (step.0, step.1) == (client, label));
                if opens && by != self.opener() {
                    return step(0).map(running).into_iter().collect();
                }
                if client == by {
                    return Vec::new();
                }
                step(state).map(|state| self.interrupted(state)).into_iter().collect()
            }
        }
    }

    /// An interrupted call is finished where the side that did not interrupt has nothing left to send unless the other sends first.
    fn interrupted(&self, state: usize) -> Call {
        let by = self.interrupted_by.map(|(by, _)| by);
        let has_more = self.call[state].iter().any(|step| Some(step.0) != by);
        if has_more { Call::Interrupted(state) } else { Call::None }
    }
}
