//! The protocol of a listener: read from its text, reduced to the two roles that talk over the connection.

use std::sync::Arc;

use referee_monitor::{Monitor, Registry};
use referee_syntax::{Analysis, Content, Diagnostic, Language, Lines, Origins, parse};
use referee_theory::expr::Signature;
use referee_theory::{Action, Machine, Origin, Role, State};

use crate::config::Scrutiny;

/// A protocol and the monitor of one of its roles.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// What it calls itself.
    pub(crate) name: String,
    pub(crate) monitor: Arc<Monitor>,
    /// The role that connects.
    pub(crate) client: Role,
    /// What the client and the server are called.
    pub(crate) roles: [String; 2],
    /// For each state: whether the session can come to its end although the client, or the server, says nothing.
    silent: [Box<[bool]>; 2],
    /// For each state: whether an end can be reached.
    finite: Box<[bool]>,
    file: String,
    text: String,
    origins: Origins,
}

/// Why a protocol cannot be guarded.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// Its text has errors.
    Errors(Vec<Diagnostic>),
    /// Something else, in the user's words, about a key of the listener.
    Other(&'static str, String),
}

/// What is asked of a protocol.
pub(crate) struct Wanted<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) client: Option<&'a str>,
    pub(crate) scrutiny: Scrutiny,
}

impl Protocol {
    /// The protocol in `text`, which is called `file`.
    pub(crate) fn read(file: &str, text: String, wanted: &Wanted<'_>) -> Result<Self, Unusable> {
        let other = |key, message: String| Err(Unusable::Other(key, message));
        let Some(language) = Language::detect(file, &text) else {
            return other("protocol", format!("cannot tell what language `{file}` is written in"));
        };
        let analysis = Analysis::of(parse(&text, language));
        if !analysis.is_well_formed() {
            return Err(Unusable::Errors(analysis.diagnostics));
        }
        let (name, vocabulary, machines, externals, dual) = match &analysis.document.content {
            Content::Global(protocols) => {
                let found = protocols.iter().find(|candidate| match wanted.name {
                    Some(wanted) => candidate.name.as_deref() == Some(wanted),
                    None => !candidate.auxiliary,
                });
                let Some((protocol, global)) = found.and_then(|p| Some((p, p.global.clone()?))) else {
                    let known: Vec<&str> = protocols.iter().filter_map(|p| p.name.as_deref()).collect();
                    return other(
                        "protocol-name",
                        format!("there is no such protocol; there are: {}", known.join(", ")),
                    );
                };
                let machines: Vec<Option<Machine>> =
                    protocol.vocabulary.roles().map(|role| global.project(role).ok()).collect();
                let name = protocol.name.as_deref().unwrap_or("protocol").to_owned();
                (name, Arc::clone(&protocol.vocabulary), machines, protocol.externals.clone(), true)
            }
            Content::Binary(binary) => {
                let Some(session) = &binary.session else {
                    return Err(Unusable::Errors(analysis.diagnostics));
                };
                let mut machines = vec![session.machine(), session.dual(binary.environment).machine()];
                machines.sort_by_key(Machine::role);
                let machines = machines.into_iter().map(Some).collect();
                (
                    binary.name.to_string(),
                    Arc::clone(&binary.vocabulary),
                    machines,
                    binary.externals.clone(),
                    true,
                )
            }
            Content::System(local) => {
                let Some(system) = &local.system else { return Err(Unusable::Errors(analysis.diagnostics)) };
                let machines = system.machines().iter().cloned().map(Some).collect();
                ("system".to_owned(), Arc::clone(&local.vocabulary), machines, Vec::new(), false)
            }
            Content::Properties(_) => {
                return other("protocol", format!("`{file}` holds properties, not a protocol"));
            }
        };
        let names: Vec<&str> = vocabulary.roles().map(|role| vocabulary.role_name(role)).collect();
        let [first, second] = names.as_slice() else {
            let message = format!("a connection has two ends, but the protocol has {} roles", names.len());
            return other("protocol", message);
        };
        let client_is_first = match wanted.client {
            Some(name) if name == *first => true,
            Some(name) if name == *second => false,
            Some(name) => {
                return other(
                    "client-role",
                    format!("there is no role `{name}`; the roles are {first} and {second}"),
                );
            }
            None => *second != "client" && *first != "server",
        };
        let roles: Vec<Role> = vocabulary.roles().collect();
        let (client, server) = match roles.as_slice() {
            [a, b] if client_is_first => (*a, *b),
            [a, b] => (*b, *a),
            _ => return other("protocol", "the protocol must have two roles".to_owned()),
        };
        let scrutinised = match wanted.scrutiny {
            Scrutiny::Client => client,
            Scrutiny::Server => server,
            Scrutiny::Both if dual => client,
            Scrutiny::Both => {
                let message = "in a system each role has a machine of its own: say with `scrutiny` whether the \
                               client's or the server's is enforced";
                return other("scrutiny", message.to_owned());
            }
        };
        let Some(Some(machine)) = machines.get(scrutinised.index()) else {
            let name = vocabulary.role_name(scrutinised);
            return other("protocol", format!("`{name}` has no projection, so it cannot be guarded"));
        };
        let mut registry = Registry::new();
        for external in &externals {
            let parameters = external.parameters.clone().into();
            registry.declare(&external.name, Signature { parameters, result: external.result.clone() });
        }
        let monitor = match Monitor::synthesise(machine, &vocabulary, &registry) {
            Ok(monitor) => Arc::new(monitor),
            Err(error) => return other("protocol", format!("the protocol cannot be monitored: {error}")),
        };
        let own = if scrutinised == client { Action::Send } else { Action::Receive };
        let silent = [own, opposite(own)].map(|action| can_end(machine, |t| t != action));
        Ok(Self {
            name,
            client,
            roles: [client, server].map(|role| vocabulary.role_name(role).to_owned()),
            silent,
            finite: can_end(machine, |_| true),
            monitor,
            file: file.to_owned(),
            text,
            origins: analysis.document.origins,
        })
    }

    /// Whether `side` (0 the client, 1 the server) must still say something before the session can end. In a state
    /// from which no end can be reached, leaving is the only way to end, so nobody must.
    pub(crate) fn owes(&self, side: usize, state: State) -> bool {
        let flag = |flags: &[bool]| flags.get(state.index()).copied().unwrap_or(true);
        flag(&self.finite) && !self.silent.get(side).is_some_and(|silent| flag(silent))
    }

    /// `auth.scr:12:7`, if `origin` is a place in the protocol.
    pub(crate) fn place(&self, origin: Origin) -> Option<String> {
        if origin == Origin::NONE {
            return None;
        }
        let start = Lines::new(&self.text).position(self.origins.span(origin).start);
        Some(format!("{}:{}:{}", self.file, start.line, start.column))
    }
}

fn opposite(action: Action) -> Action {
    match action {
        Action::Send => Action::Receive,
        Action::Receive => Action::Send,
    }
}

/// The states from which an end can be reached by transitions whose actions are `allowed`.
fn can_end(machine: &Machine, allowed: impl Fn(Action) -> bool) -> Box<[bool]> {
    let count = machine.state_count();
    let mut sources: Vec<Vec<State>> = vec![Vec::new(); count];
    let mut found = vec![false; count];
    let mut open = Vec::new();
    for state in machine.states() {
        let transitions = machine.transitions(state);
        if transitions.is_empty() {
            found[state.index()] = true;
            open.push(state);
        }
        for transition in transitions.iter().filter(|t| allowed(t.action)) {
            sources[transition.target.index()].push(state);
        }
    }
    while let Some(state) = open.pop() {
        for source in &sources[state.index()] {
            if !std::mem::replace(&mut found[source.index()], true) {
                open.push(*source);
            }
        }
    }
    found.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, wanted: &Wanted<'_>) -> Result<Protocol, Unusable> {
        Protocol::read("test.scr", text.to_owned(), wanted)
    }

    const ANY: Wanted<'_> = Wanted { name: None, client: None, scrutiny: Scrutiny::Both };

    #[test]
    fn who_owes_what() {
        let text = "protocol P(role server, role client) { Hi() from server to client; \
                    Quit() from client to server; Bye() from server to client; }";
        for scrutiny in [Scrutiny::Client, Scrutiny::Server, Scrutiny::Both] {
            let protocol = read(text, &Wanted { scrutiny, ..ANY }).unwrap();
            assert_eq!(protocol.roles, ["client", "server"]);
            let owes = |side| [0, 1, 2, 3].map(|state| protocol.owes(side, State(state)));
            assert_eq!(owes(0), [true, true, false, false]);
            assert_eq!(owes(1), [true, true, true, false]);
        }
    }

    #[test]
    fn a_protocol_without_end_may_be_left() {
        let text = "protocol P(role a, role b) { rec X { Q() from a to b; A() from b to a; continue X; } }";
        let protocol = read(text, &ANY).unwrap();
        assert_eq!(protocol.roles, ["a", "b"]);
        assert!(!protocol.owes(0, State(0)) && !protocol.owes(1, State(1)));
    }

    #[test]
    fn what_cannot_be_guarded_is_said() {
        let complain = |text: &str, wanted: &Wanted<'_>| match read(text, wanted) {
            Err(Unusable::Other(key, message)) => (key, message),
            other => panic!("{other:?}"),
        };
        let three = "protocol P(role a, role b, role c) { M() from a to b; N() from b to c; }";
        assert!(complain(three, &ANY).1.contains("3 roles"));
        let two = "protocol P(role a, role b) { M() from a to b; }";
        assert_eq!(complain(two, &Wanted { client: Some("c"), ..ANY }).0, "client-role");
        assert_eq!(complain(two, &Wanted { name: Some("Q"), ..ANY }).0, "protocol-name");
        assert!(matches!(read("protocol P(role a) {", &ANY), Err(Unusable::Errors(_))));
    }
}
