//! The events of a stream, in order, as chunks of lines. What comes while the last chunk is being judged becomes the next
//! one, so that chunks are large under load and small otherwise.

use std::io;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use futures_util::StreamExt as _;
use referee_watch::Messages;
use tokio::sync::mpsc;

use crate::error::{GroupError, Lost};
use crate::group::Group;

/// How much is judged at a time, at most.
const CHUNK: usize = 256 * 1024;
/// How many chunks wait.
const WAITING: usize = 2;
/// How many messages are asked for at a time.
const BATCH: i64 = 2000;

/// Messages as lines.
#[derive(Debug, Default)]
struct Batch {
    text: Vec<u8>,
    numbers: Vec<u64>,
}

impl Batch {
    fn push(&mut self, number: u64, payload: &[u8]) {
        let start = self.text.len();
        let content = payload.strip_suffix(b"\n").unwrap_or(payload);
        self.text.extend_from_slice(content);
        // A message is one event, however it is laid out.
        for byte in self.text.iter_mut().skip(start) {
            if *byte == b'\n' || *byte == b'\r' {
                *byte = b' ';
            }
        }
        self.text.push(b'\n');
        self.numbers.push(number);
    }
}

/// What is read, for a thread that judges it.
pub(crate) struct Source {
    batches: mpsc::Receiver<Result<Batch, Lost>>,
}

impl Messages for Source {
    fn next(&mut self, text: &mut Vec<u8>, numbers: &mut Vec<u64>) -> io::Result<bool> {
        match self.batches.blocking_recv() {
            None => Ok(false),
            Some(Err(lost)) => Err(io::Error::other(lost)),
            Some(Ok(batch)) => {
                *text = batch.text;
                *numbers = batch.numbers;
                Ok(true)
            }
        }
    }
}

/// Starts to read the events of `group` with `subject`, or all; the task that reads ends the source when it is aborted.
pub(crate) async fn read(
    group: &Group,
    subject: Option<String>,
) -> Result<(Source, tokio::task::JoinHandle<()>), GroupError> {
    let failed = |error: async_nats::Error| GroupError::broker("read the stream")(error);
    let info = group.events.get_info().await.map_err(|error| failed(error.into()))?;
    let needed = group.charter.from;
    if info.state.first_sequence > needed {
        let first = info.state.first_sequence;
        return Err(GroupError::Discarded { stream: info.config.name, needed, first });
    }
    let config = OrderedConfig {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: needed },
        filter_subject: subject.unwrap_or_default(),
        max_batch: BATCH,
        ..OrderedConfig::default()
    };
    let consumer = group.events.create_consumer(config).await.map_err(|error| failed(error.into()))?;
    // Nothing that was there before the consumer is missing once it has nothing more to give.
    let mut last = Some(info.state.last_sequence).filter(|last| *last >= needed);
    let mut first = Batch::default();
    if consumer.cached_info().num_pending == 0
        && let Some(last) = last.take()
    {
        first.push(last, b"");
    }
    let mut messages = consumer.messages().await.map_err(|error| failed(error.into()))?;
    let (sender, batches) = mpsc::channel(WAITING);
    let task = tokio::spawn(async move {
        let mut batch = first;
        loop {
            tokio::select! {
                biased;
                message = messages.next(), if batch.text.len() < CHUNK => {
                    let lost = match message {
                        None => Some("the stream ended".to_owned()),
                        Some(Err(error)) => Some(error.to_string()),
                        Some(Ok(message)) => match message.info() {
                            Err(error) => Some(error.to_string()),
                            Ok(info) => {
                                batch.push(info.stream_sequence, &message.payload);
                                if info.pending == 0 && let Some(last) = last.take() && last > info.stream_sequence {
                                    batch.push(last, b"");
                                }
                                None
                            }
                        },
                    };
                    if let Some(why) = lost {
                        let _ = sender.send(Err(Lost(why))).await;
                        return;
                    }
                }
                permit = sender.reserve(), if !batch.text.is_empty() => match permit {
                    Ok(permit) => permit.send(Ok(std::mem::take(&mut batch))),
                    Err(_) => return,
                },
            }
        }
    });
    Ok((Source { batches }, task))
}
