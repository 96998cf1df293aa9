//! What `cargo xtask bench property` compares `referee watch --nats` with: a consumer that only counts.
//!
//! `plain fill URL STREAM EVENTS KEYS` makes a stream of requests and replies; `plain count URL STREAM` reads it whole, with
//! the same kind of consumer as a worker, and says how long that took. `plain flow URL STREAM MESSAGES BYTES` stores messages,
//! each acknowledged, at most [`AHEAD`] ahead, while another connection reads them: what monitors do, without monitors.

#![allow(clippy::print_stdout, reason = "a tool for measurements")]

use std::time::Instant;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use async_nats::jetstream::{self, stream};
use futures_util::StreamExt as _;

/// As many as `nats bench` has under way.
const AHEAD: usize = 100;

fn main() -> Result<(), async_nats::Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["fill", url, name, events, keys] => {
            runtime.block_on(fill(url, name, events.parse()?, keys.parse()?))
        }
        ["count", url, name] => runtime.block_on(count(url, name)),
        ["flow", url, name, messages, bytes] => {
            let reader = std::thread::spawn({
                let (url, name, messages) = ((*url).to_owned(), (*name).to_owned(), messages.parse()?);
                move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                    runtime.block_on(take(&url, &name, messages)).map_err(|error| error.to_string().into())
                }
            });
            runtime.block_on(store(url, name, messages.parse()?, bytes.parse()?))?;
            reader.join().map_err(|_| "the reader failed")?
        }
        _ => {
            Err("plain fill URL STREAM EVENTS KEYS | count URL STREAM | flow URL STREAM MESSAGES BYTES"
                .into())
        }
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

/// Stores messages, a batch at a time.
async fn store(url: &str, name: &str, messages: usize, bytes: usize) -> Result<(), async_nats::Error> {
    let context = jetstream::new(async_nats::connect(url).await?);
    let stream = made(&context, name).await?;
    while stream.get_info().await?.state.consumer_count == 0 {
        tokio::task::yield_now().await;
    }
    let content = vec![b'x'; bytes];
    for batch in (0..messages).step_by(AHEAD) {
        let mut stored = Vec::with_capacity(AHEAD);
        for _ in batch..messages.min(batch + AHEAD) {
            stored.push(context.publish(format!("{name}.flow"), content.clone().into()).await?);
        }
        for acknowledgement in stored {
            acknowledgement.await?;
        }
    }
    Ok(())
}

/// Reads as many messages.
async fn take(url: &str, name: &str, messages: usize) -> Result<(), async_nats::Error> {
    let context = jetstream::new(async_nats::connect(url).await?);
    let stream = made(&context, name).await?;
    let config = OrderedConfig { deliver_policy: DeliverPolicy::All, ..Default::default() };
    let mut read = stream.create_consumer(config).await?.messages().await?.take(messages);
    let mut start = None;
    while let Some(message) = read.next().await {
        message?;
        start.get_or_insert_with(Instant::now);
    }
    println!("{:.0}", messages as f64 / start.map_or(1.0, |start| start.elapsed().as_secs_f64()));
    Ok(())
}

async fn made(context: &jetstream::Context, name: &str) -> Result<stream::Stream, async_nats::Error> {
    let subjects = vec![format!("{name}.flow")];
    Ok(context
        .get_or_create_stream(stream::Config { name: name.to_owned(), subjects, ..Default::default() })
        .await?)
}
