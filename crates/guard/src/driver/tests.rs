//! The driver with pipes in memory and a paused clock.

mod deadlines;
mod properties;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use referee_monitor::{Moment, Monitor, Policy, Registry};
use referee_session::{Engine as _, Options, TwoParty, TwoPartyRules};
use referee_theory::{Action as Exchange, MachineBuilder, Origin, Transition, Vocabulary};
use referee_wire::{Sender, Table};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::{Driver, DriverOptions, LINGER_TIMEOUT, Outcome};
use crate::clock;
use crate::metrics::{Counters, MessageCounters, Meter};
use crate::report::EndReason;

const LINES: &str =
    "kind = 'text'\nmessages.Ask = 'ASK'\nmessages.Answer = 'ANSWER'\nmessages.Quit = 'QUIT'\n";

/// `rec X { Ask; Answer; X  or  Quit }`, of the client, with lines.
fn rules(options: Options) -> Arc<TwoPartyRules> {
    let mut vocabulary = Vocabulary::new();
    let (client, server) = (vocabulary.add_role("client"), vocabulary.add_role("server"));
    let [ask, answer, quit] = ["Ask", "Answer", "Quit"].map(|label| vocabulary.add_plain_message(label));
    let mut machine = MachineBuilder::new(client);
    let [idle, asked, over] = [(); 3].map(|()| machine.add_state());
    let origin = Origin::NONE;
    for (from, action, message, target) in [
        (idle, Exchange::Send, ask, asked),
        (asked, Exchange::Receive, answer, idle),
        (idle, Exchange::Send, quit, over),
    ] {
        machine.add_transition(from, Transition { action, peer: server, message, target, origin });
    }
    let monitor = Monitor::synthesise(&machine.finish(), &Arc::new(vocabulary), &Registry::new()).unwrap();
    let table = Table::parse(LINES).unwrap();
    Arc::new(TwoPartyRules::compile(Arc::new(monitor), client, &table).unwrap().with_options(options))
}

const LIMITS: DriverOptions = DriverOptions {
    observe: false,
    salvage: false,
    max_buffer: 1 << 16,
    max_message: 1 << 16,
    idle: None,
    total: None,
};

/// A session with both its peers in this test.
struct Setup {
    client: DuplexStream,
    server: DuplexStream,
    engine: Arc<Mutex<TwoParty>>,
    counters: Arc<Counters>,
    draining: watch::Sender<bool>,
    driver: JoinHandle<(Outcome, Vec<String>)>,
}

fn session(options: Options, limits: DriverOptions, pipe: usize) -> Setup {
    session_by(&rules(options), limits, pipe)
}

fn session_by(rules: &Arc<TwoPartyRules>, limits: DriverOptions, pipe: usize) -> Setup {
    let mut engine = TwoParty::new(rules, None);
    let began = Moment::at(clock::now());
    engine.begin(began, 0);
    let engine = Arc::new(Mutex::new(engine));
    let counters = Arc::<Counters>::default();
    let labels = rules.codec().messages().iter().map(|m| (m.sender.index(), Arc::clone(&m.name))).collect();
    let meter = Meter::new(&counters, &Arc::new(MessageCounters::new(labels, 1)), 0);
    let ((client, inner), (server, outer)) = (duplex(pipe), duplex(pipe));
    let driver =
        Driver::new(Arc::clone(&engine), [inner, outer], (meter, Arc::default()), limits).began(began);
    let has_pulse = engine.lock().unwrap().has_timed_properties();
    let driver = if has_pulse { driver.with_pulse() } else { driver };
    let draining = watch::Sender::new(false);
    let inner_draining = draining.clone();
    let driver = tokio::spawn(async move {
        let draining = inner_draining;
        let reports = Mutex::new(Vec::new());
        let outcome = driver.run(draining.subscribe(), |verdicts| {
            let messages = verdicts.into_iter().map(|verdict| verdict.record.message);
            reports.lock().unwrap().extend(messages);
            std::future::ready(())
        });
        let outcome = outcome.await;
        (outcome, reports.into_inner().unwrap())
    });
    Setup { client, server, engine, counters, draining, driver }
}

async fn hear(stream: &mut DuplexStream, text: &str) {
    let mut bytes = vec![0; text.len()];
    stream.read_exact(&mut bytes).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), text);
}

async fn rest(stream: &mut DuplexStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test(start_paused = true)]
async fn a_session_goes_through_byte_by_byte() {
    let mut it = session(Options::default(), LIMITS, 64);
    for byte in b"ASK\r\n" {
        it.client.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    hear(&mut it.server, "ASK\r\n").await;
    it.server.write_all(b"ANSWER\r\n").await.unwrap();
    hear(&mut it.client, "ANSWER\r\n").await;
    it.client.write_all(b"QUIT\r\n").await.unwrap();
    it.client.shutdown().await.unwrap();
    assert_eq!(rest(&mut it.server).await, "QUIT\r\n");
    it.server.shutdown().await.unwrap();
    assert_eq!(rest(&mut it.client).await, "");
    let (outcome, reports) = it.driver.await.unwrap();
    assert_eq!((outcome.why, outcome.bytes), (EndReason::Over, [11, 8]));
    assert!(reports.is_empty() && outcome.error.is_none());
    assert_eq!(it.engine.lock().unwrap().judged(), 3);
    assert_eq!(it.counters.buffered.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_wrong_message_is_stopped_and_both_sides_are_told() {
    let close_messages = [b"BAD CLIENT\r\n".to_vec(), b"BYE\r\n".to_vec()];
    let mut it = session(Options { close_messages, ..Options::default() }, LIMITS, 64);
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    it.server.write_all(b"QUIT\r\n").await.unwrap();
    assert_eq!(rest(&mut it.client).await, "BAD CLIENT\r\n");
    assert_eq!(rest(&mut it.server).await, "BYE\r\n");
    drop((it.client, it.server));
    let (outcome, reports) = it.driver.await.unwrap();
    assert_eq!(outcome.why, EndReason::Violation);
    assert_eq!(reports.len(), 1);
    assert!(reports[0].starts_with("server sent `QUIT`"), "{reports:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_read_slows_down_the_sender_and_nobody_grows() {
    let options = Options { pipelining: [true; 2], ..Options::default() };
    let mut it = session(options, DriverOptions { max_buffer: 1 << 10, ..LIMITS }, 1 << 10);
    // Certain to be right whatever the server answers, so that it need not wait for its turn.
    let writer = async {
        let mut written = 0;
        while timeout(Duration::from_secs(5), it.client.write_all(b"ASK\r\n")).await.is_ok() {
            written += 5;
        }
        written
    };
    let written = writer.await;
    assert!((1 << 10..8 << 10).contains(&written), "{written}");
    assert!(it.counters.buffered.get() <= 4 << 10, "{}", it.counters.buffered.get());
    it.driver.abort();
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_session_exactly_when_it_should() {
    let limits =
        DriverOptions { idle: Some(Duration::from_secs(5)), total: Some(Duration::from_secs(12)), ..LIMITS };
    let mut it = session(Options::default(), limits, 64);
    let began = Instant::now();
    tokio::time::sleep(Duration::from_secs(4)).await;
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    assert_eq!(rest(&mut it.client).await, "");
    assert_eq!(began.elapsed().as_secs(), 9);
    let (outcome, _) = it.driver.await.unwrap();
    // The peers of this test do not close: the driver waits for them for a while.
    assert_eq!((outcome.why, began.elapsed()), (EndReason::Idle, Duration::from_secs(9) + LINGER_TIMEOUT));

    let mut it = session(Options::default(), limits, 64);
    let began = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_secs(3)).await;
        if it.client.write_all(b"A").await.is_err() || began.elapsed() > Duration::from_secs(12) {
            break;
        }
    }
    let (outcome, _) = it.driver.await.unwrap();
    assert_eq!(outcome.why, EndReason::TotalTime);
}

#[tokio::test(start_paused = true)]
async fn what_broke_a_connection_is_kept() {
    let Setup { mut client, server, driver, .. } = session(Options::default(), LIMITS, 64);
    drop(server);
    client.write_all(b"ASK\r\n").await.unwrap();
    assert_eq!(rest(&mut client).await, "");
    drop(client);
    let (outcome, reports) = driver.await.unwrap();
    let (who, error) = outcome.error.unwrap();
    assert_eq!((who, error.kind()), (Sender::Server, std::io::ErrorKind::BrokenPipe));
    assert!(reports.is_empty() || outcome.why == EndReason::Violation, "{reports:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_observed_is_judged_after_it_went_on() {
    let options = Options { policy: Policy::Observe, ..Options::default() };
    let mut it = session(options, DriverOptions { observe: true, ..LIMITS }, 64);
    it.client.write_all(b"WHAT\r\n").await.unwrap();
    hear(&mut it.server, "WHAT\r\n").await;
    it.client.shutdown().await.unwrap();
    it.server.shutdown().await.unwrap();
    drop((it.client, it.server));
    let (outcome, reports) = it.driver.await.unwrap();
    assert_eq!(outcome.bytes, [6, 0]);
    assert!(reports[0].starts_with("client sent `WHAT`"), "{reports:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_over_is_closed_if_its_sides_do_not() {
    let mut it = session(Options::default(), LIMITS, 64);
    it.client.write_all(b"QUIT\r\n").await.unwrap();
    hear(&mut it.server, "QUIT\r\n").await;
    let began = Instant::now();
    assert_eq!((rest(&mut it.client).await, rest(&mut it.server).await), (String::new(), String::new()));
    assert_eq!(began.elapsed(), LINGER_TIMEOUT);
    drop((it.client, it.server));
    let (outcome, reports) = it.driver.await.unwrap();
    assert_eq!((outcome.why, reports.len()), (EndReason::Over, 0));
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_the_end_is_still_judged() {
    let mut it = session(Options::default(), LIMITS, 64);
    it.client.write_all(b"QUIT\r\n").await.unwrap();
    hear(&mut it.server, "QUIT\r\n").await;
    it.client.write_all(b"ASK\r\n").await.unwrap();
    assert_eq!(rest(&mut it.client).await, "");
    drop((it.client, it.server));
    let (outcome, reports) = it.driver.await.unwrap();
    assert_eq!((outcome.why, reports.len()), (EndReason::Violation, 1));
}

#[tokio::test(start_paused = true)]
async fn draining_waits_for_the_exchange_under_way_and_not_for_the_next() {
    let options = Options::default();
    let mut it = session(options, LIMITS, 64);
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    it.draining.send_replace(true);
    tokio::time::sleep(Duration::from_secs(60)).await;
    it.server.write_all(b"ANSWER\r\n").await.unwrap();
    hear(&mut it.client, "ANSWER\r\n").await;
    // The client still has to say `Quit`: the session goes on until it has.
    it.client.write_all(b"ASK\r\n").await.unwrap();
    hear(&mut it.server, "ASK\r\n").await;
    it.driver.abort();
}
