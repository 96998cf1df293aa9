//! A monitor to look at: as data, in the paper's notation, as a table.
//!
//! One equation for each state, in the notation of ECOOP'21, Figure 6 and Definition 9: `▷` takes from the
//! process and `▲` passes on to the environment, `▼` takes from the environment and `◁` passes on to the
//! process. A state stands for the recursion that leads to it. With several peers the peer is named after
//! the symbol.
//!
//! ```text
//! q0 = ▷{ Auth(uname, pwd).if isString(uname) ∧ isString(pwd) then ▲Auth(uname, pwd).q1 else noP }
//! q1 = ▼{ Succ(tok).if isString(tok) then ◁Succ(tok).q2 else noE,
//!         Fail(code).if isInt(code) then ◁Fail(code).q0 else noE }
//! q2 = 0
//! ```

use std::fmt::Write;
use std::sync::Arc;

use referee_theory::{Action, Origin, State, Type};

use crate::monitor::Monitor;
use crate::verdict::{Rejection, Side};

/// A monitor as data.
#[derive(Clone, Debug)]
pub struct MonitorView {
    /// The role under scrutiny.
    pub role: Arc<str>,
    /// Whether peers must be named: there are several.
    pub several_peers: bool,
    /// The recursion data before the first message: `tries := 3`.
    pub initial: Vec<String>,
    /// Its states; the first is the initial one.
    pub states: Vec<StateView>,
}

/// A state.
#[derive(Clone, Debug)]
pub struct StateView {
    /// Its name.
    pub name: String,
    /// The variables that are kept in it, with their types.
    pub kept: Vec<(Arc<str>, Type)>,
    /// What may happen; nothing if it is final.
    pub branches: Vec<BranchView>,
}

/// A message that a state takes.
#[derive(Clone, Debug)]
pub struct BranchView {
    /// Whose message it is, and who is to blame if it is wrong.
    pub sender: Side,
    /// The other role.
    pub peer: Arc<str>,
    /// Its label.
    pub label: String,
    /// Its fields; those without a name in the protocol are called `x1`, `x2`, ….
    pub fields: Vec<(String, Type)>,
    /// Its assertion, in the native language.
    pub assertion: Option<String>,
    /// The recursion data that are computed once it has passed: `tries := tries - 1`.
    pub updates: Vec<String>,
    /// The verdict if a payload is of the wrong type.
    pub rejection: Rejection,
    /// The verdict if the assertion does not hold.
    pub assertion_rejection: Rejection,
    /// The state afterwards: an index into the states.
    pub target: usize,
    /// Where the protocol says so.
    pub origin: Origin,
}

impl Monitor {
    /// This monitor as data.
    #[must_use]
    pub fn view(&self) -> MonitorView {
        MonitorView {
            role: self.vocabulary.role_name(self.machine.role()).into(),
            several_peers: self.peers.len() > 1,
            initial: (self.vocabulary.initial_values(self.machine.role()).iter())
                .map(ToString::to_string)
                .collect(),
            states: self.machine.states().map(|state| self.state_view(state)).collect(),
        }
    }

    fn state_view(&self, state: State) -> StateView {
        let kept = self.layout.live(state.0).map(|v| (Arc::clone(&v.name), v.ty.clone())).collect();
        let branches = self.machine.transitions(state).iter().map(|transition| {
            let spec = self.vocabulary.spec(transition.message);
            let sender = match transition.action {
                Action::Send => Side::Process,
                Action::Receive => Side::Environment,
            };
            let name = |(i, field): (usize, &referee_theory::Field)| {
                let name = field.name.as_deref().map_or_else(|| format!("x{}", i + 1), str::to_owned);
                (name, field.ty.clone())
            };
            BranchView {
                sender,
                peer: self.vocabulary.role_name(transition.peer).into(),
                label: self.vocabulary.label_name(spec.label).to_owned(),
                fields: spec.fields.iter().enumerate().map(name).collect(),
                assertion: spec.assertion.as_ref().map(ToString::to_string),
                updates: spec.updates.iter().map(ToString::to_string).collect(),
                rejection: Rejection::new(sender, false),
                assertion_rejection: Rejection::new(sender, true),
                target: transition.target.index(),
                origin: transition.origin,
            }
        });
        StateView { name: self.machine.state_name(state), kept, branches: branches.collect() }
    }
}

impl MonitorView {
    /// One equation for each state, in the paper's notation.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = self.initial.iter().fold(String::new(), |text, value| text + value + "\n");
        for state in &self.states {
            let head = format!("{} = ", state.name);
            let mut line = head.clone();
            if state.branches.is_empty() {
                line.push('0');
            }
            let indent = " ".repeat(head.chars().count() + 3);
            let mut open: Option<(Side, &str)> = None;
            for branch in &state.branches {
                let peer = if self.several_peers { &*branch.peer } else { "" };
                if open == Some((branch.sender, peer)) {
                    let _ = write!(line, ",\n{indent}");
                } else {
                    // A mixed state takes from either side.
                    line.push_str(if open.is_some() { " } + " } else { "" });
                    let _ = write!(line, "{}{peer}{{ ", branch.input());
                    open = Some((branch.sender, peer));
                }
                let target = self.states.get(branch.target).map_or("0", |state| &state.name);
                branch.write(&mut line, peer, target);
            }
            line.push_str(if open.is_some() { " }\n" } else { "\n" });
            text.push_str(&line);
        }
        text
    }

    /// One line for each message: state, sender, message, assertion, verdicts, next state.
    #[must_use]
    pub fn to_table(&self) -> String {
        let mut rows = vec![["state", "from", "message", "assertion", "else", "next"].map(str::to_owned)];
        for state in &self.states {
            for branch in &state.branches {
                let from = match branch.sender {
                    Side::Process => &self.role,
                    Side::Environment => &branch.peer,
                };
                let fields: Vec<_> = branch.fields.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
                let verdicts = match branch.assertion {
                    Some(_) => format!("{}, {}", branch.rejection, branch.assertion_rejection),
                    None => branch.rejection.to_string(),
                };
                let next = self.states.get(branch.target).map_or("0", |state| &state.name);
                rows.push([
                    state.name.clone(),
                    from.to_string(),
                    format!("{}({})", branch.label, fields.join(", ")),
                    branch.assertion.clone().unwrap_or_default(),
                    verdicts,
                    std::iter::once(next)
                        .chain(branch.updates.iter().map(String::as_str))
                        .collect::<Vec<_>>()
                        .join(", "),
                ]);
            }
            if state.branches.is_empty() {
                rows.push([&*state.name, "", "(end)", "", "", ""].map(str::to_owned));
            }
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 6] = std::array::from_fn(width);
        let mut text = String::new();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                let _ = write!(line, "{cell:width$}  ");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

impl BranchView {
    /// `▷` or `▼`: where the message is taken from.
    #[must_use]
    pub fn input(&self) -> char {
        match self.sender {
            Side::Process => '▷',
            Side::Environment => '▼',
        }
    }

    /// `▲` or `◁`: where it is passed on to.
    #[must_use]
    pub fn output(&self) -> char {
        match self.sender {
            Side::Process => '▲',
            Side::Environment => '◁',
        }
    }

    /// `l(x).if isB(x) then if A then ▲l(x).q else noP^A else noP`. Checks that cannot fail are left out.
    fn write(&self, line: &mut String, peer: &str, target: &str) {
        let names: Vec<_> = self.fields.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!("{}({})", self.label, names.join(", "));
        let checks: Vec<_> =
            self.fields.iter().map(|(name, ty)| format!("is{}({name})", capital(ty))).collect();
        let _ = write!(line, "{message}.");
        if !checks.is_empty() {
            let _ = write!(line, "if {} then ", checks.join(" ∧ "));
        }
        if let Some(assertion) = &self.assertion {
            let _ = write!(line, "if {assertion} then ");
        }
        let peer = if self.sender == Side::Process { peer } else { "" };
        let _ = write!(line, "{}{peer}{}{message}.", self.output(), if peer.is_empty() { "" } else { " " });
        for update in &self.updates {
            let _ = write!(line, "{update}.");
        }
        line.push_str(target);
        if self.assertion.is_some() {
            let _ = write!(line, " else {}", self.assertion_rejection);
        }
        if !checks.is_empty() {
            let _ = write!(line, " else {}", self.rejection);
        }
    }
}

/// The type as it stands in `isInt`, `isString`, `isList<int>`.
fn capital(ty: &Type) -> String {
    let text = ty.to_string();
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
