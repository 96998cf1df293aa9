//! Recursion data at run time: they begin with their values, change as `continue` says, and assertions read them.

use referee_check::Options;
use referee_monitor::multiparty::{Effect, Engine, Network, Settings};
use referee_monitor::{Event, EventLabel, FieldValue, Kind, Monitor, Party, Payload, Registry, Verdict};
use referee_theory::GlobalType;
use std::sync::Arc;

/// Parses a usable `.scr` text with one protocol.
fn global(text: &str) -> Arc<GlobalType> {
    let document = referee_syntax::parse(text, referee_syntax::Language::Scr);
    assert!(document.is_usable(), "{:?}", document.diagnostics);
    let referee_syntax::Content::Global(protocols) = &document.content else { panic!("global") };
    Arc::clone(protocols[0].global.as_ref().unwrap())
}

fn monitor(global: &GlobalType, role: &str) -> Monitor {
    let role = global.vocabulary().find_role(role).unwrap();
    Monitor::synthesise(&global.project(role).unwrap(), global.vocabulary(), &Registry::new()).unwrap()
}

const ROUNDS: &str = "protocol Guess(role Host, role Player) {
  rec Round [tries<Host, Player>: int = 3] {
    choice at Host {
      Again(u: int{tries > 1}) from Host to Player;
      continue Round [tries - 1];
    } or { Done() from Host to Player; }
  }
}";

/// The protocol of which a field called like the data was once read instead of the data.
#[test]
fn data_begin_with_their_value_and_change() {
    let global = global(ROUNDS);
    for role in ["Host", "Player"] {
        let monitor = monitor(&global, role);
        let (host, player) = (monitor.party("Host"), monitor.party("Player"));
        let value = [FieldValue::Int(9)];
        let again = Event::new(host, player, "Again", Payload::Positional(&value));
        let mut session = monitor.session();
        assert_eq!(monitor.step(&mut session, &again), Verdict::Forward);
        assert_eq!(monitor.step(&mut session, &again), Verdict::Forward);
        // Saved and restored, the data are what they were.
        let mut session = monitor.restore(&monitor.save(&session)).unwrap();
        let Verdict::Violation(violation) = monitor.step(&mut session, &again) else { panic!("{role}") };
        assert_eq!(violation.kind, Kind::Assertion);
        let explanation = monitor.explain(&session, &violation, &again).to_string();
        assert_eq!(explanation, "Host sent `Again`, for which `tries > 1` does not hold: `tries` is 1");
        let done = Event::new(host, player, "Done", Payload::Positional(&[]));
        assert_eq!(monitor.step(&mut session, &done), Verdict::Forward);
    }
    let text = monitor(&global, "Host").view().to_text();
    assert!(text.contains("tries := tries - 1"), "{text}");
}

/// Values that are not scalars, several at once, and one from the other.
#[test]
fn data_change_all_at_once() {
    let global = global(
        "protocol Swap(role a, role b) {
           rec X [left<a>: string = \"l\", right<a>: string = \"r\"] {
             Say(word: string) from a to b where word == left;
             continue X [right, left + word];
           }
         }",
    );
    let monitor = monitor(&global, "a");
    let (a, b) = (monitor.party("a"), monitor.party("b"));
    let mut session = monitor.session();
    for word in ["l", "r", "ll", "rr", "llll"] {
        let value = [FieldValue::Str(word)];
        let event = Event::new(a, b, "Say", Payload::Positional(&value));
        assert_eq!(monitor.step(&mut session, &event), Verdict::Forward, "{word}");
    }
    let value = [FieldValue::Str("llll")];
    let event = Event::new(a, b, "Say", Payload::Positional(&value));
    assert!(matches!(monitor.step(&mut session, &event), Verdict::Violation(_)));
}

/// A value that cannot be computed is the fault of the message it is computed after.
#[test]
fn a_value_that_cannot_be_computed_is_a_violation() {
    let global = global(
        "protocol Divide(role a, role b) {
           rec X [n<a, b>: int = 100] {
             By(d: int) from a to b where n > 0;
             continue X [n / d];
           }
         }",
    );
    let monitor = monitor(&global, "b");
    let (a, b) = (monitor.party("a"), monitor.party("b"));
    let by = |d| [FieldValue::Int(d)];
    let mut session = monitor.session();
    let (two, zero) = (by(2), by(0));
    let event = |value| Event::new(a, b, "By", Payload::Positional(value));
    assert_eq!(monitor.step(&mut session, &event(&two)), Verdict::Forward);
    let Verdict::Violation(violation) = monitor.step(&mut session, &event(&zero)) else { panic!("by zero") };
    let explanation = monitor.explain(&session, &violation, &event(&zero)).to_string();
    assert!(explanation.starts_with("a sent `By`, for which `n / d` has no value"), "{explanation}");
}

/// A game for three with what only one of them knows: nuScr's own example of refinements, in other words.
const GAME: &str = "(*# RefinementTypes #*)
global protocol Game(role A, role B, role C) {
  Secret(n: int{0 <= n && n < 100}) from A to B;
  Limit(most: int{0 < most}) from A to B;
  rec Loop [t<B>: (t: int{0 < t}) = most] {
    Guess(x: int{0 <= x && x < 100}) from C to B;
    choice at B {
      Higher(why: unit{n > x && t > 1}) from B to C; Higher() from B to A; continue Loop [t - 1];
    } or {
      Win(why: unit{n = x}) from B to C; Lose() from B to A;
    } or {
      Lower(why: unit{n < x && t > 1}) from B to C; Lower() from B to A; continue Loop [t - 1];
    } or {
      Lose(why: unit{n <> x && t = 1}) from B to C; Win() from B to A;
    }
  }
}";

/// A message with one value, or none.
type Move = (&'static str, Option<FieldValue<'static>>);

fn lend(played: &Move, look: &mut dyn FnMut(&Event<'_>)) {
    let values: Vec<FieldValue<'_>> = played.1.into_iter().collect();
    let payload = Payload::Positional(&values);
    look(&Event { from: Party::Stranger, to: Party::Stranger, label: EventLabel::Text(played.0), payload });
}

/// What B's monitor of the network says to `answers` after each guess of 5, the secret being 7 and the limit 2.
fn play(answers: &[&'static str]) -> Vec<String> {
    let global = global(GAME);
    let relative = global.relative_all().unwrap();
    let network = Network::synthesise(&global, &relative, &Options::default(), None, &mut ());
    network.deployable().unwrap();
    let [a, b, c] = ["A", "B", "C"].map(|name| global.vocabulary().find_role(name).unwrap());
    let engine = Engine::new(&network, b, &Registry::new(), Settings::default()).unwrap();
    let mut run = engine.run(99);
    let mut said = Vec::new();
    let mut tell = |effect: Effect<Move>| {
        if let Effect::Report(notice) = effect {
            said.push(notice.assertion.clone().unwrap_or_default());
        }
    };
    let int = |value| Some(FieldValue::Int(value));
    let arrives = |run: &mut _, from, played, tell: &mut dyn FnMut(Effect<Move>)| {
        let arrival = referee_monitor::multiparty::Arrival::Message(played);
        engine.arrives(run, from, arrival, &lend, tell).ok().unwrap();
    };
    arrives(&mut run, a, ("Secret", int(7)), &mut tell);
    arrives(&mut run, a, ("Limit", int(2)), &mut tell);
    for answer in answers {
        arrives(&mut run, c, ("Guess", int(5)), &mut tell);
        let answered = (*answer, Some(FieldValue::Unit));
        engine.component_sends(&mut run, c.into(), answered, &lend, &mut tell).ok().unwrap();
        engine.component_sends(&mut run, a.into(), (*answer, None), &lend, &mut tell).ok().unwrap();
    }
    said
}

#[test]
fn networks_follow_data() {
    assert_eq!(play(&["Higher"]), [""; 0]);
    // The second round is the last.
    assert_eq!(play(&["Higher", "Higher"]), ["n > x && t > 1"]);
    assert_eq!(play(&["Win"]), ["n == x"]);
}

/// A recursion that begins a branch has its data in the first message of the branch.
#[test]
fn a_branch_may_begin_with_a_recursion_with_data() {
    let global = global(
        "protocol P(role a, role b) {
           Start(most: int) from a to b;
           choice at a {
             rec X [n<a, b>: (n: int{n >= 0}) = most - 1] {
               choice at a { Tick(u: int) from a to b where u == n; continue X [n - 1]; }
               or { Stop() from a to b; }
             }
           } or { Skip() from a to b; }
         }",
    );
    let monitor = monitor(&global, "b");
    let (a, b) = (monitor.party("a"), monitor.party("b"));
    let run = |most: i64, ticks: &[i64], last: Option<&str>| {
        let mut session = monitor.session();
        let value = [FieldValue::Int(most)];
        let start = Event::new(a, b, "Start", Payload::Positional(&value));
        assert_eq!(monitor.step(&mut session, &start), Verdict::Forward);
        for tick in ticks {
            let value = [FieldValue::Int(*tick)];
            if monitor.step(&mut session, &Event::new(a, b, "Tick", Payload::Positional(&value)))
                != Verdict::Forward
            {
                return false;
            }
        }
        last.is_none_or(|label| {
            monitor.step(&mut session, &Event::new(a, b, label, Payload::Positional(&[]))) == Verdict::Forward
        })
    };
    assert!(run(2, &[1], Some("Stop")));
    assert!(
        run(0, &[], Some("Skip")),
        "what must hold of the data is asked only of who enters the recursion"
    );
    assert!(!run(2, &[2], None));
    assert!(!run(0, &[], Some("Stop")));
    assert!(!run(2, &[1, 0], None), "the next value would be below 0");
    assert!(run(3, &[2, 1], Some("Stop")));
}
