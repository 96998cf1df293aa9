//! Any bytes, from either side, in any pieces, to every codec and preset: no panic, no hang; however the bytes are cut,
//! each side's messages are the same.

#![no_main]

use std::cell::OnceCell;

use libfuzzer_sys::fuzz_target;
use referee_wire::Sender::{self, Client, Server};

#[allow(dead_code)]
#[path = "../../crates/wire/tests/codecs/support.rs"]
mod support;
#[allow(dead_code)]
#[path = "../../crates/wire/tests/codecs/talks.rs"]
mod talks;

thread_local! {
    static TALKS: OnceCell<Vec<talks::Talk>> = const { OnceCell::new() };
}

/// The input: which codec, how much of its own conversation comes first, how the rest is cut, and then pieces: a byte that
/// says who sends and how many bytes, and the bytes.
fn pieces(data: &[u8]) -> Vec<(Sender, &[u8])> {
    let mut pieces = Vec::new();
    let mut rest = data;
    while let [first, tail @ ..] = rest {
        let sender = if first & 1 == 0 { Client } else { Server };
        let length = usize::from(first >> 1).min(tail.len());
        let (piece, tail) = tail.split_at(length);
        pieces.push((sender, piece));
        rest = tail;
    }
    pieces
}

fuzz_target!(|data: &[u8]| {
    let &[which, begin, step, ref data @ ..] = data else { return };
    TALKS.with(|talks| {
        let talks = talks.get_or_init(talks::all);
        let talk = &talks[usize::from(which) % talks.len()];
        let first = talk.pieces.iter().take(usize::from(begin) % (talk.pieces.len() + 1));
        let mut whole: Vec<(Sender, &[u8])> = first.map(|(sender, bytes)| (*sender, &**bytes)).collect();
        whole.extend(pieces(data));
        let step = usize::from(step % 16) + 1;
        let cut: Vec<(Sender, &[u8])> = whole
            .iter()
            .flat_map(|(sender, bytes)| bytes.chunks(step).map(|piece| (*sender, piece)))
            .collect();
        for (whole, cut) in talk.proxy.heard(whole).iter().zip(talk.proxy.heard(cut)) {
            let both = whole.len().min(cut.len());
            assert_eq!(whole[..both], cut[..both], "{}", talk.name);
        }
    });
});
