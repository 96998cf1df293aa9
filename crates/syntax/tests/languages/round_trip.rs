//! Reading what was printed gives the same protocol: on the corpus and on generated protocols.

use std::sync::Arc;

use proptest::prelude::*;
use referee_syntax::{BinaryProtocol, Content, Document, Language, fsm, gt, kmc, print, st};
use referee_theory::session::SessionType;
use referee_theory::{GlobalType, System};

use crate::generate::{self, Choices};
use crate::same::{same_global, same_session, same_system};
use crate::support::{corpus, files, said};

fn global(document: &Document) -> &GlobalType {
    let Content::Global(protocols) = &document.content else { panic!("not global") };
    protocols[0].global.as_ref().unwrap_or_else(|| panic!("{}", said(document)))
}

fn binary(document: &Document) -> &BinaryProtocol {
    let Content::Binary(protocol) = &document.content else { panic!("not binary") };
    assert!(protocol.session.is_some(), "{}", said(document));
    protocol
}

fn system(document: &Document) -> &System {
    let Content::System(system) = &document.content else { panic!("not a system") };
    system.system.as_ref().unwrap_or_else(|| panic!("{}", said(document)))
}

fn sessions(document: &Document) -> &[SessionType] {
    let Content::System(system) = &document.content else { panic!("not a system") };
    &system.sessions
}

fn assert_global(original: &GlobalType) {
    let text = print::gt(original).expect("expressible");
    assert!(same_global(original, global(&gt::parse(&text))), "{text}");
    let json = print::gt_json(original).expect("expressible");
    assert!(same_global(original, global(&gt::parse_json(&json))), "{json}");
}

fn assert_binary(original: &BinaryProtocol) {
    let text = print::st(original).expect("expressible");
    let document = st::parse(&text);
    let read = binary(&document);
    assert_eq!(read.name, original.name);
    let (Some(a), Some(b)) = (&original.session, &read.session) else { panic!("no session") };
    assert!(same_session(a, b), "{text}");
}

fn assert_system(original: &System) {
    let text = print::fsm(original).expect("expressible");
    let document = fsm::parse(&text);
    assert!(same_system(original, system(&document), false), "{text}");
    let again = print::fsm(system(&document)).expect("expressible");
    assert_eq!(print::fsm(system(&fsm::parse(&again))), Ok(again));
}

fn assert_sessions(original: &[SessionType]) {
    let text = print::kmc(original).expect("expressible");
    let document = kmc::parse(&text);
    assert!(document.is_usable(), "{text}{}", said(&document));
    for (a, b) in original.iter().zip(sessions(&document)) {
        assert!(same_session(a, b), "{text}");
    }
}

#[test]
fn the_corpus_survives() {
    let Some(corpus) = corpus() else { return };
    for (_, text) in files(&corpus.join("st"), "st") {
        assert_binary(binary(&st::parse(&text)));
    }
    for (path, text) in files(&corpus.join("gt"), "gt") {
        if !path.ends_with("19.go-fish.gt") {
            assert_global(global(&gt::parse(&text)));
        }
    }
    for (_, text) in files(&corpus.join("gt/json"), "json") {
        assert_global(global(&gt::parse_json(&text)));
    }
    for (path, text) in files(&corpus.join("kmc"), "txt") {
        if path.ends_with("scm.txt") {
            continue;
        }
        let language = Language::detect("x.txt", &text).expect("a known language");
        let document = referee_syntax::parse(&text, language);
        assert_system(system(&document));
        if language == Language::Kmc {
            assert_sessions(sessions(&document));
        }
        let as_types = print::kmc_system(system(&document)).expect("not too large");
        let document = kmc::parse(&as_types);
        assert!(document.is_usable(), "{}: {}", path.display(), said(&document));
    }
}

#[test]
fn a_value_that_could_be_taken_for_another_labels_is_printed_with_its_own() {
    let text = "a -> b (l . a -> b (unitLabel . a -> b <str> . end))";
    let document = gt::parse(text);
    let printed = print::gt(global(&document)).expect("expressible");
    assert_eq!(printed.trim(), text);
    assert_global(global(&document));
}

#[test]
fn papers_notation() {
    let text = "S = rec X.(&{?Guess(num: Int)[num > 1 && num < 9].+{!Yes(), !No().X}, ?Quit()})";
    let document = st::parse(text);
    let session = binary(&document).session.as_ref().expect("a session");
    assert_eq!(
        print::session(session),
        "rec X.(&{?Guess(num: int)[num > 1 && num < 9].⊕{!Yes().end, !No().X}, ?Quit().end})"
    );
    let document = kmc::parse("A: rec x . {B!a<int>;x, C!b;end} B: rec x . A?a<int>;x C: A?b;end");
    assert_eq!(print::session(&sessions(&document)[0]), "rec x.(⊕{B!a(int).x, C!b().end})");
}

#[test]
fn what_cannot_be_said_is_refused_with_a_reason() {
    let mixed = kmc::parse("A: {B!a;end, B?b;end} B: {A?a;end, A!b;end}");
    let session = sessions(&mixed)[0].clone();
    let vocabulary = Arc::clone(session.vocabulary());
    let role = session.role();
    let protocol = BinaryProtocol {
        name: "S".into(),
        session: Some(session),
        vocabulary,
        process: role,
        environment: role,
        externals: Vec::new(),
    };
    let error = print::st(&protocol).expect_err("mixed choices are not session types");
    assert_eq!(error.to_string(), "in one of its choices both sides may speak");
}

proptest! {
    #[test]
    fn generated_global_types(seed in prop::collection::vec(any::<u8>(), 0..300)) {
        assert_global(&generate::global(&mut Choices::new(&seed)));
    }

    #[test]
    fn generated_binary_types(seed in prop::collection::vec(any::<u8>(), 0..300)) {
        assert_binary(&generate::binary(&mut Choices::new(&seed)));
    }

    #[test]
    fn generated_systems(seed in prop::collection::vec(any::<u8>(), 0..300)) {
        assert_system(&generate::system(&mut Choices::new(&seed)));
    }

    #[test]
    fn generated_session_types(seed in prop::collection::vec(any::<u8>(), 0..300)) {
        assert_sessions(&generate::sessions(&mut Choices::new(&seed)));
    }
}
