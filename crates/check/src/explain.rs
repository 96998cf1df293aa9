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
        Failure::Unreceived { from, to, message } => {
            let standing = &end.standings[to.index()];
            format!(
                "`{}` from {} is never received by {}, {}",
                words.label(*message),
                words.role(*from),
                words.role(*to),
                words.which(standing),
            )
        }
        Failure::Stuck { role } => {
            format!("{} {}", words.role(*role), words.waits(&end.standings[role.index()], end))
        }
        Failure::Blocked { send } => format!(
            "{} can make only some of its sends: the channel for `{}` to {} is full with {bound} message(s)",
            words.role(send.role),
            words.label(send.message),
            words.role(send.peer),
        ),
        Failure::Race { first, second } => format!(
            "{} can receive `{}` from {}, and `{}` from {} races with it: which one comes first is not its choice",
            words.role(first.role),
            words.label(first.message),
            words.role(first.peer),
            words.label(second.message),
            words.role(second.peer),
        ),
        Failure::Unsendable { send } => format!(
            "{} is ready to send `{}` to {}, but with {bound} message(s) per channel that channel never has room \
             again before {} moves",
            words.role(send.role),
            words.label(send.message),
            words.role(send.peer),
            words.role(send.role),
        ),
        Failure::Unstable => "the channels can never all be emptied from here".to_owned(),
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

    /// "waits for `ack` from `C`, which has ended"; "waits for `a` from `B` or `c` from `D`, and never receives it".
    fn waits(&self, standing: &Standing, end: &Situation) -> String {
        let mut peers: Vec<Role> = Vec::new();
        let mut parts = Vec::new();
        for offer in standing.offers.iter().filter(|offer| offer.action == Action::Receive) {
            parts.push(format!("`{}` from {}", self.label(offer.message), self.role(offer.peer)));
            if !peers.contains(&offer.peer) {
                peers.push(offer.peer);
            }
        }
        let mut text = format!("waits for {}", list(&parts, "or"));
        let mut over = false;
        if let [peer] = peers[..] {
            let standing = &end.standings[peer.index()];
            over = standing.offers.is_empty();
            let _ = write!(text, ", {}", self.which(standing));
        }
        // What is to be received may be on its way and yet never arrive where it is waited for.
        if !over {
            text += ", and never receives it";
        }
        text
    }

    /// "which has ended", "which waits for …", "which wants to send …".
    fn which(&self, standing: &Standing) -> String {
        let offers = |action: Action, link: &str| {
            let parts: Vec<String> = standing
                .offers
                .iter()
                .filter(|offer| offer.action == action)
                .map(|offer: &Step| {
                    format!("`{}` {link} {}", self.label(offer.message), self.role(offer.peer))
                })
                .collect();
            list(&parts, "or")
        };
        let sends = offers(Action::Send, "to");
        let receives = offers(Action::Receive, "from");
        match (sends.is_empty(), receives.is_empty()) {
            (true, true) => "which has ended".to_owned(),
            (false, true) => format!("which is about to send {sends}"),
            (true, false) => format!("which waits for {receives}"),
            (false, false) => format!("which may send {sends} or receive {receives}"),
        }
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

fn list(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} {word} {last}", init.join(", ")),
    }
}
