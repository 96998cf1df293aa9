//! Wrong messages: a session for each, which goes to the state by ways that are known, and sends it there.

use std::io;

use referee_theory::State;
use referee_verdict::VerdictRecord;

use super::{Listened, Prober};
use crate::conversation::{Conversation, Deviation, Turn};
use crate::mutation::{Mutation, MutationOutcome, Reaction, bytes, mutations, reaction};
use crate::peer::{Heard, Peer};
use crate::player::Edge;
use crate::report::Finding;
use crate::script::{Script, ScriptStep, escaped};
use crate::values::{Wanted, forms};

/// What came of a wrong message.
enum Attempt {
    /// It was sent after this conversation: its bytes, and what the peer did.
    Sent(Conversation, Vec<u8>, Reaction),
    /// It could not be sent.
    Impossible,
    /// The peer broke the protocol before.
    Deviation(Conversation, Box<Deviation>),
}

/// Where the way to a state led.
enum Way {
    There,
    Elsewhere,
    Deviation(Box<Deviation>),
}

impl<P: Peer> Prober<P> {
    /// Sends wrong messages in every state that was visited, as many as are allowed. The first that is accepted is a finding.
    pub(super) fn mutate(&mut self) -> io::Result<(Vec<MutationOutcome>, Option<Finding>)> {
        let states =
            self.player.monitor().machine().states().filter(|state| self.coverage.visits(*state) > 0);
        let mut columns: Vec<_> = states.map(|state| mutations(&self.player, state).into_iter()).collect();
        let mut outcomes = Vec::new();
        let mut finding = None;
        // One of each state in turn, so that a bound cuts all of them short alike.
        while self.options.mutations > 0 {
            let round: Vec<Mutation> = columns.iter_mut().filter_map(Iterator::next).collect();
            if round.is_empty() {
                break;
            }
            for mutation in round {
                if outcomes.len() >= self.options.mutations || self.is_limited_within() {
                    self.limit.get_or_insert("the limit of wrong messages is reached");
                    return Ok((outcomes, finding));
                }
                let (conversation, sent, reaction) = match self.attempt(&mutation)? {
                    Attempt::Sent(conversation, sent, reaction) => (conversation, sent, reaction),
                    Attempt::Impossible => continue,
                    Attempt::Deviation(conversation, deviation) => {
                        let finding = self.shrink(&conversation, *deviation)?;
                        match self.confirmed(finding) {
                            Some(finding) => return Ok((outcomes, Some(finding))),
                            None => continue,
                        }
                    }
                };
                self.sent += 1;
                if let Reaction::Accepted(answer) = &reaction
                    && finding.is_none()
                {
                    finding = Some(self.accepted(&conversation, &mutation, (&sent, answer)));
                }
                if let Reaction::Unknown(_) | Reaction::Ignored = reaction {
                    let state = self.player.state_name(mutation.state);
                    self.note(format!("whether {} in `{state}` was refused", mutation.wrong));
                }
                let state = self.player.state_name(mutation.state);
                outcomes.push(MutationOutcome { state, wrong: mutation.wrong, reaction });
            }
        }
        Ok((outcomes, finding))
    }

    /// Tries `mutation`, again where the peer leads elsewhere.
    fn attempt(&mut self, mutation: &Mutation) -> io::Result<Attempt> {
        for _ in 0..self.options.attempts {
            let mut conversation = self.connect()?;
            let way = self.go_to(&mut conversation, mutation.state);
            let sent = if let Way::There = way { self.send_wrong(&mut conversation, mutation) } else { None };
            self.peer.close();
            match (way, sent) {
                (Way::There, Some((sent, reaction))) => {
                    return Ok(Attempt::Sent(conversation, sent, reaction));
                }
                (Way::There, None) => break,
                (Way::Deviation(deviation), _) => return Ok(Attempt::Deviation(conversation, deviation)),
                (Way::Elsewhere, _) => {}
            }
        }
        Ok(Attempt::Impossible)
    }

    /// Sends `mutation`: its bytes, and what the peer does. `None` if there are none that are wrong.
    fn send_wrong(
        &mut self,
        conversation: &mut Conversation,
        mutation: &Mutation,
    ) -> Option<(Vec<u8>, Reaction)> {
        let turn = conversation.turn();
        let sent = bytes(&self.player, conversation, mutation)?;
        if !conversation.is_wrong(&sent) {
            return None;
        }
        if self.peer.send(&sent).is_err() {
            return Some((sent, Reaction::Closed));
        }
        let mut answer = Vec::new();
        loop {
            match self.peer.receive(self.options.timeout) {
                Heard::End | Heard::Broken => return Some((sent, Reaction::Closed)),
                Heard::Silence => return Some((sent, Reaction::Ignored)),
                Heard::Bytes(_) if self.is_overdue() => return Some((sent, Reaction::Ignored)),
                Heard::Bytes(bytes) => answer.extend_from_slice(&bytes),
            }
            match reaction(&self.player, &sent, &answer) {
                None => {}
                // Where the peer may speak at any time, this need not be its answer, unless an id says so.
                Some(Reaction::Accepted(name)) if turn == Turn::Either && self.player.calls().is_none() => {
                    return Some((sent, Reaction::Unknown(name)));
                }
                Some(reaction) => return Some((sent, reaction)),
            }
        }
    }

    /// Goes to `state` by transitions that were taken before.
    fn go_to(&mut self, conversation: &mut Conversation, state: State) -> Way {
        for _ in 0..self.options.length {
            let turn = conversation.turn();
            if conversation.state() == state && matches!(turn, Turn::Own | Turn::Either) {
                return Way::There;
            }
            let was_taken = |edge: &Edge| self.coverage.taken(edge.number) > 0;
            let ways = self.coverage.ways(&self.player, conversation.state(), was_taken);
            let Some((_, first)) = ways.get(state.index()).copied().flatten() else { return Way::Elsewhere };
            let first = first.and_then(|edge| self.player.edges().get(edge)).cloned();
            match first.filter(|edge| edge.is_own && turn != Turn::Peer) {
                Some(edge) => {
                    let forms = forms(&self.player, conversation, &edge, Wanted::Right, 1);
                    let Some(form) = forms.first() else { return Way::Elsewhere };
                    let sent = conversation.send(&edge, form, self.peer.now());
                    if sent.is_err() || self.peer.send(&form.bytes).is_err() {
                        return Way::Elsewhere;
                    }
                    self.sent += 1;
                }
                None => match self.listen(conversation, self.options.timeout) {
                    Listened::Messages => {}
                    Listened::Deviation(deviation) => return Way::Deviation(deviation),
                    Listened::Silence | Listened::End | Listened::NotJudged => return Way::Elsewhere,
                },
            }
        }
        Way::Elsewhere
    }

    /// What is to be said of a wrong message that was accepted.
    fn accepted(
        &self,
        conversation: &Conversation,
        mutation: &Mutation,
        (sent, answer): (&[u8], &str),
    ) -> Finding {
        let (peer, state) = (self.player.peer_role(), self.player.state_name(mutation.state));
        let message =
            format!("{peer} answered {} in `{state}` with {answer}, which is no refusal", mutation.wrong);
        let verdict = VerdictRecord {
            kind: "accepted".to_owned(),
            blame: Some(peer.to_owned()),
            event: i64::try_from(conversation.exchanges().len()).unwrap_or(i64::MAX),
            state: Some(state),
            got: Some(answer.trim_matches('`').to_owned()),
            expected: self.player.examples().refusals().to_vec(),
            message,
            ..VerdictRecord::default()
        };
        let mut script = Script::of(&self.player, conversation.exchanges());
        script.steps.push(ScriptStep::Wrong { bytes: escaped(sent) });
        let mut trace: Vec<String> =
            conversation.exchanges().iter().map(|exchange| exchange.shown.clone()).collect();
        trace.push(format!("{}: {}", self.player.role(), mutation.wrong));
        let edge = self.player.edges_of(mutation.state).first();
        let origin = edge.map_or(referee_theory::Origin::NONE, |edge| edge.origin);
        Finding { verdict, trace, script, reproduced: false, shortened_by: 0, origin }
    }
}
