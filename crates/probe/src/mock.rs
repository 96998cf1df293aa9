//! A mock: stands in for a server that does not exist yet, and answers as the protocol allows.

use std::sync::Arc;

use crate::conversation::{Conversation, Deviation, Stop, Turn};
use crate::peer::{Heard, Peer};
use crate::player::{Edge, Player};
use crate::prober::Options;
use crate::random::Random;
use crate::values::{Wanted, forms};

/// How many values of a message are chosen from.
const MAX_FORMS: usize = 4;

/// One side of a protocol that answers whoever connects.
#[derive(Debug)]
pub struct Mock {
    player: Arc<Player>,
    options: Options,
}

/// How a session of a mock ended.
#[derive(Clone, Debug)]
pub enum MockEnd {
    /// The protocol has come to its end.
    Over,
    /// The other side has gone, as it may.
    Left,
    /// The other side said nothing for too long, or sent too much.
    Limit(&'static str),
    /// The other side broke the protocol.
    Deviation(Box<Deviation>),
    /// What comes next cannot be judged.
    NotJudged(String),
    /// It is the mock's turn, and there is nothing that it can send.
    Stuck(String),
}

impl Mock {
    /// The mock that plays `player`.
    #[must_use]
    pub fn new(player: &Arc<Player>, options: Options) -> Self {
        Self { player: Arc::clone(player), options }
    }

    /// Answers `peer`, which has connected, until the end. The same `seed` gives the same answers.
    pub fn serve(&self, peer: &mut impl Peer, seed: u64) -> (Conversation, MockEnd) {
        let mut random = Random::new(seed);
        let mut conversation = Conversation::new(&self.player, peer.now());
        if let Some(handshake) = peer.handshake()
            && conversation.begin(&handshake).is_err()
        {
            return (conversation, MockEnd::NotJudged("its handshake is none of a WebSocket".to_owned()));
        }
        let end = loop {
            if conversation.exchanges().len() >= self.options.messages {
                break MockEnd::Limit("the limit of messages is reached");
            }
            match conversation.turn() {
                Turn::Over => break MockEnd::Over,
                Turn::Own => {
                    if let Some(end) = self.speak(&mut conversation, peer, &mut random) {
                        break end;
                    }
                }
                turn @ (Turn::Peer | Turn::Either) => {
                    let before = conversation.exchanges().len();
                    if let Some(end) = self.hear(&mut conversation, peer) {
                        break end;
                    }
                    // Where both may speak, it does half of the time, when it was spoken to.
                    let was_spoken_to = conversation.exchanges().len() > before;
                    if turn == Turn::Either && was_spoken_to && random.below(2) == 0 {
                        let _ = self.speak(&mut conversation, peer, &mut random);
                    }
                }
            }
        };
        (conversation, end)
    }

    fn hear(&self, conversation: &mut Conversation, peer: &mut impl Peer) -> Option<MockEnd> {
        let heard = match conversation.is_pending() {
            true => Heard::Bytes(Vec::new()),
            false => peer.receive(self.options.timeout),
        };
        let stop = match heard {
            Heard::Bytes(bytes) => conversation.receive(&bytes, peer.now()).map(|_| None),
            Heard::End | Heard::Broken => conversation.end().map(|()| Some(MockEnd::Left)),
            Heard::Silence => return Some(MockEnd::Limit("the other side said nothing for too long")),
        };
        match stop {
            Ok(end) => end,
            Err(Stop::Deviation(deviation)) => Some(MockEnd::Deviation(deviation)),
            Err(Stop::NotJudged(reason)) => Some(MockEnd::NotJudged(reason)),
        }
    }

    /// Sends one of the messages that it may.
    fn speak(
        &self,
        conversation: &mut Conversation,
        peer: &mut impl Peer,
        random: &mut Random,
    ) -> Option<MockEnd> {
        let mut choices: Vec<(&Edge, u64)> = self
            .player
            .edges_of(conversation.state())
            .iter()
            .filter(|edge| edge.is_own && edge.obstacle.is_none())
            .map(|edge| (edge, u64::from(self.player.examples().weight(&edge.label))))
            .collect();
        // Where all have weight 0, one has to be sent all the same.
        if choices.iter().all(|(_, weight)| *weight == 0) {
            choices.iter_mut().for_each(|(_, weight)| *weight = 1);
        }
        while !choices.is_empty() {
            let chosen = pick(&choices, random);
            let (edge, _) = choices.remove(chosen.min(choices.len() - 1));
            let forms = forms(&self.player, conversation, edge, Wanted::Right, MAX_FORMS);
            let index = random.below(forms.len() as u64);
            let Some(form) = usize::try_from(index).ok().and_then(|index| forms.get(index)) else { continue };
            if let Err(why) = conversation.send(edge, form, peer.now()) {
                return Some(MockEnd::Stuck(format!("`{}` cannot be sent: {why}", edge.label)));
            }
            return peer.send(&form.bytes).is_err().then_some(MockEnd::Left);
        }
        let state = self.player.state_name(conversation.state());
        Some(MockEnd::Stuck(format!("nothing can be sent in `{state}`: give examples")))
    }
}

/// A place in `choices`, by their weights.
fn pick(choices: &[(&Edge, u64)], random: &mut Random) -> usize {
    let total = choices.iter().map(|(_, weight)| weight).sum();
    let mut left = random.below(total);
    let found = choices.iter().position(|(_, weight)| {
        let is_it = left < *weight;
        left = left.saturating_sub(*weight);
        is_it
    });
    found.unwrap_or(0)
}
