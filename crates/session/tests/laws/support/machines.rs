//! Small machines, and what is sent and how it is cut.

use std::sync::Arc;

use referee_monitor::{Monitor, Registry};
use referee_session::{Options, TwoPartyRules};
use referee_theory::{Action, MachineBuilder, Origin, Transition, Vocabulary};
use referee_wire::{Sender, Table};

/// For each state but the last, which is final: who speaks, and where `a` and `b` lead.
pub(crate) type Machine = Vec<(Sender, [Option<usize>; 2])>;

/// A message: who sends it, and which label. The third is none of the protocol's.
pub(crate) type Sent = (Sender, usize);

pub(crate) const LABELS: [&str; 3] = ["a", "b", "x"];

/// The client's monitor, and a codec in which a label is a line.
pub(crate) fn rules(machine: &Machine, options: Options) -> Arc<TwoPartyRules> {
    let mut vocabulary = Vocabulary::new();
    let (client, server) = (vocabulary.add_role("client"), vocabulary.add_role("server"));
    let messages = [0, 1].map(|label: usize| vocabulary.add_plain_message(LABELS[label]));
    let mut builder = MachineBuilder::new(client);
    let states: Vec<_> = (0..=machine.len()).map(|_| builder.add_state()).collect();
    for (state, (speaker, targets)) in machine.iter().enumerate() {
        for (message, target) in messages.iter().zip(targets) {
            let Some(target) = target else { continue };
            let action = if *speaker == Sender::Client { Action::Send } else { Action::Receive };
            let transition = Transition {
                action,
                peer: server,
                message: *message,
                target: states[*target],
                origin: Origin::NONE,
            };
            builder.add_transition(states[state], transition);
        }
    }
    let monitor = Monitor::synthesise(&builder.finish(), &Arc::new(vocabulary), &Registry::new()).unwrap();
    let uses = |label: usize| machine.iter().any(|(_, targets)| targets[label].is_some());
    let lines: String = [0, 1]
        .into_iter()
        .filter(|label| uses(*label))
        .fold(String::new(), |text, label| text + &format!("messages.{0} = '{0}'\n", LABELS[label]));
    let table = Table::parse(&format!("kind = 'text'\n{lines}")).unwrap();
    Arc::new(TwoPartyRules::compile(Arc::new(monitor), client, &table).unwrap().with_options(options))
}

/// All machines of `states` states that are not final, which can be reached and in each of which something can be said.
pub(crate) fn all_machines(states: usize) -> Vec<Machine> {
    let targets: Vec<Option<usize>> = std::iter::once(None).chain((0..=states).map(Some)).collect();
    let each: Vec<(Sender, [Option<usize>; 2])> = Sender::BOTH
        .into_iter()
        .flat_map(|speaker| {
            let targets = &targets;
            targets.iter().flat_map(move |a| targets.iter().map(move |b| (speaker, [*a, *b])))
        })
        .filter(|(_, targets)| *targets != [None, None])
        .collect();
    let mut all = (0..states).fold(vec![Vec::new()], |machines: Vec<Machine>, _| {
        machines
            .iter()
            .flat_map(|machine| each.iter().map(|state| [machine.as_slice(), &[*state]].concat()))
            .collect()
    });
    all.retain(|machine| (0..states).all(|state| is_reachable(machine, state)));
    all
}

fn is_reachable(machine: &Machine, wanted: usize) -> bool {
    let (mut seen, mut open) = (vec![0], vec![0]);
    while let Some(state) = open.pop() {
        for target in machine.get(state).iter().flat_map(|(_, targets)| targets.iter().flatten()) {
            if !seen.contains(target) {
                seen.push(*target);
                open.push(*target);
            }
        }
    }
    seen.contains(&wanted)
}

/// Everything that can be sent in up to `longest` messages.
pub(crate) fn all_streams(longest: usize, labels: usize) -> Vec<Vec<Sent>> {
    let messages: Vec<Sent> =
        Sender::BOTH.into_iter().flat_map(|sender| (0..labels).map(move |label| (sender, label))).collect();
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..longest {
        last = last
            .iter()
            .flat_map(|stream: &Vec<Sent>| messages.iter().map(|sent| [stream.as_slice(), &[*sent]].concat()))
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}
