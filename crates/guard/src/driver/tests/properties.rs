//! Properties that speak of time: on the clock, with what the policy makes of silence.

use std::sync::Arc;
use std::time::Duration;

use referee_monitor::Policy;
use referee_pipeline::{Language, Parsed};
use referee_session::{Options, Properties};
use tokio::io::{AsyncWriteExt as _, DuplexStream};
use tokio::time::{Instant, sleep};

use super::{LIMITS, Setup, hear, rest, rules, session_by};
use crate::report::EndReason;

/// An answer within five seconds.
const EXPECT: &str =
    "property answered { max X.([_ -> _ : Ask]expect [_ -> _ : Answer] within 5s and [_]X) }";
const NEVER: &str = "property calm { max X.([_ -> _ : Ask]never [_ -> _ : Ask] for 1s and [_]X) }";
const COUNT: &str =
    "property few { max X.([_ -> _ : Ask when count([_ -> _ : Ask] in 60s) > 2]ff and [_]X) }";

fn start(property: &str, policy: Policy) -> Setup {
    let file = Parsed::new(property, Language::Hml).well_formed().unwrap();
    let properties = Some(Properties::new(file.properties().unwrap(), 100).unwrap());
    session_by(&rules(Options { policy, properties, ..Options::default() }), LIMITS, 64)
}

async fn exchange(it: &mut Setup, delay: Duration) {
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    sleep(delay).await;
    it.server.write_all(b"ANSWER\r\n").await.unwrap();
    hear(&mut it.client, "ANSWER\r\n").await;
}

async fn finish(it: Setup) -> (EndReason, Vec<String>) {
    let Setup { mut client, server, driver, .. } = it;
    let _ = client.write_all(b"QUIT\r\n").await;
    drop::<(DuplexStream, DuplexStream)>((client, server));
    let (outcome, reports) = driver.await.unwrap();
    (outcome.why, reports)
}

#[tokio::test(start_paused = true)]
async fn silence_is_reported_at_the_deadline() {
    for (delay, late) in [(4_900, false), (5_100, true), (60_000, true)] {
        let mut it = start(EXPECT, Policy::Observe);
        let engine = Arc::clone(&it.engine);
        exchange(&mut it, Duration::from_millis(delay)).await;
        assert_eq!(engine.lock().unwrap().violations(), u64::from(late), "{delay} ms");
        exchange(&mut it, Duration::from_millis(1)).await;
        let (_, reports) = finish(it).await;
        let expected = "no `Answer` came within 5 s of event 0, which violates property `answered`";
        assert_eq!(reports, vec![expected; usize::from(late)], "{delay} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_ends_the_session_where_the_policy_is_to_halt() {
    for (policy, ends) in [(Policy::Halt, true), (Policy::Drop, false), (Policy::Observe, false)] {
        let mut it = start(EXPECT, policy);
        let asked = Instant::now();
        it.client.write_all(b"ASK\r\n").await.unwrap();
        hear(&mut it.server, "ASK\r\n").await;
        if ends {
            assert_eq!(rest(&mut it.client).await, "");
            let after = asked.elapsed();
            assert!(after >= Duration::from_secs(5) && after < Duration::from_secs(6), "{after:?}");
        } else {
            sleep(Duration::from_secs(10)).await;
            it.server.write_all(b"ANSWER\r\n").await.unwrap();
            hear(&mut it.client, "ANSWER\r\n").await;
        }
        let (why, reports) = finish(it).await;
        assert_eq!((why == EndReason::Violation, reports.len()), (ends, 1), "{reports:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_has_begun_in_time_is_in_time() {
    let mut it = start(EXPECT, Policy::Halt);
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    sleep(Duration::from_secs(4)).await;
    it.server.write_all(b"ANS").await.unwrap();
    sleep(Duration::from_secs(40)).await;
    it.server.write_all(b"WER\r\n").await.unwrap();
    hear(&mut it.client, "ANSWER\r\n").await;
    assert_eq!(finish(it).await.1, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn windows_and_never_go_by_when_messages_are_read() {
    for (property, delay, expected) in [
        (NEVER, 1_500, None),
        (
            NEVER,
            700,
            Some("`Ask` violates property `calm` (`Ask` came 700 ms after event 0; none is allowed for 1 s)"),
        ),
        (COUNT, 31_000, None),
        (COUNT, 20_000, Some("`Ask` violates property `few` (`Ask` came; `count([Ask] in 1m)` is 3)")),
    ] {
        let mut it = start(property, Policy::Observe);
        sleep(Duration::from_secs(1)).await;
        for _ in 0..3 {
            exchange(&mut it, Duration::from_millis(delay)).await;
        }
        let (_, reports) = finish(it).await;
        let reports: Vec<_> = reports.iter().map(String::as_str).collect();
        assert_eq!(reports, expected.into_iter().collect::<Vec<_>>(), "{delay} ms");
    }
}
