//! Deadlines: who is blamed, when, and who is not.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use referee_monitor::Policy;
use referee_pipeline::{Packages, Parsed, Source};
use referee_session::{Deadlines, Options, TwoPartyRules};
use referee_wire::Table;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep};

use super::{LIMITS, Setup, hear, rest, session_by};
use crate::config::Scrutiny;
use crate::driver::DriverOptions;
use crate::protocol::{Protocol, Wanted};
use crate::report::EndReason;

const LINES: &str =
    "kind = 'text'\nmessages.Ask = 'ASK'\nmessages.Answer = 'ANSWER'\nmessages.Quit = 'QUIT'\n";

/// `Ask` and `Answer` in turn, with `times` on the answer.
fn asking(times: &str) -> String {
    format!(
        "protocol P(role client, role server) {{ rec X {{ choice at client {{ Ask() from client to server;
         Answer() from server to client {times}; continue X; }} or {{ Quit() from client to server; }} }} }}"
    )
}

fn rules(text: &str, options: Options) -> Arc<TwoPartyRules> {
    let mut nothing = |_: &Path| Ok(None);
    let mut packages = Packages::new(Path::new("test.scr"), text, &[], &mut nothing);
    let parsed = Parsed::load(Source::new("test.scr", text), None, &mut packages).unwrap();
    let wanted = Wanted {
        name: None,
        client: None,
        scrutiny: Scrutiny::Both,
        modules: &[],
        table: None,
        calls: referee_monitor::KeyLimits { inflight: 4, ended: 4 },
    };
    let protocol = Protocol::read(parsed, &wanted).unwrap();
    let table = Table::parse(LINES).unwrap();
    let rules = TwoPartyRules::compile(Arc::clone(&protocol.monitor), protocol.client, &table).unwrap();
    Arc::new(rules.with_options(options))
}

/// Reporting, with a tolerance of one second.
fn reporting() -> Options {
    Options { deadlines: Deadlines::Report, tolerance: 1_000_000_000, ..Options::default() }
}

fn start(times: &str, options: Options) -> Setup {
    session_by(&rules(&asking(times), options), LIMITS, 64)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The client says goodbye: why the session ended, and what was reported.
async fn finish(mut it: Setup) -> (EndReason, Vec<String>) {
    it.client.write_all(b"QUIT\r\n").await.unwrap();
    it.client.shutdown().await.unwrap();
    assert_eq!(rest(&mut it.server).await, "QUIT\r\n");
    drop((it.client, it.server));
    let (outcome, reports) = it.driver.await.unwrap();
    (outcome.why, reports)
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_is_blamed_once_and_a_quick_one_is_not() {
    for (delay, late) in [(4, false), (6, false), (8, true), (60, true)] {
        let mut it = start("within 5s", reporting());
        it.client.write_all(b"ASK\r\n").await.unwrap();
        hear(&mut it.server, "ASK\r\n").await;
        sleep(seconds(delay)).await;
        it.server.write_all(b"ANSWER\r\n").await.unwrap();
        hear(&mut it.client, "ANSWER\r\n").await;
        let (why, reports) = finish(it).await;
        assert_eq!((why, reports.len()), (EndReason::Over, usize::from(late)), "{delay} s: {reports:?}");
        assert!(reports.iter().all(|report| report.contains("no `Answer` came within 5 s of `Ask`")));
    }
}

#[tokio::test(start_paused = true)]
async fn the_verdict_comes_at_the_limit_and_closes_the_session_where_it_is_enforced() {
    let timeout_answers = [b"TOO LATE\r\n".to_vec(), Vec::new()];
    let options = Options { deadlines: Deadlines::Enforce, timeout_answers, ..reporting() };
    let mut it = start("within 5s", options);
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    let asked = Instant::now();
    assert_eq!(rest(&mut it.client).await, "TOO LATE\r\n");
    let after = asked.elapsed();
    assert!(after >= seconds(7) && after < seconds(8), "{after:?}");
    drop((it.client, it.server));
    let (outcome, reports) = it.driver.await.unwrap();
    assert_eq!((outcome.why, reports.len()), (EndReason::Violation, 1), "{reports:?}");
}

#[tokio::test(start_paused = true)]
async fn requests_sent_ahead_are_answered_in_turn() {
    // Five requests at once, two seconds each: all in time for five seconds.
    let mut it = start("within 5s of Ask", Options { tolerance: 0, ..reporting() });
    it.client.write_all(&b"ASK\r\n".repeat(5)).await.unwrap();
    hear(&mut it.server, &"ASK\r\n".repeat(5)).await;
    for _ in 0..5 {
        sleep(seconds(2)).await;
        it.server.write_all(b"ANSWER\r\n").await.unwrap();
        hear(&mut it.client, "ANSWER\r\n").await;
    }
    let (why, reports) = finish(it).await;
    assert_eq!((why, reports), (EndReason::Over, Vec::<String>::new()));
    // The fifth is not answered at all.
    let mut it = start("within 5s of Ask", Options { tolerance: 0, ..reporting() });
    it.client.write_all(&b"ASK\r\n".repeat(2)).await.unwrap();
    hear(&mut it.server, &"ASK\r\n".repeat(2)).await;
    it.server.write_all(b"ANSWER\r\n").await.unwrap();
    hear(&mut it.client, "ANSWER\r\n").await;
    sleep(seconds(6)).await;
    it.server.write_all(b"ANSWER\r\n").await.unwrap();
    hear(&mut it.client, "ANSWER\r\n").await;
    let (_, reports) = finish(it).await;
    assert_eq!(reports.len(), 1, "{reports:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_has_begun_in_time_may_take_its_time() {
    let mut it = start("within 5s", reporting());
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    it.server.write_all(b"ANS").await.unwrap();
    sleep(seconds(100)).await;
    it.server.write_all(b"WER\r\n").await.unwrap();
    hear(&mut it.client, "ANSWER\r\n").await;
    let (why, reports) = finish(it).await;
    assert_eq!((why, reports), (EndReason::Over, Vec::<String>::new()));
}

#[tokio::test(start_paused = true)]
async fn who_is_not_read_or_has_not_got_its_request_is_not_late() {
    // The server does not read: what it is to answer is not handed to it.
    let rules = rules(&asking("within 5s"), reporting());
    let mut it = session_by(&rules, DriverOptions { max_buffer: 1 << 10, ..LIMITS }, 4);
    it.client.write_all(b"A").await.unwrap();
    it.client.write_all(b"SK\r\n").await.unwrap();
    sleep(seconds(100)).await;
    hear(&mut it.server, "ASK\r\n").await;
    sleep(seconds(6)).await;
    it.server.write_all(b"ANSWER\r\n").await.unwrap();
    hear(&mut it.client, "ANSWER\r\n").await;
    let (why, reports) = finish(it).await;
    assert_eq!((why, reports), (EndReason::Over, Vec::<String>::new()));
}

#[tokio::test(start_paused = true)]
async fn what_is_too_early_is_reported_or_waits_for_its_time() {
    for (deadlines, policy, waits) in [
        (Deadlines::Report, Policy::Halt, false),
        (Deadlines::Report, Policy::Drop, false),
        (Deadlines::Enforce, Policy::Drop, true),
    ] {
        let options = Options { deadlines, policy, ..reporting() };
        let mut it = start("after 10s", options);
        it.client.write_all(b"ASK\r\n").await.unwrap();
        hear(&mut it.server, "ASK\r\n").await;
        let asked = Instant::now();
        it.server.write_all(b"ANSWER\r\n").await.unwrap();
        hear(&mut it.client, "ANSWER\r\n").await;
        let waited = asked.elapsed() >= seconds(9);
        let (why, reports) = finish(it).await;
        assert_eq!((why, waited, reports.len()), (EndReason::Over, waits, 1), "{reports:?}");
        assert!(reports[0].contains("before 10 s had passed"), "{reports:?}");
    }
    let mut it = start("after 10s", Options { deadlines: Deadlines::Enforce, ..reporting() });
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    it.server.write_all(b"ANSWER\r\n").await.unwrap();
    assert_eq!(rest(&mut it.client).await, "");
    drop((it.client, it.server));
    assert_eq!(it.driver.await.unwrap().0.why, EndReason::Violation);
}

/// The last look at the socket of whoever waits is long ago when its message comes: there has to be one when its time has come.
#[tokio::test(start_paused = true)]
async fn who_waits_for_its_time_is_not_reported() {
    for (times, delay) in [("after 1s", 1_400), ("after 1s", 2_500), ("after 1s within 5s", 3_000)] {
        let mut it = start(times, Options { tolerance: 0, ..reporting() });
        sleep(seconds(3)).await;
        for _ in 0..2 {
            it.client.write_all(b"ASK\r\n").await.unwrap();
            hear(&mut it.server, "ASK\r\n").await;
            sleep(Duration::from_millis(delay)).await;
            it.server.write_all(b"ANSWER\r\n").await.unwrap();
            hear(&mut it.client, "ANSWER\r\n").await;
        }
        let (why, reports) = finish(it).await;
        assert_eq!((why, reports), (EndReason::Over, Vec::<String>::new()), "{times}: {delay} ms");
    }
}

/// A sentence says when it came as far as is known, and nothing that cannot be.
#[tokio::test(start_paused = true)]
async fn what_is_too_early_is_said_as_far_as_it_is_known() {
    let mut it = start("after 1s", Options { tolerance: 0, ..reporting() });
    sleep(seconds(3)).await;
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    sleep(Duration::from_millis(300)).await;
    it.server.write_all(b"ANSWER\r\n").await.unwrap();
    hear(&mut it.client, "ANSWER\r\n").await;
    let (_, reports) = finish(it).await;
    assert_eq!(reports, ["`Answer` came at most 300 ms after `Ask`, before 1 s had passed"]);
}

#[tokio::test(start_paused = true)]
async fn without_deadlines_times_are_not_looked_at() {
    let mut it = start("within 5s", Options::default());
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    sleep(seconds(100)).await;
    it.server.write_all(b"ANSWER\r\n").await.unwrap();
    let mut answer = [0; 8];
    it.client.read_exact(&mut answer).await.unwrap();
    let (why, reports) = finish(it).await;
    assert_eq!((why, reports), (EndReason::Over, Vec::<String>::new()));
}
