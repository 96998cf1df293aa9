//! `role W[n]` and `@"may wait"`: what they mean, how they are printed, and what is wrong with them.

use referee_syntax::{Content, Language, parse, print, scr};
use referee_theory::GlobalType;

fn global(text: &str) -> GlobalType {
    let document = parse(text, Language::Scr);
    assert!(document.is_usable(), "{text}: {:?}", document.diagnostics);
    let Content::Global(protocols) = document.content else { panic!("{text}") };
    (**protocols[0].global.as_ref().expect("no errors")).clone()
}

fn codes(text: &str) -> Vec<&'static str> {
    parse(text, Language::Scr)
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.code.id)
        .collect()
}

const POOL: &str = "\
protocol Pool(role master, role worker[n]) {
  Task() from master to worker;
  Done() from worker to master;
}
";

#[test]
fn copies_are_declared_and_printed() {
    let pool = global(POOL);
    let number = |role| pool.copies_of(pool.vocabulary().find_role(role).unwrap()).map(|number| &**number);
    assert_eq!((number("master"), number("worker")), (None, Some("n")));
    assert_eq!(scr::format(&POOL.replace("worker[n]", "worker [ n ]")).unwrap(), POOL);
    let printed = print::scr("Pool", &pool, &[]).unwrap();
    assert_eq!(printed, POOL);
    assert!(print::nuscr("Pool", &pool).is_err(), "nuScr knows no copies");
}

#[test]
fn wrong_copies_are_refused() {
    for (wrong, right) in [
        ("worker[3]", "worker[n]"),
        ("worker[n], role other[n]", "worker[n], role other[m]"),
        ("worker[n]; new role x[m]", "worker[n]; new role x"),
    ] {
        let of = |roles: &str| {
            let nested = if roles.contains("new") { "nested " } else { "" };
            let text =
                format!("{nested}protocol P(role master, role {roles}) {{ Task() from master to worker; }}");
            codes(&text)
        };
        assert_eq!(of(wrong), ["RF0123"], "{wrong}");
        assert!(!of(right).contains(&"RF0123"), "{right}");
    }
    // One copy has no name in a message; the rest of the text is read all the same.
    let one = POOL.replace("to worker;", "to worker[1];").replace("from worker", "from wroker");
    assert_eq!(codes(&one), ["RF0123", "RF0103"]);
}

const SERVER: &str = "\
protocol Serve(role client, role server, role log) {
  rec Next {
    choice at client {
      Ask() from client to server; @\"may wait\"
      Tell() from server to client;
      continue Next;
    } or {
      Bye() from client to log; @\"may wait\"
    }
  }
}
";

#[test]
fn a_server_may_wait_for_the_next_request() {
    // `server` is not told that `client` has left.
    assert_eq!(codes(&SERVER.replacen(" @\"may wait\"", "", 1)), Vec::<&str>::new());
    let refused = global(&SERVER.replacen(" @\"may wait\"", "", 1));
    let server = refused.vocabulary().find_role("server").unwrap();
    assert!(refused.project(server).is_err());
    let serve = global(SERVER);
    let machine = serve.project(server).unwrap();
    assert_eq!(machine.accepting_states(), [machine.initial()]);
    assert_eq!(machine.states().count(), 2);
    assert_eq!(print::scr("Serve", &serve, &[]).unwrap(), SERVER);
    assert_eq!(scr::format(SERVER).unwrap(), SERVER);
}

#[test]
fn only_what_is_marked_may_be_waited_for() {
    // One of the two messages is not marked: `b` must learn whether it comes.
    let text = "protocol P(role a, role b, role c) {
        choice at a { L() from a to b; @\"may  wait\" } or { R() from a to b; } or { N() from a to c; }
    }";
    let some = global(text);
    assert!(some.project(some.vocabulary().find_role("b").unwrap()).is_err());
    let all = global(&text.replace("R() from a to b;", "R() from a to b; @\"may wait\""));
    let b = all.project(all.vocabulary().find_role("b").unwrap()).unwrap();
    assert!(b.is_accepting(b.initial()));
    // Other annotations are conditions as before.
    assert_eq!(codes("protocol P(role a, role b) { M(x: int) from a to b; @\"may wat\" }"), ["RF0315"]);
    assert_eq!(codes("protocol P(role a, role b) { M(x: int) from a to b; @\"x > 0\" }"), Vec::<&str>::new());
}
