//! Times of a protocol in a network: each monitor judges its own component, by its own clock.

use std::thread::sleep;
use std::time::Duration;

use super::network::{Network, ROLES, Setup, quit, turn};

const TIMED: &str = r#"
protocol Auth(role s, role c, role a) {
  rec X {
    choice at s {
      login(n: int) from s to c where n >= 0;
      pwd(m: int) from c to a within 500ms;
      succ(k: int) from a to s within 500ms;
      continue X;
    } or {
      quit() from s to c;
    }
  }
}
"#;

/// More than what a monitor that is right about it needs: twice the tolerance, and a machine that may be busy.
const TOO_LATE: Duration = Duration::from_millis(2_500);

fn timed(deadlines: &str) -> Network {
    let keys = format!("deadlines = \"{deadlines}\"\ntolerance = \"300ms\"");
    let role = ROLES.into_iter().map(|role| (role, keys.clone())).collect();
    Setup { role, protocol: Some(TIMED), ..Setup::default() }.start()
}

/// Of each role's monitor, whom it blames for missed deadlines, and how often.
fn late(network: &Network) -> Vec<(&'static str, String)> {
    let of = |role: &'static str| {
        let metrics = network.guards[role].metrics();
        let lines: Vec<String> = metrics
            .lines()
            .filter(|line| line.starts_with("referee_multiparty_verdicts_total{"))
            .map(str::to_owned)
            .collect();
        lines.into_iter().map(move |line| (role, line))
    };
    ROLES.into_iter().flat_map(of).collect()
}

#[test]
fn a_slow_component_is_blamed_and_only_by_its_own_monitor() {
    let network = timed("report");
    let mut session = network.session();
    turn(&mut session, 1);
    session[0].send(r#"{"type":"login","n":2}"#);
    session[1].expect(r#"{"type":"login","n":2}"#);
    sleep(TOO_LATE);
    // Reported, and goes on: who waits for it is not late, however long that takes.
    session[1].send(r#"{"type":"pwd","m":2}"#);
    session[2].expect(r#"{"type":"pwd","m":2}"#);
    session[2].send(r#"{"type":"succ","k":2}"#);
    session[0].expect(r#"{"type":"succ","k":2}"#);
    turn(&mut session, 3);
    quit(session);
    network.wait_idle();
    let said = late(&network);
    let [(role, line)] = &said[..] else { panic!("{said:?}") };
    assert!(
        *role == "c" && line.contains("blame=\"c\",kind=\"deadline\"") && line.ends_with("} 1"),
        "{line}"
    );
}

#[test]
fn a_component_that_is_silent_ends_the_session_where_deadlines_are_enforced() {
    let network = timed("enforce");
    let mut session = network.session();
    turn(&mut session, 1);
    session[0].send(r#"{"type":"login","n":2}"#);
    session[1].expect(r#"{"type":"login","n":2}"#);
    for component in &mut session {
        let notice = component.notice();
        assert_eq!(
            (&notice["kind"], &notice["blame"], &notice["halted"]),
            (&"deadline".into(), &"c".into(), &true.into()),
            "{notice}"
        );
        let message = notice["message"].as_str().unwrap_or_default();
        assert!(message.contains("no `pwd` came within 500 ms of `login`"), "{message}");
    }
    network.wait_idle();
}

#[test]
fn times_are_off_where_nobody_asks_for_them() {
    let network = timed("off");
    let mut session = network.session();
    turn(&mut session, 1);
    session[0].send(r#"{"type":"login","n":2}"#);
    session[1].expect(r#"{"type":"login","n":2}"#);
    sleep(TOO_LATE);
    session[1].send(r#"{"type":"pwd","m":2}"#);
    session[2].expect(r#"{"type":"pwd","m":2}"#);
    session[2].send(r#"{"type":"succ","k":2}"#);
    session[0].expect(r#"{"type":"succ","k":2}"#);
    quit(session);
    network.wait_idle();
    assert!(late(&network).is_empty());
}
