//! A witness in words: what happened, who waits for what, what is left where.

use std::fmt::Write as _;

use referee_theory::{Action, Role, System};

use crate::model::Semantics;
use crate::witness::{Failure, Queue, Situation, Standing, Step};

/// The explanation of `failure` at `end` under `bound`.
pub(crate) fn explain(
    system: &System,
    semantics: Semantics,
    bound: u32,
    failure: &Failure,
    end: &Situation,
) -> String {
    let words = Words { system, semantics };
    let mut text = match failure {
        Failure::Unreceived { from, to, message } => format!(
            "{} never receives `{}` from {}: it {}",
            words.role(*to),
            words.label(*message),
            words.role(*from),
            words.does(&end.standings[to.index()]),
        ),
        Failure::Stuck { role } => words.waits(&end.standings[role.index()], end),
        Failure::Blocked { send } => format!(
            "{} can send to some of its peers but not `{}` to {}, since that channel is full with {}",
            words.role(send.role),
            words.label(send.message),
            words.role(send.peer),
            messages(bound),
        ),
        Failure::Race { first, second } => format!(
            "{} can receive `{}` from {}, but `{}` from {} may come instead, and {} does not decide which is first",
            words.role(first.role),
            words.label(first.message),
            words.role(first.peer),
            words.label(second.message),
            words.role(second.peer),
            words.role(first.role),
        ),
        Failure::Unsendable { send } => format!(
            "{} wants to send `{}` to {}, but that channel is full with {} and nobody can make room before {} moves",
            words.role(send.role),
            words.label(send.message),
            words.role(send.peer),
            messages(bound),
            words.role(send.role),
        ),
        Failure::Unstable => "from here the channels can never all be empty".to_owned(),
    };
    for queue in &end.queues {
        let _ = write!(text, "; {}", words.queue(queue));
    }
    text
}

struct Words<'a> {
    system: &'a System,
    semantics: Semantics,
}

impl Words<'_> {
    fn role(&self, role: Role) -> String {
        format!("`{}`", self.system.vocabulary().role_name(role))
    }

    fn label(&self, message: referee_theory::Message) -> &str {
        self.system.vocabulary().label_of(message)
    }

    /// "`S` waits for `ack` from `C`, which has ended"; "`R` waits for ever for `c` from `Q`: `Q` waits for `a` or
    /// `b` from `S`"; "`A` waits for ever for `x` from `B`: the next message from `B` is `y`".
    fn waits(&self, standing: &Standing, end: &Situation) -> String {
        let receives = self.offers(standing, Action::Receive);
        let peers = peers(standing, Action::Receive);
        let standing_of = |peer: Role| &end.standings[peer.index()];
        if let Some((from, label)) = self.head_of_mailbox(standing.role, end) {
            let (role, from) = (self.role(standing.role), self.role(from));
            return format!(
                "{role} waits for ever for {receives}: the next message in its mailbox is `{label}` from {from}"
            );
        }
        if let [peer] = peers[..]
            && standing_of(peer).offers.is_empty()
            && self.next_from(peer, standing.role, end).is_none()
        {
            return format!("{} waits for {receives}, which has ended", self.role(standing.role));
        }
        let why: Vec<String> = peers
            .into_iter()
            .map(|peer| match self.next_from(peer, standing.role, end) {
                Some(label) => format!("the next message from {} is `{label}`", self.role(peer)),
                None => format!("{} {}", self.role(peer), self.meanwhile(standing_of(peer), end)),
            })
            .collect();
        format!("{} waits for ever for {receives}: {}", self.role(standing.role), list(&why, "and"))
    }

    /// As [`does`](Self::does), of a role that is waited for in vain: "can receive `b` from `S`, but never gets there".
    fn meanwhile(&self, standing: &Standing, end: &Situation) -> String {
        let comes = |step: &&Step| {
            step.action == Action::Receive
                && self.next_from(step.peer, standing.role, end) == Some(self.label(step.message))
        };
        match standing.offers.iter().find(comes) {
            Some(step) => format!(
                "can receive `{}` from {}, but never gets there",
                self.label(step.message),
                self.role(step.peer)
            ),
            None => self.does(standing),
        }
    }

    /// The label of what `to` would receive next from `from`, if that is known.
    fn next_from(&self, from: Role, to: Role, end: &Situation) -> Option<&str> {
        let queue = end.queues.iter().find(|queue| queue.to == to && queue.from == Some(from))?;
        queue.messages.first().map(|&(_, message)| self.label(message))
    }

    /// The next message in the mailbox of `role`, if it has a mailbox and something is in it.
    fn head_of_mailbox(&self, role: Role, end: &Situation) -> Option<(Role, &str)> {
        let mailbox = end.queues.iter().find(|queue| queue.to == role && queue.from.is_none())?;
        mailbox.messages.first().map(|&(from, message)| (from, self.label(message)))
    }

    /// "has ended", "waits for …", "is about to send …".
    fn does(&self, standing: &Standing) -> String {
        let sends = self.offers(standing, Action::Send);
        let receives = self.offers(standing, Action::Receive);
        match (sends.is_empty(), receives.is_empty()) {
            (true, true) => "has ended".to_owned(),
            (false, true) => format!("is about to send {sends}"),
            (true, false) => format!("waits for {receives}"),
            (false, false) => format!("can send {sends}, or receive {receives}"),
        }
    }

    /// "`a` or `b` from `S`, or `c` from `T`".
    fn offers(&self, standing: &Standing, action: Action) -> String {
        let link = if action == Action::Send { "to" } else { "from" };
        let by_peer: Vec<String> = peers(standing, action)
            .into_iter()
            .map(|peer| {
                let offered =
                    standing.offers.iter().filter(|step| step.action == action && step.peer == peer);
                let labels: Vec<String> =
                    offered.map(|step| format!("`{}`", self.label(step.message))).collect();
                format!("{} {link} {}", list(&labels, "or"), self.role(peer))
            })
            .collect();
        list(&by_peer, "or")
    }

    /// "queue S→C holds `ko`".
    fn queue(&self, queue: &Queue) -> String {
        let name = |role: Role| self.system.vocabulary().role_name(role);
        let entries: Vec<String> = queue
            .messages
            .iter()
            .map(|&(from, message)| match self.semantics {
                Semantics::PeerToPeer => format!("`{}`", self.label(message)),
                Semantics::Mailbox => format!("`{}` from `{}`", self.label(message), name(from)),
            })
            .collect();
        match queue.from {
            Some(from) => format!("queue {}→{} holds {}", name(from), name(queue.to), entries.join(", ")),
            None => format!("the mailbox of `{}` holds {}", name(queue.to), entries.join(", ")),
        }
    }
}

/// The peers of the actions of this kind, each once.
fn peers(standing: &Standing, action: Action) -> Vec<Role> {
    let mut peers = Vec::new();
    for step in standing.offers.iter().filter(|step| step.action == action) {
        if !peers.contains(&step.peer) {
            peers.push(step.peer);
        }
    }
    peers
}

/// "1 message", "2 messages".
pub(crate) fn messages(count: u32) -> String {
    format!("{count} message{}", if count == 1 { "" } else { "s" })
}

fn list(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} {word} {last}", init.join(", ")),
    }
}
