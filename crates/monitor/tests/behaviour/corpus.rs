//! STMonitor's own protocols, from both sides: S_auth, S_calc, S_game, S_http, S_pong, S_smtp.

use std::path::{Path, PathBuf};

use referee_monitor::{Argument, Event, FieldValue, Kind, Monitor, Party, Payload, Registry, Verdict};
use referee_syntax::{BinaryProtocol, Content, Language};
use referee_theory::expr::{Signature, Value};

use crate::support::s;

/// `$REFEREE_CORPUS`, or `../shared/corpus` beside the workspace.
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "tests may be told where the corpus is")]
fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let place = std::env::var("REFEREE_CORPUS").map_or(beside, PathBuf::from).join("st");
    if place.is_dir() {
        return Some(place);
    }
    println!("skipped: no corpus at {} (set REFEREE_CORPUS)", place.display());
    None
}

#[expect(clippy::disallowed_methods, reason = "tests read the corpus")]
fn protocol(path: &Path) -> BinaryProtocol {
    let document = referee_syntax::parse(&std::fs::read_to_string(path).unwrap(), Language::St);
    assert!(document.is_usable(), "{}", path.display());
    let Content::Binary(protocol) = document.content else { panic!("{}", path.display()) };
    protocol
}

/// Predicates that are true, apart from sums, which are added up.
fn registry(protocol: &BinaryProtocol) -> Registry {
    let mut registry = Registry::new();
    for external in &protocol.externals {
        let signature =
            Signature { parameters: external.parameters.as_slice().into(), result: external.result.clone() };
        registry.declare(&external.name, signature.clone());
        registry.register(&external.name, signature, |args| match args {
            [Argument::Int(a), Argument::Int(b), Argument::Int(sum)] => {
                Ok(Value::Bool(a.checked_add(*b) == Some(*sum)))
            }
            _ => Ok(Value::Bool(true)),
        });
    }
    registry
}

fn both(path: &Path) -> [Monitor; 2] {
    let protocol = protocol(path);
    let session = protocol.session.as_ref().unwrap();
    let registry = registry(&protocol);
    [session.machine(), session.dual(protocol.environment).machine()]
        .map(|machine| Monitor::synthesise(&machine, &protocol.vocabulary, &registry).unwrap())
}

#[test]
fn every_protocol_has_both_monitors() {
    let Some(corpus) = corpus() else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let [process, environment] = both(&entry.unwrap().path());
        let (one, other) = (process.view().to_text(), environment.view().to_text());
        let turned: String = one
            .chars()
            .map(|c| match c {
                '▷' => '▼',
                '▼' => '▷',
                '▲' => '◁',
                '◁' => '▲',
                other => other,
            })
            .collect();
        let turned = turned.replace("noP", "no?").replace("noE", "noP").replace("no?", "noE");
        assert_eq!(turned, other, "the dual view mirrors symbols and verdicts");
        count += 1;
    }
    assert!(count >= 6);
}

#[test]
fn the_guessing_game_and_the_calculator() {
    let Some(corpus) = corpus() else { return };
    let step =
        |monitor: &Monitor, session: &mut _, from_process: bool, label: &str, values: &[FieldValue<'_>]| {
            let sides = [Party::Process, Party::Environment];
            let (from, to) = if from_process { (sides[0], sides[1]) } else { (sides[1], sides[0]) };
            monitor.step(session, &Event::new(from, to, label, Payload::Positional(values)))
        };
    let int = FieldValue::Int;
    for (index, game) in both(&corpus.join("game.st")).iter().enumerate() {
        // The type is the server's; its dual is the client's.
        let server = index == 0;
        let mut session = game.session();
        assert_eq!(step(game, &mut session, !server, "Guess", &[int(7)]), Verdict::Forward);
        assert_eq!(step(game, &mut session, server, "Incorrect", &[]), Verdict::Forward);
        let Verdict::Violation(low) = step(game, &mut session, !server, "Guess", &[int(1)]) else { panic!() };
        assert_eq!(low.rejection().name(), if server { "noE^A" } else { "noP^A" });
        assert_eq!(step(game, &mut session, !server, "Guess", &[int(8)]), Verdict::Forward);
        let Verdict::Violation(wrong) = step(game, &mut session, server, "Correct", &[int(7)]) else {
            panic!()
        };
        assert_eq!(
            (wrong.kind, wrong.rejection().name()),
            (Kind::Assertion, if server { "noP^A" } else { "noE^A" })
        );
        assert_eq!(step(game, &mut session, server, "Correct", &[int(8)]), Verdict::Forward);
        assert!(game.is_over(&session));
    }
    let [calculator, _] = &both(&corpus.join("calc.st"));
    let mut session = calculator.session();
    assert_eq!(step(calculator, &mut session, false, "Add", &[int(2), int(3)]), Verdict::Forward);
    let Verdict::Violation(wrong) = step(calculator, &mut session, true, "Res", &[int(6)]) else { panic!() };
    assert_eq!(wrong.kind, Kind::Assertion);
    let Verdict::Violation(wrong) = step(calculator, &mut session, true, "Res", &[s("5")]) else { panic!() };
    assert_eq!(wrong.kind, Kind::Type);
    assert_eq!(step(calculator, &mut session, true, "Res", &[int(5)]), Verdict::Forward);
}
