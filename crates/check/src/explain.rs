//! A witness in words: what happened, who waits for what, what is left where.

use std::fmt::Write as _;

use referee_theory::{Action, Message, Role, System};

use crate::faults::Fault;
use crate::model::Semantics;
use crate::properties::Property;
use crate::verdict::Ground;
use crate::witness::{Fact, Failure, Queue, Situation, Step, Violation, Witness};

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
        // Violations of safety are explained by their facts.
        Failure::Unreceived { .. } | Failure::Stuck { .. } => String::new(),
        Failure::Blocked { send } => format!(
            "{} can send to some of its peers but not `{}` to {}, since that channel is full with {}",
            words.role(send.role),
            words.label(send.message),
            words.role(send.peer),
            messages(bound),
        ),
        Failure::Race { first, second, together: false } => format!(
            "{} can receive `{}` from {}, and `{}` from {}, which it could receive in that state too, is sent later \
             without waiting for that. No explored configuration has both at the head of their channels, so no race \
             was seen: a condition of the theorem fails, no more",
            words.role(first.role),
            words.label(first.message),
            words.role(first.peer),
            words.label(second.message),
            words.role(second.peer),
        ),
        Failure::Race { first, second, together: true } => format!(
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
    words.add_queues(&mut text, end);
    text
}

/// The words of one system.
pub(crate) struct Words<'a> {
    pub(crate) system: &'a System,
    pub(crate) semantics: Semantics,
}

impl Words<'_> {
    fn role(&self, role: Role) -> String {
        format!("`{}`", self.system.vocabulary().role_name(role))
    }

    fn label(&self, message: Message) -> &str {
        self.system.vocabulary().shown_label(message)
    }

    /// What is wrong at the end of `witness`, from `facts` alone.
    pub(crate) fn violation(&self, violation: Violation, witness: &Witness) -> String {
        let facts = &witness.facts[..];
        let mut text = match violation {
            Violation::UnexpectedMessage => self.unexpected(facts),
            Violation::WaitCycle => {
                let waits: Vec<String> = facts.iter().filter_map(|fact| self.waits(fact)).collect();
                format!("{}: none of them can go on", list(&waits, "and"))
            }
            Violation::NeverSent | Violation::Starved if witness.property == Property::Progress => {
                self.never_sent(facts, witness)
            }
            Violation::BlockedSend if witness.property == Property::Progress => {
                self.never_sent(facts, witness)
            }
            Violation::BlockedSend => self.blocked(facts),
            _ => self.orphan(facts, witness),
        };
        if !witness.is_shown() && witness.ground == Some(Ground::NothingHelps) {
            text += ", however much room channels have";
        }
        self.add_queues(&mut text, &witness.end);
        self.add_faults(&mut text, witness);
        text
    }

    /// "; before that `pay` from `A` to `B` was duplicated", for each fault that the end does not show.
    fn add_faults(&self, text: &mut String, witness: &Witness) {
        for step in &witness.steps {
            let (label, role, peer) = (self.label(step.message), self.role(step.role), self.role(step.peer));
            let _ = match step.fault {
                Some(Fault::Loss) => write!(text, "; before that `{label}` from {role} to {peer} was lost"),
                Some(Fault::Duplicate) => {
                    write!(text, "; before that `{label}` from {peer} to {role} was duplicated")
                }
                Some(Fault::Reorder) => {
                    write!(
                        text,
                        "; before that `{label}` from {role} to {peer} overtook the message before it"
                    )
                }
                Some(Fault::Crash | Fault::Undeliverable) | None => continue,
            };
        }
    }

    /// "`B` waits for `exit` from `A`, but the next message from `A` is `quit`"; where the labels are the same, "`B` waits for
    /// `price(string)` from `A`, but the next message from `A` is `price(int)`".
    fn unexpected(&self, facts: &[Fact]) -> String {
        let next = facts.iter().find_map(|fact| match fact {
            Fact::Next { from, message, mailbox, .. } => Some((*from, *message, *mailbox)),
            _ => None,
        });
        let waits = facts.iter().find_map(|fact| match fact {
            Fact::Waits { role, offers } => Some((*role, offers)),
            _ => None,
        });
        let (Some((from, message, mailbox)), Some((role, offers))) = (next, waits) else {
            return String::new();
        };
        let vocabulary = self.system.vocabulary();
        let same_label = |step: &Step| step.peer == from && self.label(step.message) == self.label(message);
        let by_payload = offers.iter().any(same_label);
        let text = |message| match by_payload {
            true => vocabulary.display(message).to_string(),
            false => self.label(message).to_owned(),
        };
        let waits = format!("{} waits for {}", self.role(role), self.offers(offers, text));
        let (from, message) = (self.role(from), text(message));
        match mailbox {
            true => format!("{waits}, but the next message in its mailbox is `{message}` from {from}"),
            false => format!("{waits}, but the next message from {from} is `{message}`"),
        }
    }

    /// "`S` waits for `ack` from `C`, which has ended"; "`R` waits for `c` from `Q`, but `Q` waits for `a` from `S`";
    /// "`C` waits for `go` from `A`, but `A` never sends that; the last 3 steps can be repeated for ever".
    fn never_sent(&self, facts: &[Fact], witness: &Witness) -> String {
        let Some((first, rest)) = facts.split_first() else { return String::new() };
        let waits = self.waits(first).unwrap_or_default();
        if let ([gone, Fact::NeverMoves { .. }], Fact::Waits { offers, .. }) = (rest, first)
            && let Fact::Ended { .. } | Fact::Crashed { .. } = gone
            && offers.iter().all(|step| step.peer == offers[0].peer)
        {
            let how = if matches!(gone, Fact::Ended { .. }) { "ended" } else { "crashed" };
            return format!("{waits}, which has {how}");
        }
        let mut why: Vec<String> = Vec::new();
        for fact in rest {
            let clause = match fact {
                Fact::Ended { role } => format!("{} has ended", self.role(*role)),
                Fact::Crashed { role } => format!("{} has crashed", self.role(*role)),
                Fact::NeverSends { from, .. } => format!("{} never sends that", self.role(*from)),
                Fact::AboutToSend { send } => format!(
                    "{} is about to send `{}` to {}, for which there is no room",
                    self.role(send.role),
                    self.label(send.message),
                    self.role(send.peer)
                ),
                Fact::Waits { .. } => self.waits(fact).unwrap_or_default(),
                _ => continue,
            };
            if !why.contains(&clause) {
                why.push(clause);
            }
        }
        format!("{waits}, but {}{}", list(&why, "and"), repeated(facts, witness))
    }

    /// "`B` never receives `quit` from `A`: it has ended".
    fn orphan(&self, facts: &[Fact], witness: &Witness) -> String {
        let mut text = String::new();
        let says_why = |fact: &Fact| matches!(fact, Fact::Ended { .. } | Fact::Waits { .. });
        if let (false, Some(to)) = (facts.iter().any(says_why), witness.role()) {
            // Where it could receive the head, it would have.
            text = format!(": no state that {} can still reach receives it", self.role(to));
        }
        for fact in facts {
            match fact {
                Fact::Next { from, to, message, .. } => {
                    let (to, label, from) = (self.role(*to), self.label(*message), self.role(*from));
                    text = format!("{to} never receives `{label}` from {from}{text}");
                }
                Fact::Ended { .. } => text += ": it has ended",
                Fact::Waits { offers, .. } => {
                    let _ = write!(
                        text,
                        ": it waits for {}",
                        self.offers(offers, |message| self.label(message).to_owned())
                    );
                }
                _ => {}
            }
        }
        text + &repeated(facts, witness)
    }

    /// "`C` waits for `done` from `B` for ever if the last 2 steps are repeated, as `A` may choose without fairness".
    pub(crate) fn passed_over(&self, witness: &Witness) -> String {
        let first = witness.point_of_no_return;
        let what = match &witness.facts[..] {
            [Fact::Next { from, to, message, .. }, ..] => {
                format!(
                    "{} never receives `{}` from {}",
                    self.role(*to),
                    self.label(*message),
                    self.role(*from)
                )
            }
            [fact, ..] => format!("{} for ever", self.waits(fact).unwrap_or_default()),
            [] => String::new(),
        };
        let turns = match witness.steps.len() - first {
            1 => "the last step is repeated".to_owned(),
            count => format!("the last {count} steps are repeated"),
        };
        let chooses = |step: &&Step| {
            let transitions = self.system.machine(step.role).transitions(step.source);
            step.action == Action::Send && transitions.len() > 1
        };
        let mut choosing: Vec<String> = Vec::new();
        for step in witness.steps[first..].iter().filter(chooses) {
            let name = self.role(step.role);
            if !choosing.contains(&name) {
                choosing.push(name);
            }
        }
        let why = match &choosing[..] {
            [] => String::new(),
            names => format!(", as {} may choose without fairness", list(names, "and")),
        };
        let mut text = format!("{what} if {turns}{why}");
        self.add_queues(&mut text, &witness.end);
        text
    }

    /// "`A` is about to send `x` to `B`, for which there is no room, and never receives `y` from `C`".
    fn blocked(&self, facts: &[Fact]) -> String {
        let mut parts: Vec<String> = Vec::new();
        for fact in facts {
            match fact {
                Fact::AboutToSend { send } => parts.push(format!(
                    "{} is about to send `{}` to {}, for which there is no room",
                    self.role(send.role),
                    self.label(send.message),
                    self.role(send.peer)
                )),
                Fact::Next { from, message, .. } => {
                    parts.push(format!("never receives `{}` from {}", self.label(*message), self.role(*from)))
                }
                _ => {}
            }
        }
        parts.join(", and ")
    }

    /// "`A` waits for `x` from `B`".
    fn waits(&self, fact: &Fact) -> Option<String> {
        match fact {
            Fact::Waits { role, offers } => {
                let offers = self.offers(offers, |message| self.label(message).to_owned());
                Some(format!("{} waits for {offers}", self.role(*role)))
            }
            _ => None,
        }
    }

    /// "; queue S→C holds `ko`", for each that holds something.
    fn add_queues(&self, text: &mut String, end: &Situation) {
        let shown = if end.queues.len() > LISTED { FIRST_LISTED } else { end.queues.len() };
        for queue in &end.queues[..shown] {
            let _ = write!(text, "; {}", self.queue(queue));
        }
        if shown < end.queues.len() {
            let _ = write!(text, "; {} other queues hold messages", end.queues.len() - shown);
        }
    }

    /// "`a` or `b` from `S`, or `c` from `T`", each message as `text` has it.
    fn offers(&self, offers: &[Step], text: impl Fn(Message) -> String) -> String {
        let mut peers: Vec<Role> = Vec::new();
        for step in offers {
            if !peers.contains(&step.peer) {
                peers.push(step.peer);
            }
        }
        let by_peer: Vec<String> = peers
            .into_iter()
            .map(|peer| {
                let offered = offers.iter().filter(|step| step.peer == peer);
                let mut labels: Vec<String> = Vec::new();
                for label in offered.map(|step| format!("`{}`", text(step.message))) {
                    if !labels.contains(&label) {
                        labels.push(label);
                    }
                }
                format!("{} from {}", list(&labels, "or"), self.role(peer))
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
            Some(from) => format!("queue {}→{} holds {}", name(from), name(queue.to), row(&entries)),
            None => format!("the mailbox of `{}` holds {}", name(queue.to), row(&entries)),
        }
    }
}

/// "; the last 3 steps can be repeated for ever".
fn repeated(facts: &[Fact], witness: &Witness) -> String {
    let first = facts.iter().find_map(|fact| match fact {
        Fact::Loop { first } => Some(*first),
        _ => None,
    });
    match first.map(|first| witness.steps.len() - first) {
        Some(1) => "; the last step can be repeated for ever".to_owned(),
        Some(count) => format!("; the last {count} steps can be repeated for ever"),
        None => String::new(),
    }
}

/// "1 message", "2 messages".
pub(crate) fn messages(count: u32) -> String {
    format!("{count} message{}", if count == 1 { "" } else { "s" })
}

/// So many things are listed one by one; of more the first few, and how many others there are.
const LISTED: usize = 12;
const FIRST_LISTED: usize = 8;

/// "a, b or c"; "a, b, … or 9992 others".
fn list(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        many if many.len() > LISTED => {
            let others = many.len() - FIRST_LISTED;
            format!("{} {word} {others} others", many[..FIRST_LISTED].join(", "))
        }
        [init @ .., last] => format!("{} {word} {last}", init.join(", ")),
    }
}

/// "a, b, c"; "a, b, … and 9992 others".
fn row(parts: &[String]) -> String {
    if parts.len() > LISTED { list(parts, "and") } else { parts.join(", ") }
}
