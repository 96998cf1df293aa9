//! Events that were not seen (docs/uncertainty.md): what [`Possible`] keeps is the states that some completion without a
//! violation leads to, and an event is a violation if and only if no completion explains it.

use std::collections::BTreeSet;
use std::sync::Arc;

use referee_monitor::{
    Event, FieldValue, LabelId, Monitor, Party, Payload, Possible, PossibleVerdict, Registry, Verdict,
};
use referee_reference::automaton::{Automaton, Step};
use referee_reference::unseen::{Seen, completions, explained, run};
use referee_syntax::{Analysis, Language, parse};
use referee_theory::{Action, Machine, MachineBuilder, Origin, State, Transition, Vocabulary};

use crate::terms::Tally;

/// Two letters: `a` is sent, `b` is received.
const LETTERS: [(&str, bool); 2] = [("a", true), ("b", false)];

fn letter(index: usize) -> Step {
    let (label, sends) = LETTERS[index];
    Step { sends, peer: "server".to_owned(), label: label.to_owned(), payload: String::new() }
}

/// Every deterministic machine with `states` states over the letters.
fn machines(states: usize) -> impl Iterator<Item = (Machine, Arc<Vocabulary>)> {
    let cells = states * LETTERS.len();
    let codes = (states + 1).pow(u32::try_from(cells).unwrap());
    (0..codes).map(move |mut code| {
        let mut vocabulary = Vocabulary::new();
        let (client, server) = (vocabulary.add_role("client"), vocabulary.add_role("server"));
        let messages = LETTERS.map(|(label, _)| vocabulary.add_plain_message(label));
        let mut builder = MachineBuilder::new(client);
        let numbers: Vec<State> = (0..states).map(|_| builder.add_state()).collect();
        for state in &numbers {
            for (message, (_, sends)) in messages.iter().zip(LETTERS) {
                let target = code % (states + 1);
                code /= states + 1;
                if target == states {
                    continue;
                }
                let action = if sends { Action::Send } else { Action::Receive };
                let (message, target, origin) = (*message, numbers[target], Origin::NONE);
                builder.add_transition(*state, Transition { action, peer: server, message, target, origin });
            }
        }
        (builder.finish(), Arc::new(vocabulary))
    })
}

/// Every trace of up to `length` places, each an event or a loss.
fn traces(length: usize) -> Vec<Vec<Seen>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..length {
        let places = || (0..LETTERS.len()).map(|index| Seen::Event(letter(index))).chain([Seen::Lost]);
        last = last
            .iter()
            .flat_map(|trace: &Vec<Seen>| {
                places().map(|place| trace.iter().cloned().chain([place]).collect())
            })
            .collect();
        all.extend(last.clone());
    }
    all
}

fn step(monitor: &Monitor, possible: &mut Possible, step: &Step) -> PossibleVerdict {
    let parties = (monitor.party("client"), monitor.party("server"));
    let (from, to) = if step.sends { parties } else { (parties.1, parties.0) };
    let label: LabelId = monitor.label(&step.label);
    monitor.step_possible(possible, monitor.channel(from, to), label, Payload::Positional(&[]))
}

/// The states after `trace`, or `None` from the first event on that nothing explains.
fn followed(monitor: &Monitor, mut possible: Possible, trace: &[Seen]) -> Option<BTreeSet<usize>> {
    for seen in trace {
        match seen {
            Seen::Lost => monitor.lose(&mut possible, 1, false),
            Seen::Event(event) => match step(monitor, &mut possible, event) {
                PossibleVerdict::Forward { .. } => {}
                PossibleVerdict::Violation(violations) => {
                    assert_eq!(violations.len(), possible.states().count());
                    return None;
                }
                other => panic!("{other:?}"),
            },
        }
    }
    Some(possible.states().map(|state| state.index()).collect())
}

#[test]
fn what_is_kept_is_what_some_completion_explains() {
    let traces = traces(4);
    let alphabet: Vec<Step> = (0..LETTERS.len()).map(letter).collect();
    let mut tally = Tally::default();
    for (machine, vocabulary) in machines(2).chain(machines(3).step_by(7)) {
        let monitor = Monitor::synthesise(&machine, &vocabulary, &Registry::new()).unwrap();
        let automaton = Automaton::from_theory(&machine, &vocabulary);
        let everywhere: BTreeSet<usize> = (0..machine.state_count()).collect();
        for trace in &traces {
            for (starts, possible) in [
                (BTreeSet::from([0]), monitor.known(monitor.session())),
                (everywhere.clone(), monitor.join()),
            ] {
                let expected = explained(&automaton, &starts, trace, &alphabet);
                let kept = followed(&monitor, possible, trace);
                assert_eq!(kept.unwrap_or_default(), expected, "{machine:?} {trace:?}");
                tally.count(if expected.is_empty() { "violated" } else { "explained" });
                if expected.len() == 1 && trace.contains(&Seen::Lost) {
                    tally.count("one state left after a loss");
                }
            }
        }
    }
    tally.at_least("violated", 10_000);
    tally.at_least("explained", 10_000);
    tally.at_least("one state left after a loss", 5_000);
}

/// `--join`: never a violation on a suffix of a correct trace, and what every state excludes is found.
#[test]
fn joining_blames_no_suffix_of_a_correct_trace() {
    let mut tally = Tally::default();
    let whole: Vec<Vec<Seen>> = traces(4).into_iter().filter(|trace| !trace.contains(&Seen::Lost)).collect();
    for (machine, vocabulary) in machines(2).chain(machines(3).step_by(11)) {
        let monitor = Monitor::synthesise(&machine, &vocabulary, &Registry::new()).unwrap();
        let automaton = Automaton::from_theory(&machine, &vocabulary);
        for trace in &whole {
            let steps: Vec<Step> = completions(trace, &[]).remove(0);
            let correct = run(&automaton, 0, &steps).is_some();
            for cut in 0..trace.len() {
                let joined = followed(&monitor, monitor.join(), &trace[cut..]);
                if correct {
                    assert!(joined.is_some(), "{machine:?} {trace:?} from {cut}");
                    tally.count("correct");
                } else if joined.is_none() {
                    let anywhere =
                        (0..machine.state_count()).any(|q| run(&automaton, q, &steps[cut..]).is_some());
                    assert!(!anywhere);
                    tally.count("excluded by every state");
                }
            }
        }
    }
    tally.at_least("correct", 2_000);
    tally.at_least("excluded by every state", 1_000);
}

/// `Set` binds, `Check` compares, `Add` computes with what was bound.
const DATA: &str = "protocol P(role client, role server) {
    Set(x: int) from client to server;
    rec L {
        choice at client {
            Check(y: int) from client to server where y == x && y >= 0; continue L;
        } or {
            Set(x: int) from client to server; continue L;
        } or {
            Stop() from client to server;
        }
    }
}";

fn data_monitor() -> Monitor {
    let analysis = Analysis::of(parse(DATA, Language::Scr));
    assert!(analysis.is_well_formed(), "{:?}", analysis.diagnostics);
    let global = &analysis.protocols[0].global;
    let machine = global.project(global.vocabulary().find_role("client").unwrap()).unwrap();
    Monitor::synthesise(&machine, global.vocabulary(), &Registry::new()).unwrap()
}

const DATA_EVENTS: [(&str, Option<i64>); 6] = [
    ("Set", Some(0)),
    ("Set", Some(1)),
    ("Check", Some(0)),
    ("Check", Some(1)),
    ("Check", Some(-1)),
    ("Stop", None),
];

fn data_step<T>(index: usize, judge: impl FnOnce(&str, Payload<'_>) -> T) -> T {
    let (label, value) = DATA_EVENTS[index];
    let values = value.map(FieldValue::Int);
    judge(label, Payload::Positional(values.as_slice()))
}

fn is_correct(monitor: &Monitor, events: &[usize]) -> bool {
    let mut session = monitor.session();
    let (client, server): (Party, Party) = (monitor.party("client"), monitor.party("server"));
    events.iter().all(|event| {
        data_step(*event, |label, payload| {
            monitor.step(&mut session, &Event::new(client, server, label, payload)) == Verdict::Forward
        })
    })
}

/// With values: a violation is one in every completion, and where only one completion is left, values are known again.
#[test]
fn values_that_were_lost_are_unknown() {
    const LOST: usize = usize::MAX;
    let monitor = data_monitor();
    let channel = monitor.channel(monitor.party("client"), monitor.party("server"));
    let mut tally = Tally::default();
    let mut traces: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..4 {
        let places = || (0..DATA_EVENTS.len()).chain([LOST]);
        traces = traces
            .iter()
            .flat_map(|trace| places().map(|place| trace.iter().copied().chain([place]).collect()))
            .collect();
        for trace in traces.iter().filter(|trace| trace.iter().filter(|place| **place == LOST).count() <= 2) {
            let mut possible = monitor.known(monitor.session());
            let explained = trace.iter().all(|place| {
                if *place == LOST {
                    monitor.lose(&mut possible, 1, false);
                    return true;
                }
                let verdict = data_step(*place, |label, payload| {
                    monitor.step_possible(&mut possible, channel, monitor.label(label), payload)
                });
                matches!(verdict, PossibleVerdict::Forward { .. })
            });
            let mut completed: Vec<Vec<usize>> = vec![Vec::new()];
            for place in trace {
                let choices: Vec<Option<usize>> = match *place {
                    LOST => std::iter::once(None).chain((0..DATA_EVENTS.len()).map(Some)).collect(),
                    event => vec![Some(event)],
                };
                completed = completed
                    .iter()
                    .flat_map(|before| choices.iter().map(|it| before.iter().copied().chain(*it).collect()))
                    .collect();
            }
            let some = completed.iter().any(|events| is_correct(&monitor, events));
            assert!(explained || !some, "a false violation: {trace:?}");
            // One unknown value is not two: what differs between two checks of it is not noticed.
            tally.count(match (explained, some) {
                (true, true) => "explained",
                (false, false) => "violated",
                _ => "not noticed",
            });
            if trace.contains(&LOST) && possible.certain().is_some() && explained {
                tally.count("known again");
            }
        }
    }
    tally.at_least("explained", 300);
    tally.at_least("violated", 300);
    tally.at_least("known again", 100);
}

/// Lost events that may be anybody's are claimed by who needs them.
#[test]
fn claims_are_what_every_explanation_needs() {
    let (machine, vocabulary) = ping_pong();
    let monitor = Monitor::synthesise(&machine, &vocabulary, &Registry::new()).unwrap();
    let (ping, pong) = (letter(0), letter(1));
    let mut possible = monitor.known(monitor.session());
    assert_eq!(step(&monitor, &mut possible, &ping), PossibleVerdict::Forward { claims: 0 });
    monitor.lose(&mut possible, 1, true);
    let mut other = possible.clone();
    assert_eq!(step(&monitor, &mut possible, &pong), PossibleVerdict::Forward { claims: 0 });
    assert_eq!(step(&monitor, &mut other, &ping), PossibleVerdict::Forward { claims: 1 });
    assert!(possible.certain().is_some() && other.certain().is_some());
    assert_eq!(step(&monitor, &mut other, &pong), PossibleVerdict::Forward { claims: 0 });
    assert!(matches!(step(&monitor, &mut other, &pong), PossibleVerdict::Violation(_)));
}

fn ping_pong() -> (Machine, Arc<Vocabulary>) {
    machines(2)
        .find(|(machine, vocabulary)| {
            let edges = Automaton::from_theory(machine, vocabulary).edges;
            edges == vec![vec![(letter(0), 1)], vec![(letter(1), 0)]]
        })
        .unwrap()
}

/// Teeth: a lost event that is taken for none blames the pinger, one that is taken for any state blames nobody.
#[test]
fn the_pinger_is_not_blamed_for_a_lost_pong() {
    let (machine, vocabulary) = ping_pong();
    let monitor = Monitor::synthesise(&machine, &vocabulary, &Registry::new()).unwrap();
    let (ping, pong) = (Seen::Event(letter(0)), Seen::Event(letter(1)));
    let follow = |trace: &[Seen]| followed(&monitor, monitor.known(monitor.session()), trace);
    assert_eq!(follow(&[ping.clone(), ping.clone()]), None);
    assert_eq!(follow(&[ping.clone(), Seen::Lost, ping.clone()]), Some(BTreeSet::from([1])));
    assert_eq!(follow(&[ping.clone(), Seen::Lost, ping.clone(), ping.clone()]), None);
    assert_eq!(follow(&[ping.clone(), Seen::Lost, pong.clone(), pong]), None);
}
