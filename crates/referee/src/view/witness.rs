//! A counterexample as a sequence diagram and JSON.

use referee_check::{Failure, Step, Witness};
use referee_draw::{Message, MessageStyle, Participant, ParticipantId, Sequence};
use referee_theory::{Action, Role, System, Vocabulary};
use serde_json::{Value, json};

use super::signature;

/// The execution as a chart: an arrow where a message is received, an open one where it is left in its
/// channel; under each role, where it stands at the end.
#[must_use]
pub fn chart(witness: &Witness, system: &System) -> Sequence {
    let vocabulary = system.vocabulary();
    let mut chart = Sequence::new(format!("{} fails", witness.property.name()));
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
    let participants: Vec<ParticipantId> = vocabulary
        .roles()
        .map(|role| {
            let name = vocabulary.role_name(role);
            let participant = Participant::new(name);
            chart.add_participant(match standing(role) {
                Some(text) => participant.footer(text),
                None => participant,
            })
        })
        .collect();
    let left = unreceived(witness);
    for (index, step) in witness.steps.iter().enumerate() {
        if step.action != Action::Send {
            continue;
        }
        let (from, to) = (participants[step.role.index()], participants[step.peer.index()]);
        let style = if left.contains(&index) { MessageStyle::Pending } else { MessageStyle::Normal };
        chart.message(Message::new(from, to, signature(vocabulary, step.message)).style(style));
    }
    let about = match witness.failure {
        Failure::Unreceived { from, to, .. } => vec![from, to],
        Failure::Stuck { role } => vec![role],
        Failure::Blocked { send } | Failure::Unsendable { send } => vec![send.role, send.peer],
        Failure::Race { first, .. } => vec![first.role],
        Failure::Unstable => vocabulary.roles().collect(),
    };
    chart.note(about.into_iter().map(|role| participants[role.index()]), &witness.explanation);
    chart
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

/// One step: who does what, with whom.
#[must_use]
pub fn step_to_json(step: &Step, system: &System) -> Value {
    let vocabulary = system.vocabulary();
    json!({
        "role": vocabulary.role_name(step.role),
        "action": if step.action == Action::Send { "send" } else { "receive" },
        "peer": vocabulary.role_name(step.peer),
        "label": vocabulary.label_of(step.message),
    })
}

/// The execution, what fails at its end, where each role stands and what is left in each channel.
#[must_use]
pub fn to_json(witness: &Witness, system: &System) -> Value {
    let vocabulary = system.vocabulary();
    let name = |role| vocabulary.role_name(role);
    let step = |step: &Step| step_to_json(step, system);
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
        "k": witness.bound,
        "role": witness.role().map(name),
        "steps": witness.steps.iter().map(step).collect::<Vec<_>>(),
        "shortest": witness.shortest,
        "explanation": witness.explanation,
        "end": {"roles": roles, "channels": channels},
    })
}
