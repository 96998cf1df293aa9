//! Predicates from WebAssembly: what they say decides, and what goes wrong with them is nobody's fault.

use referee_guard::report::Report;
use referee_guard::{Guard, Plans};
use std::sync::{Arc, Mutex};

use super::support::*;

const PROTOCOL: &str = "external fn even(int) -> bool;
protocol Numbers(role client, role server) {
  rec LOOP {
    choice at client {
      Try(n: int) from client to server where even(n);
      Fine() from server to client;
      continue LOOP;
    } or { Stop() from client to server; }
  }
}";

/// Even numbers are even; 13 never comes to an end, and 17 gives up.
const MODULE: &str = r#"(module (func (export "even") (param i64) (result i32)
  (if (i64.eq (local.get 0) (i64.const 13)) (then (loop $ever (br $ever))))
  (if (i64.eq (local.get 0) (i64.const 17)) (then unreachable))
  (i64.eqz (i64.and (local.get 0) (i64.const 1)))))"#;

fn config(upstream: &str, extra: &str) -> String {
    format!(
        "threads = 2\n[[listener]]\nname = \"numbers\"\nlisten = \"127.0.0.1:0\"\nupstream = \"{upstream}\"\n\
         protocol = \"numbers.scr\"\n{extra}\n[listener.codec]\nkind = \"text\"\nmessages.Try = \"TRY {{n}}\"\n\
         messages.Fine = \"FINE\"\nmessages.Stop = \"STOP\"\n"
    )
}

fn folder() -> Folder {
    let folder = Folder::new();
    std::fs::write(folder.0.join("numbers.scr"), PROTOCOL).unwrap();
    std::fs::write(folder.0.join("even.wasm"), wat::parse_str(MODULE).unwrap()).unwrap();
    folder
}

/// What becomes of `numbers` under `policy`: how many were answered, and the reports.
fn talk(policy: &str, numbers: &[i64]) -> (usize, Vec<Report>, String) {
    let (upstream, server) = server(|mut peer| {
        let mut heard = String::new();
        let mut buffer = [0; 64];
        loop {
            match std::io::Read::read(&mut peer.0, &mut buffer) {
                Ok(count @ 1..) => heard += std::str::from_utf8(&buffer[..count]).unwrap(),
                _ => return heard,
            }
            while let Some(end) = heard.find('\n') {
                if heard.drain(..=end).as_str().starts_with("TRY") {
                    peer.say("FINE\n");
                }
            }
        }
    });
    let folder = folder();
    let extra = format!("functions = \"even.wasm\"\nfunctions-fuel = 100000\npolicy = \"{policy}\"");
    let plans = plans(&folder, &config(&upstream, &extra));
    let told = Arc::new(Mutex::new(Vec::new()));
    let copy = Arc::clone(&told);
    let observer = Box::new(move |report: &Report| copy.lock().unwrap().push(report.clone()));
    let guard = Guard::start_observed(&plans, Vec::new(), Some(observer)).unwrap();
    let mut client = Peer::new(std::net::TcpStream::connect(&guard.addresses()[0].1).unwrap());
    let mut answered = 0;
    for number in numbers {
        client.say(&format!("TRY {number}\n"));
        let mut answer = [0; 5];
        if std::io::Read::read_exact(&mut client.0, &mut answer).is_err() {
            break;
        }
        answered += 1;
    }
    drop(client);
    server.join().unwrap();
    assert!(guard.wait_idle(std::time::Instant::now() + PATIENCE));
    let page = guard.metrics();
    guard.halt();
    let told = std::mem::take(&mut *told.lock().unwrap());
    (answered, told, page)
}

#[test]
fn what_a_function_says_decides() {
    let (answered, told, _) = talk("halt", &[2, 4, 5, 6]);
    assert_eq!(answered, 2);
    let [Report::Verdict(verdict), Report::SessionEnd(end)] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((&*verdict.kind, verdict.blame.as_deref()), ("assertion", Some("client")));
    assert_eq!((verdict.assertion.as_deref(), &verdict.values["n"]), (Some("even(n)"), &5.into()));
    assert_eq!(end.why, "violation");
}

#[test]
fn what_goes_wrong_with_a_function_is_nobodys_fault() {
    for (number, why) in [(13, "fuel"), (17, "gave up")] {
        for (policy, passed) in [("halt", 1), ("drop", 1), ("observe", 4)] {
            let (answered, told, page) = talk(policy, &[2, number, 4, 5]);
            // Under observe what comes after it is passed on, and not judged: the monitor is lost.
            assert_eq!(answered, passed, "{policy}");
            let Some(Report::Verdict(verdict)) = told.first() else { panic!("{told:?}") };
            assert_eq!((verdict.verdict.name(), &*verdict.kind), ("fault", "predicate"));
            assert_eq!(verdict.blame, None);
            assert!(verdict.message.contains("nobody is to blame"), "{}", verdict.message);
            assert!(verdict.message.contains(why), "{}", verdict.message);
            assert!(
                page.contains("referee_verdicts_total{listener=\"numbers\",role=\"\",kind=\"predicate\"")
            );
            let Some(Report::SessionEnd(end)) = told.last() else { panic!("{told:?}") };
            assert_eq!((end.violations, told.len()), (0, 2), "{told:?}");
            if policy != "observe" {
                assert_eq!(end.why, "fault");
            }
        }
    }
}

#[test]
fn modules_that_cannot_be_used_are_refused_with_their_place() {
    let folder = folder();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.0.join(name), wat::parse_str(text).unwrap()).unwrap();
    };
    write("text.wasm", r#"(module (func (export "even") (param f64) (result i32) (i32.const 1)))"#);
    write("other.wasm", "(module)");
    write("imports.wasm", r#"(module (import "env" "x" (func)))"#);
    std::fs::write(folder.0.join("none.wasm"), "(module)").unwrap();
    for (extra, place, expected) in [
        ("", "\"numbers.scr\"", "name a WebAssembly module"),
        ("functions = \"gone.wasm\"", "\"gone.wasm\"", "cannot read"),
        ("functions = \"none.wasm\"", "\"none.wasm\"", "not a WebAssembly module"),
        ("functions = \"imports.wasm\"", "\"imports.wasm\"", "it imports"),
        ("functions = \"text.wasm\"", "\"text.wasm\"", "has to be"),
        ("functions = \"other.wasm\"", "\"other.wasm\"", "export them from `other.wasm`"),
        ("functions = [\"even.wasm\", \"even.wasm\"]", "[\"even.wasm\", \"even.wasm\"]", "also defined by"),
        ("functions = 7", "7", "a file, or a list of files"),
    ] {
        let text = config("127.0.0.1:1", extra);
        let Err(refusal) = Plans::read(&text, &folder.0, &|_| None) else { panic!("{extra}") };
        let [problem] = refusal.problems.as_slice() else { panic!("{refusal:?}") };
        assert!(problem.message.contains(expected), "{problem:?}");
        assert_eq!(&text[problem.span.clone()], place, "{problem:?}");
    }
    plans(&folder, &config("127.0.0.1:1", "functions = [\"even.wasm\", \"other.wasm\"]"));
}
