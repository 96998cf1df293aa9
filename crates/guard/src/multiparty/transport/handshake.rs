//! The handshake on a new connection between two monitors.
//!
//! The connecting side sends a hello: its role, the role it wants, the protocol's fingerprint. The accepting side answers
//! with a challenge; each proves to the other that it knows the pre-shared key, where there is one, with a MAC over the
//! whole transcript. With TLS, certificates have authenticated both.

use std::io;

use hyper::body::Bytes;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::io::{AsyncRead, AsyncWrite};

use super::frame::{Direction, FrameKind};
use super::topology::PeerLimits;

const MAGIC: &[u8; 8] = b"REFEREE3";
/// The longest frame that is accepted from an unauthenticated peer.
const MAX_HANDSHAKE_BYTES: usize = 4096;

/// The first frame of the connecting side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) fingerprint: u64,
    /// The instance number of its process: random, another one after a restart.
    pub(super) instance: u128,
    pub(super) from: String,
    pub(super) to: String,
    /// The codec of its component.
    pub(super) codec: String,
    pub(super) limits: PeerLimits,
}

/// Random bytes from the operating system.
pub(in crate::multiparty) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("there are no random numbers"))?;
    Ok(bytes)
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

impl Hello {
    fn write(&self, nonce: &[u8; 16]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(nonce);
        out.extend(self.fingerprint.to_le_bytes());
        out.extend(self.instance.to_le_bytes());
        self.limits.write(&mut out);
        for text in [&self.from, &self.to, &self.codec] {
            out.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_le_bytes());
            out.extend(text.as_bytes());
        }
        out
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?.get(16..)?;
        let (fingerprint, rest) = rest.split_first_chunk()?;
        let (instance, mut rest) = rest.split_first_chunk()?;
        let limits = PeerLimits::read(&mut rest)?;
        let mut text = || -> Option<String> {
            let (length, after) = rest.split_first_chunk()?;
            let (text, left) = after.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            rest = left;
            Some(std::str::from_utf8(text).ok()?.to_owned())
        };
        let (from, to, codec) = (text()?, text()?, text()?);
        let (fingerprint, instance) = (u64::from_le_bytes(*fingerprint), u128::from_le_bytes(*instance));
        rest.is_empty().then_some(Self { fingerprint, instance, from, to, codec, limits })
    }
}

/// What both sides sent so far, which every proof covers.
struct Transcript<'a> {
    key: Option<&'a str>,
    transcript_bytes: Vec<u8>,
}

impl Transcript<'_> {
    fn prove(&self, who: &[u8]) -> Vec<u8> {
        let Some(key) = self.key else { return Vec::new() };
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        let mut context = hmac::Context::with_key(&key);
        context.update(who);
        context.update(&self.transcript_bytes);
        context.sign().as_ref().to_vec()
    }

    fn verify(&self, who: &[u8], proof: &[u8]) -> bool {
        let Some(key) = self.key else { return proof.is_empty() };
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        let transcript_bytes: Vec<u8> = [who, &self.transcript_bytes].concat();
        hmac::verify(&key, &transcript_bytes, proof).is_ok()
    }

    fn protect(&self, who: &[u8], direction: &mut Direction) {
        if self.key.is_some() {
            direction.protect(hmac::Key::new(hmac::HMAC_SHA256, &self.prove(who)));
        }
    }
}

/// Both directions of an authenticated connection.
pub(super) struct Established {
    pub(super) out: Direction,
    pub(super) back: Direction,
    /// The instance number of the process at the other end.
    pub(super) instance: u128,
}

/// The connecting side's handshake. Returns the connection and the next sequence number the other side expects.
pub(super) async fn dial<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    hello: &Hello,
    key: Option<&str>,
) -> io::Result<(Established, u64)> {
    let (mut out, mut back) = (Direction::default(), Direction::default());
    let mut transcript_bytes = hello.write(&random()?);
    out.send(stream, FrameKind::Hello, &[&transcript_bytes]).await?;
    let (kind, challenge) = back.receive(stream, MAX_HANDSHAKE_BYTES).await?;
    expect(kind, FrameKind::Challenge, &challenge)?;
    let (instance, rest) = challenge.split_first_chunk().ok_or_else(|| wrong("a challenge that is cut"))?;
    let proof = rest.get(16..).ok_or_else(|| wrong("a challenge that is cut"))?;
    transcript_bytes.extend(challenge.iter().take(32));
    let transcript = Transcript { key, transcript_bytes };
    if !transcript.verify(b"accepts", proof) {
        let _ = refuse(stream, out, "the key is another").await;
        return Err(wrong("the other monitor has another key, or none"));
    }
    out.send(stream, FrameKind::Proof, &[&transcript.prove(b"connects")]).await?;
    transcript.protect(b"forth", &mut out);
    transcript.protect(b"back", &mut back);
    let (kind, welcome) = back.receive(stream, MAX_HANDSHAKE_BYTES).await?;
    expect(kind, FrameKind::Welcome, &welcome)?;
    let expected: [u8; 8] = welcome.as_ref().try_into().map_err(|_| wrong("a welcome that is cut"))?;
    let known = Established { out, back, instance: u128::from_le_bytes(*instance) };
    Ok((known, u64::from_le_bytes(expected)))
}

/// Tells the other side why it is refused.
pub(super) async fn refuse<S: AsyncWrite + Unpin>(
    stream: &mut S,
    mut out: Direction,
    why: &str,
) -> io::Error {
    let _ = out.send(stream, FrameKind::Refused, &[why.as_bytes()]).await;
    wrong(format!("refused: {why}"))
}

/// The accepting side's handshake with a peer that is `welcome` and knows the key. It has to be followed by a
/// [`FrameKind::Welcome`] with the next sequence number expected.
pub(super) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    instance: u128,
    key: Option<&str>,
    welcome: impl FnOnce(&Hello) -> Result<(), String>,
) -> io::Result<(Established, Hello)> {
    let (mut out, mut back) = (Direction::default(), Direction::default());
    let (kind, hello) = back.receive(stream, MAX_HANDSHAKE_BYTES).await?;
    let mut transcript_bytes = hello.to_vec();
    expect(kind, FrameKind::Hello, &[])?;
    let hello = Hello::read(&transcript_bytes).ok_or_else(|| wrong("no monitor of this version"))?;
    if let Err(why) = welcome(&hello) {
        return Err(refuse(stream, out, &why).await);
    }
    let nonce: [u8; 16] = random()?;
    let number = instance.to_le_bytes();
    transcript_bytes.extend(number.iter().chain(&nonce));
    let transcript = Transcript { key, transcript_bytes };
    out.send(stream, FrameKind::Challenge, &[&number, &nonce, &transcript.prove(b"accepts")]).await?;
    let (kind, proof) = back.receive(stream, MAX_HANDSHAKE_BYTES).await?;
    expect(kind, FrameKind::Proof, &proof)?;
    if !transcript.verify(b"connects", &proof) {
        return Err(refuse(stream, out, "the key is another").await);
    }
    transcript.protect(b"forth", &mut back);
    transcript.protect(b"back", &mut out);
    Ok((Established { out, back, instance: hello.instance }, hello))
}

fn expect(kind: FrameKind, expected: FrameKind, body: &[u8]) -> io::Result<()> {
    if kind == expected {
        return Ok(());
    }
    if kind == FrameKind::Refused {
        let why = String::from_utf8_lossy(body).chars().filter(|c| !c.is_control()).collect::<String>();
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Err(wrong("this is not how monitors begin"))
}

/// Splits the body of a [`FrameKind::Fragment`].
pub(super) fn split_fragment(mut body: Bytes) -> io::Result<(u64, Bytes)> {
    if body.len() < 8 {
        return Err(wrong("a peer message without a number"));
    }
    let message = body.split_off(8);
    let number: [u8; 8] = body.as_ref().try_into().map_err(|_| wrong("a peer message without a number"))?;
    Ok((u64::from_le_bytes(number), message))
}

/// Reads the body of a [`FrameKind::Acknowledgement`].
pub(super) fn read_acknowledgement(body: &[u8]) -> io::Result<u64> {
    body.try_into().map(u64::from_le_bytes).map_err(|_| wrong("no number"))
}

#[cfg(test)]
mod attacks;

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let [from, to, codec] = ["a", "b", "json"].map(str::to_owned);
        let limits = PeerLimits { message: 1, window: 2, buffer: 3 };
        Hello { fingerprint: 7, instance: 9, from, to, codec, limits }
    }

    async fn meet(keys: [Option<&str>; 2], welcome: Result<(), String>) -> [io::Result<()>; 2] {
        let (mut left, mut right) = tokio::io::duplex(1 << 16);
        // Each side closes the connection when it is done.
        let accepting = async move {
            let (mut known, transcript_bytes) = accept(&mut right, 11, keys[1], |_| welcome).await?;
            assert_eq!((transcript_bytes, known.instance), (hello(), 9));
            known.out.send(&mut right, FrameKind::Welcome, &[&5_u64.to_le_bytes()]).await?;
            assert_eq!(known.back.receive(&mut right, 10).await?, (FrameKind::Ping, Bytes::new()));
            Ok(())
        };
        let dialling = async move {
            let (mut known, expected) = dial(&mut left, &hello(), keys[0]).await?;
            assert_eq!((known.instance, expected), (11, 5));
            known.out.send(&mut left, FrameKind::Ping, &[]).await
        };
        let (dialled, accepted) = tokio::join!(dialling, accepting);
        [dialled, accepted]
    }

    #[tokio::test]
    async fn those_who_know_the_key_are_welcome_and_nobody_else() {
        let (one, other) = (Some("0123456789abcdef"), Some("0123456789abcdeg"));
        for (keys, fine) in [
            ([None, None], true),
            ([one, one], true),
            ([one, other], false),
            ([None, one], false),
            ([one, None], false),
        ] {
            let [dialled, accepted] = meet(keys, Ok(())).await;
            assert_eq!(
                (dialled.is_ok(), accepted.is_ok()),
                (fine, fine),
                "{keys:?} {dialled:?} {accepted:?}"
            );
        }
    }

    #[tokio::test]
    async fn who_is_not_welcome_hears_why() {
        let [dialled, accepted] = meet([None, None], Err("another protocol".to_owned())).await;
        let error = dialled.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::PermissionDenied, "another protocol")
        );
        assert!(accepted.is_err());
    }

    #[tokio::test]
    async fn what_is_no_hello_is_turned_away() {
        for bytes in
            [&b"GET / HTTP/1.1\r\n\r\n"[..], &[9, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1], &[1, 0, 0, 0, 6]]
        {
            let (mut left, mut right) = tokio::io::duplex(1 << 16);
            tokio::io::AsyncWriteExt::write_all(&mut left, bytes).await.unwrap();
            drop(left);
            assert!(accept(&mut right, 11, None, |_| Ok(())).await.is_err());
        }
    }
}
