//! Compressed messages (permessage-deflate, RFC 7692): read, and forwarded as they came.
//!
//! Each side's compressor may refer to its earlier messages, so a reader has to go through all of them in order, each once. What a
//! message was is kept until its fate is decided.

use flate2::{Decompress, FlushDecompress, Status};

use crate::signature::Sender;
use crate::step::Malformed;

/// What a server has agreed to, and how far both sides' messages were read.
#[derive(Debug)]
pub(crate) struct Deflate {
    sides: [Side; 2],
}

#[derive(Debug)]
struct Side {
    inflater: Decompress,
    /// Whether each message stands for itself.
    forgets: bool,
    /// The message that was looked at last, and is not decided.
    pending: Option<Vec<u8>>,
}

impl Clone for Deflate {
    /// With the same agreement, before the first message: how far messages were read cannot be copied.
    fn clone(&self) -> Self {
        let side =
            |side: &Side| Side { inflater: Decompress::new(false), forgets: side.forgets, pending: None };
        let [client, server] = &self.sides;
        Self { sides: [side(client), side(server)] }
    }
}

/// What comes after a message before it is inflated, and was taken off.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

impl Deflate {
    /// What the value of `Sec-WebSocket-Extensions` in a server's answer agrees to.
    pub(super) fn agreed(value: &[u8]) -> Result<Self, Malformed> {
        let wrong = || Malformed::new("an extension that hides messages, other than permessage-deflate", 0);
        let text = std::str::from_utf8(value).map_err(|_| wrong())?;
        let mut parameters = text.split(';').map(str::trim);
        if parameters.next() != Some("permessage-deflate") {
            return Err(wrong());
        }
        let mut forgets = [false; 2];
        for parameter in parameters {
            let (name, value) =
                parameter.split_once('=').map_or((parameter, None), |(name, value)| (name, Some(value)));
            match (name.trim(), value) {
                ("client_no_context_takeover", None) => forgets[0] = true,
                ("server_no_context_takeover", None) => forgets[1] = true,
                // A smaller window is read with the largest.
                ("client_max_window_bits" | "server_max_window_bits", Some(_)) => {}
                _ => return Err(wrong()),
            }
        }
        let sides = forgets.map(|forgets| Side { inflater: Decompress::new(false), forgets, pending: None });
        Ok(Self { sides })
    }

    /// What `content`, the message of `sender` that is looked at, says: `limit` bytes at most.
    pub(super) fn inflate(
        &mut self,
        sender: Sender,
        content: &[u8],
        limit: usize,
    ) -> Result<&[u8], Malformed> {
        let [client, server] = &mut self.sides;
        let side = if sender == Sender::Client { client } else { server };
        if side.pending.is_none() {
            let mut out = Vec::new();
            for part in [content, &TAIL] {
                read(&mut side.inflater, part, &mut out, limit)?;
            }
            side.pending = Some(out);
        }
        Ok(side.pending.as_deref().unwrap_or_default())
    }

    /// The message of `sender` that was looked at last is decided.
    pub(crate) fn take(&mut self, sender: Sender) {
        let [client, server] = &mut self.sides;
        let side = if sender == Sender::Client { client } else { server };
        if side.pending.take().is_some() && side.forgets {
            side.inflater.reset(false);
        }
    }
}

fn read(
    inflater: &mut Decompress,
    mut part: &[u8],
    out: &mut Vec<u8>,
    limit: usize,
) -> Result<(), Malformed> {
    let mut room = [0; 4096];
    loop {
        let (before_in, before_out) = (inflater.total_in(), inflater.total_out());
        let status = inflater
            .decompress(part, &mut room, FlushDecompress::Sync)
            .map_err(|_| Malformed::new("a compressed message that cannot be read", 0))?;
        let read = usize::try_from(inflater.total_in() - before_in).unwrap_or(0);
        let written = usize::try_from(inflater.total_out() - before_out).unwrap_or(0);
        part = part.get(read..).unwrap_or_default();
        out.extend_from_slice(room.get(..written).unwrap_or_default());
        if out.len() > limit {
            let reason = format!("a message of more than {limit} bytes").into();
            return Err(Malformed { reason, at: 0, too_long: true });
        }
        if status == Status::StreamEnd {
            // A block that says it is the last: what follows would begin anew.
            inflater.reset(false);
        }
        if (part.is_empty() && written < room.len()) || (read == 0 && written == 0) {
            return if part.is_empty() {
                Ok(())
            } else {
                Err(Malformed::new("a compressed message that cannot be read", 0))
            };
        }
    }
}
