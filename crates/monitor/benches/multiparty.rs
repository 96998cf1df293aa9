//! The in-process network: the authorisation protocol of RV'23 through three engines, messages per second of processor
//! time, and the memory of many sessions. `cargo xtask bench multiparty`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "it measures and prints"
)]

use std::collections::VecDeque;
use std::sync::Arc;

use referee_check::Options;
use referee_monitor::multiparty::{Arrival, Effect, Engine, Network, Run, Settings};
use referee_monitor::{Event, EventLabel, FieldValue, Party, Payload, Registry};
use referee_theory::{
    Branch, Field, GlobalType, GlobalTypeBuilder, MessageSpec, Origin, Role, Type, Vocabulary,
};

/// μX. s→c{login. c→a{pwd<string>. a→s{succ<bool>. X}}, quit}.
fn authorisation() -> GlobalType {
    let mut vocabulary = Vocabulary::new();
    let [s, c, a] = ["s", "c", "a"].map(|name| vocabulary.add_role(name));
    let mut message = |label: &str, ty: Option<Type>| {
        let label = vocabulary.add_label(label);
        let fields: Vec<Field> = ty.into_iter().map(|ty| Field { name: None, ty }).collect();
        vocabulary.add_message(MessageSpec::new(label, fields.into(), None))
    };
    let [login, quit] = ["login", "quit"].map(|label| message(label, None));
    let (pwd, succ) = (message("pwd", Some(Type::String)), message("succ", Some(Type::Bool)));
    let mut builder = GlobalTypeBuilder::new();
    let origin = Origin::NONE;
    let again = builder.reserve();
    let call = builder.call(again, origin);
    let branch = |receiver, message, next| Branch { receiver, message, next, origin };
    let third = builder.exchange(a, vec![branch(s, succ, call)], origin);
    let second = builder.exchange(c, vec![branch(a, pwd, third)], origin);
    let end = builder.end();
    let first = builder.exchange(s, vec![branch(c, login, second), branch(c, quit, end)], origin);
    builder.define(again, "X", first, origin);
    builder.finish(Arc::new(vocabulary), again).unwrap()
}

#[derive(Clone, Copy)]
enum Message {
    Login,
    Password,
    Success,
    Quit,
}

fn lend(message: &Message, look: &mut dyn FnMut(&Event<'_>)) {
    let string = [FieldValue::Str("secret")];
    let truth = [FieldValue::Bool(true)];
    let (label, values): (&str, &[FieldValue<'_>]) = match message {
        Message::Login => ("login", &[]),
        Message::Quit => ("quit", &[]),
        Message::Password => ("pwd", &string),
        Message::Success => ("succ", &truth),
    };
    let (from, to) = (Party::Stranger, Party::Stranger);
    look(&Event { from, to, label: EventLabel::Text(label), payload: Payload::Positional(values) });
}

const NAMES: [Role; 3] = [Role(0), Role(1), Role(2)];

/// What is to be done next, for whom.
enum Task {
    Arrives(Role, Role, Message),
    Told(Role, Role, &'static str),
    Acts(Role, Message),
}

struct Session {
    runs: [Run<Message>; 3],
    tasks: VecDeque<Task>,
}

impl Session {
    fn new(engines: &[Engine; 3]) -> Self {
        Self { runs: [0, 1, 2].map(|role| engines[role].run(u32::MAX)), tasks: VecDeque::new() }
    }

    /// Runs until nothing is left to do; how many messages went between monitors, dependencies included.
    fn turn(&mut self, engines: &[Engine; 3], first: Message) -> u64 {
        let mut count = 0;
        self.tasks.push_back(Task::Acts(NAMES[0], first));
        while let Some(task) = self.tasks.pop_front() {
            let (role, tasks) = match &task {
                Task::Arrives(role, ..) | Task::Told(role, ..) | Task::Acts(role, _) => {
                    (*role, &mut self.tasks)
                }
            };
            let engine = &engines[role.index()];
            let mut out = |effect: Effect<Message>| match effect {
                Effect::Send { to, message, .. } => {
                    count += 1;
                    tasks.push_back(Task::Arrives(to, role, message));
                }
                Effect::Inform { to, label } => {
                    count += 1;
                    let label =
                        if engine.vocabulary().label_name(label) == "login" { "login" } else { "quit" };
                    tasks.push_back(Task::Told(to, role, label));
                }
                Effect::Deliver { message, .. } => match message {
                    Message::Login => tasks.push_back(Task::Acts(NAMES[1], Message::Password)),
                    Message::Password => tasks.push_back(Task::Acts(NAMES[2], Message::Success)),
                    Message::Success | Message::Quit => {}
                },
                Effect::DeliverDependency { .. } | Effect::Finished | Effect::Tell(_) => {}
                Effect::Report(notice) | Effect::Untimely { notice, .. } => panic!("{notice}"),
            };
            let run = &mut self.runs[role.index()];
            match task {
                Task::Arrives(_, from, message) => {
                    engine.arrives(run, from, Arrival::Message(message), &lend, &mut out).ok().unwrap();
                }
                Task::Told(_, from, label) => {
                    engine.arrives(run, from, Arrival::Dependency(label), &lend, &mut out).ok().unwrap();
                }
                Task::Acts(_, message) => {
                    let to = match message {
                        Message::Login | Message::Quit => NAMES[1],
                        Message::Password => NAMES[2],
                        Message::Success => NAMES[0],
                    };
                    engine.component_sends(run, Party::Role(to), message, &lend, &mut out).ok().unwrap();
                }
            }
        }
        count
    }
}

/// Seconds this thread had on a processor.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// MiB in memory.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

fn main() {
    let global = authorisation();
    let relative = global.relative_all().unwrap();
    let network = Network::synthesise(&global, &relative, &Options::default(), None, &mut ());
    network.deployable().unwrap();
    let engines =
        NAMES.map(|role| Engine::new(&network, role, &Registry::new(), Settings::default()).unwrap());

    let mut session = Session::new(&engines);
    let started = processor_time();
    let mut messages = 0;
    for _ in 0..1_000_000 {
        messages += session.turn(&engines, Message::Login);
    }
    let seconds = processor_time() - started;
    println!(
        "one session: {messages} messages between monitors in {seconds:.2} s of processor time, {:.2} million/s",
        messages as f64 / seconds / 1e6
    );

    let before = resident();
    let mut sessions: Vec<[Run<Message>; 3]> = Vec::with_capacity(100_000);
    for _ in 0..100_000 {
        let mut session = Session::new(&engines);
        session.turn(&engines, Message::Login);
        sessions.push(session.runs);
    }
    let memory = resident() - before;
    let mut total = 0;
    let started = processor_time();
    for round in 0..10 {
        for runs in &mut sessions {
            let mut session = Session {
                runs: std::mem::replace(runs, [0, 1, 2].map(|r| engines[r].run(0))),
                tasks: VecDeque::new(),
            };
            total += session.turn(&engines, if round < 9 { Message::Login } else { Message::Quit });
            *runs = session.runs;
        }
    }
    let seconds = processor_time() - started;
    println!(
        "100,000 sessions of three roles: {memory:.0} MiB, {} bytes per role and session, {:.2} million messages/s",
        size_of::<Run<Message>>(),
        total as f64 / seconds / 1e6
    );
}
