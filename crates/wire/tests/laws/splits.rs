//! However a stream of bytes is cut into pieces, it is the same messages. Referee's own claim, which the guard rests on:
//! what is judged must not depend on how the network happened to deliver it.
//!
//! Exhaustively: every conversation of [`talks`](crate::talks) cut in two at every place and byte by byte, and every
//! sequence of a few tokens of each codec, cut in two at every place. At random: the conversations damaged, and cut
//! anywhere.

use proptest::collection::vec;
use proptest::prelude::*;
use referee_wire::Sender::{self, Client, Server};

use crate::support::Proxy;
use crate::talks::{Talk, all};

fn told(proxy: &Proxy, pieces: &[(Sender, &[u8])]) -> [Vec<String>; 2] {
    proxy.heard(pieces.iter().copied())
}

/// As far as both were read before a side was stopped: how much was read of the other by then may depend on the cut.
#[track_caller]
fn same(name: &str, whole: &[Vec<String>; 2], cut: &[Vec<String>; 2], pieces: &[(Sender, &[u8])]) {
    for (whole, cut) in whole.iter().zip(cut) {
        let both = whole.len().min(cut.len());
        assert_eq!(whole[..both], cut[..both], "{name}: {pieces:?}");
    }
}

/// `pieces` with the one at `index` cut at `at`.
fn cut<'a>(pieces: &[(Sender, &'a [u8])], index: usize, at: usize) -> Vec<(Sender, &'a [u8])> {
    let mut cut = pieces.to_vec();
    let (sender, bytes) = cut[index];
    cut[index] = (sender, &bytes[..at]);
    cut.insert(index + 1, (sender, &bytes[at..]));
    cut
}

fn borrowed(pieces: &[(Sender, Vec<u8>)]) -> Vec<(Sender, &[u8])> {
    pieces.iter().map(|(sender, bytes)| (*sender, &**bytes)).collect()
}

#[test]
fn conversations_cut_anywhere() {
    for Talk { name, proxy, pieces, .. } in all() {
        let pieces = borrowed(&pieces);
        let said = proxy.run(pieces.iter().copied());
        // All of it is understood: a codec that says the same of everything would pass, too.
        assert!(said.len() >= 3, "{name}: {said:?}");
        for line in &said {
            assert!(!line.contains("malformed") && !line.contains("bytes left"), "{name}: {said:#?}");
            assert!(!line.ends_with(": Label") && !line.ends_with(": Order"), "{name}: {said:#?}");
        }
        let whole = told(&proxy, &pieces);
        for (index, (_, bytes)) in pieces.iter().enumerate() {
            for at in 1..bytes.len() {
                assert_eq!(told(&proxy, &cut(&pieces, index, at)), whole, "{name}: {index} cut at {at}");
            }
        }
        let single = pieces.iter().flat_map(|(sender, bytes)| bytes.chunks(1).map(|byte| (*sender, byte)));
        assert_eq!(told(&proxy, &single.collect::<Vec<_>>()), whole, "{name}: byte by byte");
    }
}

#[test]
fn every_sequence_of_a_few_tokens() {
    const MOST: usize = 4;
    for Talk { name, proxy, tokens, .. } in all() {
        let (mut sequences, mut outcomes) = (0, std::collections::BTreeSet::new());
        let mut number = vec![0; 1];
        while number.len() <= MOST {
            let bytes: Vec<u8> = number.iter().flat_map(|digit| tokens[*digit].iter().copied()).collect();
            for sender in [Client, Server] {
                let pieces = [(sender, &*bytes)];
                let whole = told(&proxy, &pieces);
                for at in 1..bytes.len() {
                    let pieces = cut(&pieces, 0, at);
                    same(name, &whole, &told(&proxy, &pieces), &pieces);
                }
                sequences += 1;
                outcomes.extend(whole.into_iter().flatten());
            }
            // The next number to the base of the tokens, with one more digit after the last.
            let mut place = 0;
            while place < number.len() && number[place] + 1 == tokens.len() {
                number[place] = 0;
                place += 1;
            }
            match number.get_mut(place) {
                Some(digit) => *digit += 1,
                None => number.push(0),
            }
        }
        // They are not all the same nonsense.
        assert!(sequences > 1000 && outcomes.len() > 3, "{name}: {sequences} gave {outcomes:?}");
    }
}

/// A change to a conversation: in which piece, where, what kind, and a byte.
type Damage = (usize, usize, u8, u8);

fn damaged(pieces: &[(Sender, Vec<u8>)], damages: &[Damage]) -> Vec<(Sender, Vec<u8>)> {
    let mut pieces = pieces.to_vec();
    for (piece, at, kind, byte) in damages {
        let index = piece % pieces.len();
        let bytes = &mut pieces[index].1;
        let at = at % (bytes.len() + 1);
        match kind % 6 {
            0 if at < bytes.len() => bytes[at] = *byte,
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.insert(at, b"\0\n\r\xff9 {}\"."[usize::from(byte % 10)]),
            3 => bytes.truncate(at),
            4 => pieces[index].0 = pieces[index].0.other(),
            _ => bytes.extend_from_within(at..),
        }
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn damaged_conversations_cut_anywhere(
        damages in vec(any::<Damage>(), 0..4),
        cuts in vec(1_usize..12, 1..40),
    ) {
        thread_local! { static TALKS: Vec<Talk> = all(); }
        TALKS.with(|talks| {
            for Talk { name, proxy, pieces, .. } in talks {
                let pieces = damaged(pieces, &damages);
                let mut lengths = cuts.iter().copied().cycle();
                let mut cut = Vec::new();
                for (sender, bytes) in &pieces {
                    let mut rest = &**bytes;
                    while !rest.is_empty() {
                        let (piece, tail) = rest.split_at(lengths.next().unwrap_or(1).min(rest.len()));
                        cut.push((*sender, piece));
                        rest = tail;
                    }
                }
                same(name, &told(proxy, &borrowed(&pieces)), &told(proxy, &cut), &cut);
            }
        });
    }
}

/// Teeth: reading each piece on its own, as if nothing had come before, is what the law forbids.
#[test]
fn pieces_read_on_their_own_give_other_messages() {
    for Talk { name, proxy, pieces, .. } in all() {
        let whole = told(&proxy, &borrowed(&pieces));
        let alone: Vec<String> = pieces
            .iter()
            .flat_map(|(sender, bytes)| bytes.chunks(3).map(|piece| (*sender, piece)))
            .flat_map(|piece| told(&proxy, &[piece]).concat())
            .collect();
        assert_ne!(whole.concat(), alone, "{name}");
    }
}
