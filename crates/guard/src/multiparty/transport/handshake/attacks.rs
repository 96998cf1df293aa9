//! Attacks on the handshake between monitors that share a key (ADR 15): somebody in between records, repeats, reflects, changes and
//! cuts what they say.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

use super::*;

const KEY: Option<&str> = Some("0123456789abcdef");
const DIALLER: usize = 0;
const ACCEPTOR: usize = 1;

fn hello(from: &str, to: &str) -> Hello {
    let [from, to, codec] = [from, to, "json"].map(str::to_owned);
    let limits = PeerLimits { message: 1, window: 2, buffer: 3 };
    Hello { fingerprint: 7, instance: 9, from, to, codec, limits }
}

/// The connecting side, and one frame after the handshake.
async fn dials(mut stream: DuplexStream) -> io::Result<()> {
    let (mut known, _) = dial(&mut stream, &hello("a", "b"), KEY).await?;
    known.out.send(&mut stream, FrameKind::Ping, &[]).await?;
    // It stays until the other side has read that.
    let _ = stream.shutdown().await;
    let _ = stream.read(&mut [0]).await;
    Ok(())
}

/// The accepting side, and one frame after the handshake.
async fn accepts(mut stream: DuplexStream) -> io::Result<()> {
    let (mut known, _) = accept(&mut stream, 11, KEY, |_| Ok(())).await?;
    known.out.send(&mut stream, FrameKind::Welcome, &[&5_u64.to_le_bytes()]).await?;
    known.back.receive(&mut stream, 10).await.map(|_| ())
}

async fn within_a_second<T>(doing: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(Duration::from_secs(1), doing)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Two monitors meet through somebody who does `tamper` with each byte: who said it, the how manieth it is. `None` cuts the
/// connection there. Whether each side has what the other said; and what they said.
async fn meet(tamper: impl Fn(usize, usize, u8) -> Option<u8>) -> ([bool; 2], [Vec<u8>; 2]) {
    let ((left, mut from_left), (mut from_right, right)) = (duplex(1 << 16), duplex(1 << 16));
    let between = async move {
        let mut said = [Vec::new(), Vec::new()];
        let (mut left, mut right) = ([0], [0]);
        loop {
            let (who, byte) = tokio::select! {
                read = from_left.read(&mut left) => (DIALLER, (read.unwrap_or(0) > 0).then_some(left[0])),
                read = from_right.read(&mut right) => (ACCEPTOR, (read.unwrap_or(0) > 0).then_some(right[0])),
            };
            let byte = byte.and_then(|byte| tamper(who, said[who].len(), byte));
            let Some(byte) = byte else { return said };
            said[who].push(byte);
            let to = if who == DIALLER { &mut from_right } else { &mut from_left };
            if to.write_all(&[byte]).await.is_err() {
                return said;
            }
        }
    };
    let both = async { tokio::join!(within_a_second(dials(left)), within_a_second(accepts(right))) };
    let ((dialled, accepted), said) = tokio::join!(both, between);
    ([dialled.is_ok(), accepted.is_ok()], said)
}

#[tokio::test(start_paused = true)]
async fn replay_recorded_bytes_prove_nothing_to_either_side() {
    let (met, [dialler, acceptor]) = meet(|_, _, byte| Some(byte)).await;
    assert_eq!(met, [true; 2]);
    let (mut attacker, victim) = duplex(1 << 16);
    attacker.write_all(&dialler).await.unwrap();
    assert!(within_a_second(accepts(victim)).await.is_err());
    let (mut attacker, victim) = duplex(1 << 16);
    attacker.write_all(&acceptor).await.unwrap();
    assert!(within_a_second(dials(victim)).await.is_err());
}

/// Who is given its own words, or those of another who connects, has nobody before it who accepts.
#[tokio::test(start_paused = true)]
async fn reflection_the_connecting_side_cannot_prove_to_be_the_accepting_one() {
    let (one, other) = duplex(1 << 16);
    let (first, second) = tokio::join!(within_a_second(dials(one)), within_a_second(dials(other)));
    assert!(first.is_err() && second.is_err());
    // The proofs of both sides differ although the transcript is the same.
    let transcript = Transcript { key: KEY, transcript_bytes: b"said".to_vec() };
    assert!(!transcript.verify(b"accepts", &transcript.prove(b"connects")));
    assert!(!transcript.verify(b"connects", &transcript.prove(b"accepts")));
    // Nor is a proof ever the key of a direction.
    let all: std::collections::BTreeSet<_> =
        [&b"accepts"[..], b"connects", b"forth", b"back"].map(|who| transcript.prove(who)).into();
    assert_eq!(all.len(), 4);
}

/// Whatever is changed, be it the version, the roles, the limits, a number or a proof, nobody goes on.
#[tokio::test(start_paused = true)]
async fn downgrade_no_byte_of_a_handshake_can_be_changed() {
    let (_, said) = meet(|_, _, byte| Some(byte)).await;
    for who in [DIALLER, ACCEPTOR] {
        for at in 0..said[who].len() {
            let change = |sender, index, byte: u8| Some(byte ^ u8::from(sender == who && index == at));
            let (met, _) = meet(change).await;
            assert!(!met[ACCEPTOR], "byte {at} of {who}");
            // The last frame of the connecting side is after its part of the handshake.
            assert!(who == DIALLER || !met[DIALLER], "byte {at} of {who}");
        }
    }
}

/// A handshake or a frame that is cut is none; that a connection ends says nothing about sessions, whose ends are messages.
#[tokio::test(start_paused = true)]
async fn truncation_nothing_that_is_cut_is_believed() {
    let (_, said) = meet(|_, _, byte| Some(byte)).await;
    for who in [DIALLER, ACCEPTOR] {
        for at in 0..said[who].len() {
            let cut = |sender, index, byte| (sender != who || index < at).then_some(byte);
            let (met, _) = meet(cut).await;
            assert!(!met[ACCEPTOR], "cut before byte {at} of {who}");
        }
    }
}
