//! `check --property` and the monitors give the same verdicts. The checker keeps residuals of its own, over values that are not known
//! (`docs/checking.md`, "Properties of one's own"); here its answers are compared with the monitor that is stepped along every
//! short execution: for all small formulas without data, and for formulas with data and several choices of values.

use std::sync::Arc;

use referee_check::{Doubt, Judgement, Options, check_properties};
use referee_monitor::property::{PropertyMonitor, PropertyVerdict};
use referee_reference::kmc::{Configuration, successors};
use referee_syntax::{Content, Language, parse};
use referee_testkit::systems::{Rng, all_pairs, sampled};
use referee_theory::property::term::Items;
use referee_theory::property::{EventKind, EventView, Polarity, Property, Term};
use referee_theory::{Action, Message, Role, System};

/// Executions up to this length are looked at.
const LENGTH: usize = 4;

fn property(text: &str) -> Option<Arc<Property>> {
    let document = parse(text, Language::Hml);
    let usable = document.is_usable();
    let Content::Properties(file) = document.content else { panic!("{text}") };
    usable.then(|| Arc::clone(&file.properties[0]))
}

/// A message that was sent: an event of the properties below.
type Sent = (Role, Role, Message);

/// Every execution within `k` of at most [`LENGTH`] steps, each as the messages that are sent, with the number of its steps;
/// shorter ones first.
fn executions(system: &System, k: usize) -> Vec<(usize, Vec<Sent>)> {
    let mut all = Vec::new();
    let mut layer = vec![(Vec::new(), Configuration::initial(system))];
    for length in 0..=LENGTH {
        let mut next = Vec::new();
        for (sent, configuration) in layer {
            for (step, target) in successors(system, &configuration, k) {
                let mut sent: Vec<Sent> = sent.clone();
                if step.action == Action::Send {
                    sent.push((step.role, step.peer, step.message));
                }
                next.push((sent, target));
            }
            all.push((length, sent));
        }
        layer = next;
    }
    all
}

/// Whether the monitor flags a violation with the last of these messages, or before; each field is the next of `values`.
fn flags(monitor: &PropertyMonitor, system: &System, sent: &[Sent], mut values: impl FnMut() -> i64) -> bool {
    if monitor.verdict_at_start() == Some(PropertyVerdict::Violation) {
        return true;
    }
    let vocabulary = system.vocabulary();
    let mut memory = monitor.memory();
    let mut instance = None;
    sent.iter().any(|&(from, to, message)| {
        let fields: Vec<Term<'_>> =
            vocabulary.spec(message).fields.iter().map(|_| Term::Int(values())).collect();
        let event = EventView {
            subject: Term::Text(vocabulary.role_name(from)),
            object: Term::Text(vocabulary.role_name(to)),
            label: Term::Text(vocabulary.label_of(message)),
            payload: Term::List(Items::Terms(&fields)),
            ..EventView::new(EventKind::Exchange)
        };
        let instance = instance.get_or_insert_with(|| monitor.begin(&event).unwrap());
        monitor.step(&mut memory, instance, &event, 100_000) == Some(PropertyVerdict::Violation)
    })
}

/// All formulas of `size` over two messages and any message; `X` may stand where `looped`.
fn formulas(size: usize, within: bool, looped: bool) -> Vec<String> {
    if size == 1 {
        let looped = looped.then_some("X");
        return ["ff", "tt"].into_iter().chain(looped).map(str::to_owned).collect();
    }
    let mut all = Vec::new();
    for pattern in ["A -> B : a", "B -> A : a", "_"] {
        all.extend(formulas(size - 1, within, within).iter().map(|behind| format!("[{pattern}]{behind}")));
    }
    if !within {
        all.extend(formulas(size - 1, true, false).iter().map(|body| format!("max X.({body})")));
    }
    for share in 1..size - 1 {
        let right = formulas(size - 1 - share, within, looped);
        for left in formulas(share, within, looped) {
            for right in &right {
                all.extend(["and", "or"].map(|word| format!("({left} {word} {right})")));
            }
        }
    }
    all
}

#[derive(Debug, Default)]
struct Tally {
    holds: usize,
    violated: usize,
    bound: usize,
}

/// Without data the answer is exactly what the monitor finds.
fn compare(
    system: &System,
    executions: &[(usize, Vec<Sent>)],
    (text, monitor): &(String, PropertyMonitor),
    tally: &mut Tally,
) {
    let options = Options { max_k: 1, ..Options::default() };
    let asked = [Arc::clone(monitor.property())];
    let answer = check_properties(system, &asked, None, &options, None, &mut ()).remove(0);
    let shortest =
        executions.iter().find(|(_, sent)| flags(monitor, system, sent, || 0)).map(|found| found.0);
    match &answer.judgement {
        Judgement::Violated(execution) => {
            tally.violated += 1;
            let length = execution.steps.len();
            assert_eq!(shortest, (length <= LENGTH).then_some(length), "{text}");
        }
        other => {
            match other {
                Judgement::Holds => tally.holds += 1,
                Judgement::Unknown(Doubt::Bound) => tally.bound += 1,
                other => panic!("{other:?}"),
            }
            assert_eq!(shortest, None, "{text}: {other:?}");
        }
    }
}

#[test]
fn the_checker_finds_what_the_monitor_flags_for_all_small_formulas() {
    let violated = |property: &Arc<Property>| property.polarity() == Some(Polarity::Violation);
    let monitors: Vec<(String, PropertyMonitor)> = (1..=6)
        .flat_map(|size| formulas(size, false, false))
        .filter_map(|text| Some((property(&text).filter(violated)?, text)))
        .map(|(property, text)| (text, PropertyMonitor::new(property).unwrap()))
        .collect();
    assert!(monitors.len() > 3_000, "{}", monitors.len());
    let mut tally = Tally::default();
    let (mut number, mut rng) = (0, Rng::new(19));
    let mut visit = |system: &System| {
        let executions = executions(system, 1);
        // Every formula is asked of some systems, every system some formulas.
        for at in 0..monitors.len() / 97 {
            let at = (number + at * 97 + rng.below(3)) % monitors.len();
            compare(system, &executions, &monitors[at], &mut tally);
        }
        number += 1;
    };
    all_pairs(1, 2, &mut visit);
    sampled(3, 2, 2, 60, 8, &mut visit);
    assert!(tally.holds > 200 && tally.violated > 200 && tally.bound > 20, "{tally:?}");
}

/// With data: `unsafe` is flagged whatever the messages carry, and of what `holds` nothing is.
#[test]
fn with_data_the_monitor_agrees_whatever_the_messages_carry() {
    let systems = [
        "A: B!a<int>; B!b<int>; end  B: A?a<int>; A?b<int>; end",
        "A: {B!a<int>; B!a<int>; end, B!b<int>; end}  B: {A?a<int>; A?a<int>; end, A?b<int>; end}",
        "A: B!a<int>; B?b<int>; B!a<int>; end  B: A?a<int>; A!b<int>; A?a<int>; end",
    ];
    let formulas = [
        "max X.([A -> B : a(x)][A -> B : a(x)]ff and [_]X)",
        "max X.([A -> B : a(x)][_ -> _ : $l(y)]ff and [_]X)",
        "max X.([A -> B : a(x) when x > 0][_]ff and [_]X)",
        "max X.([A -> B : a(x, y)]ff and [_]X)",
        "[A -> B : a(1)]ff",
        "[A -> B : a(x)]([_ -> _ : b(x)]ff or [_ -> _ : b(y) when y == x]ff)",
        "max X.([A -> B : a(x)](ff or [A -> B : a(2)]ff) and [_]X)",
        "max X.([{label == \"b\"}]ff and [_]X)",
    ];
    let mut seen = std::collections::BTreeMap::<&str, usize>::new();
    for (text, formula) in systems.iter().flat_map(|text| formulas.map(|formula| (text, formula))) {
        let Content::System(found) = parse(text, Language::Kmc).content else { panic!("{text}") };
        let system = found.system.unwrap();
        let monitor = PropertyMonitor::new(property(formula).unwrap()).unwrap();
        let options = Options { max_k: 2, ..Options::default() };
        let asked = [Arc::clone(monitor.property())];
        let answer = check_properties(&system, &asked, None, &options, None, &mut ()).remove(0);
        *seen.entry(answer.judgement.name()).or_default() += 1;
        for seed in 0..8_u32 {
            let flags = |sent: &[Sent]| {
                let mut count = 0;
                flags(&monitor, &system, sent, || {
                    count += 1;
                    i64::from(1 + (seed >> (count % 3) & 1))
                })
            };
            match &answer.judgement {
                Judgement::Violated(execution) => {
                    let sends = execution.steps.iter().filter(|step| step.action == Action::Send);
                    let sent: Vec<Sent> = sends.map(|step| (step.role, step.peer, step.message)).collect();
                    assert!(flags(&sent), "{formula}: {sent:?}");
                }
                Judgement::Holds => {
                    let found = executions(&system, 2).into_iter().find(|(_, sent)| flags(sent));
                    assert_eq!(found, None, "{formula}");
                }
                Judgement::Unknown(_) => {}
            }
        }
    }
    assert!(["holds", "unsafe", "unknown"].iter().all(|name| seen[name] >= 4), "{seen:?}");
}
