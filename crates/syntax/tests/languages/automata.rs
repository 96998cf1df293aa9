//! `.fsm` machines with names and accepting states, which KMC reads as comments.

use referee_syntax::{Content, Document, fsm, print};
use referee_theory::{State, System};

use crate::support::said;

const NAMED: &str = "--.name client\n.outputs\n.state graph\nq0 server ! hello q1\n.marking q0\n.end\n\
                     .name server\n.outputs\n.state graph\nq0 0 ? hello q0\n.marking q0\n.accepting q0\n.end\n";

fn system(document: &Document) -> &System {
    let Content::System(system) = &document.content else { panic!("not a system") };
    system.system.as_ref().unwrap_or_else(|| panic!("{}", said(document)))
}

#[test]
fn machines_have_names_and_accepting_states() {
    let document = fsm::parse(NAMED);
    let system = system(&document);
    let names: Vec<&str> = system.roles().map(|role| system.vocabulary().role_name(role)).collect();
    assert_eq!(names, ["client", "server"]);
    assert_eq!(system.machines()[1].accepting_states(), [State(0)]);
    assert_eq!(system.machines()[0].transitions(State(0))[0].peer, system.machines()[1].role());
    // What is printed has both in comments, for KMC's sake, and says the same.
    let text = print::fsm(system).expect("expressible");
    assert!(text.contains("--.name server") && text.contains("--.accepting q0"), "{text}");
    assert_eq!(print::fsm(self::system(&fsm::parse(&text))), Ok(text));
}

/// A name may also stand behind `.outputs`, and a blank behind `--`.
#[test]
fn names_stand_where_people_put_them() {
    let behind = NAMED.replace(".name server\n.outputs\n", ".outputs\n.name server\n");
    let blank = NAMED.replace("--.name", "-- .name").replace("\n.accepting", "\n-- .accepting");
    for text in [behind, blank] {
        assert_ne!(text, NAMED);
        assert_eq!(print::fsm(system(&fsm::parse(&text))), print::fsm(system(&fsm::parse(NAMED))), "{text}");
    }
}

#[test]
fn a_name_is_given_once() {
    let twice = NAMED.replace(".name server", ".name client").replace("q0 server", "q0 1");
    let document = fsm::parse(&twice);
    let codes: Vec<&str> = document.diagnostics.iter().map(|found| found.code.id).collect();
    assert_eq!(codes, ["RF0501"], "{}", said(&document));
}
