//! The last events of a session that broke its protocol: as a sequence diagram, and to step through.

use referee_draw::{Message, MessageStyle, Participant, ParticipantId, Sequence};
use referee_monitor::Kind;
use referee_pipeline::Projected;
use referee_studio::{MachineView, StepAction, StepView, Trace, TraceKind};
use referee_theory::{Action, Machine, Origin, State, Vocabulary};
use referee_watch::{Report, visible};

use super::execution::stepping::{machine_view, source};
use super::pictures::lines_of;

/// The chart of the events that `report` has kept, the wrong one marked. `roles` are the protocol's, in order,
/// and `role_called` gives the role behind a name in the events.
#[must_use]
pub fn chart(report: &Report, roles: &[&str], role_called: &dyn Fn(&str) -> String) -> Sequence {
    let title = match &report.session {
        Some(session) => format!("session {}", session.escape_debug()),
        None => "session".to_owned(),
    };
    let mut chart = Sequence::new(title);
    let mut known: Vec<(String, ParticipantId)> = Vec::new();
    for role in roles {
        let id = chart.add_participant(Participant::new(*role));
        known.push(((*role).to_owned(), id));
    }
    if report.before > 0 {
        let events = if report.before == 1 { "event" } else { "events" };
        chart.divider(format!("{} {events} before", report.before));
    }
    let last = report.history.len().saturating_sub(1);
    for (index, step) in report.history.iter().enumerate() {
        let mut participant = |name: &str| {
            let role = role_called(name);
            match known.iter().find(|(known, _)| *known == role) {
                Some((_, id)) => *id,
                None => {
                    let id = chart.add_participant(Participant::new(&*role));
                    known.push((role, id));
                    id
                }
            }
        };
        let from = participant(&step.from);
        if step.message.is_empty() {
            chart.note([from], format!("{} ended", step.from));
            continue;
        }
        let to = match (step.to.is_empty(), roles) {
            (false, _) => participant(&step.to),
            // It does not say, so it is the other one of two.
            (true, [one, other]) => participant(if role_called(&step.from) == **one { other } else { one }),
            (true, _) => from,
        };
        // A message that is not in time comes all the same.
        let untimely = matches!(report.kind, Kind::Deadline | Kind::Early);
        let wrong = index == last && !untimely;
        let style = if wrong { MessageStyle::Failed } else { MessageStyle::Normal };
        chart.message(Message::new(from, to, step.message.as_str()).style(style));
    }
    let over: Vec<ParticipantId> = known.iter().map(|(_, id)| *id).collect();
    chart.note(over, &*visible(&report.sentence));
    chart
}

/// The events that `report` has kept, to step through. `protocol` is what they should follow, and `role_called` gives the role
/// behind a name in the events.
#[must_use]
pub fn stepping(report: &Report, protocol: &Projected, role_called: &dyn Fn(&str) -> String) -> Trace {
    let mut roles: Vec<String> = protocol.role_names().into_iter().map(str::to_owned).collect();
    let last = report.history.len().saturating_sub(1);
    let mut standing = Standing::new(protocol, report.before);
    let mut steps = Vec::with_capacity(report.history.len());
    let mut origins = Vec::with_capacity(report.history.len());
    for (index, event) in report.history.iter().enumerate() {
        let role = role_called(&event.from);
        let peer = match (event.to.is_empty(), &roles[..]) {
            (false, _) => Some(role_called(&event.to)),
            // It does not say, so it is the other one of two.
            (true, [one, other]) => Some(if role == *one { other.clone() } else { one.clone() }),
            (true, _) => None,
        };
        for name in [Some(&role), peer.as_ref()].into_iter().flatten() {
            if !roles.contains(name) {
                roles.push(name.clone());
            }
        }
        let is_end = event.message.is_empty();
        let is_last = index == last;
        let label = event.message.split(['(', ' ']).next().unwrap_or_default().to_owned();
        let moved = if is_last { Moved::NOTHING } else { standing.moves(&role, peer.as_deref(), &label) };
        origins.push(if is_last { report.origin } else { moved.origin });
        steps.push(StepView {
            role,
            action: if is_end { StepAction::End } else { StepAction::Exchange },
            peer: peer.filter(|_| !is_end),
            label,
            states: moved.states,
            peer_states: moved.peer_states,
            text: if is_end { "ends".to_owned() } else { event.message.clone() },
            wrong: is_last,
            bindings: match is_last {
                true => {
                    let shown =
                        report.values.iter().map(|(name, value)| (name.to_string(), value.to_string()));
                    shown.collect()
                }
                false => Vec::new(),
            },
            note: report.time.clone().filter(|_| is_last),
            ..StepView::default()
        });
    }
    let lines = lines_of(protocol, origins.iter().copied());
    for (step, origin) in steps.iter_mut().zip(&origins) {
        step.lines = lines.get(origin).copied();
        if !standing.is_known {
            (step.states, step.peer_states) = (None, None);
        }
    }
    Trace {
        kind: TraceKind::Violation,
        title: format!("{} at {}:{}", report.kind, report.place.file, report.place.line),
        explanation: report.sentence.clone(),
        protocol: protocol.name().map(str::to_owned),
        session: report.session.clone(),
        roles,
        machines: if standing.is_known { standing.views(protocol) } else { Vec::new() },
        steps,
        ending: report
            .expected
            .iter()
            .map(|expected| {
                format!("expected: `{}` from {} to {}", expected.signature, expected.from, expected.to)
            })
            .collect(),
        before: report.before,
        source: Some(source(protocol)),
        ..Trace::default()
    }
}

/// The states of roles while events are stepped through.
struct Standing<'p> {
    machines: Vec<(&'p str, &'p Machine, State)>,
    /// Whether every event fitted: events of channels may be recorded in another order than roles saw them, and the first ones may
    /// not be kept.
    is_known: bool,
    vocabulary: &'p Vocabulary,
}

/// What an event did to the roles that took part.
struct Moved {
    states: Option<(u32, u32)>,
    peer_states: Option<(u32, u32)>,
    origin: Origin,
}

impl Moved {
    const NOTHING: Self = Self { states: None, peer_states: None, origin: Origin::NONE };
}

impl<'p> Standing<'p> {
    fn new(protocol: &'p Projected, before: u64) -> Self {
        let vocabulary = protocol.vocabulary();
        let start = |machine: &'p Machine| (vocabulary.role_name(machine.role()), machine, machine.initial());
        let machines: Vec<_> = protocol.machines().flatten().map(start).collect();
        Self { is_known: before == 0 && !machines.is_empty(), machines, vocabulary }
    }

    /// `role` sends a message called `label` to `peer`.
    fn moves(&mut self, role: &str, peer: Option<&str>, label: &str) -> Moved {
        let Some(peer) = peer else {
            self.is_known = false;
            return Moved::NOTHING;
        };
        let sent = self.take(role, Action::Send, peer, label);
        let received = self.take(peer, Action::Receive, role, label);
        self.is_known &= sent.is_some() || received.is_some();
        let origin = sent.or(received).map_or(Origin::NONE, |(_, origin)| origin);
        Moved {
            states: sent.map(|(states, _)| states),
            peer_states: received.map(|(states, _)| states),
            origin,
        }
    }

    fn take(&mut self, own: &str, action: Action, peer: &str, label: &str) -> Option<((u32, u32), Origin)> {
        let (_, machine, state) = self.machines.iter_mut().find(|(role, ..)| *role == own)?;
        let fits = machine.transitions(*state).iter().find(|transition| {
            transition.action == action
                && self.vocabulary.role_name(transition.peer) == peer
                && self.vocabulary.label_of(transition.message) == label
        });
        let Some(transition) = fits else {
            self.is_known = false;
            return None;
        };
        let before = std::mem::replace(state, transition.target);
        Some(((before.0, transition.target.0), transition.origin))
    }

    fn views(&self, protocol: &Projected) -> Vec<MachineView> {
        let view = |(_, machine, _): &(_, &Machine, _)| machine_view(machine, self.vocabulary, protocol);
        self.machines.iter().map(view).collect()
    }
}
