//! What a diary says, as bytes.

use hyper::body::Bytes;

use crate::multiparty::letter::SessionId;
use crate::multiparty::parcel::{put_block, take, take_block};

/// From one role to another.
pub(in crate::multiparty) type Link = (u16, u16);
/// A session at a role.
pub(in crate::multiparty) type Place = (u16, SessionId);

/// One thing that is no longer as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::multiparty) enum Change {
    /// What this process is called in its letters.
    Instance(u128),
    /// How a session stands; what its component was given before number `kept` is not needed any more.
    Seat { at: Place, kept: u64, bytes: Bytes },
    /// The component was given something.
    Given { at: Place, bytes: Bytes },
    /// A session is over at a role.
    Over(Place),
    /// Part of a letter is to be sent.
    Sent { link: Link, content: Bytes },
    /// Everything before part `expected` was taken; the next is not before this number of the stream.
    Taken { link: Link, expected: u64, sequence: u64 },
    /// The monitor of a role is this process: what was under way to and from another one is void.
    Met { peer: u16, instance: u128 },
    /// Parts on this link are numbered from here.
    First { link: Link, number: u64 },
}

impl Change {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let link = |tag: u8, link: &Link, out: &mut Vec<u8>| {
            out.push(tag);
            out.extend(link.0.to_le_bytes());
            out.extend(link.1.to_le_bytes());
        };
        let place = |tag: u8, at: &Place, out: &mut Vec<u8>| {
            out.push(tag);
            out.extend(at.0.to_le_bytes());
            out.extend(at.1.0.to_le_bytes());
        };
        match self {
            Self::Instance(instance) => {
                out.push(0);
                out.extend(instance.to_le_bytes());
            }
            Self::Seat { at, kept, bytes } => {
                place(1, at, out);
                out.extend(kept.to_le_bytes());
                put_block(bytes, out);
            }
            Self::Given { at, bytes } => {
                place(2, at, out);
                put_block(bytes, out);
            }
            Self::Over(at) => place(3, at, out),
            Self::Sent { link: of, content } => {
                link(4, of, out);
                put_block(content, out);
            }
            Self::Taken { link: of, expected, sequence } => {
                link(5, of, out);
                out.extend(expected.to_le_bytes());
                out.extend(sequence.to_le_bytes());
            }
            Self::Met { peer, instance } => {
                out.push(6);
                out.extend(peer.to_le_bytes());
                out.extend(instance.to_le_bytes());
            }
            Self::First { link: of, number } => {
                link(7, of, out);
                out.extend(number.to_le_bytes());
            }
        }
    }

    /// The next change in `rest`, which is the end of `whole`.
    pub(super) fn read(whole: &Bytes, rest: &mut &[u8]) -> Option<Self> {
        let [tag] = take(rest)?;
        let link =
            |rest: &mut &[u8]| Some((u16::from_le_bytes(take(rest)?), u16::from_le_bytes(take(rest)?)));
        let place = |rest: &mut &[u8]| {
            Some((u16::from_le_bytes(take(rest)?), SessionId(u128::from_le_bytes(take(rest)?))))
        };
        let number = |rest: &mut &[u8]| Some(u64::from_le_bytes(take(rest)?));
        let block = |rest: &mut &[u8]| Some(whole.slice_ref(take_block(rest)?));
        Some(match tag {
            0 => Self::Instance(u128::from_le_bytes(take(rest)?)),
            1 => Self::Seat { at: place(rest)?, kept: number(rest)?, bytes: block(rest)? },
            2 => Self::Given { at: place(rest)?, bytes: block(rest)? },
            3 => Self::Over(place(rest)?),
            4 => Self::Sent { link: link(rest)?, content: block(rest)? },
            5 => Self::Taken { link: link(rest)?, expected: number(rest)?, sequence: number(rest)? },
            6 => Self::Met {
                peer: u16::from_le_bytes(take(rest)?),
                instance: u128::from_le_bytes(take(rest)?),
            },
            7 => Self::First { link: link(rest)?, number: number(rest)? },
            _ => return None,
        })
    }
}
