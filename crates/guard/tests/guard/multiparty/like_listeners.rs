//! Whatever a listener has, a role has: functions, properties, the last messages in a verdict, the state of a live session.

use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use referee_guard::report::{Report, VerdictReport};
use referee_guard::{Guard, Plans};

use super::network::{Component, PROTOCOL, ROLES, quit, turn};
use crate::support::{Folder, PATIENCE};

/// All roles of `protocol` in one process.
struct Process {
    guard: Guard,
    reports: Arc<Mutex<Vec<Report>>>,
    _folder: Folder,
}

impl Process {
    fn start(folder: Folder, protocol: &str, top: &str, each: &str) -> Self {
        std::fs::write(folder.0.join("p.scr"), protocol).unwrap();
        let mut text = format!("[multiparty]\nprotocol = \"p.scr\"\n{top}\n");
        for role in ROLES {
            text += &format!(
                "[[multiparty.role]]\nname = \"{role}\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n{each}\n"
            );
        }
        Self::of(folder, &text)
    }

    /// The process that is configured so.
    fn of(folder: Folder, text: &str) -> Self {
        let plans = Plans::read(text, &folder.0, &|_| None).unwrap_or_else(|refusal| panic!("{refusal:?}"));
        let reports = Arc::new(Mutex::new(Vec::new()));
        let copy = Arc::clone(&reports);
        let observer = Box::new(move |report: &Report| copy.lock().unwrap().push(report.clone()));
        let guard = Guard::start_observed(&plans, Vec::new(), Some(observer)).unwrap();
        Self { guard, reports, _folder: folder }
    }

    fn session(&self) -> [Component; 3] {
        let addresses = self.guard.addresses();
        [0, 1, 2].map(|role| Component::new(TcpStream::connect(&addresses[role].1).unwrap()))
    }

    /// How many verdicts there were.
    fn verdicts(&self) -> usize {
        self.reports.lock().unwrap().iter().filter(|report| matches!(report, Report::Verdict(_))).count()
    }

    fn wait(&self, holds: impl Fn(&Self) -> bool) {
        let began = std::time::Instant::now();
        while !holds(self) {
            assert!(began.elapsed() < PATIENCE, "{:?}", self.reports.lock().unwrap());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// What the monitor of `role` has reported.
    fn verdict(&self, role: &str) -> VerdictReport {
        let began = std::time::Instant::now();
        loop {
            let found = self.reports.lock().unwrap().iter().find_map(|report| match report {
                Report::Verdict(verdict) if verdict.listener.ends_with(role) => Some((**verdict).clone()),
                _ => None,
            });
            if let Some(found) = found {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "{:?}", self.reports.lock().unwrap());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

#[test]
fn a_verdict_tells_the_last_messages_and_so_does_a_live_session() {
    for (each, shown) in [("", "s: login(1)"), ("redact = [\"*\"]", "s: login(…)")] {
        let process = Process::start(Folder::new(), PROTOCOL, "", each);
        let [mut s, mut c, _a] = process.session();
        s.send(r#"{"type":"login","n":1}"#);
        c.expect(r#"{"type":"login","n":1}"#);
        let sessions = process.guard.sessions(10);
        let id = sessions[0]["session"].as_str().unwrap();
        let live = process.guard.session(id).unwrap();
        let role = &live["roles"]["c"];
        assert_eq!(role["recent"], serde_json::json!([shown]), "{live}");
        assert!(role["expected"][0].as_str().unwrap().starts_with("pwd"), "{live}");
        c.send(r#"{"type":"succ","k":1}"#);
        assert_eq!(process.verdict("c").recent, [shown]);
        let found = process.verdict("c").record;
        assert_eq!((found.network_session.as_deref(), found.expected.len()), (Some(id), 1));
        assert!(found.state.is_some());
    }
}

#[test]
fn predicates_of_a_network_come_from_modules() {
    let protocol = "external fn even(int) -> bool;\nprotocol Numbers(role s, role c, role a) {
        try(n: int) from s to c where even(n); next(n: int) from c to a; done() from a to s; }";
    let module = r#"(module (func (export "even") (param i64) (result i32)
        (i64.eqz (i64.and (local.get 0) (i64.const 1)))))"#;
    for (number, kind) in [(2, None), (3, Some("assertion"))] {
        let folder = Folder::new();
        std::fs::write(folder.0.join("even.wasm"), wat::parse_str(module).unwrap()).unwrap();
        let process = Process::start(folder, protocol, "functions = \"even.wasm\"", "");
        let [mut s, mut c, _a] = process.session();
        let message = format!(r#"{{"type":"try","n":{number}}}"#);
        s.send(&message);
        match kind {
            None => c.expect(&message),
            Some(kind) => {
                let found = process.verdict("s").record;
                assert_eq!((found.kind.as_str(), found.blame.as_deref()), (kind, Some("s")));
            }
        }
    }
    // Without the module it is said what is missing, and where to name it.
    let text = format!(
        "[multiparty]\nprotocol = '''{protocol}'''\n[[multiparty.role]]\nname = \"s\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n"
    );
    let Err(refusal) = Plans::read(&text, &Folder::new().0, &|_| None) else { panic!("accepted") };
    assert!(refusal.problems.iter().any(|problem| problem.message.contains("`functions`")), "{refusal:?}");
}

/// No number is used twice to log in.
const ONCE: &str = "property once { \
    max X.([s -> c : login(n)]max Y.([s -> c : login(n)]ff and [_]Y) and [_]X) }";

/// One process with this property at `role`, under `policy`, after one turn of a session.
fn with_property(role: &str, policy: &str) -> (Process, [Component; 3]) {
    let folder = Folder::new();
    std::fs::write(folder.0.join("once.hml"), ONCE).unwrap();
    std::fs::write(folder.0.join("p.scr"), PROTOCOL).unwrap();
    let mut text = "[multiparty]\nprotocol = \"p.scr\"\n".to_owned();
    for name in ROLES {
        let extra = if name == role { "properties = \"once.hml\"" } else { "" };
        text += &format!(
            "[[multiparty.role]]\nname = \"{name}\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\npolicy = \"{policy}\"\nclose-message = '{{json}}'\n{extra}\n"
        );
    }
    let process = Process::of(folder, &text);
    let mut session = process.session();
    turn(&mut session, 1);
    (process, session)
}

#[test]
fn a_property_of_a_role_ends_its_session_and_everyone_is_told() {
    for role in ["s", "c"] {
        let (process, mut session) = with_property(role, "halt");
        session[0].send(r#"{"type":"login","n":1}"#);
        for component in &mut session {
            let notice = component.notice();
            let said = (&notice["kind"], &notice["blame"], &notice["property"], &notice["reporter"]);
            let expected = (&"property".into(), &serde_json::Value::Null, &"once".into(), &role.into());
            assert_eq!(said, expected, "{notice}");
        }
        let found = process.verdict(role).record;
        assert_eq!((found.property.as_deref(), found.action.unwrap().name()), (Some("once"), "closed"));
        let other = process.verdict("a").record;
        assert_eq!((other.property.as_deref(), other.verdict.name()), (Some("once"), "violation"));
        let closed = format!(
            "referee_multiparty_sessions_closed_total{{protocol=\"Auth\",role=\"{role}\",why=\"violation\"}} 1"
        );
        process.wait(|process| process.guard.metrics().contains(&closed));
    }
}

#[test]
fn what_a_property_of_a_role_drops_has_not_happened_and_what_it_observes_has() {
    let (process, mut session) = with_property("s", "drop");
    session[0].send(r#"{"type":"login","n":1}"#);
    assert_eq!(process.verdict("s").record.action.unwrap().name(), "discarded");
    // Nobody has heard of it, and it is still the turn of s.
    turn(&mut session, 2);
    quit(session);
    process.wait(|process| process.guard.open_sessions() == 0);
    assert_eq!(process.verdicts(), 1);

    // What another component has sent cannot be taken back.
    let (process, mut session) = with_property("c", "drop");
    session[0].send(r#"{"type":"login","n":1}"#);
    assert_eq!(session[1].notice()["kind"], "property");
    assert_eq!(process.verdict("c").record.action.unwrap().name(), "closed");

    let (process, mut session) = with_property("c", "observe");
    turn(&mut session, 1);
    assert_eq!(process.verdict("c").record.action.unwrap().name(), "forwarded");
    quit(session);
    process.wait(|process| process.guard.open_sessions() == 0);
    assert_eq!(process.verdicts(), 1);
}

#[test]
fn properties_are_not_remembered_and_that_is_said() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("once.hml"), ONCE).unwrap();
    let text = format!(
        "[multiparty]\nprotocol = \"\"\"{PROTOCOL}\"\"\"\ntransport = \"nats\"\nbroker = \"nats://127.0.0.1:1\"\nstate = \"state\"\n\
         [[multiparty.role]]\nname = \"s\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\nproperties = \"once.hml\"\n"
    );
    let Err(refusal) = Plans::read(&text, &folder.0, &|_| None) else { panic!("accepted") };
    assert!(refusal.summary().contains("not remembered"), "{refusal:?}");
}
