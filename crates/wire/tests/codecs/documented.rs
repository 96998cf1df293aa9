//! The examples of `docs/codecs.md`: what is written there is what happens.

use referee_wire::Sender;

use crate::support::{Proxy, borrowed};

const GUIDE: &str = include_str!("../../../../docs/codecs.md");

/// The fenced blocks of the guide, with their languages.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let mut parts = GUIDE.split("```");
    parts.next();
    let mut blocks = Vec::new();
    while let (Some(block), Some(_)) = (parts.next(), parts.next()) {
        blocks.push(block.split_once('\n').unwrap());
    }
    blocks
}

/// Bytes from text with `\xNN`.
fn bytes(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(&part.as_bytes()[2..]);
    }
    bytes
}

#[test]
fn every_example_is_true() {
    let blocks = blocks();
    let mut count = 0;
    for group in blocks.chunks(3) {
        let [("scr", protocol), ("toml", table), ("talk", talk)] = group else { panic!("{group:?}") };
        let (mut sent, mut expected) = (Vec::new(), Vec::new());
        for line in talk.lines() {
            if let Some(outcome) = line.strip_prefix("→ ") {
                expected.push(outcome.to_owned());
                continue;
            }
            let (who, what) = line.split_at(2);
            let what = what.strip_prefix(' ').unwrap_or(what);
            let sender = if who.starts_with('C') { Sender::Client } else { Sender::Server };
            let is_line = who.ends_with(':');
            sent.push((sender, if is_line { format!("{what}\r\n").into_bytes() } else { bytes(what) }));
        }
        assert_eq!(Proxy::new(protocol, table).converse(&borrowed(&sent)), expected, "{talk}");
        count += 1;
    }
    assert_eq!(count, 10);
}
