//! Every way to cut the bytes of a stream.

use referee_wire::Sender;

use crate::machines::{LABELS, Sent};

/// Bytes of one side that come at once.
pub(crate) type Chunk = (Sender, Vec<u8>);

/// Every way in which the bytes of `stream` can come such that its messages are complete in this order: the beginning of a
/// message (its label) may come any time before its end (the line end), and what comes of one side in a row may come at once
/// or byte by byte.
pub(crate) fn all_cuts(stream: &[Sent]) -> Vec<Vec<Chunk>> {
    let mut orders = Vec::new();
    place_beginnings(stream, 0, &[], &mut orders);
    orders.iter().flat_map(|order| chunkings(order)).collect()
}

/// Where the bytes before the end of message `number` may come: after the end of the message of its sender before it.
fn place_beginnings(
    stream: &[Sent],
    number: usize,
    bytes: &[(Sender, u8)],
    all: &mut Vec<Vec<(Sender, u8)>>,
) {
    let Some((sender, label)) = stream.get(number) else {
        all.push(bytes.to_vec());
        return;
    };
    let earliest = bytes.iter().rposition(|(other, _)| other == sender).map_or(0, |at| at + 1);
    for at in earliest..=bytes.len() {
        let mut next = bytes.to_vec();
        next.insert(at, (*sender, LABELS[*label].as_bytes()[0]));
        next.push((*sender, b'\n'));
        place_beginnings(stream, number + 1, &next, all);
    }
}

/// `bytes` one by one, and with those of one side together.
fn chunkings(bytes: &[(Sender, u8)]) -> [Vec<Chunk>; 2] {
    let single = bytes.iter().map(|(sender, byte)| (*sender, vec![*byte])).collect();
    let mut together: Vec<Chunk> = Vec::new();
    for (sender, byte) in bytes {
        match together.last_mut() {
            Some((last, chunk)) if last == sender => chunk.push(*byte),
            _ => together.push((*sender, vec![*byte])),
        }
    }
    [single, together]
}
