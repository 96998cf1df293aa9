//! A counterexample as a sequence diagram and JSON.

use referee_check::{Fact, Failure, Step, Violation, Witness};
use referee_draw::{Message, MessageStyle, Participant, ParticipantId, Sequence};
use referee_syntax::diagnostics::suggest;
use referee_theory::{Action, Origin, Role, System, Vocabulary};
use serde_json::{Value, json};

use super::signature;

/// A place in a text: line and column of its beginning and its end, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it begins.
    pub line: usize,
    /// Where it begins.
    pub column: usize,
    /// Where it ends.
    pub end_line: usize,
    /// Where it ends.
    pub end_column: usize,
}

/// The place of each origin that has one.
pub type Places<'a> = &'a dyn Fn(Origin) -> Option<Place>;

/// The execution as a chart: an arrow where a message is received, an open one where it is left in its
/// channel, a crossed one where it is what goes wrong; under each role, where it stands at the end. Roles that take
/// no part are left out, repetitions are folded.
#[must_use]
pub fn chart(witness: &Witness, system: &System) -> Sequence {
    chart_with(witness, system, true)
}

/// As [`chart`]; without what stands under the roles unless `footers`.
#[must_use]
pub fn chart_with(witness: &Witness, system: &System, footers: bool) -> Sequence {
    let vocabulary = system.vocabulary();
    let title = witness.violation.map_or(witness.property.name(), |violation| violation.name());
    let mut chart = Sequence::new(format!("{title}: {}", witness.explanation));
    let standing = |role: Role| {
        let standing = witness.end.standings.iter().find(|standing| standing.role == role)?;
        Some(match &standing.offers[..] {
            [] => "has ended".to_owned(),
            offers => {
                let state = system.machine(role).state_name(standing.state);
                let offers: Vec<String> = offers.iter().take(3).map(|step| offer(step, vocabulary)).collect();
                format!("{state}: {}", offers.join(", "))
            }
        })
    };
    let about = about(witness, vocabulary);
    let takes_part = |role: Role| {
        about.contains(&role) || witness.steps.iter().any(|step| step.role == role || step.peer == role)
    };
    let participants: Vec<Option<ParticipantId>> = vocabulary
        .roles()
        .map(|role| {
            let participant = Participant::new(vocabulary.role_name(role));
            takes_part(role).then(|| {
                chart.add_participant(match standing(role).filter(|_| footers) {
                    Some(text) => participant.footer(text),
                    None => participant,
                })
            })
        })
        .collect();
    let fates = fates(witness);
    let round = witness.facts.iter().find_map(|fact| match fact {
        Fact::Loop { first } => Some(*first),
        _ => None,
    });
    let before = round.unwrap_or(witness.steps.len());
    let mut messages = Vec::new();
    for (index, step) in witness.steps.iter().enumerate() {
        let (Some(from), Some(to)) = (participants[step.role.index()], participants[step.peer.index()])
        else {
            continue;
        };
        if step.action == Action::Send {
            let message = Message::new(from, to, signature(vocabulary, step.message)).style(fates[index]);
            messages.push((index, message));
        }
    }
    let split = messages.partition_point(|(index, _)| *index < before);
    let (once, again): (Vec<_>, Vec<_>) = (messages[..split].to_vec(), messages[split..].to_vec());
    fold(&mut chart, once.into_iter().map(|(_, message)| message).collect());
    if !again.is_empty() {
        chart.open_loop("again and again, for ever");
        again.into_iter().for_each(|(_, message)| chart.message(message));
        chart.close();
    }
    let over: Vec<ParticipantId> = about.iter().filter_map(|role| participants[role.index()]).collect();
    chart.note(over, &witness.explanation);
    chart
}

/// The roles the failure is about.
fn about(witness: &Witness, vocabulary: &Vocabulary) -> Vec<Role> {
    let mut roles: Vec<Role> = match witness.failure {
        Failure::Unreceived { from, to, .. } => vec![from, to],
        Failure::Stuck { role } => vec![role],
        Failure::Blocked { send } | Failure::Unsendable { send } => vec![send.role, send.peer],
        Failure::Race { first, second } => vec![first.role, first.peer, second.peer],
        Failure::Unstable => vocabulary.roles().collect(),
    };
    for fact in &witness.facts {
        if let Fact::Waits { role, .. } | Fact::Ended { role } = fact
            && !roles.contains(role)
        {
            roles.push(*role);
        }
    }
    roles
}

/// How each send is drawn: as received, as left in its channel, or as the one that is wrong.
fn fates(witness: &Witness) -> Vec<MessageStyle> {
    let mut styles = vec![MessageStyle::Normal; witness.steps.len()];
    let left = unreceived(witness);
    left.iter().for_each(|&index| styles[index] = MessageStyle::Pending);
    let wrong = witness.facts.iter().find_map(|fact| match fact {
        Fact::Next { from, to, .. } => Some((*from, *to)),
        _ => None,
    });
    if let Some((from, to)) = wrong {
        let head = left
            .into_iter()
            .find(|&index| witness.steps[index].role == from && witness.steps[index].peer == to);
        head.into_iter().for_each(|index| styles[index] = MessageStyle::Failed);
    }
    styles
}

/// Adds `messages`, those that are repeated at once folded into a loop.
fn fold(chart: &mut Sequence, messages: Vec<Message>) {
    const LONGEST: usize = 32;
    let mut at = 0;
    while at < messages.len() {
        let rest = &messages[at..];
        // The shortest period with the most repetitions that saves lines.
        let best = (1..=LONGEST.min(rest.len() / 2))
            .map(|period| {
                let first = &rest[..period];
                (rest.chunks_exact(period).take_while(|chunk| *chunk == first).count(), period)
            })
            .filter(|&(times, period)| times > 2 || (times == 2 && period > 2))
            .max_by_key(|&(times, period)| (times * period, std::cmp::Reverse(period)));
        match best {
            Some((times, period)) => {
                chart.open_loop(format!("{times} times"));
                rest[..period].iter().for_each(|message| chart.message(message.clone()));
                chart.close();
                at += times * period;
            }
            None => {
                chart.message(rest[0].clone());
                at += 1;
            }
        }
    }
}

/// The execution as a list, one line per step, for where a chart has no room.
#[must_use]
pub fn listing(witness: &Witness, system: &System, places: Places<'_>) -> String {
    let vocabulary = system.vocabulary();
    let fates = fates(witness);
    let digits = witness.steps.len().to_string().len();
    let mut text = String::new();
    for (index, step) in witness.steps.iter().enumerate() {
        let (role, peer) = (vocabulary.role_name(step.role), vocabulary.role_name(step.peer));
        let label = vocabulary.label_of(step.message);
        let what = match step.action {
            Action::Send => format!("{role} sends `{label}` to {peer}"),
            Action::Receive => format!("{role} receives `{label}` from {peer}"),
        };
        let place = places(step.origin).map_or(String::new(), |place| format!("  (line {})", place.line));
        let mark = match fates[index] {
            MessageStyle::Failed => "  ✗",
            MessageStyle::Pending => "  ○",
            _ => "",
        };
        text += &format!("{:>digits$}. {what}{place}{mark}\n", index + 1);
        if index + 1 == witness.point_of_no_return && witness.violation.is_some() {
            text += &format!("{:digits$}  -- from here on nothing helps\n", "");
        }
    }
    text
}

/// "did you mean `exit`?", where another message comes than the one that is waited for.
#[must_use]
pub fn hint(witness: &Witness, system: &System) -> Option<String> {
    let vocabulary = system.vocabulary();
    let (from, wrong) = witness.facts.iter().find_map(|fact| match fact {
        Fact::Next { from, message, .. } => Some((*from, vocabulary.label_of(*message))),
        _ => None,
    })?;
    if witness.violation != Some(Violation::UnexpectedMessage) {
        return None;
    }
    let offers = witness.facts.iter().find_map(|fact| match fact {
        Fact::Waits { offers, .. } => Some(offers),
        _ => None,
    })?;
    let labels: Vec<&str> = offers
        .iter()
        .filter(|step| step.peer == from)
        .map(|step| vocabulary.label_of(step.message))
        .filter(|label| *label != wrong)
        .collect();
    let meant = match labels[..] {
        [only] => only,
        _ => suggest::closest(wrong, labels)?,
    };
    Some(format!("did you mean `{meant}`?"))
}

/// The sends among `witness.steps` whose message is still in its channel at the end.
fn unreceived(witness: &Witness) -> Vec<usize> {
    let mut open: Vec<(usize, &Step)> = Vec::new();
    for (index, step) in witness.steps.iter().enumerate() {
        match step.action {
            Action::Send => open.push((index, step)),
            Action::Receive => {
                let sent = |(_, send): &(usize, &Step)| send.role == step.peer && send.peer == step.role;
                if let Some(at) = open.iter().position(sent) {
                    open.remove(at);
                }
            }
        }
    }
    open.into_iter().map(|(index, _)| index).collect()
}

fn offer(step: &Step, vocabulary: &Vocabulary) -> String {
    let peer = vocabulary.role_name(step.peer);
    format!("{peer}{}{}", step.action.symbol(), vocabulary.label_of(step.message))
}

/// One step: who does what, with whom, between which states, and where the text says so.
#[must_use]
pub fn step_to_json(step: &Step, system: &System, places: Places<'_>) -> Value {
    let vocabulary = system.vocabulary();
    let machine = system.machine(step.role);
    let mut value = json!({
        "role": vocabulary.role_name(step.role),
        "action": if step.action == Action::Send { "send" } else { "receive" },
        "peer": vocabulary.role_name(step.peer),
        "label": vocabulary.label_of(step.message),
        "from_state": machine.state_name(step.source),
        "to_state": machine.state_name(step.target),
        "line": null, "column": null, "end_line": null, "end_column": null,
    });
    if let Some(place) = places(step.origin) {
        value["line"] = place.line.into();
        value["column"] = place.column.into();
        value["end_line"] = place.end_line.into();
        value["end_column"] = place.end_column.into();
    }
    value
}

/// The execution, what fails at its end, where each role stands and what is left in each channel.
#[must_use]
pub fn to_json(witness: &Witness, system: &System, places: Places<'_>) -> Value {
    let vocabulary = system.vocabulary();
    let name = |role| vocabulary.role_name(role);
    let step = |step: &Step| step_to_json(step, system, places);
    let round = witness.facts.iter().find_map(|fact| match fact {
        Fact::Loop { first } => Some(*first),
        _ => None,
    });
    let roles: Vec<Value> = witness
        .end
        .standings
        .iter()
        .map(|standing| {
            json!({
                "role": name(standing.role),
                "state": system.machine(standing.role).state_name(standing.state),
                "offers": standing.offers.iter().map(step).collect::<Vec<_>>(),
            })
        })
        .collect();
    let channels: Vec<Value> = witness
        .end
        .queues
        .iter()
        .map(|queue| {
            let labels: Vec<&str> = queue.messages.iter().map(|(_, m)| vocabulary.label_of(*m)).collect();
            json!({"from": queue.from.map(name), "to": name(queue.to), "messages": labels})
        })
        .collect();
    json!({
        "property": witness.property.name(),
        "violation": witness.violation.map(Violation::name),
        "k": witness.bound,
        "role": witness.role().map(name),
        "steps": witness.steps.iter().map(step).collect::<Vec<_>>(),
        "point_of_no_return": witness.point_of_no_return,
        "loop_from": round,
        "shortest": witness.shortest,
        "explanation": witness.explanation,
        "hint": hint(witness, system),
        "end": {"roles": roles, "channels": channels},
    })
}
