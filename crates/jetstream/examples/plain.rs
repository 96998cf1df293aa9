//! What `cargo xtask bench property` compares `referee watch --nats` with: a consumer that only counts.
//!
//! `plain fill URL STREAM EVENTS KEYS` makes a stream of requests and replies; `plain count URL STREAM` reads it whole, with
//! the same kind of consumer as a worker, and says how long that took.

#![allow(clippy::print_stdout, reason = "a tool for measurements")]

use std::time::Instant;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use async_nats::jetstream::{self, stream};
use futures_util::StreamExt as _;

fn main() -> Result<(), async_nats::Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["fill", url, name, events, keys] => {
            runtime.block_on(fill(url, name, events.parse()?, keys.parse()?))
        }
        ["count", url, name] => runtime.block_on(count(url, name)),
        _ => Err("plain fill URL STREAM EVENTS KEYS | plain count URL STREAM".into()),
    }
}

async fn fill(url: &str, name: &str, events: u64, keys: u64) -> Result<(), async_nats::Error> {
    let client = async_nats::connect(url).await?;
    let context = jetstream::new(client.clone());
    let subject = format!("{name}.events");
    let config =
        stream::Config { name: name.to_owned(), subjects: vec![subject.clone()], ..Default::default() };
    let stream = context.create_stream(config).await?;
    for event in 0..events {
        let (pair, key) = (event / 2, event / 2 % keys);
        let (from, to, label) =
            if event % 2 == 0 { ("client", "worker", "Request") } else { ("worker", "client", "Reply") };
        let line = format!(
            r#"{{"session":"s{key}","from":"{from}","to":"{to}","label":"{label}","payload":{{"id":{pair}}},"time":{event}}}"#
        );
        client.publish(subject.clone(), line.into()).await?;
        // What is not stored yet waits in the server: not too much of it.
        if event % 10_000 == 9_999 {
            client.flush().await?;
            while stream.get_info().await?.state.messages + 20_000 < event {
                tokio::task::yield_now().await;
            }
        }
    }
    client.flush().await?;
    while stream.get_info().await?.state.messages < events {
        tokio::task::yield_now().await;
    }
    Ok(())
}

async fn count(url: &str, name: &str) -> Result<(), async_nats::Error> {
    let start = Instant::now();
    let context = jetstream::new(async_nats::connect(url).await?);
    let stream = context.get_stream(name).await?;
    let last = stream.cached_info().state.last_sequence;
    let config = OrderedConfig { deliver_policy: DeliverPolicy::All, max_batch: 2000, ..Default::default() };
    let mut messages = stream.create_consumer(config).await?.messages().await?;
    let (mut events, mut bytes) = (0_u64, 0);
    while events < last
        && let Some(message) = messages.next().await
    {
        events += 1;
        bytes += message?.payload.len();
    }
    println!("{events} events, {bytes} bytes, {:.3} s", start.elapsed().as_secs_f64());
    Ok(())
}
