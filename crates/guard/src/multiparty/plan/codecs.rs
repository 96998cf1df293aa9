//! `[multiparty]`, compiled: the codecs of local roles, and what their components may send.

use referee_session::Redaction;
use referee_theory::{Action, MachineBuilder, Role};
use referee_wire::{Carries, Codec, Framing, Kind, LineEnd, Table};
use toml::Spanned;

use super::{Endpoint, PlanBuilder};
use crate::config::{Problem, RoleTable};
use crate::multiparty::protocol::CheckedProtocol;

impl PlanBuilder<'_, '_> {
    /// Whether `table` redacts anything. Rules that hide nothing are mistakes, for which secrets would pay.
    pub(super) fn redacts(&mut self, table: &RoleTable, codecs: &[&Codec]) -> bool {
        let is_idle = |rule: &String| {
            let rule = std::slice::from_ref(rule);
            codecs.iter().all(|codec| !Redaction::idle(rule, codec.messages()).is_empty())
        };
        for rule in table.redact.iter().filter(|rule| is_idle(rule)) {
            let message = format!("`redact`: `{rule}` is no field of any message of this role");
            self.problem(table.name.span(), message);
        }
        !table.redact.is_empty()
    }

    /// Indexed by state: what the component of `role` may send.
    pub(super) fn sends(
        &mut self,
        checked: &CheckedProtocol,
        role: Role,
        table: &RoleTable,
    ) -> Vec<Vec<(Box<str>, Role)>> {
        let (machine, vocabulary) = (checked.network.system().machine(role), checked.network.vocabulary());
        let endpoint_with = |peer: Role| {
            let name = vocabulary.role_name(peer);
            table.endpoints.iter().position(|it| it.get_ref().with.get_ref().iter().any(|with| with == name))
        };
        let mut all = Vec::new();
        for state in machine.states() {
            let mut sends: Vec<(Box<str>, Role)> = Vec::new();
            for t in machine.transitions(state) {
                if t.action != Action::Send || checked.network.is_dependency(t.message) {
                    continue;
                }
                let label = vocabulary.label_of(t.message);
                if let Some((_, other)) = sends.iter().find(|(known, to)| {
                    **known == *label && *to != t.peer && endpoint_with(*to) == endpoint_with(t.peer)
                }) {
                    let message = format!(
                        "`{label}` may go to {} and to {} at the same time: over one connection nobody can tell",
                        vocabulary.role_name(*other),
                        vocabulary.role_name(t.peer),
                    );
                    self.problem(table.name.span(), message);
                }
                sends.push((label.into(), t.peer));
            }
            all.push(sends);
        }
        all
    }

    pub(super) fn codec(
        &mut self,
        checked: &CheckedProtocol,
        role: Role,
        table: &Spanned<Table>,
        endpoint: &Endpoint,
        peers: &[Role],
    ) -> Option<Codec> {
        let (written, span) = (table.get_ref(), table.span());
        if written.session.is_some() {
            self.problem(
                span.clone(),
                "sessions of several parties are told apart by connections, not by `session`",
            );
        }
        // All messages of the endpoint in one state: a codec only needs the set.
        let network = &checked.network;
        let mut builder = MachineBuilder::new(role);
        let state = builder.add_state();
        for t in network.system().machine(role).all_transitions() {
            if !network.is_dependency(t.message) && peers.contains(&t.peer) {
                builder.add_transition(state, referee_theory::Transition { target: state, ..*t });
            }
        }
        let other = network.vocabulary().roles().find(|other| *other != role).unwrap_or(role);
        let client = if matches!(endpoint, Endpoint::Listen(_)) { role } else { other };
        match Codec::for_machine(written, &builder.finish(), network.vocabulary(), client) {
            Ok(codec) => {
                if let Some(aside) = codec.messages().iter().find(|known| known.aside) {
                    self.problem(
                        span,
                        format!("`{}` has nowhere to go: there is no `aside` here", aside.name),
                    );
                }
                Some(codec)
            }
            Err(errors) => {
                for error in errors {
                    let message = format!("`{}`: {}", error.path().join("."), error.message());
                    let mut problem = Problem::new(message, span.clone());
                    problem.help = error.advice().map(str::to_owned);
                    self.reader.refusal.problems.push(problem);
                }
                None
            }
        }
    }

    /// The codec of each local role. Roles that exchange messages must have the same: bytes are forwarded unchanged.
    pub(super) fn codec_kinds(&mut self, checked: &CheckedProtocol) -> Vec<(Role, String)> {
        let mut kinds: Vec<(Role, String)> = Vec::new();
        let talks = checked.talks();
        for table in &self.config.roles {
            let table = table.get_ref();
            let Some(role) = checked.network.vocabulary().find_role(table.name.get_ref()) else { continue };
            let kind = describe(table.codec.get_ref());
            let unlike =
                kinds.iter().find(|(other, known)| talks[role.index()][other.index()] && *known != kind);
            if let Some((other, known)) = unlike {
                let message = format!(
                    "`{}` speaks {kind} and `{}` {known}: what one sends, the other could not read",
                    table.name.get_ref(),
                    checked.network.vocabulary().role_name(*other),
                );
                self.problem(table.codec.span(), message);
            }
            kinds.push((role, kind));
        }
        kinds
    }
}

/// What two codecs must have in common if one is to read the bytes that the other wrote: the kind, and how messages are framed
/// and labelled where that is not the default.
fn describe(codec: &Table) -> String {
    let mut form = codec.kind.to_string();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            form += &format!(" with {name} `{value}`");
        }
    };
    match codec.kind {
        Kind::WebSocket if codec.carries.unwrap_or_default() == Carries::Text => form += " of text",
        Kind::Json | Kind::WebSocket => {
            let framing = codec.framing.filter(|framing| *framing != Framing::default());
            add("framing", framing.map(|framing| framing.to_string()));
            add("label", codec.label.clone().filter(|label| label != "/type"));
            add("rpc", codec.rpc.filter(|rpc| *rpc).map(|rpc| rpc.to_string()));
            add("correlate", codec.correlate.as_ref().map(|table| format!("{table:?}")));
        }
        Kind::Text => {
            let crlf = codec.line_end.filter(|end| *end == LineEnd::Crlf);
            add("line-end", crlf.map(|_| "crlf".to_owned()));
        }
        Kind::Frames => {
            add("tag", codec.tag.map(|tag| format!("{tag:?}")));
            add("length", codec.length.map(|length| format!("{length:?}")));
            add("untagged-length", codec.untagged_length.map(|length| format!("{length:?}")));
            add("endian", codec.endian.map(|endian| format!("{endian:?}")));
        }
        _ => {}
    }
    form
}
