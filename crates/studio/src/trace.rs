//! What the page shows of an execution: data, made by whoever knows the execution.

use serde::Serialize;

/// An execution to step through.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Trace {
    /// Where it comes from.
    pub kind: TraceKind,
    /// A few words.
    pub title: String,
    /// What is wrong with it, in a sentence.
    pub explanation: String,
    /// The protocol, where it has a name.
    pub protocol: Option<String>,
    /// The session, where there are several.
    pub session: Option<String>,
    /// The roles, in their order.
    pub roles: Vec<String>,
    /// The machine of each role that has one.
    pub machines: Vec<MachineView>,
    /// What happens, one after the other.
    pub steps: Vec<StepView>,
    /// After so many steps nothing can save it any more.
    pub point_of_no_return: Option<usize>,
    /// From this step on it goes round for ever.
    pub loop_from: Option<usize>,
    /// How things stand at its end: "A waits for `x` from B".
    pub ending: Vec<String>,
    /// How many events came before the first step.
    pub before: u64,
    /// The text that steps refer to.
    pub source: Option<SourceView>,
}

/// Where a trace comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceKind {
    /// `referee check` found it.
    #[default]
    Counterexample,
    /// `referee watch` found it.
    Violation,
    /// A guard wrote it down.
    Journal,
    /// Somebody played it.
    Played,
}

/// What a role does in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepAction {
    /// It puts a message into the channel to its peer.
    Send,
    /// It takes a message from the channel from its peer.
    Receive,
    /// A message was seen between both.
    #[default]
    Exchange,
    /// It crashes, or the session ends on its side.
    End,
}

/// One step.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepView {
    /// Who acts.
    pub role: String,
    /// What it does.
    pub action: StepAction,
    /// With whom.
    pub peer: Option<String>,
    /// The label.
    pub label: String,
    /// The whole message, as it is shown.
    pub text: String,
    /// The state of the role before and after, as numbers of its machine.
    pub states: Option<(u32, u32)>,
    /// The same of its peer, where both move in one step.
    pub peer_states: Option<(u32, u32)>,
    /// The line of the text that says so, from 1, and the last one of it.
    pub lines: Option<(usize, usize)>,
    /// Whether this is what is wrong.
    pub wrong: bool,
    /// Variables and their values.
    pub bindings: Vec<(String, String)>,
    /// More to say: a fault, the time.
    pub note: Option<String>,
}

/// A role's machine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MachineView {
    /// Whose it is.
    pub role: String,
    /// The names of its states.
    pub states: Vec<String>,
    /// Its picture, whose nodes have the numbers of states (`data-node`); none where it is too large to look at.
    pub svg: Option<String>,
    /// Where the text says so.
    pub edges: Vec<EdgeView>,
}

/// A transition, and where the text says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EdgeView {
    /// The state before.
    pub from: u32,
    /// The state after.
    pub to: u32,
    /// The first line and the last one, from 1.
    pub lines: (usize, usize),
}

/// A text.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SourceView {
    /// What the user calls it.
    pub name: String,
    /// What it holds.
    pub text: String,
}
