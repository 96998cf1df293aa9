//! How a component that connects comes back to its session after its monitor was killed.
//!
//! It says one line before anything else, `{"component": KEY, "sent": N, "received": M}`, where KEY is a name of its own
//! choice, another for each session, and N and M are how many messages it has sent and received in it. The answer is
//! `{"taken": T}`: it sends again what it sent after the T-th, and is sent what it has not received. Or it is
//! `{"refused": WHY}`.

use std::io;

use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::component::Arrived;
use super::letter::SessionId;

const LONGEST_LINE: usize = 512;
const LONGEST_KEY: usize = 128;

/// What a component says of itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hello {
    component: Box<str>,
    #[serde(default)]
    sent: u64,
    #[serde(default)]
    received: u64,
}

/// What it comes for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// A session that is to begin; who it is, if it can come back.
    New(Option<Box<str>>),
    /// A session that it is part of, of which it has received so many messages.
    Back(SessionId, u64),
}

impl Hello {
    /// What it comes for, where `known` finds the session of a component, and how many messages were taken from it if
    /// it is away.
    ///
    /// # Errors
    /// Why it is refused.
    pub(super) fn greeting(
        self,
        known: impl Fn(&str) -> Option<(SessionId, Option<u64>)>,
    ) -> Result<Greeting, &'static str> {
        if self.component.is_empty() || self.component.len() > LONGEST_KEY {
            return Err("a component is called by 1 to 128 bytes");
        }
        match known(&self.component) {
            None if self.sent == 0 && self.received == 0 => Ok(Greeting::New(Some(self.component))),
            None => Err("its session is over"),
            Some((_, None)) => Err("such a component is here already"),
            Some((_, Some(taken))) if taken > self.sent => Err("it has sent more than it says"),
            Some((id, Some(_))) => Ok(Greeting::Back(id, self.received)),
        }
    }
}

/// The first line; what follows it stays unread.
pub(super) async fn hear(arrived: &mut Arrived) -> Result<Hello, &'static str> {
    loop {
        if let Some(end) = arrived.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = arrived.unread.drain(..=end).collect();
            return serde_json::from_slice(&line).map_err(
                |_| "the first line is to be {\"component\": NAME, \"sent\": NUMBER, \"received\": NUMBER}",
            );
        }
        if arrived.unread.len() > LONGEST_LINE {
            return Err("the first line is too long");
        }
        match arrived.stream.read_buf(&mut arrived.unread).await {
            Ok(1..) => {}
            _ => return Err("it says nothing"),
        }
    }
}

/// Tells it that its first `taken` messages were taken.
pub(super) async fn answer(arrived: &mut Arrived, taken: u64) -> io::Result<()> {
    arrived.stream.write_all(format!("{{\"taken\":{taken}}}\n").as_bytes()).await?;
    arrived.stream.flush().await
}

pub(super) async fn refuse(arrived: &mut Arrived, why: &str) {
    let line = format!("{}\n", serde_json::json!({ "refused": why }));
    let _ = arrived.stream.write_all(line.as_bytes()).await;
    let _ = arrived.stream.shutdown().await;
}
