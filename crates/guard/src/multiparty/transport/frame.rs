//! Frames on a connection between two monitors: a length, a kind, a body and, where the monitors share a key, a code
//! that only they can have written, for this place on this connection.

use std::io;

use hyper::body::Bytes;
use ring::hmac;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// How much of a code is sent.
const CODE: usize = 16;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Hello = 1,
    Challenge,
    Proof,
    Welcome,
    Refused,
    /// A letter: its number, and the letter.
    Letter,
    /// The number that is expected next.
    Expected,
    /// Is anybody there?
    Ping,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Hello,
        Self::Challenge,
        Self::Proof,
        Self::Welcome,
        Self::Refused,
        Self::Letter,
        Self::Expected,
        Self::Ping,
    ];
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    key: Option<hmac::Key>,
    frames: u64,
}

impl Direction {
    /// From now on, frames carry a code.
    pub(super) fn protect(&mut self, key: hmac::Key) {
        *self = Self { key: Some(key), frames: 0 };
    }

    fn code(&mut self, kind: u8, body: &[&[u8]]) -> Option<[u8; CODE]> {
        let mut context = hmac::Context::with_key(self.key.as_ref()?);
        context.update(&self.frames.to_le_bytes());
        context.update(&[kind]);
        body.iter().for_each(|part| context.update(part));
        self.frames += 1;
        context.sign().as_ref().first_chunk().copied()
    }

    /// Appends a frame to `out`.
    pub(super) fn write(&mut self, kind: Kind, body: &[&[u8]], out: &mut Vec<u8>) {
        let code = self.code(kind as u8, body);
        let length =
            1 + body.iter().map(|part| part.len()).sum::<usize>() + code.map_or(0, |code| code.len());
        out.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        out.push(kind as u8);
        body.iter().for_each(|part| out.extend(*part));
        out.extend(code.iter().flatten());
    }

    /// Writes one frame.
    pub(super) async fn send(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        kind: Kind,
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
    ) -> io::Result<(Kind, Bytes)> {
        let wrong = |what: &'static str| io::Error::new(io::ErrorKind::InvalidData, what);
        let length = stream.read_u32_le().await? as usize;
        if length == 0 || length > longest.saturating_add(1 + CODE) {
            return Err(wrong("a frame that is empty or too long"));
        }
        // Not all at once: whoever says that much will come has to send it.
        let mut bytes = Vec::with_capacity(length.min(64 << 10));
        let read = (&mut *stream).take(length as u64).read_to_end(&mut bytes).await?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = Bytes::from(bytes);
        let tag = bytes.split_to(1)[0];
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == tag);
        let kind = kind.ok_or_else(|| wrong("a frame of no known kind"))?;
        if self.key.is_some() {
            let end = bytes.len().checked_sub(CODE).ok_or_else(|| wrong("a frame without its code"))?;
            let code = bytes.split_off(end);
            let right = self.code(tag, &[&bytes]).is_some_and(|right| same(&right, &code));
            if !right {
                return Err(wrong("a frame that the other monitor did not write"));
            }
        }
        Ok((kind, bytes))
    }
}

/// Whether they are the same; the time it takes tells nothing.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, b"0123456789abcdef")
    }

    async fn read(bytes: &[u8], protected: bool, count: usize) -> io::Result<Vec<(Kind, Bytes)>> {
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
            direction.write(Kind::Letter, &[&[1, 2], b"abc"], &mut bytes);
            let first = bytes.len();
            direction.write(Kind::Ping, &[], &mut bytes);
            let all = read(&bytes, protected, 2).await.unwrap();
            assert_eq!(all, [(Kind::Letter, Bytes::from_static(b"\x01\x02abc")), (Kind::Ping, Bytes::new())]);
            assert!(read(&bytes[..first - 1], protected, 1).await.is_err(), "cut");
            // Changed, repeated or left out: noticed where there is a key.
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
