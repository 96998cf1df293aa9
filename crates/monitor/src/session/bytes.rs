//! Sessions as bytes, so that a guard can keep them across restarts.
//!
//! Version 1: the version, the monitor's fingerprint (8 bytes), state (4), ended (1), mark (1), violations
//! (2), events (8), all little-endian; then the variables that the state keeps, in the monitor's order, each
//! by its type: bool, int and float as 8 bytes; text and bytes with their length (4) before them; unit as
//! one zero byte; lists with their length, then the elements; tuples and records the parts in order.
//! Reading is driven by the types, so its depth is the protocol's and not the input's.

use std::fmt;
use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::Value;

use super::{Ended, Mark, Session};
use crate::layout::{Class, Slot};
use crate::monitor::Monitor;

const VERSION: u8 = 1;

/// Why bytes are not a session of a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadSession {
    /// Another version of the format.
    Version(u8),
    /// A session of another protocol, or of the same one before it was changed.
    OtherMonitor,
    /// Too short, too long, or with a value that cannot be.
    Malformed,
}

impl fmt::Display for BadSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "a session of format {version}, not {VERSION}"),
            Self::OtherMonitor => f.write_str("a session of another protocol or another version of it"),
            Self::Malformed => f.write_str("not a session: the bytes are damaged"),
        }
    }
}

impl std::error::Error for BadSession {}

impl Monitor {
    /// `session` as bytes, for [`restore`](Self::restore).
    #[must_use]
    pub fn save(&self, session: &Session) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.fingerprint().to_le_bytes());
        bytes.extend(session.state.to_le_bytes());
        bytes.push(session.ended.0);
        bytes.push(match session.mark {
            Mark::Clean => 0,
            Mark::Tainted => 1,
            Mark::Halted => 2,
            Mark::Lost => 3,
        });
        bytes.extend(session.violations.to_le_bytes());
        bytes.extend(session.events.to_le_bytes());
        for variable in self.layout.live(session.state) {
            write(&mut bytes, &session.value(variable.slot, &variable.ty));
        }
        bytes
    }

    /// The session that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`BadSession`] if `bytes` are anything else than a session of this monitor.
    pub fn restore(&self, bytes: &[u8]) -> Result<Session, BadSession> {
        let mut reader = Reader { bytes };
        match reader.byte() {
            Some(VERSION) => {}
            Some(version) => return Err(BadSession::Version(version)),
            None => return Err(BadSession::Malformed),
        }
        match reader.word() {
            Some(fingerprint) if fingerprint == self.fingerprint() => {}
            Some(_) => return Err(BadSession::OtherMonitor),
            None => return Err(BadSession::Malformed),
        }
        reader.session(self).ok_or(BadSession::Malformed)
    }
}

fn write(bytes: &mut Vec<u8>, value: &Value) {
    let length = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    match value {
        Value::Unit => bytes.push(0),
        Value::Bool(value) => bytes.extend(u64::from(*value).to_le_bytes()),
        // No declared type has times.
        Value::Int(value) | Value::Time(value) | Value::Duration(value) => {
            bytes.extend(value.to_le_bytes());
        }
        Value::Float(value) => bytes.extend(value.to_bits().to_le_bytes()),
        // No declared type has big integers, atoms, pids or references.
        Value::String(text)
        | Value::Opaque(text)
        | Value::Big(text)
        | Value::Atom(text)
        | Value::Pid(text)
        | Value::Reference(text) => {
            bytes.extend(length(text.len()));
            bytes.extend(text.as_bytes());
        }
        Value::Bytes(octets) => {
            bytes.extend(length(octets.len()));
            bytes.extend(&**octets);
        }
        Value::List(values) => {
            bytes.extend(length(values.len()));
            values.iter().for_each(|value| write(bytes, value));
        }
        Value::Tuple(values) => values.iter().for_each(|value| write(bytes, value)),
        Value::Record(fields) => fields.iter().for_each(|(_, value)| write(bytes, value)),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn word(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn length(&mut self) -> Option<usize> {
        self.array().map(u32::from_le_bytes)?.try_into().ok()
    }

    fn session(mut self, monitor: &Monitor) -> Option<Session> {
        let mut session = Session::new();
        session.state = self.array().map(u32::from_le_bytes)?;
        if session.state as usize >= monitor.machine().state_count() {
            return None;
        }
        session.ended = Ended(self.byte().filter(|bits| *bits <= 3)?);
        session.mark = match self.byte()? {
            0 => Mark::Clean,
            1 => Mark::Tainted,
            2 => Mark::Halted,
            3 => Mark::Lost,
            _ => return None,
        };
        session.violations = self.array().map(u16::from_le_bytes)?;
        session.events = self.word()?;
        for variable in monitor.layout.live(session.state) {
            self.variable(&mut session, variable.slot, &variable.ty, monitor)?;
        }
        self.bytes.is_empty().then_some(session)
    }

    fn variable(&mut self, session: &mut Session, slot: Slot, ty: &Type, monitor: &Monitor) -> Option<()> {
        if Class::of(ty) == Class::Scalar {
            let word = self.word().filter(|word| *ty != Type::Bool || *word <= 1)?;
            match slot {
                Slot::Scalar(index) => {
                    *session.room(&monitor.layout).scalars.get_mut(index as usize)? = word;
                }
                _ => session.first = word,
            }
            return Some(());
        }
        let value = self.value(ty)?;
        match (slot, value) {
            (Slot::Text(_), Value::String(text) | Value::Opaque(text)) => {
                session.store_text(slot, &text, &monitor.layout);
            }
            (Slot::Octets(index), Value::Bytes(bytes)) => {
                session.room(&monitor.layout).octets.get_mut(index as usize)?.extend_from_slice(&bytes);
            }
            (Slot::Tree(index), value) => {
                *session.room(&monitor.layout).trees.get_mut(index as usize)? = value;
            }
            _ => return None,
        }
        Some(())
    }

    fn value(&mut self, ty: &Type) -> Option<Value> {
        Some(match ty {
            Type::Unit => self.byte().filter(|byte| *byte == 0).map(|_| Value::Unit)?,
            Type::Bool => match self.word()? {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                _ => return None,
            },
            Type::Int => Value::Int(self.word()?.cast_signed()),
            Type::Float => Value::Float(f64::from_bits(self.word()?)),
            Type::String => Value::String(self.text()?),
            Type::Opaque(_) => Value::Opaque(self.text()?),
            Type::Bytes => {
                let length = self.length()?;
                Value::Bytes(Arc::from(self.take(length)?))
            }
            Type::List(element) => {
                let length = self.length()?;
                // An element takes a byte at least, unless it is an empty tuple or record.
                let mut values = Vec::new();
                for _ in 0..length {
                    let before = self.bytes.len();
                    values.push(self.value(element)?);
                    if self.bytes.len() == before && values.len() > MAX_EMPTY {
                        return None;
                    }
                }
                Value::List(values.into())
            }
            Type::Tuple(types) => Value::Tuple(types.iter().map(|ty| self.value(ty)).collect::<Option<_>>()?),
            Type::Record(fields) => Value::Record(
                fields
                    .iter()
                    .map(|(name, ty)| Some((Arc::clone(name), self.value(ty)?)))
                    .collect::<Option<_>>()?,
            ),
        })
    }

    fn text(&mut self) -> Option<Arc<str>> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?).ok().map(Arc::from)
    }
}

/// How many elements that take no bytes a list may have: a length alone must not make memory.
const MAX_EMPTY: usize = 1 << 16;
