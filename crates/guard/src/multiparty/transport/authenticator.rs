//! Authentication over a broker, where others may read and write too: fragments and heartbeats carry a MAC over their
//! subject and content.

use hyper::body::Bytes;
use ring::hmac;

use super::topology::PeerLimits;
use crate::multiparty::peer_message::SessionId;
use referee_session::role::payload::{take, take_block};

const MAC_BYTES: usize = 32;
/// A fragment begins with a flag (1: the last of its peer message) and the session id.
const FRAGMENT_HEADER_BYTES: usize = 17;

/// Signs and verifies with the pre-shared key; does nothing where there is none.
pub(super) struct Authenticator(Option<hmac::Key>);

impl Authenticator {
    pub(super) fn new(key: Option<&str>) -> Self {
        Self(key.map(|key| hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes())))
    }

    /// `body` with its MAC, as it is published under `subject`.
    pub(super) fn sign(&self, subject: &str, body: &[u8]) -> Bytes {
        let Some(key) = &self.0 else { return Bytes::copy_from_slice(body) };
        let mut out = Vec::with_capacity(MAC_BYTES + body.len());
        out.extend(hmac::sign(key, &signed_bytes(subject, body)).as_ref());
        out.extend(body);
        out.into()
    }

    /// The body of what was published under `subject`, if its MAC is right.
    pub(super) fn verify(&self, subject: &str, signed: &Bytes) -> Option<Bytes> {
        let Some(key) = &self.0 else { return Some(signed.clone()) };
        let (mac, body) = signed.split_at_checked(MAC_BYTES)?;
        hmac::verify(key, &signed_bytes(subject, body), mac).ok()?;
        Some(signed.slice(MAC_BYTES..))
    }
}

/// The signed bytes. A subject has no zero byte, so the encoding is injective.
fn signed_bytes(subject: &str, body: &[u8]) -> Vec<u8> {
    [subject.as_bytes(), &[0], body].concat()
}

/// A fragment of a peer message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    /// The instance numbers of the sending and the receiving process.
    pub(super) from: u128,
    pub(super) to: u128,
    /// The sequence number among the fragments of this pair of roles.
    pub(super) number: u64,
    /// Header and bytes, as [`split`] wrote them.
    pub(super) content: Bytes,
}

impl Fragment {
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

/// Splits `message` into fragments of at most `longest` bytes each.
pub(super) fn split(message: &[u8], longest: usize) -> impl Iterator<Item = Bytes> + '_ {
    let longest = longest.max(1);
    let last = message.len().div_ceil(longest).saturating_sub(1);
    let session = message.get(1..FRAGMENT_HEADER_BYTES).unwrap_or(&[0; FRAGMENT_HEADER_BYTES - 1]);
    message.chunks(longest).enumerate().map(move |(index, chunk)| {
        let mut content = Vec::with_capacity(FRAGMENT_HEADER_BYTES + chunk.len());
        content.push(u8::from(index == last));
        content.extend(session);
        content.extend(chunk);
        content.into()
    })
}

/// The session of a fragment.
pub(super) fn session_of(content: &[u8]) -> SessionId {
    let session = content.get(1..FRAGMENT_HEADER_BYTES).and_then(|bytes| bytes.try_into().ok());
    SessionId(session.map_or(0, u128::from_le_bytes))
}

/// Whether this is the last fragment of its peer message, and its bytes.
pub(super) fn fragment_content(content: &[u8]) -> Option<(bool, &[u8])> {
    let (head, bytes) = content.split_at_checked(FRAGMENT_HEADER_BYTES)?;
    Some((head.first() == Some(&1), bytes))
}

/// A monitor's periodic announcement: it lives, and what it expects next of each peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heartbeat {
    /// The instance number of the process.
    pub(super) instance: u128,
    /// The codec of the role's component.
    pub(super) codec: String,
    pub(super) limits: PeerLimits,
    /// Whether its sessions survive a crash (it has a state log).
    pub(super) survives: bool,
    /// The state of its link with each remote role.
    pub(super) links: Vec<LinkStatus>,
}

/// Both directions of one link, as one end sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkStatus {
    pub(super) role: u16,
    /// The instance number of the other end.
    pub(super) process: u128,
    /// The next sequence number expected from it: the acknowledgement.
    pub(super) expected: u64,
    /// The sequence number after the last that was sent to it.
    pub(super) sent: u64,
}

impl Heartbeat {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(self.instance.to_le_bytes());
        out.extend(u32::try_from(self.codec.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend(self.codec.as_bytes());
        self.limits.write(&mut out);
        out.push(u8::from(self.survives));
        for status in &self.links {
            out.extend(status.role.to_le_bytes());
            out.extend(status.process.to_le_bytes());
            out.extend(status.expected.to_le_bytes());
            out.extend(status.sent.to_le_bytes());
        }
        out
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let instance = u128::from_le_bytes(take(&mut rest)?);
        let codec = std::str::from_utf8(take_block(&mut rest)?).ok()?.to_owned();
        let limits = PeerLimits::read(&mut rest)?;
        let [survives] = take(&mut rest)?;
        let mut links = Vec::new();
        while !rest.is_empty() {
            links.push(LinkStatus {
                role: u16::from_le_bytes(take(&mut rest)?),
                process: u128::from_le_bytes(take(&mut rest)?),
                expected: u64::from_le_bytes(take(&mut rest)?),
                sent: u64::from_le_bytes(take(&mut rest)?),
            });
        }
        Some(Self { instance, codec, limits, survives: survives == 1, links })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let part = Fragment { from: 1, to: u128::MAX, number: 7, content: Bytes::from_static(b"\x01abc") };
        assert_eq!(Fragment::read(&part.write().into()), Some(part));
        let status = |role| LinkStatus { role, process: 2, expected: 3, sent: 4 };
        let links = vec![status(1), status(5)];
        let limits = PeerLimits { message: 1, window: 2, buffer: 3 };
        let heartbeat = Heartbeat { instance: 5, codec: "json".to_owned(), limits, survives: true, links };
        let whole = heartbeat.write();
        assert_eq!(Heartbeat::read(&whole), Some(heartbeat));
        // Links have a fixed size, so a heartbeat cut after a whole one can be read.
        let ends: Vec<usize> =
            (0..whole.len()).filter(|cut| Heartbeat::read(&whole[..*cut]).is_some()).collect();
        assert_eq!(ends, [49, 83]);
    }

    #[test]
    fn a_letter_comes_in_parts_of_which_one_is_the_last() {
        use crate::multiparty::peer_message::{MessageKind, PeerMessage};
        let (session, kind) = (SessionId(u128::MAX / 3), MessageKind::Dependency("chosen".into()));
        let message = PeerMessage { session, number: 1, state: 2, kind }.write();
        for longest in 1..40 {
            let parts: Vec<Bytes> = split(&message, longest).collect();
            assert!(
                parts
                    .iter()
                    .all(|part| session_of(part) == session && part.len() <= longest + FRAGMENT_HEADER_BYTES)
            );
            let pieces: Vec<(bool, &[u8])> = parts.iter().filter_map(|part| fragment_content(part)).collect();
            assert_eq!(pieces.iter().position(|(last, _)| *last), Some(parts.len() - 1), "{longest}");
            let whole: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
            assert_eq!(whole, message);
        }
        assert_eq!(fragment_content(&[1; 16]), None);
    }

    #[test]
    fn only_who_knows_the_key_is_heard_and_only_where_it_spoke() {
        let sign = Authenticator::new(Some("a key of the network"));
        let signed = sign.sign("a.b", b"said");
        assert_eq!(sign.verify("a.b", &signed).as_deref(), Some(&b"said"[..]));
        assert_eq!(sign.verify("a.c", &signed), None);
        assert_eq!(Authenticator::new(Some("another key of it")).verify("a.b", &signed), None);
        for at in 0..signed.len() {
            let mut bytes = signed.to_vec();
            bytes[at] ^= 1;
            assert_eq!(sign.verify("a.b", &bytes.into()), None, "{at}");
        }
        assert_eq!(sign.verify("a.b", &Bytes::from_static(b"short")), None);
    }
}
