//! Byte streams and recorded events are judged alike: what a guard without pipelining says about a stream of bytes, however it
//! is cut, is what `watch` says about the messages in it, and what the definition of the monitor says (ECOOP'21, Definition 9,
//! with Remark 20 for what comes after the end).

use std::io;
use std::sync::Arc;

use referee_monitor::Policy;
use referee_session::Options;
use referee_watch::{Input, Notice, Observer, Progress, watch};
use referee_wire::Sender;

use crate::cuts::all_cuts;
use crate::machines::{LABELS, Machine, Sent, all_machines, all_streams, rules};
use crate::relay::Relay;

/// What is said about one message: its number, who is to blame and in which way.
type Verdict = (i64, String, String);

/// The definition, literally. A wrong message is passed on and changes nothing. Where the kinds differ, the one among bytes comes
/// second: a message that its sender never sends is not read as one of the other side's, even if it is called the same.
fn by_definition(machine: &Machine, stream: &[Sent]) -> [Vec<Verdict>; 2] {
    let mut state = 0;
    let mut verdicts = [Vec::new(), Vec::new()];
    for (number, (sender, label)) in (0..).zip(stream) {
        let sends = |(speaker, targets): &(Sender, [Option<usize>; 2])| {
            speaker == sender && targets.get(*label).is_some_and(Option::is_some)
        };
        let target = machine.get(state).filter(|state| sends(state)).and_then(|(_, targets)| targets[*label]);
        if let Some(target) = target {
            state = target;
            continue;
        }
        let is_label = machine.iter().any(|(_, targets)| targets.get(*label).is_some_and(Option::is_some));
        let kind = |is_known| match is_known {
            _ if state == machine.len() => "after-end",
            true => "order",
            false => "label",
        };
        let kinds = [kind(is_label), kind(machine.iter().any(sends))];
        for (verdicts, kind) in verdicts.iter_mut().zip(kinds) {
            verdicts.push((number, name(*sender).to_owned(), kind.to_owned()));
        }
    }
    verdicts
}

fn name(sender: Sender) -> &'static str {
    match sender {
        Sender::Client => "client",
        Sender::Server => "server",
    }
}

struct Verdicts(Vec<Vec<Verdict>>);

impl Observer for Verdicts {
    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        let Notice::Violation(report) = notice else { panic!("{notice:?}") };
        let session: usize = report.session.as_deref().unwrap().parse().unwrap();
        let event = i64::try_from(report.event).unwrap();
        self.0[session].push((event, report.blame.unwrap_or_default(), report.kind.name().to_owned()));
        Ok(())
    }

    fn progress(&mut self, _: &Progress) -> io::Result<()> {
        Ok(())
    }
}

/// What `watch` says about each of `streams`, in one file.
fn by_watch(rules: &referee_session::TwoPartyRules, streams: &[Vec<Sent>]) -> Vec<Vec<Verdict>> {
    let mut text = String::new();
    for (session, stream) in streams.iter().enumerate() {
        for (sender, label) in stream {
            let (from, to) = (name(*sender), name(sender.other()));
            let label = LABELS[*label];
            text += &format!(
                "{{\"session\":\"{session}\",\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\"payload\":[]}}\n"
            );
        }
    }
    let mut verdicts = Verdicts(vec![Vec::new(); streams.len()]);
    let input = Input::stream("events", io::Cursor::new(text));
    let options = referee_watch::Options { all: true, ..referee_watch::Options::default() };
    watch(Arc::clone(rules.monitor()), &[], vec![input], options, &mut verdicts).unwrap();
    verdicts.0
}

fn check(machine: &Machine, streams: &[Vec<Sent>]) -> (usize, usize) {
    let options = || Options { policy: Policy::Observe, pipelining: [false; 2], ..Options::default() };
    let rules = rules(machine, options());
    let watched = by_watch(&rules, streams);
    let (mut cuts, mut wrong) = (0, 0);
    for (stream, watched) in streams.iter().zip(watched) {
        let [of_events, expected] = by_definition(machine, stream);
        assert_eq!(watched, of_events, "watch: {machine:?} {stream:?}");
        wrong += expected.len();
        for chunks in all_cuts(stream) {
            let found: Vec<Verdict> = Relay::verdicts(&rules, &chunks)
                .into_iter()
                .map(|record| (record.event, record.blame.unwrap_or_default(), record.kind))
                .collect();
            assert_eq!(found, expected, "guard: {machine:?} {chunks:?}");
            cuts += 1;
        }
    }
    (cuts, wrong)
}

#[test]
fn bytes_events_and_definition_agree() {
    let (mut cuts, mut wrong) = (0, 0);
    let one = all_machines(1);
    let streams = all_streams(3, 3);
    for machine in &one {
        let (more, violations) = check(machine, &streams);
        (cuts, wrong) = (cuts + more, wrong + violations);
    }
    let streams = all_streams(2, 3);
    for machine in &all_machines(2) {
        let (more, violations) = check(machine, &streams);
        (cuts, wrong) = (cuts + more, wrong + violations);
    }
    assert!(cuts > 90_000 && wrong > 30_000, "{cuts} cuts, {wrong} violations");
}
