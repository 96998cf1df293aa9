//! Programs that break the protocol do not compile, and the compiler says why in a line that a user understands.

use std::collections::BTreeMap;
use std::path::Path;

use super::workbench::Workbench;

/// Each program is the body of a function; they are told apart by their lines.
const HEAD: &str = "\
use referee_endpoint::{Error, Local, alloc};
type AuthLink = Local<auth::Message>;
type GameLink = Local<game::Message>;
";

/// Found by type checking: the name, the parameter, the body.
const ILL_TYPED: &[(&str, &str, &str)] = &[
    ("a request before the login", "l: AuthLink", "auth::client::Start::new(l).get(\"r\", \"t\")?;"),
    ("a logout before the login", "l: AuthLink", "auth::client::Start::new(l).rvk(\"t\")?;"),
    ("receiving where it sends", "l: AuthLink", "auth::client::Start::new(l).recv()?;"),
    (
        "two logins at once",
        "l: AuthLink",
        "auth::client::Start::new(l).auth(\"a\", \"b\")?.auth(\"a\", \"b\")?;",
    ),
    (
        "a request without awaiting the answer",
        "l: AuthLink",
        "auth::client::Start::new(l).auth(\"a\", \"b\")?.get(\"r\", \"t\")?;",
    ),
    (
        "closing while an answer is due",
        "l: AuthLink",
        "auth::client::Start::new(l).auth(\"a\", \"b\")?.close();",
    ),
    ("closing at the beginning", "l: AuthLink", "auth::client::Start::new(l).close();"),
    (
        "a request after a failed login",
        "e: auth::client::AfterAuthEvent<AuthLink>",
        "if let auth::client::AfterAuthEvent::Fail { next, .. } = e { next.get(\"r\", \"t\")?; }",
    ),
    ("a second login while logged in", "s: auth::client::AfterSucc<AuthLink>", "s.auth(\"a\", \"b\")?;"),
    ("receiving while logged in", "s: auth::client::AfterSucc<AuthLink>", "s.recv()?;"),
    (
        "two requests at once",
        "s: auth::client::AfterSucc<AuthLink>",
        "s.get(\"a\", \"t\")?.get(\"b\", \"t\")?;",
    ),
    (
        "a request after the logout",
        "s: auth::client::AfterSucc<AuthLink>",
        "s.rvk(\"t\")?.get(\"b\", \"t\")?;",
    ),
    ("receiving after the end", "s: auth::client::AfterSucc<AuthLink>", "s.rvk(\"t\")?.recv()?;"),
    (
        "a request after a timeout",
        "e: auth::client::AfterGetEvent<AuthLink>",
        "if let auth::client::AfterGetEvent::Timeout { next } = e { next.get(\"r\", \"t\")?; }",
    ),
    (
        "the client's message from the server",
        "l: AuthLink",
        "auth::server::Start::new(l).auth(\"a\", \"b\")?;",
    ),
    ("an answer before the question", "l: AuthLink", "auth::server::Start::new(l).succ(\"t\")?;"),
    ("receiving where an answer is due", "s: auth::server::AfterAuth<AuthLink>", "s.recv()?;"),
    ("a result without a request", "s: auth::server::AfterAuth<AuthLink>", "s.succ(\"t\")?.res(\"x\")?;"),
    ("two results for one request", "s: auth::server::AfterGet<AuthLink>", "s.res(\"x\")?.res(\"y\")?;"),
    ("a number for a name", "l: AuthLink", "auth::client::Start::new(l).auth(7, \"b\")?;"),
    ("a text for a code", "s: auth::server::AfterAuth<AuthLink>", "s.fail(\"no\")?;"),
    ("a field too few", "l: AuthLink", "auth::client::Start::new(l).auth(\"a\")?;"),
    ("a field too many", "s: auth::server::AfterAuth<AuthLink>", "s.succ(\"t\", 1)?;"),
    (
        "an answer that does not exist",
        "s: auth::client::AfterAuth<AuthLink>",
        "if let auth::client::AfterAuthEvent::Res { .. } = s.recv()? {}",
    ),
    (
        "an answer that is not handled",
        "s: auth::client::AfterAuth<AuthLink>",
        "match s.recv()? { auth::client::AfterAuthEvent::Succ { .. } => {} }",
    ),
    ("a copy of a session", "s: auth::client::AfterSucc<AuthLink>", "let copy = s.clone();"),
    ("a text for a guess", "l: GameLink", "game::player::Start::new(l).guess(\"5\")?;"),
    ("a guess after quitting", "l: GameLink", "game::player::Start::new(l).quit()?.guess(5)?;"),
    ("the link of another protocol", "l: AuthLink", "game::player::Start::new(l);"),
    (
        "mail before the greeting",
        "l: Local<smtp_client::Message>",
        "smtp_client::Start::new(l).mail_from(\"a@b\")?;",
    ),
    ("mail before helo", "s: smtp_client::After220<Local<smtp_client::Message>>", "s.mail_from(\"a@b\")?;"),
    (
        "content before data",
        "s: smtp_client::AfterMailFrom250<Local<smtp_client::Message>>",
        "s.content(\"hi\")?;",
    ),
    (
        "an answer before it is asked",
        "s: rounds::player::AfterBegin<Local<rounds::Message>>",
        "s.answer(\"yes\")?;",
    ),
    ("a password to the wrong role", "s: auth3::s::Start<Local<auth3::Message>>", "s.passwd(\"x\")?;"),
];

/// Found once types are right.
const PRIVATE: &[(&str, &str, &str)] = &[
    (
        "a state made by hand",
        "l: AuthLink",
        "let s = auth::client::AfterSucc { link: l, tok: String::new() };",
    ),
    ("a session put back to its beginning", "l: AuthLink", "drop(auth::client::Start { link: l });"),
];

/// Found by the borrow checker.
const USED_TWICE: &[(&str, &str, &str)] = &[
    (
        "a session used again",
        "l: AuthLink",
        "let s = auth::client::Start::new(l); let a = s.auth(\"a\", \"b\")?; let b = s.auth(\"a\", \"b\")?; drop((a, b));",
    ),
    (
        "a session used after its end",
        "s: auth::client::AfterSucc<AuthLink>",
        "s.rvk(\"t\")?.close(); let b = s.get(\"r\", \"t\")?; drop(b);",
    ),
    (
        "two answers to one message",
        "s: auth::server::AfterAuth<AuthLink>",
        "let a = s.succ(\"t\")?; let b = s.fail(1)?; drop((a, b));",
    ),
    (
        "one message received twice",
        "s: auth::client::AfterAuth<AuthLink>",
        "let a = s.recv()?; let b = s.recv()?; drop((a, b));",
    ),
];

/// Found by lints that everybody has on.
const FORGOTTEN: &[(&str, &str, &str)] = &[
    ("a session that is forgotten", "l: AuthLink", "auth::client::Start::new(l);"),
    ("a session that stops in the middle", "s: auth::client::AfterSucc<AuthLink>", "s.get(\"r\", \"t\")?;"),
    ("an answer that is not looked at", "s: auth::client::AfterAuth<AuthLink>", "s.recv()?;"),
];

/// What the compiler says about each program first.
fn errors(bench: &Workbench, programs: &[(&str, &str, &str)]) -> BTreeMap<String, String> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut source =
        "#![deny(unused_must_use)]\n#![allow(dead_code, unused)]\n#![deny(unused_must_use)]\n".to_owned();
    for module in ["auth", "game", "smtp_client", "rounds", "auth3"] {
        let path = golden.join(format!("{module}.rs"));
        source.push_str(&format!("#[path = {:?}]\nmod {module};\n", path.display().to_string()));
    }
    source.push_str(HEAD);
    let first = source.lines().count() + 1;
    for (at, (_, parameter, body)) in programs.iter().enumerate() {
        source.push_str(&format!("fn wrong_{at}({parameter}) -> Result<(), Error> {{ {body} Ok(()) }}\n"));
    }
    source.push_str("fn main() {}\n");
    bench.write("wrong.rs", &source);
    let output = bench.compile("wrong.rs", &["--emit=metadata", "--error-format=short"]);
    assert!(!output.status.success());
    let mut found = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let Some((place, message)) = line.split_once(": error") else { continue };
        let Some(line) = place.rsplit(':').nth(1).and_then(|line| line.parse::<usize>().ok()) else {
            continue;
        };
        let Some((name, ..)) = line.checked_sub(first).and_then(|at| programs.get(at)) else { continue };
        found.entry((*name).to_owned()).or_insert_with(|| format!("error{message}"));
    }
    found
}

#[test]
fn wrong_programs_do_not_compile() {
    let bench = Workbench::new("wrong");
    let mut shown = String::new();
    let mut count = 0;
    for programs in [ILL_TYPED, PRIVATE, USED_TWICE, FORGOTTEN] {
        let found = errors(&bench, programs);
        for (name, ..) in programs {
            let error = found.get(*name).map_or("it compiles", String::as_str);
            shown.push_str(&format!("{name}\n    {error}\n"));
            count += 1;
        }
    }
    assert!(count >= 30 && !shown.contains("it compiles"), "{shown}");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/wrong.txt");
    if std::env::var_os("REFEREE_BLESS").is_some() {
        std::fs::write(&golden, &shown).unwrap();
    }
    // What the compiler says differs from version to version; which error it is does not.
    let codes = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split("]:").next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(
        codes(&shown),
        codes(include_str!("../../tests/golden/wrong.txt")),
        "REFEREE_BLESS=1 writes it again"
    );
}
