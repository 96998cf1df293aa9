//! Frames on a connection between two monitors: a length, a kind, a body and, where the monitors share a key, a MAC
//! over the frame's position on the connection, its kind and its body.

use std::io;

use hyper::body::Bytes;
use ring::hmac;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The MAC is truncated to this length.
const MAC_BYTES: usize = 16;

/// The kinds of frames: a handshake, then fragments and pings one way, acknowledgements the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FrameKind {
    Hello = 1,
    Challenge,
    Proof,
    Welcome,
    Refused,
    /// A sequence number and a fragment of a peer message.
    Fragment,
    /// The next sequence number expected.
    Acknowledgement,
    /// A heartbeat, where nothing else was sent.
    Ping,
}

impl FrameKind {
    const ALL: [Self; 8] = [
        Self::Hello,
        Self::Challenge,
        Self::Proof,
        Self::Welcome,
        Self::Refused,
        Self::Fragment,
        Self::Acknowledgement,
        Self::Ping,
    ];
}

/// The MAC key and the frame counter of one direction of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    key: Option<hmac::Key>,
    frames: u64,
}

impl Direction {
    /// From now on, frames carry a MAC under `key`.
    pub(super) fn protect(&mut self, key: hmac::Key) {
        *self = Self { key: Some(key), frames: 0 };
    }

    fn mac(&mut self, kind: u8, body: &[&[u8]]) -> Option<[u8; MAC_BYTES]> {
        let mut context = hmac::Context::with_key(self.key.as_ref()?);
        context.update(&self.frames.to_le_bytes());
        context.update(&[kind]);
        body.iter().for_each(|part| context.update(part));
        self.frames += 1;
        context.sign().as_ref().first_chunk().copied()
    }

    /// Appends a frame to `out`.
    pub(super) fn write(&mut self, kind: FrameKind, body: &[&[u8]], out: &mut Vec<u8>) {
        let mac = self.mac(kind as u8, body);
        let length = 1 + body.iter().map(|part| part.len()).sum::<usize>() + mac.map_or(0, |mac| mac.len());
        out.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        out.push(kind as u8);
        body.iter().for_each(|part| out.extend(*part));
        out.extend(mac.iter().flatten());
    }

    /// Writes one frame.
    pub(super) async fn send(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        kind: FrameKind,
        body: &[&[u8]],
    ) -> io::Result<()> {
        let mut out = Vec::new();
        self.write(kind, body, &mut out);
        stream.write_all(&out).await?;
        stream.flush().await
    }

    /// Reads one frame of at most `longest` bytes.
    pub(super) async fn receive(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        longest: usize,
    ) -> io::Result<(FrameKind, Bytes)> {
        let wrong = |what: &'static str| io::Error::new(io::ErrorKind::InvalidData, what);
        let length = stream.read_u32_le().await? as usize;
        if length == 0 || length > longest.saturating_add(1 + MAC_BYTES) {
            return Err(wrong("a frame that is empty or too long"));
        }
        // Memory is reserved as bytes arrive, not as the length claims.
        let mut bytes = Vec::with_capacity(length.min(64 << 10));
        let read = (&mut *stream).take(length as u64).read_to_end(&mut bytes).await?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = Bytes::from(bytes);
        let tag = bytes.split_to(1)[0];
        let kind = FrameKind::ALL.into_iter().find(|kind| *kind as u8 == tag);
        let kind = kind.ok_or_else(|| wrong("a frame of no known kind"))?;
        if self.key.is_some() {
            let end = bytes.len().checked_sub(MAC_BYTES).ok_or_else(|| wrong("a frame without its code"))?;
            let mac = bytes.split_off(end);
            let right = self.mac(tag, &[&bytes]).is_some_and(|right| constant_time_eq(&right, &mac));
            if !right {
                return Err(wrong("a frame that the other monitor did not write"));
            }
        }
        Ok((kind, bytes))
    }
}

/// Equality in constant time.
fn constant_time_eq(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, b"0123456789abcdef")
    }

    async fn read(bytes: &[u8], protected: bool, count: usize) -> io::Result<Vec<(FrameKind, Bytes)>> {
        let mut direction = Direction::default();
        if protected {
            direction.protect(key());
        }
        let (mut all, mut rest) = (Vec::new(), bytes);
        for _ in 0..count {
            all.push(direction.receive(&mut rest, 100).await?);
        }
        Ok(all)
    }

    #[tokio::test]
    async fn frames_come_back_and_nothing_else_does() {
        for protected in [false, true] {
            let mut direction = Direction::default();
            if protected {
                direction.protect(key());
            }
            let mut bytes = Vec::new();
            direction.write(FrameKind::Fragment, &[&[1, 2], b"abc"], &mut bytes);
            let first = bytes.len();
            direction.write(FrameKind::Ping, &[], &mut bytes);
            let all = read(&bytes, protected, 2).await.unwrap();
            assert_eq!(
                all,
                [(FrameKind::Fragment, Bytes::from_static(b"\x01\x02abc")), (FrameKind::Ping, Bytes::new())]
            );
            assert!(read(&bytes[..first - 1], protected, 1).await.is_err(), "cut");
            // Changed, repeated or left out: detected where there is a key.
            for at in 4..first {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                assert!(!protected || read(&changed, true, 1).await.is_err(), "{at}");
            }
            let again = [&bytes[..first], &bytes[..first]].concat();
            assert_eq!(read(&again, protected, 2).await.is_err(), protected);
            assert_eq!(read(&bytes[first..], protected, 1).await.is_err(), protected);
        }
        assert!(read(&[255, 255, 255, 255, 1], false, 1).await.is_err());
        assert!(read(&[0, 0, 0, 0], false, 1).await.is_err());
        assert!(read(&[1, 0, 0, 0, 99], false, 1).await.is_err());
    }
}
