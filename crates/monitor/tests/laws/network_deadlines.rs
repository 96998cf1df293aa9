//! Deadlines in networks (docs/time.md, "Networks and logs"): each monitor judges its own component, from when that was handed what its
//! obligation begins with. A component that is in time is never blamed, however bytes are delayed and the monitor is stopped; one that is
//! later than all of that can explain always is. Exhaustive over a grid of delays.

use referee_check::Options;
use referee_monitor::multiparty::{
    Arrival, ArrivalTimes, Dependencies, Effect, Engine, Judging, Network, Run, Settings, Status, Turn,
};
use referee_monitor::{Event, EventLabel, Moment, Party, Payload, Policy, Registry};
use referee_theory::Role;

/// `b` learns of the choice of `a` by a dependency alone; what it has to say then has a time.
const RELAY: &str = "
    protocol Relay(role a, role b, role c) {
      choice at a {
        Left() from a to c;
        Go() from a to b;
        Done() from b to c within 2s after 1s;
      } or {
        Right() from a to c;
        Halt() from b to c within 2s;
        End() from c to a;
      }
    }";

const SECOND: i64 = 1_000_000_000;
const TOLERANCE: i64 = 2;
const WITHIN: i64 = 2;
const AFTER: i64 = 1;

type Text = &'static str;

fn lend(label: &Text, look: &mut dyn FnMut(&Event<'_>)) {
    let payload = Payload::Positional(&[]);
    look(&Event { from: Party::Stranger, to: Party::Stranger, label: EventLabel::Text(label), payload });
}

fn engine(role: Role, settings: Settings) -> Engine {
    let document = referee_syntax::parse(RELAY, referee_syntax::Language::Scr);
    let referee_syntax::Content::Global(protocols) = &document.content else { panic!("global") };
    let global = protocols[0].global.as_ref().unwrap();
    let relative = global.relative_all().unwrap();
    let network = Network::synthesise(global, &relative, &Options::default(), None, &mut ());
    network.deployable().unwrap();
    Engine::new(&network, role, &Registry::new(), settings).unwrap()
}

fn judging(enforces: bool) -> Option<Judging> {
    Some(Judging { tolerance: TOLERANCE * SECOND, enforces })
}

fn at(earliest: i64, latest: i64) -> Moment {
    Moment { earliest: earliest * SECOND, latest: latest * SECOND }
}

/// `b` with `Left` told and `Go` received, both handed when `handing` says.
fn asked(engine: &Engine, handing: Moment) -> Run<Text> {
    let mut run = engine.run(9);
    engine.begin_times(&mut run, Moment { earliest: i64::MIN, latest: 0 });
    let mut effects = learn(engine, &mut run, "Left");
    engine.arrives(&mut run, Role(0), Arrival::Message("Go"), &lend, &mut |e| effects.push(e)).ok().unwrap();
    let is_given = |e: &&Effect<Text>| matches!(e, Effect::Deliver { .. } | Effect::DeliverDependency { .. });
    let given = effects.iter().filter(is_given).count() as u64;
    assert_eq!(engine.next_deadline(&run), None, "nothing was handed");
    engine.note_handed(&mut run, given, handing);
    run
}

/// Whoever is to tell the monitor of the choice tells it.
fn learn(engine: &Engine, run: &mut Run<Text>, label: Text) -> Vec<Effect<Text>> {
    let mut effects = Vec::new();
    while let Turn::Dependency(from) = engine.turn(run) {
        engine.arrives(run, from, Arrival::Dependency(label), &lend, &mut |e| effects.push(e)).ok().unwrap();
    }
    effects
}

/// Whether somebody is blamed for `effects`; none if nothing is said.
fn verdict(effects: &[Effect<Text>]) -> Option<bool> {
    effects.iter().find_map(|effect| match effect {
        Effect::Untimely { notice, certain } => {
            assert_eq!(notice.blamed.is_empty(), !certain);
            Some(*certain)
        }
        _ => None,
    })
}

#[test]
fn who_is_in_time_is_never_blamed_and_who_is_later_than_can_be_explained_always_is() {
    let deliver = Settings { policy: Policy::Observe, judging: judging(false), ..Settings::default() };
    let engine = engine(Role(1), deliver);
    let (mut innocent, mut late, mut early) = (0, 0, 0);
    // The write of the request, how long the monitor was stopped after it, its way, the component's time, its way back, the read.
    for (stop, there, took, back, stalled) in grid([3, 3, 10, 3, 3]) {
        let handing = at(10, 10 + stop);
        let sent = 10 + there + took;
        let (arrives, read) = (sent + back, sent + back + stalled);
        if there > TOLERANCE || back > TOLERANCE {
            continue;
        }
        let mut run = asked(&engine, handing);
        let first = at(arrives, read);
        engine.note_offer(&mut run, ArrivalTimes { first, last: first });
        let mut effects = Vec::new();
        engine
            .component_sends(&mut run, Role(2).into(), "Done", &lend, &mut |e| effects.push(e))
            .ok()
            .unwrap();
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Send { .. })), "reported, and goes on");
        let blamed = verdict(&effects) == Some(true);
        let in_time = (AFTER..=WITHIN).contains(&took);
        assert!(!(in_time && blamed), "{stop} {there} {took} {back} {stalled}");
        if took > WITHIN + stop + 2 * TOLERANCE {
            assert!(blamed, "{stop} {there} {took} {back} {stalled}");
            late += 1;
        }
        innocent += usize::from(in_time);
        early += usize::from(took < AFTER && blamed);
    }
    assert!(innocent > 100 && late > 100 && early > 0, "{innocent} {late} {early}");
}

#[test]
fn silence_is_reported_once_and_only_by_the_monitor_of_who_is_silent() {
    let deliver = Settings { policy: Policy::Observe, judging: judging(false), ..Settings::default() };
    let own = engine(Role(1), deliver);
    let mut run = asked(&own, at(10, 11));
    let limit = (11 + WITHIN + 2 * TOLERANCE) * SECOND;
    assert_eq!(own.next_deadline(&run), Some(limit));
    let mut effects = Vec::new();
    own.overdue(&mut run, limit, &mut |e| effects.push(e));
    assert!(effects.is_empty(), "at the limit it may still be on its way");
    for _ in 0..2 {
        own.overdue(&mut run, limit + 1, &mut |e| effects.push(e));
    }
    let [Effect::Untimely { notice, certain: true }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((notice.breach.name(), &notice.blamed[..], run.violations()), ("deadline", &[Role(1)][..], 1));
    assert!(notice.sentence.contains("no `Done` came within 2 s of `Go`"), "{}", notice.sentence);
    // `c` waits for it, and its monitor says nothing.
    let other = engine(Role(2), deliver);
    let mut run: Run<Text> = other.run(9);
    other.begin_times(&mut run, at(0, 0));
    other.arrives(&mut run, Role(0), Arrival::Message("Left"), &lend, &mut |_| {}).ok().unwrap();
    assert_eq!(other.next_deadline(&run), None);
}

#[test]
fn enforced_a_missed_deadline_ends_the_session_and_one_in_doubt_does_not() {
    let halt = Settings { judging: judging(true), ..Settings::default() };
    let engine = engine(Role(1), halt);
    let mut run = asked(&engine, at(10, 10));
    let mut effects = Vec::new();
    engine.expire(&mut run, 1000 * SECOND, &mut |e| effects.push(e));
    assert_eq!((verdict(&effects), run.status()), (Some(false), Status::Running));
    let mut run = asked(&engine, at(10, 10));
    effects.clear();
    engine.overdue(&mut run, 1000 * SECOND, &mut |e| effects.push(e));
    assert!(
        matches!(&effects[..], [Effect::Report(notice)] if notice.halted && notice.blamed[..] == [Role(1)])
    );
    assert_eq!(run.status(), Status::Halted);
}

/// What a component is not told of begins when its monitor was told; and it is never too early for what it does not know.
#[test]
fn a_hidden_dependency_begins_when_the_monitor_learns_it() {
    let settings =
        Settings { dependencies: Dependencies::Hide, judging: judging(false), ..Settings::default() };
    let engine = engine(Role(1), settings);
    let mut run: Run<Text> = engine.run(9);
    engine.begin_times(&mut run, at(0, 0));
    engine.note_time(&mut run, 50 * SECOND);
    learn(&engine, &mut run, "Right");
    assert_eq!(engine.next_deadline(&run), Some((50 + WITHIN + 2 * TOLERANCE) * SECOND));
    // Sent before its monitor knew, it is in time.
    let mut run: Run<Text> = engine.run(9);
    engine.begin_times(&mut run, at(0, 0));
    let mut effects = Vec::new();
    engine.note_offer(&mut run, ArrivalTimes { first: at(1, 1), last: at(1, 1) });
    engine.component_sends(&mut run, Role(2).into(), "Halt", &lend, &mut |e| effects.push(e)).ok().unwrap();
    engine.note_time(&mut run, 90 * SECOND);
    effects.extend(learn(&engine, &mut run, "Right"));
    assert!(matches!(&effects[..], [Effect::Send { .. }]), "{effects:?}");
}

/// All tuples with each place below its bound.
fn grid(bounds: [i64; 5]) -> impl Iterator<Item = (i64, i64, i64, i64, i64)> {
    let all: i64 = bounds.iter().product();
    (0..all).map(move |mut number| {
        let mut next = |bound: i64| {
            let place = number % bound;
            number /= bound;
            place
        };
        let [a, b, c, d, e] = bounds;
        (next(a), next(b), next(c), next(d), next(e))
    })
}
