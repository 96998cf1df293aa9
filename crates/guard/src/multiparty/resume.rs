//! How a component that connects resumes its session after a crash of its monitor.
//!
//! Its first line is `{"component": KEY, "sent": N, "received": M}`, where KEY is of its own choice, another for each
//! session, and N and M are how many messages it has sent and received. The answer is `{"taken": T}`: it sends again what
//! follows its T-th message, and is sent what it has not received. Or the answer is `{"refused": WHY}`.

use std::io;

use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::component::IncomingComponent;
use super::peer_message::SessionId;

const MAX_LINE_BYTES: usize = 512;
const MAX_KEY_BYTES: usize = 128;

/// The first line of a component.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeRequest {
    component: Box<str>,
    #[serde(default)]
    sent: u64,
    #[serde(default)]
    received: u64,
}

/// What becomes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResumeDecision {
    /// It begins a session; its key, if it can resume.
    NewSession(Option<Box<str>>),
    /// It resumes a session, of which it has received so many messages.
    Resume(SessionId, u64),
}

impl ResumeRequest {
    /// Decides on the request. `known` finds the session of a key, and how many messages were accepted if its component is
    /// away.
    ///
    /// # Errors
    /// Why it is refused.
    pub(super) fn decide(
        self,
        known: impl Fn(&str) -> Option<(SessionId, Option<u64>)>,
    ) -> Result<ResumeDecision, &'static str> {
        if self.component.is_empty() || self.component.len() > MAX_KEY_BYTES {
            return Err("a component is called by 1 to 128 bytes");
        }
        match known(&self.component) {
            None if self.sent == 0 && self.received == 0 => {
                Ok(ResumeDecision::NewSession(Some(self.component)))
            }
            None => Err("its session is over"),
            Some((_, None)) => Err("such a component is here already"),
            Some((_, Some(taken))) if taken > self.sent => Err("it has sent more than it says"),
            Some((id, Some(_))) => Ok(ResumeDecision::Resume(id, self.received)),
        }
    }
}

/// Reads the first line; what follows it stays unread.
pub(super) async fn read_request(incoming: &mut IncomingComponent) -> Result<ResumeRequest, &'static str> {
    loop {
        if let Some(end) = incoming.unread.iter().position(|byte| *byte == b'\n') {
            let link: Vec<u8> = incoming.unread.drain(..=end).collect();
            return serde_json::from_slice(&link).map_err(
                |_| "the first line is to be {\"component\": NAME, \"sent\": NUMBER, \"received\": NUMBER}",
            );
        }
        if incoming.unread.len() > MAX_LINE_BYTES {
            return Err("the first line is too long");
        }
        match incoming.stream.read_buf(&mut incoming.unread).await {
            Ok(1..) => {}
            _ => return Err("it says nothing"),
        }
    }
}

/// Answers that the first `taken` messages were accepted.
pub(super) async fn answer(incoming: &mut IncomingComponent, taken: u64) -> io::Result<()> {
    incoming.stream.write_all(format!("{{\"taken\":{taken}}}\n").as_bytes()).await?;
    incoming.stream.flush().await
}

pub(super) async fn refuse(incoming: &mut IncomingComponent, why: &str) {
    let link = format!("{}\n", serde_json::json!({ "refused": why }));
    let _ = incoming.stream.write_all(link.as_bytes()).await;
    let _ = incoming.stream.shutdown().await;
}
