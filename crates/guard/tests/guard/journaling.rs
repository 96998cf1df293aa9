//! What is reported while the journal cannot be written.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use referee_guard::Guard;
use referee_guard::report::Report;

use super::support::*;

/// A client that is blamed, and sees the end.
fn wrong_session(setup: &Setup) {
    let mut client = setup.connect();
    client.hear("HELLO you\r\n");
    client.say("FROB\r\n");
    assert_eq!(client.rest(), "");
}

/// A guard whose journal begins a new file with each record, and the sessions whose verdicts it has logged.
fn journaling() -> (Setup, PathBuf, Arc<Mutex<Vec<String>>>) {
    let folder = Folder::new();
    let journal = folder.0.join("journal");
    let top = format!("[journal]\nfolder = \"{}\"\nrotate-at = 10\nkeep = 1000\n", journal.display());
    let logged: Arc<Mutex<Vec<String>>> = Arc::default();
    let observer = {
        let logged = Arc::clone(&logged);
        move |report: &Report| {
            if let Report::Verdict(verdict) = report {
                logged.lock().unwrap().push(verdict.record.session.clone().unwrap());
            }
        }
    };
    let text = config(&polite_server(), "", &top);
    let guard = Guard::start_observed(&plans(&folder, &text), Vec::new(), Some(Box::new(observer))).unwrap();
    let address = guard.addresses()[0].1.clone();
    (Setup { guard, address, folder }, journal, logged)
}

/// The folder is gone for a while, so that no new file can be begun in it; each record begins one.
#[test]
fn a_journal_that_cannot_be_written_is_waited_for() {
    let (setup, journal, logged) = journaling();
    wrong_session(&setup);
    setup.wait_idle();
    setup.wait("the first verdict", |_| logged.lock().unwrap().len() == 1);
    assert!(setup.guard.is_ready());

    let away = setup.folder.0.join("away");
    std::fs::rename(&journal, &away).unwrap();
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let mut client = setup.connect();
            client.hear("HELLO you\r\n");
            client.say("FROB\r\n");
            client
        })
        .collect();
    setup.wait("a failure", |setup| setup.metric("referee_journal_errors_total").is_some_and(|n| n > 1.0));
    assert!(!setup.guard.is_ready());
    assert_eq!(logged.lock().unwrap().len(), 1, "what is not in the journal is not in the log");

    std::fs::rename(&away, &journal).unwrap();
    setup.wait("all verdicts", |_| logged.lock().unwrap().len() == 5);
    setup.wait("readiness", |setup| setup.guard.is_ready());
    assert_eq!(setup.metric("referee_reports_dropped_total"), Some(0.0));
    for mut client in clients {
        assert_eq!(client.rest(), "");
    }
    let mut sessions: Vec<String> =
        setup.verdicts().into_iter().map(|verdict| verdict.record.session.unwrap()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!(sessions.len(), 5);
}

/// Nothing can be written any more: the guard still stops, and says what is lost.
#[test]
fn a_guard_stops_although_its_journal_cannot_be_written() {
    let (setup, journal, logged) = journaling();
    wrong_session(&setup);
    // What is written at once is in one file.
    setup.wait("the first verdict", |_| logged.lock().unwrap().len() == 1);
    std::fs::rename(&journal, setup.folder.0.join("away")).unwrap();
    wrong_session(&setup);
    setup.wait("a failure", |setup| setup.metric("referee_journal_errors_total").is_some_and(|n| n >= 1.0));
    setup.guard.halt();
    assert!(setup.metric("referee_reports_dropped_total").is_some_and(|n| n >= 1.0));
}
