//! Whatever a listener has, a role has: functions, the last messages in a verdict, the state of a live session.

use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use referee_guard::report::{Report, VerdictReport};
use referee_guard::{Guard, Plans};

use super::network::{Component, PROTOCOL, ROLES};
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
        let plans = Plans::read(&text, &folder.0, &|_| None).unwrap_or_else(|refusal| panic!("{refusal:?}"));
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
