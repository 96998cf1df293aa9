//! What goes through a broker, where others may read and write too: parts of letters, and beats. Each is bound to its
//! subject, and with a key to those who know it.

use hyper::body::Bytes;
use ring::hmac;

use super::census::Limits;
use crate::multiparty::letter::SessionId;
use crate::multiparty::parcel::{take, take_block};

const MAC: usize = 32;
/// Before the bytes of a part: whether it is the last, and the session, which stands behind the first byte of a letter.
const HEAD: usize = 17;

/// Seals what is sent and opens what came.
pub(super) struct Seal(Option<hmac::Key>);

impl Seal {
    pub(super) fn new(key: Option<&str>) -> Self {
        Self(key.map(|key| hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes())))
    }

    /// `body` as it is sent under `subject`.
    pub(super) fn seal(&self, subject: &str, body: &[u8]) -> Bytes {
        let Some(key) = &self.0 else { return Bytes::copy_from_slice(body) };
        let mut out = Vec::with_capacity(MAC + body.len());
        out.extend(hmac::sign(key, &said(subject, body)).as_ref());
        out.extend(body);
        out.into()
    }

    /// What was sealed for `subject`, if it was by somebody who knows the key.
    pub(super) fn open(&self, subject: &str, sealed: &Bytes) -> Option<Bytes> {
        let Some(key) = &self.0 else { return Some(sealed.clone()) };
        let (mac, body) = sealed.split_at_checked(MAC)?;
        hmac::verify(key, &said(subject, body), mac).ok()?;
        Some(sealed.slice(MAC..))
    }
}

/// A subject has no zero byte, so no two pairs look the same.
fn said(subject: &str, body: &[u8]) -> Vec<u8> {
    [subject.as_bytes(), &[0], body].concat()
}

/// A part of a letter from one process to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The processes.
    pub(super) from: u128,
    pub(super) to: u128,
    /// Among all parts from this role to that one.
    pub(super) number: u64,
    /// As [`split`] made it.
    pub(super) content: Bytes,
}

impl Part {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(40 + self.content.len());
        out.extend(self.from.to_le_bytes());
        out.extend(self.to.to_le_bytes());
        out.extend(self.number.to_le_bytes());
        out.extend(&self.content);
        out
    }

    pub(super) fn read(bytes: &Bytes) -> Option<Self> {
        let mut rest: &[u8] = bytes;
        let from = u128::from_le_bytes(take(&mut rest)?);
        let to = u128::from_le_bytes(take(&mut rest)?);
        let number = u64::from_le_bytes(take(&mut rest)?);
        Some(Self { from, to, number, content: bytes.slice_ref(rest) })
    }
}

/// The contents of the parts of `letter`, with at most `longest` bytes of it each.
pub(super) fn split(letter: &[u8], longest: usize) -> impl Iterator<Item = Bytes> + '_ {
    let longest = longest.max(1);
    let last = letter.len().div_ceil(longest).saturating_sub(1);
    let session = letter.get(1..HEAD).unwrap_or(&[0; HEAD - 1]);
    letter.chunks(longest).enumerate().map(move |(index, chunk)| {
        let mut content = Vec::with_capacity(HEAD + chunk.len());
        content.push(u8::from(index == last));
        content.extend(session);
        content.extend(chunk);
        content.into()
    })
}

/// Of which session a part is.
pub(super) fn session_of(content: &[u8]) -> SessionId {
    let session = content.get(1..HEAD).and_then(|bytes| bytes.try_into().ok());
    SessionId(session.map_or(0, u128::from_le_bytes))
}

/// Whether this is the last part of its letter, and what it has of it.
pub(super) fn piece(content: &[u8]) -> Option<(bool, &[u8])> {
    let (head, bytes) = content.split_at_checked(HEAD)?;
    Some((head.first() == Some(&1), bytes))
}

/// A monitor says that it is there, and what it has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Beat {
    /// The process.
    pub(super) instance: u128,
    /// What the component of the role speaks.
    pub(super) codec: String,
    pub(super) limits: Limits,
    /// Whether its sessions survive it.
    pub(super) survives: bool,
    /// How it stands with each role elsewhere.
    pub(super) standings: Vec<Standing>,
}

/// How one monitor stands with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) role: u16,
    /// The other's process.
    pub(super) process: u128,
    /// The part that is expected next from it.
    pub(super) expected: u64,
    /// The part after the last that was sent to it.
    pub(super) sent: u64,
}

impl Beat {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(self.instance.to_le_bytes());
        out.extend(u32::try_from(self.codec.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend(self.codec.as_bytes());
        self.limits.write(&mut out);
        out.push(u8::from(self.survives));
        for standing in &self.standings {
            out.extend(standing.role.to_le_bytes());
            out.extend(standing.process.to_le_bytes());
            out.extend(standing.expected.to_le_bytes());
            out.extend(standing.sent.to_le_bytes());
        }
        out
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let instance = u128::from_le_bytes(take(&mut rest)?);
        let codec = std::str::from_utf8(take_block(&mut rest)?).ok()?.to_owned();
        let limits = Limits::read(&mut rest)?;
        let [survives] = take(&mut rest)?;
        let mut standings = Vec::new();
        while !rest.is_empty() {
            standings.push(Standing {
                role: u16::from_le_bytes(take(&mut rest)?),
                process: u128::from_le_bytes(take(&mut rest)?),
                expected: u64::from_le_bytes(take(&mut rest)?),
                sent: u64::from_le_bytes(take(&mut rest)?),
            });
        }
        Some(Self { instance, codec, limits, survives: survives == 1, standings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let part = Part { from: 1, to: u128::MAX, number: 7, content: Bytes::from_static(b"\x01abc") };
        assert_eq!(Part::read(&part.write().into()), Some(part));
        let standing = |role| Standing { role, process: 2, expected: 3, sent: 4 };
        let standings = vec![standing(1), standing(5)];
        let limits = Limits { message: 1, window: 2, buffer: 3 };
        let beat = Beat { instance: 5, codec: "json".to_owned(), limits, survives: true, standings };
        let whole = beat.write();
        assert_eq!(Beat::read(&whole), Some(beat));
        // After the codec, whole entries are whole beats.
        let ends: Vec<usize> = (0..whole.len()).filter(|cut| Beat::read(&whole[..*cut]).is_some()).collect();
        assert_eq!(ends, [49, 83]);
    }

    #[test]
    fn a_letter_comes_in_parts_of_which_one_is_the_last() {
        use crate::multiparty::letter::{Letter, Matter};
        let (session, matter) = (SessionId(u128::MAX / 3), Matter::Dependency("chosen".into()));
        let letter = Letter { session, number: 1, state: 2, matter }.write();
        for longest in 1..40 {
            let parts: Vec<Bytes> = split(&letter, longest).collect();
            assert!(parts.iter().all(|part| session_of(part) == session && part.len() <= longest + HEAD));
            let pieces: Vec<(bool, &[u8])> = parts.iter().filter_map(|part| piece(part)).collect();
            assert_eq!(pieces.iter().position(|(last, _)| *last), Some(parts.len() - 1), "{longest}");
            let whole: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
            assert_eq!(whole, letter);
        }
        assert_eq!(piece(&[1; 16]), None);
    }

    #[test]
    fn only_who_knows_the_key_is_heard_and_only_where_it_spoke() {
        let seal = Seal::new(Some("a key of the network"));
        let sealed = seal.seal("a.b", b"said");
        assert_eq!(seal.open("a.b", &sealed).as_deref(), Some(&b"said"[..]));
        assert_eq!(seal.open("a.c", &sealed), None);
        assert_eq!(Seal::new(Some("another key of it")).open("a.b", &sealed), None);
        for at in 0..sealed.len() {
            let mut bytes = sealed.to_vec();
            bytes[at] ^= 1;
            assert_eq!(seal.open("a.b", &bytes.into()), None, "{at}");
        }
        assert_eq!(seal.open("a.b", &Bytes::from_static(b"short")), None);
    }
}
