//! An execution to step through: what the studio's page shows of it.

use referee_check::{Fault, Step};
use referee_draw::MessageStyle;
use referee_pipeline::Projected;
use referee_studio::{EdgeView, MachineView, SourceView, StepAction, StepView, Trace, TraceKind};
use referee_theory::{Action, Machine, State, System, Transition, Vocabulary};

use super::Run;
use crate::view::pictures::{MAX_DRAWN_STATES, lines_of};
use crate::view::{machine, signature};

impl Run<'_> {
    /// The execution, of the system of `protocol`, to step through.
    #[must_use]
    pub fn trace(&self, protocol: &Projected) -> Trace {
        let vocabulary = self.system.vocabulary();
        let name = |role| vocabulary.role_name(role).to_owned();
        let lines = lines_of(protocol, self.steps.iter().map(|step| step.origin));
        let fates = self.fates();
        let steps = self.steps.iter().enumerate().map(|(index, step)| StepView {
            role: name(step.role),
            action: match (step.fault, step.action) {
                (Some(Fault::Crash), _) => StepAction::End,
                (_, Action::Send) => StepAction::Send,
                (_, Action::Receive) => StepAction::Receive,
            },
            peer: (step.fault != Some(Fault::Crash)).then(|| name(step.peer)),
            label: vocabulary.label_of(step.message).to_owned(),
            text: text(step, self.system),
            states: Some((step.source.0, step.target.0)),
            peer_states: None,
            lines: lines.get(&step.origin).copied(),
            wrong: fates[index] == MessageStyle::Failed,
            bindings: Vec::new(),
            note: step.fault.map(|fault| fault.name().to_owned()),
        });
        let title = self.title.split_once(": ").map_or(self.title.as_str(), |(title, _)| title);
        Trace {
            kind: TraceKind::Counterexample,
            title: match protocol.name() {
                Some(protocol) => format!("{protocol}: {title}"),
                None => title.to_owned(),
            },
            explanation: self.note.clone(),
            protocol: protocol.name().map(str::to_owned),
            session: None,
            roles: vocabulary.roles().map(name).collect(),
            machines: machines(self.system, protocol),
            steps: steps.collect(),
            point_of_no_return: self.no_return,
            loop_from: self.round,
            ending: self
                .end
                .standings
                .iter()
                .filter_map(|standing| {
                    Some(format!("{}: {}", name(standing.role), self.standing(standing.role)?))
                })
                .collect(),
            before: 0,
            source: Some(source(protocol)),
        }
    }
}

fn text(step: &Step, system: &System) -> String {
    match step.fault {
        Some(Fault::Crash) => "crashes".to_owned(),
        _ => signature(system.vocabulary(), step.message),
    }
}

/// The machines of `system`, that of `protocol`, each with its picture.
pub(crate) fn machines(system: &System, protocol: &Projected) -> Vec<MachineView> {
    system.roles().map(|role| machine_view(system.machine(role), system.vocabulary(), protocol)).collect()
}

/// `drawn` with its picture, and the places in the text of `protocol` that its transitions come from.
#[must_use]
pub fn machine_view(drawn: &Machine, vocabulary: &Vocabulary, protocol: &Projected) -> MachineView {
    let svg = || machine::graph(drawn, vocabulary).to_svg().ok();
    let lines = lines_of(protocol, drawn.all_transitions().iter().map(|transition| transition.origin));
    let edge = |state: State, transition: &Transition| {
        let lines = *lines.get(&transition.origin)?;
        Some(EdgeView { from: state.0, to: transition.target.0, lines })
    };
    let edges = drawn
        .states()
        .flat_map(|state| drawn.transitions(state).iter().filter_map(|t| edge(state, t)).collect::<Vec<_>>());
    MachineView {
        role: vocabulary.role_name(drawn.role()).to_owned(),
        states: drawn.states().map(|state| drawn.state_name(state)).collect(),
        svg: if drawn.state_count() <= MAX_DRAWN_STATES { svg() } else { None },
        edges: edges.collect(),
    }
}

/// The text of `protocol`, without what it imports.
#[must_use]
pub fn source(protocol: &Projected) -> SourceView {
    let file = protocol.source().file(0);
    SourceView { name: file.name.to_owned(), text: file.text.to_owned() }
}
