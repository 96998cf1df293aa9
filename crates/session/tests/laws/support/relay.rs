//! An engine fed with chunks, as the driver of a guard does it, without time and sockets.

use std::sync::Arc;
use std::task::Waker;

use referee_session::{Action, Engine as _, HoldUntil, TwoParty, TwoPartyRules};
use referee_verdict::{EndReason, VerdictRecord};
use referee_wire::{Scratch, Sender};

use crate::cuts::Chunk;

/// What became of a session.
pub(crate) struct Relay {
    engine: TwoParty,
    inbox: [Vec<u8>; 2],
    /// The progress at which the inbox was held.
    held: [Option<u64>; 2],
    pub(crate) forwarded: [Vec<u8>; 2],
    pub(crate) closed: Option<EndReason>,
    scratch: Scratch,
}

impl Relay {
    pub(crate) fn new(rules: &Arc<TwoPartyRules>) -> Self {
        Self {
            engine: TwoParty::new(rules, None),
            inbox: [Vec::new(), Vec::new()],
            held: [None; 2],
            forwarded: [Vec::new(), Vec::new()],
            closed: None,
            scratch: Scratch::new(),
        }
    }

    /// The verdicts on all of `chunks`.
    pub(crate) fn verdicts(rules: &Arc<TwoPartyRules>, chunks: &[Chunk]) -> Vec<VerdictRecord> {
        let mut relay = Self::new(rules);
        relay.receive(chunks);
        relay.engine_verdicts()
    }

    pub(crate) fn engine_verdicts(&mut self) -> Vec<VerdictRecord> {
        self.engine.take_reports().into_iter().map(|verdict| verdict.record).collect()
    }

    pub(crate) fn receive(&mut self, chunks: &[Chunk]) {
        for (sender, bytes) in chunks {
            self.inbox[sender.index()].extend_from_slice(bytes);
            self.decide(*sender);
            // What one side was held for, the other may have said.
            let mut progress = None;
            while progress.replace(self.engine.progress()) != Some(self.engine.progress()) {
                Sender::BOTH.into_iter().for_each(|sender| self.decide(sender));
            }
        }
    }

    pub(crate) fn end(&mut self, sender: Sender) {
        let unread = std::mem::take(&mut self.inbox[sender.index()]);
        if let Err(why) = self.engine.end(sender, &unread) {
            self.closed = Some(why);
        }
    }

    fn decide(&mut self, sender: Sender) {
        let index = sender.index();
        self.forwarded[index].extend(self.engine.released(sender).unwrap_or_default());
        while self.closed.is_none() && !self.inbox[index].is_empty() {
            if self.held[index].take() == Some(self.engine.progress()) {
                self.held[index] = Some(self.engine.progress());
                return;
            }
            let unread = &self.inbox[index];
            match self.engine.receive(sender, unread, &mut self.scratch, Waker::noop()).action {
                Action::Forward(count) => self.forwarded[index].extend(self.inbox[index].drain(..count)),
                Action::ForwardAll => self.forwarded[index].append(&mut self.inbox[index]),
                Action::Discard(count) | Action::Keep(count) => drop(self.inbox[index].drain(..count)),
                Action::Hold(HoldUntil::Progress) => self.held[index] = Some(self.engine.progress()),
                Action::Hold(_) => return,
                Action::Close(why) => self.closed = Some(why),
                other => panic!("{other:?}"),
            }
            self.forwarded[index].extend(self.engine.released(sender).unwrap_or_default());
        }
    }
}
