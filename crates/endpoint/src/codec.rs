//! Messages to bytes and back.
//!
//! [`JsonLines`] writes one JSON object a line, with the label as `type` and each field under its name: what the `json` codec of a guard
//! reads when its table is `{ kind = "json", framing = "lines" }`.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Error;
use crate::json;
use crate::link::{Expect, Message, Peer};
use crate::value::Value;

/// How the messages `M` become bytes, and bytes messages.
pub trait Codec<M> {
    /// Appends the bytes of `message`.
    ///
    /// # Errors
    /// A value has no form: why.
    fn encode(&mut self, message: &M, out: &mut Vec<u8>) -> Result<(), String>;

    /// The message at the beginning of what `from` has sent, and its length; `None`: not yet whole.
    ///
    /// # Errors
    /// These bytes are none of `expected`.
    fn decode(
        &mut self,
        bytes: &[u8],
        from: Peer,
        expected: &'static [Expect],
    ) -> Result<Option<(M, usize)>, Error>;

    /// Whether `bytes` may hold a whole message, if the first `seen` of them did not: only then they are decoded again. A codec that can tell does not
    /// read a long message once for each piece of it that arrives.
    fn may_be_whole(&self, bytes: &[u8], seen: usize) -> bool {
        let _ = (bytes, seen);
        true
    }
}

/// One JSON object a line, its label under `type`.
#[derive(Clone, Copy, Debug)]
pub struct JsonLines {
    /// A longer line is refused.
    pub max_line: usize,
}

impl Default for JsonLines {
    fn default() -> Self {
        Self { max_line: 1 << 20 }
    }
}

/// The key of the label.
const LABEL: &str = "type";

impl<M: Message> Codec<M> for JsonLines {
    fn may_be_whole(&self, bytes: &[u8], seen: usize) -> bool {
        bytes.len() > self.max_line || bytes.get(seen..).unwrap_or_default().contains(&b'\n')
    }

    fn encode(&mut self, message: &M, out: &mut Vec<u8>) -> Result<(), String> {
        let signature = M::SIGNATURES.get(message.signature()).ok_or("a message without signature")?;
        let mut line = String::new();
        line.push_str("{\"type\":");
        json::write_text(signature.label, &mut line);
        for (name, value) in signature.fields.iter().zip(message.to_values()) {
            if *name == LABEL {
                return Err("a field called `type` stands where the label does".to_owned());
            }
            line.push(',');
            json::write_text(name, &mut line);
            line.push(':');
            json::write(&value, &mut line)?;
        }
        line.push_str("}\n");
        out.extend_from_slice(line.as_bytes());
        Ok(())
    }

    fn decode(
        &mut self,
        bytes: &[u8],
        from: Peer,
        expected: &'static [Expect],
    ) -> Result<Option<(M, usize)>, Error> {
        let malformed = |reason: &str| Error::Malformed { from: from.name, reason: reason.to_owned() };
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            let fits = bytes.len() <= self.max_line;
            return if fits { Ok(None) } else { Err(malformed("a line that is too long")) };
        };
        if end > self.max_line {
            return Err(malformed("a line that is too long"));
        }
        let line = core::str::from_utf8(&bytes[..end]).map_err(|_| malformed("no UTF-8"))?;
        let Value::Record(mut members) = json::read(line).map_err(malformed)? else {
            return Err(malformed("no object"));
        };
        let at = members.iter().position(|(name, _)| name == LABEL).ok_or_else(|| malformed("no `type`"))?;
        let Value::Text(label) = members.swap_remove(at).1 else {
            return Err(malformed("a `type` that is no text"));
        };
        let of_peer = |expect: &&Expect| expect.from == from && expect.label == label;
        let Some(expect) = expected.iter().find(of_peer) else {
            return Err(Error::Unexpected { from: from.name, label, expected });
        };
        let names = M::SIGNATURES.get(expect.signature).map_or(&[][..], |signature| signature.fields);
        // What the protocol does not know of may be there: a guard does not look at it either. A unit may be absent.
        let mut values = names.iter().map(|name| {
            let at = members.iter().position(|(found, _)| found == name);
            at.map_or(Value::Unit, |at| core::mem::replace(&mut members[at].1, Value::Unit))
        });
        match M::from_values(expect.signature, &mut values) {
            Ok(message) => Ok(Some((message, end + 1))),
            Err(at) => {
                let field = names.get(at).copied().unwrap_or_default();
                Err(Error::WrongType { from: from.name, label: expect.label, field })
            }
        }
    }
}
