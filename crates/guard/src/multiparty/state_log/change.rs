//! The changes that a state log records, and their encoding.

use hyper::body::Bytes;

use crate::multiparty::peer_message::SessionId;
use referee_session::role::payload::{put_block, take, take_block};

/// Sender and receiver.
pub(in crate::multiparty) type RolePair = (u16, u16);
/// A session at a role.
pub(in crate::multiparty) type SessionKey = (u16, SessionId);

/// One change of the logged state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::multiparty) enum Change {
    /// The instance number of this process.
    Instance(u128),
    /// The state of a session; messages to its component before number `kept` need not be kept.
    Session { at: SessionKey, kept: u64, bytes: Bytes },
    /// A message was delivered to the component.
    Delivered { at: SessionKey, bytes: Bytes },
    /// A session is over at a role.
    Ended(SessionKey),
    /// A fragment is to be sent.
    Sent { link: RolePair, content: Bytes },
    /// Everything before `expected` was received; the next has at least this sequence in the stream.
    Received { link: RolePair, expected: u64, sequence: u64 },
    /// A peer is this process: what was in flight to and from another one is void.
    Identified { peer: u16, instance: u128 },
    /// Fragments on this link are numbered from here.
    Numbering { link: RolePair, number: u64 },
}

impl Change {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let link = |tag: u8, link: &RolePair, out: &mut Vec<u8>| {
            out.push(tag);
            out.extend(link.0.to_le_bytes());
            out.extend(link.1.to_le_bytes());
        };
        let key = |tag: u8, at: &SessionKey, out: &mut Vec<u8>| {
            out.push(tag);
            out.extend(at.0.to_le_bytes());
            out.extend(at.1.0.to_le_bytes());
        };
        match self {
            Self::Instance(instance) => {
                out.push(0);
                out.extend(instance.to_le_bytes());
            }
            Self::Session { at, kept, bytes } => {
                key(1, at, out);
                out.extend(kept.to_le_bytes());
                put_block(bytes, out);
            }
            Self::Delivered { at, bytes } => {
                key(2, at, out);
                put_block(bytes, out);
            }
            Self::Ended(at) => key(3, at, out),
            Self::Sent { link: of, content } => {
                link(4, of, out);
                put_block(content, out);
            }
            Self::Received { link: of, expected, sequence } => {
                link(5, of, out);
                out.extend(expected.to_le_bytes());
                out.extend(sequence.to_le_bytes());
            }
            Self::Identified { peer, instance } => {
                out.push(6);
                out.extend(peer.to_le_bytes());
                out.extend(instance.to_le_bytes());
            }
            Self::Numbering { link: of, number } => {
                link(7, of, out);
                out.extend(number.to_le_bytes());
            }
        }
    }

    /// Reads the next change from `rest`, a suffix of `whole`.
    pub(super) fn read(whole: &Bytes, rest: &mut &[u8]) -> Option<Self> {
        let [tag] = take(rest)?;
        let link =
            |rest: &mut &[u8]| Some((u16::from_le_bytes(take(rest)?), u16::from_le_bytes(take(rest)?)));
        let key = |rest: &mut &[u8]| {
            Some((u16::from_le_bytes(take(rest)?), SessionId(u128::from_le_bytes(take(rest)?))))
        };
        let number = |rest: &mut &[u8]| Some(u64::from_le_bytes(take(rest)?));
        let block = |rest: &mut &[u8]| Some(whole.slice_ref(take_block(rest)?));
        Some(match tag {
            0 => Self::Instance(u128::from_le_bytes(take(rest)?)),
            1 => Self::Session { at: key(rest)?, kept: number(rest)?, bytes: block(rest)? },
            2 => Self::Delivered { at: key(rest)?, bytes: block(rest)? },
            3 => Self::Ended(key(rest)?),
            4 => Self::Sent { link: link(rest)?, content: block(rest)? },
            5 => Self::Received { link: link(rest)?, expected: number(rest)?, sequence: number(rest)? },
            6 => Self::Identified {
                peer: u16::from_le_bytes(take(rest)?),
                instance: u128::from_le_bytes(take(rest)?),
            },
            7 => Self::Numbering { link: link(rest)?, number: number(rest)? },
            _ => return None,
        })
    }
}
