//! One session of a tour.

use referee_theory::State;

use super::{Listened, Prober, SessionEnd};
use crate::conversation::{Conversation, Turn};
use crate::peer::Peer;
use crate::player::Edge;
use crate::random::Random;
use crate::values::{Form, Wanted, forms};

/// How many values of a message are tried in turn.
const MAX_FORMS: usize = 4;
/// How many messages are sent to leave politely.
const MAX_LEAVING: usize = 8;
/// How many messages a random walk has.
const MAX_WALK: usize = 50;
/// After so many silences in a state nothing more is expected there.
const MAX_SILENCES: u32 = 2;

/// Where a session is going.
#[derive(Default)]
struct Course {
    /// Chooses instead of an aim.
    walk: Option<Random>,
    /// The transition that is aimed at.
    aim: Option<usize>,
    /// How many messages were exchanged since.
    steps: usize,
    /// Transitions that cannot be sent in this session.
    blocked: Vec<usize>,
    /// How many messages were sent to leave.
    leaving: usize,
    /// Whether the peer was listened to since the last message.
    is_quiet: bool,
}

/// What to do next.
enum Next {
    Send(usize),
    Wait,
    Leave,
}

impl<P: Peer> Prober<P> {
    /// One session, until it is over or there is nothing left to do in it. With a `walk` it goes where that leads.
    pub(super) fn tour(&mut self, conversation: &mut Conversation, walk: Option<Random>) -> SessionEnd {
        let length = if walk.is_some() { self.options.length.min(MAX_WALK) } else { self.options.length };
        let mut course = Course { walk, ..Course::default() };
        loop {
            let count = conversation.exchanges().len();
            if count >= length || conversation.has_ended() || self.is_limited_within() {
                self.miss(&mut course);
                return SessionEnd::Done;
            }
            let turn = conversation.turn();
            let next = match turn {
                Turn::Peer => Next::Wait,
                Turn::Over => return self.settle(conversation),
                // Answers that nobody waits for come after what asks for them.
                Turn::Either if !course.is_quiet => Next::Wait,
                Turn::Own | Turn::Either => self.plan(&mut course, conversation.state()),
            };
            let end = match next {
                Next::Leave => return self.settle(conversation),
                Next::Send(edge) => self.speak(&mut course, conversation, edge),
                Next::Wait => self.hear(&mut course, conversation, turn),
            };
            self.account(&mut course, conversation, count);
            if let Some(end) = end {
                self.miss(&mut course);
                return end;
            }
        }
    }

    /// The next step towards the aim, or towards a new one, or out.
    fn plan(&mut self, course: &mut Course, state: State) -> Next {
        if let Some(random) = &mut course.walk {
            let can_send = |edge: &&Edge| {
                edge.is_own && self.coverage.is_passable(edge) && !course.blocked.contains(&edge.number)
            };
            let choices: Vec<&Edge> = self.player.edges_of(state).iter().filter(can_send).collect();
            let chosen = usize::try_from(random.below(choices.len() as u64)).unwrap_or(0);
            return choices.get(chosen).map_or(Next::Leave, |edge| Next::Send(edge.number));
        }
        let blocked = &course.blocked;
        let ways = self.coverage.ways(&self.player, state, |edge| !blocked.contains(&edge.number));
        let way_to = |edge: usize| {
            let edge = self.player.edges().get(edge)?;
            let (distance, first) = (*ways.get(edge.source.index())?)?;
            let is_open = self.coverage.is_open(edge) && !blocked.contains(&edge.number);
            is_open.then_some((distance, first.unwrap_or(edge.number)))
        };
        if course.aim.and_then(way_to).is_none() {
            let nearest =
                (0..self.player.edges().len()).filter_map(|edge| Some((way_to(edge)?.0, edge))).min();
            (course.aim, course.steps) = (nearest.map(|(_, edge)| edge), 0);
        }
        let first = match course.aim.and_then(way_to) {
            Some((_, first)) => Some(first),
            None => {
                course.leaving += 1;
                let finals = self
                    .player
                    .monitor()
                    .machine()
                    .states()
                    .filter(|state| self.player.edges_of(*state).is_empty());
                let nearest = finals.filter_map(|state| *ways.get(state.index())?).min();
                nearest.and_then(|(_, first)| first).filter(|_| course.leaving <= MAX_LEAVING)
            }
        };
        match first.and_then(|edge| self.player.edges().get(edge)) {
            None => Next::Leave,
            Some(edge) if edge.is_own => Next::Send(edge.number),
            Some(_) => Next::Wait,
        }
    }

    /// Sends the message of the transition `number`, with the next of its values.
    fn speak(
        &mut self,
        course: &mut Course,
        conversation: &mut Conversation,
        number: usize,
    ) -> Option<SessionEnd> {
        let edge = self.player.edges().get(number)?.clone();
        let forms = forms(&self.player, conversation, &edge, Wanted::Right, MAX_FORMS);
        let turn = self.turns.get(number).copied().unwrap_or(0);
        self.turns.get_mut(number).into_iter().for_each(|turn| *turn += 1);
        let Some(form) = turn.checked_rem(forms.len()).and_then(|turn| forms.get(turn)) else {
            // Nothing else in this session makes it possible, perhaps something in another.
            course.blocked.push(number);
            self.coverage.fail(number);
            return None;
        };
        let form: &Form = form;
        if let Err(why) = conversation.send(&edge, form, self.peer.now()) {
            self.note(format!(
                "an example of `{}` is not sent in `{}`: {why}",
                edge.label,
                self.player.state_name(edge.source)
            ));
            self.coverage.miss(number, 1);
            return Some(SessionEnd::Done);
        }
        self.sent += 1;
        self.coverage.visit(conversation.state());
        course.is_quiet = false;
        if self.peer.send(&form.bytes).is_err() {
            // What it sent before it closed is still to be read, and its end to be judged.
            return self.drain(conversation);
        }
        self.coverage.take(number);
        None
    }

    /// Waits for the peer.
    fn hear(
        &mut self,
        course: &mut Course,
        conversation: &mut Conversation,
        turn: Turn,
    ) -> Option<SessionEnd> {
        let must_come = turn == Turn::Peer;
        let patience = if must_come { self.options.timeout } else { self.options.quiet };
        match self.listen(conversation, patience) {
            Listened::Messages => None,
            Listened::Deviation(deviation) => Some(SessionEnd::Deviation(deviation)),
            Listened::End | Listened::NotJudged => Some(SessionEnd::Done),
            Listened::Silence if !must_come => {
                // It was listened to already, so the way leads through what the peer is to say.
                if course.is_quiet {
                    self.miss(course);
                }
                course.is_quiet = true;
                None
            }
            Listened::Silence => {
                self.silent(conversation.state());
                Some(SessionEnd::Done)
            }
        }
    }

    /// Silence is no verdict: it is told, and nobody is blamed.
    fn silent(&mut self, state: State) {
        let name = self.player.state_name(state);
        let role = self.player.peer_role().to_owned();
        self.note(format!("{role} said nothing in `{name}` for {:?}", self.options.timeout));
        let Some(count) = self.silences.get_mut(state.index()) else { return };
        *count += 1;
        if *count >= MAX_SILENCES {
            for edge in self.player.edges_of(state) {
                self.coverage.miss(edge.number, self.options.attempts);
            }
        }
    }

    /// The aim was missed.
    fn miss(&mut self, course: &mut Course) {
        if let Some(aim) = course.aim.take() {
            self.coverage.miss(aim, 1);
        }
    }

    /// Compares where the session is with its aim, after the messages from the `count`th on.
    fn account(&mut self, course: &mut Course, conversation: &Conversation, count: usize) {
        for exchange in conversation.exchanges().get(count..).unwrap_or_default() {
            course.steps += 1;
            let Some(aim) = course.aim else { continue };
            let Some(target) = self.player.edges().get(aim) else { continue };
            if exchange.edge == Some(aim) {
                course.aim = None;
            } else if (target.source == exchange.before && !target.is_own && !exchange.is_own)
                || course.steps > 4 * self.player.state_count() + 16
            {
                // The peer chose another, or leads round and round.
                self.miss(course);
            }
        }
    }

    /// Waits a little for what may not come: messages after the end, for instance.
    fn settle(&mut self, conversation: &mut Conversation) -> SessionEnd {
        if conversation.turn() == Turn::Over {
            return self.drain(conversation).unwrap_or(SessionEnd::Done);
        }
        SessionEnd::Done
    }

    /// Reads what is left.
    fn drain(&mut self, conversation: &mut Conversation) -> Option<SessionEnd> {
        const MAX_READS: usize = 64;
        for _ in 0..MAX_READS {
            match self.listen(conversation, self.options.quiet) {
                Listened::Messages => {}
                Listened::Deviation(deviation) => return Some(SessionEnd::Deviation(deviation)),
                Listened::Silence | Listened::End | Listened::NotJudged => break,
            }
        }
        Some(SessionEnd::Done)
    }
}
