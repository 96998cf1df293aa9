//! An execution as a sequence diagram, or as a list where a diagram has no room.

use referee_check::{Execution, Fact, Failure, Fault, Situation, Step, Witness};
use referee_draw::{Message, MessageStyle, Participant, ParticipantId, Sequence};
use referee_theory::{Action, Role, System, Vocabulary};

mod rows;
#[cfg(feature = "command-line")]
pub mod stepping;

use super::signature;
use super::witness::Places;
use rows::{Deliveries, Events, Row};

/// What is drawn: steps, what is wrong with them, and where everything stands at their end.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    system: &'a System,
    title: String,
    note: String,
    steps: &'a [Step],
    end: &'a Situation,
    /// The steps whose order matters although no role has both.
    events: Events,
    /// The roles that the note is about.
    about: Vec<Role>,
    /// The sends whose message is never received.
    wrong: Vec<usize>,
    /// From where on steps can be repeated for ever.
    round: Option<usize>,
    /// After how many steps nothing helps any more.
    no_return: Option<usize>,
}

/// So many of the things a role can do are written under it.
const SHOWN_OFFERS: usize = 3;

/// An arrow, or a remark between arrows.
#[derive(Clone, PartialEq)]
enum Item {
    Arrow(Message),
    Remark(ParticipantId, String),
}

impl<'a> Run<'a> {
    /// The execution of `witness`, a counterexample of `system`.
    #[must_use]
    pub fn of_witness(witness: &'a Witness, system: &'a System) -> Self {
        let title = witness.violation.map_or(witness.property.name(), |violation| violation.name());
        let round = witness.facts.iter().find_map(|fact| match fact {
            Fact::Loop { first } => Some(*first),
            _ => None,
        });
        Self {
            system,
            title: format!("{title}: {}", witness.explanation),
            note: witness.explanation.clone(),
            steps: &witness.steps,
            end: &witness.end,
            events: Events::None,
            about: about(witness, system.vocabulary()),
            wrong: never_received(witness),
            round,
            no_return: witness.violation.map(|_| witness.point_of_no_return),
        }
    }

    /// An execution of `system` that violates the property `name` with its last step, or does so for some values (not `certain`).
    #[must_use]
    pub fn of_execution(execution: &'a Execution, name: &str, certain: bool, system: &'a System) -> Self {
        let when = if certain { "" } else { " for some values" };
        let note = format!("property `{name}` is violated{when}");
        let last = execution.steps.last();
        Self {
            system,
            title: note.clone(),
            note,
            steps: &execution.steps,
            end: &execution.end,
            events: if execution.receptions { Events::SendsAndReceptions } else { Events::Sends },
            about: last.map(|step| [step.role, step.peer].to_vec()).unwrap_or_default(),
            // What violates the property is not wrong with its channel.
            wrong: Vec::new(),
            round: None,
            no_return: None,
        }
    }

    /// The same without the note that says what is wrong.
    #[must_use]
    pub fn without_note(self) -> Self {
        Self { note: String::new(), ..self }
    }

    /// As a chart: an arrow where a message is received, an open one where it is left in its channel or lost, a crossed one
    /// where it is never received (of a duplicate: the copy), two open ones where messages cross; under each role, where it stands at the end, if there are `footers`. Roles that take no
    /// part are left out, repetitions are folded.
    #[must_use]
    pub fn chart(&self, footers: bool) -> Sequence {
        let vocabulary = self.system.vocabulary();
        let mut chart = Sequence::new(self.title.clone());
        let participants: Vec<Option<ParticipantId>> = vocabulary
            .roles()
            .map(|role| {
                let participant = Participant::new(vocabulary.role_name(role));
                self.takes_part(role).then(|| {
                    chart.add_participant(match self.standing(role).filter(|_| footers) {
                        Some(text) => participant.footer(text),
                        None => participant,
                    })
                })
            })
            .collect();
        let items = self.items(&participants);
        let before = self.round.unwrap_or(self.steps.len());
        let split = items.partition_point(|(index, _)| *index < before);
        let (once, again) = items.split_at(split);
        fold(&mut chart, once);
        if !again.is_empty() {
            chart.open_loop("again and again, for ever");
            again.iter().for_each(|(_, item)| add(&mut chart, item));
            chart.close();
        }
        let over: Vec<ParticipantId> =
            self.about.iter().filter_map(|role| participants[role.index()]).collect();
        if !self.note.is_empty() {
            chart.note(over, &self.note);
        }
        chart
    }

    /// Arrows and remarks, each with the number of its step.
    fn items(&self, participants: &[Option<ParticipantId>]) -> Vec<(usize, Item)> {
        let vocabulary = self.system.vocabulary();
        let fates = self.fates();
        let arrow = |send: usize, style| {
            let step = &self.steps[send];
            let fault = match step.fault {
                None => "",
                Some(Fault::Reorder) => " (overtakes)",
                Some(_) => " (lost)",
            };
            let text = signature(vocabulary, step.message) + fault;
            let (from, to) = (participants[step.role.index()]?, participants[step.peer.index()]?);
            Some(Item::Arrow(Message::new(from, to, text).style(style)))
        };
        let remark =
            |index: usize, text| Some(Item::Remark(participants[self.steps[index].role.index()]?, text));
        let again = |reception: usize| {
            let step = &self.steps[reception];
            let text = format!("`{}` will come again", vocabulary.shown_label(step.message));
            (step.fault == Some(Fault::Duplicate)).then(|| remark(reception, text)).flatten()
        };
        let left = |send: usize, reception: usize| {
            (fates[reception] != MessageStyle::Normal).then(|| arrow(send, fates[reception])).flatten()
        };
        let mut items = Vec::new();
        let split = self.round.unwrap_or(self.steps.len());
        for row in Deliveries::of(self.steps).rows(self.steps, split, self.events) {
            let (index, drawn) = match row {
                Row::Whole { send, reception } => {
                    let copy = reception.and_then(|reception| left(send, reception));
                    (send, [arrow(send, fates[send]), reception.and_then(again), copy])
                }
                Row::Sent(send) => (send, [arrow(send, MessageStyle::Pending), None, None]),
                Row::Received { send, reception } => {
                    let copy = left(send, reception);
                    (reception, [arrow(send, MessageStyle::Late), again(reception), copy])
                }
                Row::Crash(index) => (index, [remark(index, "crashes".to_owned()), None, None]),
            };
            items.extend(drawn.into_iter().flatten().map(|item| (index, item)));
        }
        items
    }

    /// Where `role` stands at the end.
    fn standing(&self, role: Role) -> Option<String> {
        let standing = self.end.standings.iter().find(|standing| standing.role == role)?;
        Some(match &standing.offers[..] {
            [] if standing.crashed => "has crashed".to_owned(),
            [] => "has ended".to_owned(),
            offers => {
                let vocabulary = self.system.vocabulary();
                let state = self.system.machine(role).state_name(standing.state);
                let more = if offers.len() > SHOWN_OFFERS { ", …" } else { "" };
                let shown = offers.iter().take(SHOWN_OFFERS).map(|step| offer(step, vocabulary));
                format!("{state}: {}{more}", shown.collect::<Vec<String>>().join(", "))
            }
        })
    }

    /// Where each role that takes part stands at the end: "`A` has ended".
    #[must_use]
    pub fn standings(&self) -> Vec<String> {
        let vocabulary = self.system.vocabulary();
        let standing = |role| Some(format!("{}: {}", vocabulary.role_name(role), self.standing(role)?));
        vocabulary.roles().filter(|&role| self.takes_part(role)).filter_map(standing).collect()
    }

    fn takes_part(&self, role: Role) -> bool {
        self.about.contains(&role) || self.steps.iter().any(|step| step.role == role || step.peer == role)
    }

    /// How the message of each send is drawn: as received, as left in its channel or lost, or as never received. What stays in its
    /// channel after it was received as a duplicate is drawn at its last reception.
    fn fates(&self) -> Vec<MessageStyle> {
        let mut styles = vec![MessageStyle::Normal; self.steps.len()];
        for (index, step) in self.steps.iter().enumerate() {
            if matches!(step.fault, Some(Fault::Loss | Fault::Undeliverable)) {
                styles[index] = MessageStyle::Pending;
            }
        }
        let deliveries = Deliveries::of(self.steps);
        let last = deliveries.last();
        deliveries.unreceived.iter().for_each(|&send| styles[last[send]] = MessageStyle::Pending);
        self.wrong.iter().for_each(|&send| styles[last[send]] = MessageStyle::Failed);
        styles
    }

    /// As a list, one line per step.
    #[must_use]
    pub fn listing(&self, places: Places<'_>) -> String {
        let vocabulary = self.system.vocabulary();
        let fates = self.fates();
        let digits = self.steps.len().to_string().len();
        let mut text = String::new();
        for (index, step) in self.steps.iter().enumerate() {
            let (role, peer) = (vocabulary.role_name(step.role), vocabulary.role_name(step.peer));
            let label = vocabulary.shown_label(step.message);
            let what = match (step.fault, step.action) {
                (Some(Fault::Crash), _) => format!("{role} crashes"),
                (Some(Fault::Loss), _) => format!("{role} sends `{label}` to {peer}, and it is lost"),
                (Some(Fault::Undeliverable), _) => {
                    format!("{role} sends `{label}` to {peer}, which has crashed")
                }
                (Some(Fault::Duplicate), _) => {
                    format!("{role} receives `{label}` from {peer}, which will come again")
                }
                (Some(Fault::Reorder), _) => {
                    format!("{role} sends `{label}` to {peer}, and it overtakes the one before it")
                }
                (None, Action::Send) => format!("{role} sends `{label}` to {peer}"),
                (None, Action::Receive) => format!("{role} receives `{label}` from {peer}"),
            };
            let place = places(step.origin).map_or(String::new(), |place| format!("  ({place})"));
            let mark = match fates[index] {
                MessageStyle::Failed => "  ✗",
                MessageStyle::Pending => "  ○",
                _ => "",
            };
            text += &format!("{:>digits$}. {what}{place}{mark}\n", index + 1);
            if Some(index + 1) == self.no_return {
                text += &format!("{:digits$}  -- from here on nothing helps\n", "");
            }
        }
        text
    }
}

/// The sends whose message stays in its channel whatever follows: its receiver has ended or never moves again, or the head
/// of that channel is never taken.
fn never_received(witness: &Witness) -> Vec<usize> {
    if witness.violation.is_none() {
        return Vec::new();
    }
    let over = |role: Role| {
        let mut standings = witness.end.standings.iter();
        standings.any(|standing| standing.role == role && standing.offers.is_empty())
    };
    // What a larger bound may help may be received after all.
    let known = witness.ground.is_some();
    let stays = |step: &Step| {
        over(step.peer)
            || known
                && witness.facts.iter().any(|fact| match fact {
                    Fact::Next { from, to, mailbox: false, .. } => (*from, *to) == (step.role, step.peer),
                    Fact::Next { to, .. } | Fact::NeverMoves { role: to } => *to == step.peer,
                    _ => false,
                })
    };
    let unreceived = Deliveries::of(&witness.steps).unreceived;
    unreceived.into_iter().filter(|&index| stays(&witness.steps[index])).collect()
}

/// The roles the failure is about.
fn about(witness: &Witness, vocabulary: &Vocabulary) -> Vec<Role> {
    let mut roles: Vec<Role> = match witness.failure {
        Failure::Unreceived { from, to, .. } => vec![from, to],
        Failure::Stuck { role } => vec![role],
        Failure::Blocked { send } | Failure::Unsendable { send } => vec![send.role, send.peer],
        Failure::Race { first, second, .. } => vec![first.role, first.peer, second.peer],
        Failure::Unstable => vocabulary.roles().collect(),
    };
    for fact in &witness.facts {
        if let Fact::Waits { role, .. } | Fact::Ended { role } | Fact::Crashed { role } = fact
            && !roles.contains(role)
        {
            roles.push(*role);
        }
    }
    roles
}

fn add(chart: &mut Sequence, item: &Item) {
    match item {
        Item::Arrow(message) => chart.message(message.clone()),
        Item::Remark(over, text) => chart.note([*over], text),
    }
}

/// Adds `items`, those that are repeated at once folded into a loop.
fn fold(chart: &mut Sequence, items: &[(usize, Item)]) {
    const LONGEST: usize = 32;
    let mut rest = items;
    while let Some((_, first)) = rest.first() {
        // The shortest period with the most repetitions that saves lines.
        let best = (1..=LONGEST.min(rest.len() / 2))
            .map(|period| {
                let is_same = |chunk: &&[(usize, Item)]| {
                    chunk.iter().map(|(_, item)| item).eq(rest[..period].iter().map(|(_, item)| item))
                };
                (rest.chunks_exact(period).take_while(is_same).count(), period)
            })
            .filter(|&(times, period)| times > 2 || (times == 2 && period > 2))
            .max_by_key(|&(times, period)| (times * period, std::cmp::Reverse(period)));
        match best {
            Some((times, period)) => {
                chart.open_loop(format!("{times} times"));
                rest[..period].iter().for_each(|(_, item)| add(chart, item));
                chart.close();
                rest = &rest[times * period..];
            }
            None => {
                add(chart, first);
                rest = &rest[1..];
            }
        }
    }
}

fn offer(step: &Step, vocabulary: &Vocabulary) -> String {
    let peer = vocabulary.role_name(step.peer);
    format!("{peer}{}{}", step.action.symbol(), vocabulary.shown_label(step.message))
}
