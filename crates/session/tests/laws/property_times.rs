//! Section 2 of `docs/time.md`, "In guards", on a [simulated network](crate::network): what a guard says about properties that speak of time is what
//! `watch` says about the messages that passed it, with their times; and what it says for certain is true of the times at which they were there,
//! however it is stopped.

use referee_monitor::property::PropertyMonitor;
use referee_pipeline::{Language, Parsed};
use referee_session::PROMPT;
use referee_theory::time;
use referee_watch::{Input, Notice, Observer, Options, Progress, watch_properties};
use referee_wire::Sender;
use std::io;
use std::sync::Arc;

use crate::network::{EPOCH, Mistake, Ran, Rounds, random, run, with_few};

/// A tick of the network: two of them are more than what is read at once may wait.
const TICK: i64 = 60_000_000;

const EXPECT: &str =
    "property answered { max X.([_ -> _ : Request]expect [_ -> _ : Reply] within 240ms and [_]X) }\n";
const NEVER: &str =
    "property calm { max X.([_ -> _ : Request]never [_ -> _ : Request] for 240ms and [_]X) }\n";
const COUNT: &str =
    "property few { max X.([_ -> _ : Request when count([_ -> _ : Request] in 600ms) > 2]ff and [_]X) }\n";
const AGE: &str = "property short { [_ -> _ : Request at t]max X.([_ -> _ : Reply at u when u - t > 1200ms]ff and [_]X) }\n";

/// A verdict: the property, the event, and when a deadline passed.
type Said = (String, i64);

struct Heard(Vec<Said>);

impl Observer for Heard {
    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        match notice {
            Notice::Property(report) => {
                self.0.push((report.property.name().to_string(), report.event));
                Ok(())
            }
            other => panic!("{other:?}"),
        }
    }

    fn progress(&mut self, _: &Progress) -> io::Result<()> {
        Ok(())
    }
}

/// What `watch` says of the messages that passed, until the time up to which all are known.
fn watched(text: &str, ran: &Ran) -> Vec<Said> {
    let mut lines = String::new();
    for (sender, at) in &ran.passed {
        let [from, to, label] = match sender {
            Sender::Client => ["client", "server", "Request"],
            Sender::Server => ["server", "client", "Reply"],
        };
        let at = time::show(*at);
        lines +=
            &format!("{{\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\"time\":\"{at}\"}}\n");
    }
    let file = Parsed::new(text, Language::Hml).well_formed().unwrap();
    let monitors = file.properties().unwrap().iter();
    let monitors = monitors.map(|one| Arc::new(PropertyMonitor::new(Arc::clone(one)).unwrap())).collect();
    let input = Input::stream("log", io::Cursor::new(lines.into_bytes()));
    let mut heard = Heard(Vec::new());
    let options = Options { until: ran.known, ..Options::default() };
    watch_properties(monitors, vec![input], options, &mut heard).unwrap();
    heard.0
}

fn said(ran: &Ran) -> Vec<Said> {
    let each = ran.reports.iter().map(|verdict| {
        assert_eq!((&*verdict.record.kind, &verdict.record.blame), ("property", &None));
        (verdict.record.property.clone().unwrap(), verdict.record.event)
    });
    each.collect()
}

fn sorted(mut said: Vec<Said>) -> Vec<Said> {
    said.sort();
    said
}

#[test]
fn a_guard_says_what_watch_says_of_what_passed_it() {
    let text = [EXPECT, NEVER, COUNT, AGE].concat();
    let (mut verdicts, mut runs) = (0, 0);
    let mut check = |ran: &Ran| {
        assert_eq!(sorted(said(ran)), sorted(watched(&text, ran)), "{:?}", ran.passed);
        verdicts += ran.reports.len();
        runs += 1;
    };
    for within in [2, 6] {
        let rounds = Rounds::with_properties(&text, within, TICK, false);
        with_few(1, |choose| check(&run(&rounds, Mistake::None, (3, 1), 4, choose)));
        for seed in 0..2_000 {
            check(&run(
                &rounds,
                Mistake::None,
                (5, seed as usize % 2),
                1 + seed as usize % 4,
                &mut random(seed),
            ));
        }
    }
    assert!(verdicts > 2_000 && runs > 4_000, "{verdicts} verdicts, {runs} runs");
}

/// Whether a verdict about `ran` is true of when its messages were there, as exactly as times are read.
fn is_true(property: &str, ran: &Ran) -> bool {
    let [requests, replies] = &ran.began;
    let within = |count: usize, length: i64| {
        requests.windows(count).any(|some| some[count - 1] - some[0] <= length + PROMPT)
    };
    match property {
        // Each request has its reply before the next.
        "answered" => requests
            .iter()
            .enumerate()
            .any(|(number, asked)| replies.get(number).is_none_or(|replied| *replied > asked + 4 * TICK)),
        "calm" => within(2, 4 * TICK),
        "few" => within(3, 10 * TICK),
        "short" => replies.iter().any(|replied| replied - requests[0] > 20 * TICK - PROMPT),
        other => panic!("{other}"),
    }
}

#[test]
fn what_a_guard_says_for_certain_is_true_however_it_is_stopped() {
    let text = [EXPECT, NEVER, COUNT, AGE].concat();
    let (mut certain, mut doubtful) = (0, 0);
    let mut check = |ran: &Ran| {
        for verdict in &ran.reports {
            let property = verdict.record.property.as_deref().unwrap();
            if verdict.record.certain {
                certain += 1;
                assert!(is_true(property, ran), "{property}: {:?} {:?}", ran.began, verdict.record);
            } else {
                doubtful += 1;
            }
        }
    };
    for within in [3, 5] {
        let rounds = Rounds::with_properties(&text, within, TICK, true);
        with_few(1, |choose| check(&run(&rounds, Mistake::None, (3, 0), 4, choose)));
        for seed in 0..4_000 {
            check(&run(&rounds, Mistake::None, (4, 0), 1 + seed as usize % 4, &mut random(seed)));
        }
    }
    assert!(certain > 500 && doubtful > 500, "{certain} certain, {doubtful} doubtful");
}

#[test]
fn a_guard_that_is_not_stopped_is_certain_of_what_does_not_come() {
    let rounds = Rounds::with_properties(EXPECT, 1, TICK, true);
    let ran = run(&rounds, Mistake::None, (2, 1), 8, &mut |_| 0);
    let [verdict] = ran.reports.as_slice() else { panic!("{:?}", ran.reports) };
    assert!(verdict.record.certain, "{:?}", verdict.record);
    assert_eq!(
        verdict.record.message,
        "no `Reply` came within 240 ms of event 2, which violates property `answered`"
    );
    assert!(ran.known > Some(EPOCH));
    // The same where the last answer comes late: the verdict is that of the deadline, not of the answer.
    let late = Rounds::with_properties(EXPECT, 9, TICK, true);
    let mut choices = 0;
    let ran = run(&late, Mistake::None, (1, 0), 8, &mut |options| {
        choices += 1;
        if options == 10 { 9 } else { 0 }
    });
    let [verdict] = ran.reports.as_slice() else { panic!("{:?} {choices}", ran.reports) };
    assert!(verdict.record.certain && verdict.record.event == 0, "{:?}", verdict.record);
}

/// Each makes the law about certainty fail.
#[test]
fn each_mistake_of_a_driver_says_something_false_for_certain() {
    let text = [EXPECT, NEVER, COUNT, AGE].concat();
    for mistake in [Mistake::ArrivedWhenRead, Mistake::EmptyAfterTheLook] {
        let rounds = Rounds::with_properties(&text, 4, TICK, true);
        let is_wrong = |ran: &Ran| {
            let mut certain = ran.reports.iter().filter(|verdict| verdict.record.certain);
            certain.any(|verdict| !is_true(verdict.record.property.as_deref().unwrap(), ran))
        };
        let is_found = (0..20_000)
            .any(|seed| is_wrong(&run(&rounds, mistake, (4, 0), 1 + seed as usize % 4, &mut random(seed))));
        assert!(is_found, "{mistake:?}");
    }
}
