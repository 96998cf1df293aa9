//! Local protocols of recursions with data: as nuScr prints them, and with the meaning of the projection.

use referee_syntax::{Content, Language, parse, print};
use referee_theory::session::SessionType;
use referee_theory::{GlobalType, Machine};

fn global(text: &str) -> GlobalType {
    let document = parse(text, Language::Scr);
    let errors: Vec<String> =
        document.diagnostics.iter().filter(|d| d.is_error()).map(|d| d.message.clone()).collect();
    assert_eq!(errors, [""; 0], "{text}");
    let Content::Global(protocols) = &document.content else { panic!("not global") };
    GlobalType::clone(protocols[0].global.as_ref().expect("no errors"))
}

fn machine(global: &GlobalType, role: &str) -> Machine {
    global.project(global.vocabulary().find_role(role).expect("a role")).expect("a projection")
}

fn session(global: &GlobalType, role: &str) -> SessionType {
    let names = global.recursion_names();
    machine(global, role).session_type_with_names(global.vocabulary(), 1000, &names).expect("small")
}

/// What the monitor of `role` follows: messages, conditions, and what it computes.
fn followed(global: &GlobalType, role: &str) -> Vec<String> {
    let (machine, vocabulary) = (machine(global, role), global.vocabulary());
    let update = |update: &referee_theory::Update| format!("{} := {}", update.variable, update.value);
    let initial = vocabulary.initial_values(machine.role()).iter().map(update);
    let mut all: Vec<String> = initial.collect();
    for state in machine.states() {
        for t in machine.transitions(state) {
            let spec = vocabulary.spec(t.message);
            let condition = spec.assertion.as_ref().map(ToString::to_string);
            let updates: Vec<String> = spec.updates.iter().map(update).collect();
            let label = vocabulary.label_of(t.message);
            all.push(format!(
                "{} {}{label} {} {condition:?} {updates:?}",
                state.0,
                t.action.symbol(),
                t.target.0
            ));
        }
    }
    all
}

/// Role, protocol, and its local protocol in nuScr's words.
const PRINTED: [(&str, &str, &str); 6] = [
    (
        "A",
        "rec L [n<A>: int = 3] { m(x: int{x = n}) from A to B; continue L [n - 1]; }",
        "rec L [n<A>: int = 3] {\n  m(x: int{x = n}) to B;\n  continue L [n - 1];\n}\n",
    ),
    // Who does not know the data knows nothing of them.
    (
        "B",
        "rec L [n<A>: int = 3] { m(x: int{x = n}) from A to B; continue L [n - 1]; }",
        "rec L {\n  m(x: int) from A;\n  continue L;\n}\n",
    ),
    (
        "A",
        "Start(k: int) from B to A; rec L [n<A, B>: int = k, s<A>: string = \"none\"] {
           Get() from B to A;
           choice at A { Put(v: int{v = n}, t: string{t = s}) from A to B; New(w: string) from B to A; continue L [n + v, w]; }
           or { Skip() from A to B; continue L [n, s]; } or { Done(e: int{e = n + 1}) from A to B; } }",
        "Start(k: int) from B;\nrec L [n<A>: int = k, s<A>: string = \"none\"] {\n  Get() from B;\n  choice at A {\n    \
         Put(v: int, t: string{(v = n) && (t = s)}) to B;\n    New(w: string) from B;\n    continue L [n + v, w];\n  \
         } or {\n    Skip() to B;\n    continue L [n, s];\n  } or {\n    Done(e: int{e = (n + 1)}) to B;\n    (end)\n  }\n}\n",
    ),
    // An inner loop leaves the data of the outer one alone.
    (
        "A",
        "rec X [n<A>: int = 0] { a(x: int{x = n}) from A to B; rec Y {
           choice at B { more() from B to A; continue Y; } or { back() from B to A; continue X [n + 1]; } } }",
        "rec X [n<A>: int = 0] {\n  a(x: int{x = n}) to B;\n  rec Y {\n    choice at B {\n      more() from B;\n      \
         continue Y;\n    } or {\n      back() from B;\n      continue X [n + 1];\n    }\n  }\n}\n",
    ),
    // Two loops, each with its own.
    (
        "A",
        "rec X [n<A>: int = 0] { a(x: int{x = n}) from A to B; rec Y [m<A>: int = n + x] {
           choice at B { more(y: int{y > m}) from B to A; continue Y [m + y]; } or { back(z: int{z = m}) from B to A; continue X [z]; } } }",
        "rec X [n<A>: int = 0] {\n  a(x: int{x = n}) to B;\n  rec Y [m<A>: int = n + x] {\n    choice at B {\n      \
         more(y: int{y > m}) from B;\n      continue Y [m + y];\n    } or {\n      back(z: int{z = m}) from B;\n      \
         continue X [z];\n    }\n  }\n}\n",
    ),
    // A condition without a field of its own is an annotation.
    (
        "A",
        "rec X [n<A, B>: int = 0] { choice at A { up() from A to B; @\"n < 3\" continue X [n + 1]; } or { end() from A to B; @\"n = 3\" } }",
        "rec X [n<A>: int = 0] {\n  choice at A {\n    up() to B; @\"n < 3\"\n    continue X [n + 1];\n  } or {\n    \
         end() to B; @\"n = 3\"\n    (end)\n  }\n}\n",
    ),
];

fn protocol(body: &str) -> String {
    format!("(*# RefinementTypes #*) global protocol P(role A, role B) {{ {body} }}")
}

#[test]
fn recursion_data_are_printed_as_nuscr_prints_them() {
    for (role, body, expected) in PRINTED {
        let global = global(&protocol(body));
        let printed = print::local_nuscr(&session(&global, role));
        assert_eq!(printed.as_deref(), Ok(expected), "{body}");
    }
}

/// Read as statements between the two roles, a local protocol means to its role what the protocol means to it.
#[test]
fn printed_local_protocols_mean_the_projection() {
    for (role, body, _) in PRINTED {
        let original = global(&protocol(body));
        let local = print::local_nuscr(&session(&original, role)).expect("expressible");
        let peer = if role == "A" { "B" } else { "A" };
        let whole = local
            .replace(&format!(" to {peer};"), &format!(" from {role} to {peer};"))
            .replace(&format!(") from {peer};"), &format!(") from {peer} to {role};"))
            .replace("(end)\n", "\n");
        let again = global(&protocol(&whole));
        assert_eq!(followed(&again, role), followed(&original, role), "{whole}");
        assert_eq!(print::local_nuscr(&session(&again, role)), Ok(local));
    }
}

/// Scribble's local protocols have the same data, and conditions where Referee's have them.
#[test]
fn scribbles_form_has_data_and_conditions() {
    let global = global(&protocol(PRINTED[0].1));
    let expected = "local protocol P_A(self A, role B) {\n  rec L [n<A>: int = 3] {\n    m(x: int) to B where x == n;\n    \
                    continue L [n - 1];\n  }\n}\n";
    assert_eq!(print::local_scr("P", &session(&global, "A")).as_deref(), Ok(expected));
}

/// A loop that is never gone round is none; its data are what they were computed from, as long as that can be named.
#[test]
fn what_cannot_be_named_any_more_is_refused() {
    let once = |field: &str| {
        let body = format!(
            "a(x: int) from A to B; rec X [n<A>: int = x + 1] {{ c({field}: int) from B to A; d(y: int{{y = n}}) from A to B; }}"
        );
        print::local_nuscr(&session(&global(&protocol(&body)), "A")).map_err(|reason| reason.to_string())
    };
    let printed = "a(x: int) to B;\nc(z: int) from B;\nd(y: int{y = (x + 1)}) to B;\n(end)\n";
    assert_eq!(once("z").as_deref(), Ok(printed));
    let reason = "what `n` was computed from has got another value meanwhile";
    assert_eq!(once("x").map_err(|found| found == reason), Err(true));
}
