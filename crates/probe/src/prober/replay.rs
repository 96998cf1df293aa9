//! Doing again what was done, and with less: a trace is shortened where it comes back to a state.

use std::io;

use super::{Listened, Prober};
use crate::calls::{CallKind, CallRules};
use crate::conversation::{Conversation, Deviation, Exchange};
use crate::peer::Peer;
use crate::report::Finding;
use crate::script::{Script, ScriptStep, form_of, unescaped};
use crate::values::{Wanted, encoded, forms, is_taken};

impl<P: Peer> Prober<P> {
    /// Shortens the conversation that ended with `deviation` as long as the same comes of it.
    pub(super) fn shrink(
        &mut self,
        conversation: &Conversation,
        deviation: Deviation,
    ) -> io::Result<Finding> {
        let full = conversation.exchanges().len();
        let mut best: Vec<Exchange> = conversation.exchanges().to_vec();
        let mut finding = deviation;
        let mut reproduced = false;
        let mut left = self.options.shrinking;
        let mut script = Script::of(&self.player, &best);
        if left > 0 {
            left -= 1;
            if let (_, Some(found)) = self.replay_once(&script)? {
                reproduced = is_same(&finding, &found);
            }
        }
        while reproduced && left > 0 {
            let Some(shorter) = self.shorten(&best, &finding, &mut left)? else { break };
            (best, finding) = shorter;
            script = Script::of(&self.player, &best);
        }
        let trace: Vec<String> = best.iter().map(|exchange| exchange.shown.clone()).collect();
        let shortened_by = full.saturating_sub(best.len());
        Ok(Finding {
            verdict: finding.record,
            trace,
            script,
            reproduced,
            shortened_by,
            origin: finding.origin,
        })
    }

    /// A conversation like `exchanges` without one of its loops, longest first, that ends with the same deviation.
    fn shorten(
        &mut self,
        exchanges: &[Exchange],
        deviation: &Deviation,
        left: &mut usize,
    ) -> io::Result<Option<(Vec<Exchange>, Deviation)>> {
        for (from, to) in loops(exchanges) {
            if *left == 0 {
                return Ok(None);
            }
            *left -= 1;
            let mut rest = exchanges.to_vec();
            rest.drain(from..to);
            let script = Script::of(&self.player, &rest);
            if let (conversation, Some(found)) = self.replay_once(&script)?
                && is_same(deviation, &found)
                && conversation.exchanges().len() < exchanges.len()
            {
                return Ok(Some((conversation.exchanges().to_vec(), found)));
            }
        }
        Ok(None)
    }

    /// Does what `script` says on a new connection: the conversation, and the peer's deviation if there was one. Where the peer
    /// goes another way, the script ends.
    pub(super) fn replay_once(&mut self, script: &Script) -> io::Result<(Conversation, Option<Deviation>)> {
        let mut conversation = self.connect()?;
        let found = self.follow(script, &mut conversation);
        self.peer.close();
        Ok((conversation, found))
    }

    fn follow(&mut self, script: &Script, conversation: &mut Conversation) -> Option<Deviation> {
        for (heard, step) in script.steps.iter().enumerate() {
            match step {
                ScriptStep::Receive { label } => {
                    // Several may come at once.
                    while conversation.exchanges().len() <= heard {
                        if let Some(end) = self.expect(conversation) {
                            return end;
                        }
                    }
                    if conversation.exchanges().get(heard).is_none_or(|exchange| *exchange.label != **label) {
                        self.note(format!("the peer did not send `{label}` this time"));
                        return None;
                    }
                }
                ScriptStep::Send { label, bytes } => {
                    let bytes = unescaped(bytes).unwrap_or_default();
                    if !self.say(conversation, label, bytes) {
                        break;
                    }
                }
                ScriptStep::Wrong { bytes } => {
                    let bytes = unescaped(bytes).unwrap_or_default();
                    let _ = self.peer.send(&bytes);
                    self.note("what follows a wrong message is not judged when it is replayed".to_owned());
                    return None;
                }
            }
        }
        loop {
            if let Some(end) = self.expect(conversation) {
                return end;
            }
        }
    }

    /// Sends `label` again: with the same values, or with others where the protocol does not take those any more, because
    /// the peer has chosen other ones.
    fn say(&mut self, conversation: &mut Conversation, label: &str, bytes: Vec<u8>) -> bool {
        let edges = self.player.edges_of(conversation.state()).iter();
        let Some(edge) = edges.clone().find(|edge| edge.is_own && *edge.label == *label).cloned() else {
            self.note(format!("`{label}` cannot be sent this time"));
            return false;
        };
        let mut form = form_of(&self.player, &edge, bytes);
        // An answer has the id of its question, which the peer may choose anew.
        let is_answer = |rules: &CallRules| matches!(rules.kind(label), CallKind::Answer(_));
        let is_wrong = self.player.calls().is_some_and(is_answer)
            || form.values.as_ref().is_some_and(|values| {
                !is_taken(&self.player, conversation.session(), &edge, values)
                    || encoded(&self.player, (&edge, None), values).is_empty()
            });
        if is_wrong {
            let others = forms(&self.player, conversation, &edge, Wanted::Right, 1);
            let Some(other) = others.into_iter().next() else {
                self.note(format!("no values of `{label}` will do this time"));
                return false;
            };
            form = other;
        }
        if let Err(why) = conversation.send(&edge, &form, self.peer.now()) {
            self.note(format!("`{label}` is not sent: {why}"));
            return false;
        }
        self.sent += 1;
        self.coverage.visit(conversation.state());
        if self.peer.send(&form.bytes).is_ok() {
            self.coverage.take(edge.number);
        }
        true
    }

    /// Waits for the peer; something if nothing more will come.
    fn expect(&mut self, conversation: &mut Conversation) -> Option<Option<Deviation>> {
        if conversation.has_ended() || self.is_overdue() {
            return Some(None);
        }
        match self.listen(conversation, self.options.timeout) {
            Listened::Messages => None,
            Listened::Deviation(deviation) => Some(Some(*deviation)),
            Listened::Silence | Listened::End | Listened::NotJudged => Some(None),
        }
    }
}

/// Where `exchanges` come back to a state: from the first message of the loop up to the one after it, the longest first.
fn loops(exchanges: &[Exchange]) -> Vec<(usize, usize)> {
    let states: Vec<u32> = exchanges
        .iter()
        .map(|exchange| exchange.before.0)
        .chain(exchanges.last().map(|exchange| exchange.after.0))
        .collect();
    let mut found = Vec::new();
    for (from, state) in states.iter().enumerate() {
        let later = states.iter().enumerate().skip(from + 1);
        found.extend(later.filter(|(_, other)| *other == state).map(|(to, _)| (from, to)));
    }
    found.sort_by_key(|(from, to)| std::cmp::Reverse(to - from));
    found
}

/// Whether two deviations are the same mistake.
fn is_same(left: &Deviation, right: &Deviation) -> bool {
    let key = |found: &Deviation| {
        let record = &found.record;
        (record.kind.clone(), record.expected.clone(), record.got.clone(), record.assertion.clone())
    };
    key(left) == key(right)
}
