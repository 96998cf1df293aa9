//! The protocol of a listener: read from its text, reduced to the two roles that talk over the connection.

mod joint;

use std::sync::Arc;

use referee_functions::{Functions, NoMonitor, synthesise};
use referee_monitor::{KeyLimits, KeyedMonitor, Monitor, SynthesisError};
use referee_pipeline::{Monitorable, NoProtocol, Parsed, Projected, Source, SubjectKind};
use referee_syntax::Diagnostic;
use referee_theory::{Machine, Origin, Role};

use crate::config::Scrutiny;

/// A protocol and the monitor of one of its roles.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// What it calls itself.
    pub(crate) name: String,
    pub(crate) monitor: Arc<Monitor>,
    /// Where it opens sub-sessions: `monitor` then takes every message at any time, and reads them.
    pub(crate) calls: Option<Arc<KeyedMonitor>>,
    /// The role that connects.
    pub(crate) client: Role,
    projected: Projected,
}

/// Why a protocol cannot be guarded.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// Its text has errors, or one that it imports.
    Errors(Source, Vec<Diagnostic>),
    /// Something else, in the user's words, about a key of the listener.
    Other(&'static str, String),
}

/// What is asked of a protocol.
pub(crate) struct Wanted<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) client: Option<&'a str>,
    pub(crate) scrutiny: Scrutiny,
    /// Where the predicates of its assertions come from.
    pub(crate) modules: &'a [Functions],
    /// Which messages interrupt the other side.
    pub(crate) table: Option<&'a referee_wire::Table>,
    /// How many calls of sub-sessions are kept.
    pub(crate) calls: KeyLimits,
}

impl Protocol {
    /// The protocol in `parsed`.
    pub(crate) fn read(parsed: Parsed, wanted: &Wanted<'_>) -> Result<Self, Unusable> {
        let other = |key, message: String| Err(Unusable::Other(key, message));
        let well_formed = parsed.well_formed().map_err(|errors| {
            let analysed = errors.analysed();
            Unusable::Errors(analysed.source().clone(), analysed.diagnostics().to_vec())
        })?;
        let subject = match well_formed.protocol(wanted.name) {
            Ok(subject) => subject,
            Err(no @ NoProtocol::Unknown { .. }) => return other("protocol-name", no.to_string()),
            Err(NoProtocol::Properties) => {
                let file = well_formed.analysed().source().name();
                return other("protocol", format!("`{file}` holds properties, not a protocol"));
            }
        };
        let vocabulary = subject.vocabulary();
        let names = subject.role_names();
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
        let between = |role: Role| {
            subject.monitorable_between(role).map_err(|why| {
                let name = vocabulary.role_name(role);
                Unusable::Other("protocol", format!("`{name}` cannot be guarded: {why}"))
            })
        };
        let is_system = subject.kind() == SubjectKind::System;
        let scrutinised = if wanted.scrutiny == Scrutiny::Server { server } else { client };
        let made = between(scrutinised)?;
        if made.opens_calls() {
            let (monitor, calls) = keyed(&made, wanted)?;
            let name = subject.name().unwrap_or("protocol").to_owned();
            return Ok(Self { name, client, monitor, calls: Some(calls), projected: subject });
        }
        let vocabulary = made.vocabulary();
        let machine = match wanted.scrutiny {
            Scrutiny::Both if is_system => {
                let server = between(server)?;
                joint::joint(made.machine(), server.machine(), vocabulary).map_err(|why| {
                    let advice =
                        "say with `scrutiny` whether the client's machine or the server's is enforced";
                    Unusable::Other("scrutiny", format!("the two machines do not fit: {why}; {advice}"))
                })?
            }
            _ => made.machine().clone(),
        };
        let machine = match wanted.table {
            Some(table) => table.interrupted(&machine, vocabulary),
            None => machine,
        };
        let monitor = match synthesise(&machine, vocabulary, made.registry(), wanted.modules) {
            Ok(monitor) => Arc::new(monitor),
            Err(NoMonitor::Functions(error)) => return other("functions", error.to_string()),
            Err(NoMonitor::Synthesis(error)) => {
                let (key, message) = unmonitorable(&error, wanted.modules);
                return other(key, message);
            }
        };
        let name = subject.name().unwrap_or(if is_system { "system" } else { "protocol" });
        Ok(Self { name: name.to_owned(), client, monitor, calls: None, projected: subject })
    }

    /// `auth.scr:12:7`, if `origin` is a place in the protocol.
    pub(crate) fn location(&self, origin: Origin) -> Option<String> {
        self.projected.location(origin)
    }

    /// The comment above `origin`, line by line.
    pub(crate) fn comment(&self, origin: Origin) -> Vec<String> {
        self.projected.comment(origin)
    }
}

/// The monitor of a protocol that opens sub-sessions, and one that takes all its messages.
fn keyed(made: &Monitorable, wanted: &Wanted<'_>) -> Result<(Arc<Monitor>, Arc<KeyedMonitor>), Unusable> {
    let other = |message: &str| Err(Unusable::Other("protocol", message.to_owned()));
    if let Some(table) = wanted.table {
        if table.session.is_some() {
            return other(
                "the protocol opens sub-sessions, and messages of this codec say which session they are of: both at once are not supported",
            );
        }
        let transitions = |machine: &Machine| machine.all_transitions().len();
        let interrupted = |part: &Monitorable| {
            transitions(&table.interrupted(part.machine(), part.vocabulary())) != transitions(part.machine())
        };
        if interrupted(made) || made.calls().any(interrupted) {
            return other(
                "the protocol opens sub-sessions, and messages of this codec interrupt others: both at once are not supported",
            );
        }
    }
    let make =
        |part: &Monitorable| synthesise(part.machine(), part.vocabulary(), part.registry(), wanted.modules);
    let calls = made.keyed_monitor(wanted.calls, make).map_err(|error| match error {
        NoMonitor::Functions(error) => Unusable::Other("functions", error.to_string()),
        NoMonitor::Synthesis(error) => {
            let (key, message) = unmonitorable(&error, wanted.modules);
            Unusable::Other(key, message)
        }
    })?;
    match calls.alphabet() {
        Ok(alphabet) => Ok((Arc::new(alphabet), Arc::new(calls))),
        Err(_) => other(
            "a label is a message of the protocol and one of its sub-sessions, with different fields: a guard could not tell what it reads",
        ),
    }
}

/// Why there is no monitor, in the user's words, and which key it is about.
pub(crate) fn unmonitorable(error: &SynthesisError, modules: &[Functions]) -> (&'static str, String) {
    let Some(missing) = error.only_missing() else {
        return ("protocol", format!("the protocol cannot be monitored: {error}"));
    };
    let names: Vec<String> = modules.iter().map(|module| format!("`{}`", module.name())).collect();
    let (key, advice) = match names.as_slice() {
        [] => ("protocol", "name a WebAssembly module that exports them, with `functions`".to_owned()),
        names => ("functions", format!("export them from {}", names.join(" or "))),
    };
    let missing = missing.join(", ");
    let message = format!("its assertions call external functions that nobody defines: {missing}; {advice}");
    (key, message)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use referee_pipeline::Packages;

    use super::*;

    fn read_as(file: &str, text: &str, wanted: &Wanted<'_>) -> Result<Protocol, Unusable> {
        let mut nothing = |_: &Path| Ok(None);
        let mut packages = Packages::new(Path::new(file), text, &[], &mut nothing);
        Protocol::read(Parsed::load(Source::new(file, text), None, &mut packages).unwrap(), wanted)
    }

    fn read(text: &str, wanted: &Wanted<'_>) -> Result<Protocol, Unusable> {
        read_as("test.scr", text, wanted)
    }

    const ANY: Wanted<'_> = Wanted {
        calls: CALLS,
        name: None,
        client: None,
        scrutiny: Scrutiny::Both,
        modules: &[],
        table: None,
    };
    const CALLS: KeyLimits = KeyLimits { inflight: 4, ended: 4 };

    #[test]
    fn in_a_system_both_machines_are_enforced() {
        let text = "C: S!req; {S?ok; end, S?no; end}\nS: {C?req; C!ok; end, C?other; end}";
        let system = |text: &str| read_as("test.kmc", text, &ANY);
        let protocol = system(text).unwrap();
        assert_eq!((protocol.name.as_str(), protocol.monitor.machine().state_count()), ("system", 3));
        match system("C: {S!a; end, S!b; end}\nS: C?a; end") {
            Err(Unusable::Other("scrutiny", message)) => assert!(message.contains("`b`"), "{message}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_one_role_alone_can_check_is_checked_whoever_is_scrutinised() {
        let text = "(*# RefinementTypes #*)
            global protocol Login(role C, role S) {
              rec Try [secret<S>: string = \"open\"] {
                Word(said: string) from C to S;
                choice at S { Wrong(no: unit{said <> secret}) from S to C; continue Try [secret]; }
                or { Right(yes: unit{said = secret}) from S to C; }
              }
            }";
        for scrutiny in [Scrutiny::Both, Scrutiny::Client, Scrutiny::Server] {
            let protocol = read(text, &Wanted { client: Some("C"), scrutiny, ..ANY }).unwrap();
            let (machine, vocabulary) = (protocol.monitor.machine(), protocol.monitor.vocabulary());
            let checked = |label: &str| {
                let mut all = machine.all_transitions().iter().map(|one| vocabulary.spec(one.message));
                all.any(|spec| vocabulary.label_name(spec.label) == label && spec.assertion.is_some())
            };
            assert!(checked("Wrong") && checked("Right"), "{scrutiny:?}");
            assert_eq!(vocabulary.initial_values(machine.role()).len(), 1, "{scrutiny:?}");
        }
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
        assert!(matches!(read("protocol P(role a) {", &ANY), Err(Unusable::Errors(..))));
        let external = "external fn known(int) -> bool;\n\
                        protocol P(role a, role b) { M(x: int) from a to b where known(x); }";
        let (key, message) = complain(external, &ANY);
        assert_eq!(key, "protocol");
        assert!(message.contains("`known(int): bool`") && message.contains("`functions`"), "{message}");
    }
}
