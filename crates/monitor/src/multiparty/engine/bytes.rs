//! Sessions as bytes, for journals: how a run stands, its monitor's session, and what waits, each message in the
//! form its owner writes it.

use std::collections::VecDeque;

use referee_theory::Role;

use super::Engine;
use super::run::{Known, Run, Status, Waiting};
use crate::event::Party;
use crate::session::BadSession;

/// More messages than this never wait: a journal that says so is damaged.
const MOST_WAITING: usize = 1 << 20;

const STRANGER: u16 = u16::MAX;

impl Engine {
    /// `run` as bytes, for [`restore`](Self::restore); `write` appends a waiting message.
    #[must_use]
    pub fn save<T>(&self, run: &Run<T>, mut write: impl FnMut(&T, &mut Vec<u8>)) -> Vec<u8> {
        let session = self.monitor.save(&run.session);
        let mut bytes = Vec::with_capacity(session.len() + 16);
        bytes.push(match run.status {
            Status::Running => 0,
            Status::Finished => 1,
            Status::Halted => 2,
            Status::Lost => 3,
        });
        bytes.push(u8::from(run.gone) | u8::from(run.unsure) << 1 | u8::from(run.adrift) << 2);
        bytes.extend(run.room.to_le_bytes());
        block(&mut bytes, &session);
        bytes.extend(narrow(run.waiting.len()).to_le_bytes());
        let mut body = Vec::new();
        for waiting in &run.waiting {
            body.clear();
            let (tag, role) = match waiting {
                Waiting::Message(from, message, known) => {
                    write(message, &mut body);
                    (u8::from(known.misstep) << 2 | u8::from(known.given) << 3, from.0)
                }
                Waiting::Wrong(from, message) => {
                    write(message, &mut body);
                    (3, from.0)
                }
                Waiting::Dependency(from, index) => {
                    body.extend(index.to_le_bytes());
                    (1, from.0)
                }
                Waiting::Held(to, message, _) => {
                    write(message, &mut body);
                    (2, if let Party::Role(role) = to { role.0 } else { STRANGER })
                }
            };
            bytes.push(tag);
            bytes.extend(role.to_le_bytes());
            block(&mut bytes, &body);
        }
        bytes
    }

    /// The run that [`save`](Self::save) wrote; `read` reads a message.
    ///
    /// # Errors
    /// [`BadSession`] if `bytes` are anything else than a run of this engine.
    pub fn restore<T>(
        &self,
        bytes: &[u8],
        mut read: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Run<T>, BadSession> {
        let mut rest = bytes;
        let damaged = BadSession::Malformed;
        let [status, flags] = array(&mut rest).ok_or(damaged)?;
        let status = match status {
            0 => Status::Running,
            1 => Status::Finished,
            2 => Status::Halted,
            3 => Status::Lost,
            _ => return Err(damaged),
        };
        let room = u32::from_le_bytes(array(&mut rest).ok_or(damaged)?);
        let session = self.monitor.restore(take_block(&mut rest).ok_or(damaged)?)?;
        let count = u32::from_le_bytes(array(&mut rest).ok_or(damaged)?) as usize;
        if count > MOST_WAITING || flags > 7 {
            return Err(damaged);
        }
        let mut waiting = VecDeque::new();
        for _ in 0..count {
            waiting.push_back(self.waiting(&mut rest, &mut read).ok_or(damaged)?);
        }
        if !rest.is_empty() {
            return Err(damaged);
        }
        let [gone, unsure, adrift] = [1, 2, 4].map(|bit| flags & bit != 0);
        Ok(Run { session, waiting, room, status, gone, unsure, adrift, times: None })
    }

    fn waiting<T>(&self, rest: &mut &[u8], read: &mut impl FnMut(&[u8]) -> Option<T>) -> Option<Waiting<T>> {
        let [tag] = array(rest)?;
        let role = u16::from_le_bytes(array(rest)?);
        let body = take_block(rest)?;
        let known = usize::from(role) < self.vocabulary().roles().len();
        Some(match tag {
            0 | 4 | 8 | 12 if known => {
                let known = Known { misstep: tag & 4 != 0, given: tag & 8 != 0 };
                Waiting::Message(Role(role), read(body)?, known)
            }
            1 if known => Waiting::Dependency(Role(role), u32::from_le_bytes(body.try_into().ok()?)),
            2 if known => Waiting::Held(Party::Role(Role(role)), read(body)?, None),
            3 if known => Waiting::Wrong(Role(role), read(body)?),
            2 if role == STRANGER => Waiting::Held(Party::Stranger, read(body)?, None),
            _ => return None,
        })
    }
}

fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn block(bytes: &mut Vec<u8>, body: &[u8]) {
    bytes.extend(narrow(body.len()).to_le_bytes());
    bytes.extend(body);
}

fn array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}

fn take_block<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_le_bytes(array(rest)?) as usize;
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}
