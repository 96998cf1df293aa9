//! Law: however the segments of a connection are permuted, repeated, cut or merged, its streams are the same, in the order of cause and
//! effect; and what follows something that was not captured is never delivered.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use referee_capture::{Break, Delivered, Limits, Segment, TcpConnection};
use referee_wire::Sender::{self, Client, Server};

/// A segment that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
struct Sent {
    sender: Sender,
    sequence: u32,
    acknowledges: Option<u32>,
    syn: bool,
    fin: bool,
    rst: bool,
    bytes: Vec<u8>,
}

/// What was delivered: bytes of one side that follow each other are one.
#[derive(Clone, Debug, PartialEq)]
enum Got {
    Bytes(Sender, Vec<u8>),
    End(Sender),
    Broken(Break),
}

fn replay<'a>(segments: impl IntoIterator<Item = &'a Sent>, limits: &Limits) -> Vec<Got> {
    let mut connection = TcpConnection::default();
    let mut got = Vec::new();
    let mut give = |delivered: Delivered<'_>| match delivered {
        Delivered::Bytes { sender, bytes, .. } => match got.last_mut() {
            Some(Got::Bytes(last, known)) if *last == sender => known.extend_from_slice(bytes),
            _ => got.push(Got::Bytes(sender, bytes.to_vec())),
        },
        Delivered::End { sender, .. } => got.push(Got::End(sender)),
        Delivered::Broken { why, .. } => got.push(Got::Broken(why)),
    };
    for (number, sent) in (0..).zip(segments) {
        let Sent { sequence, acknowledges, syn, fin, rst, ref bytes, .. } = *sent;
        let segment = Segment { sequence, acknowledges, syn, fin, rst, bytes, at: (0, number) };
        connection.segment(sent.sender, &segment, limits, &mut give);
        assert!(connection.held() <= 2 * (limits.waiting_bytes + limits.unacknowledged) + bytes.len());
    }
    connection.end(&mut give);
    got
}

/// The segments of a connection on which this is said in turn, cut into pieces of `size` bytes, and then both sides end.
fn connection(start: [u32; 2], said: &[(Sender, &str)], size: usize) -> Vec<Sent> {
    let mut next = start;
    let mut segments = Vec::new();
    let mut send = |sender: Sender, bytes: &[u8], flags: (bool, bool), next: &mut [u32; 2]| {
        let acknowledges = (!flags.0 || sender == Server).then_some(next[sender.other().index()]);
        let sequence = next[sender.index()];
        let (syn, fin) = flags;
        let length = bytes.len() as u32 + u32::from(syn) + u32::from(fin);
        next[sender.index()] = sequence.wrapping_add(length);
        segments.push(Sent { sender, sequence, acknowledges, syn, fin, rst: false, bytes: bytes.to_vec() });
    };
    send(Client, b"", (true, false), &mut next);
    send(Server, b"", (true, false), &mut next);
    for (sender, text) in said {
        for piece in text.as_bytes().chunks(size) {
            send(*sender, piece, (false, false), &mut next);
        }
    }
    send(Client, b"", (false, true), &mut next);
    send(Server, b"", (false, true), &mut next);
    segments
}

fn expected(said: &[(Sender, &str)]) -> Vec<Got> {
    let mut got: Vec<_> =
        said.iter().map(|(sender, text)| Got::Bytes(*sender, text.as_bytes().to_vec())).collect();
    got.extend([Got::End(Client), Got::End(Server)]);
    got
}

/// Calls `look` with every permutation (Heap's algorithm).
fn permutations(items: &mut Vec<usize>, length: usize, look: &mut dyn FnMut(&[usize])) {
    if length <= 1 {
        return look(items);
    }
    for index in 0..length {
        permutations(items, length - 1, look);
        let other = if length.is_multiple_of(2) { index } else { 0 };
        items.swap(other, length - 1);
    }
}

const SAID: &[(Sender, &str)] = &[(Client, "abcd"), (Server, "xyz"), (Client, "e")];

#[test]
fn every_permutation_gives_the_same_streams() {
    // Numbers wrap within the streams.
    for start in [[100, 900], [u32::MAX - 2, u32::MAX - 1]] {
        let segments = connection(start, SAID, 2);
        assert_eq!(segments.len(), 9);
        let expected = expected(SAID);
        let limits = Limits::default();
        let mut cases = 0;
        permutations(&mut (0..segments.len()).collect(), segments.len(), &mut |order| {
            cases += 1;
            let got = replay(order.iter().map(|index| &segments[*index]), &limits);
            assert_eq!(got, expected, "{order:?}");
        });
        assert_eq!(cases, 362_880);
    }
}

#[test]
fn duplicates_overlaps_and_cuts_change_nothing() {
    let limits = Limits::default();
    let mut cases = 0;
    for size in 1..=4 {
        let segments = connection([7, 8], SAID, size);
        let expected = expected(SAID);
        // Each segment once more, at each place.
        for (index, at) in (0..segments.len()).flat_map(|i| (0..=segments.len()).map(move |at| (i, at))) {
            let mut with = segments.clone();
            with.insert(at, segments[index].clone());
            assert_eq!(replay(&with, &limits), expected);
            cases += 1;
        }
        // Each part of what a side said, retransmitted as one segment, at each place: with its own acknowledgement.
        for first in 2..segments.len() - 2 {
            for last in first..segments.len() - 2 {
                if segments[first..=last].iter().any(|segment| segment.sender != segments[first].sender) {
                    continue;
                }
                let merged = segments[first..=last]
                    .iter()
                    .flat_map(|segment| segment.bytes.clone())
                    .collect::<Vec<_>>();
                for (from, to) in
                    (0..merged.len()).flat_map(|from| (from + 1..=merged.len()).map(move |to| (from, to)))
                {
                    for at in 0..=segments.len() {
                        let mut with = segments.clone();
                        let sequence = segments[first].sequence.wrapping_add(from as u32);
                        let bytes = merged[from..to].to_vec();
                        with.insert(at, Sent { bytes, sequence, ..segments[first].clone() });
                        assert_eq!(replay(&with, &limits), expected, "{from}..{to} at {at}");
                        cases += 1;
                    }
                }
            }
        }
    }
    assert!(cases > 1000, "{cases}");
}

/// Whatever is missing, what is delivered is a beginning of what was said, and that something is missing is said.
#[test]
fn what_was_not_captured_is_a_gap() {
    let limits = Limits::default();
    for size in 1..=4 {
        let segments = connection([7, 8], SAID, size);
        for missing in 2..segments.len() - 2 {
            let mut without = segments.clone();
            without.remove(missing);
            let got = replay(&without, &limits);
            assert_eq!(got.last(), Some(&Got::Broken(Break::Gap)), "{got:?}");
            let flat = |got: &[Got]| -> Vec<(Sender, u8)> {
                let bytes = got.iter().filter_map(|got| match got {
                    Got::Bytes(sender, bytes) => Some(bytes.iter().map(|byte| (*sender, *byte))),
                    _ => None,
                });
                bytes.flatten().collect()
            };
            let before: usize = segments[..missing].iter().map(|segment| segment.bytes.len()).sum();
            assert_eq!(flat(&got), flat(&expected(SAID))[..before], "{missing}");
        }
        // Without its beginning nothing is.
        let got = replay(&segments[2..], &limits);
        assert_eq!(got, [Got::Broken(Break::NoBeginning)]);
    }
}

#[test]
fn bytes_that_were_sent_twice_and_differ_are_a_conflict() {
    let limits = Limits::default();
    let segments = connection([7, 8], SAID, 2);
    for index in 2..segments.len() - 2 {
        let mut with = segments.clone();
        let mut other = segments[index].clone();
        *other.bytes.last_mut().unwrap() ^= 1;
        with.insert(index + 1, other.clone());
        assert_eq!(replay(&with, &limits).last(), Some(&Got::Broken(Break::Conflict)), "after it");
        // Both wait.
        with.swap(1, index + 1);
        with.swap(0, index);
        assert_eq!(replay(&with, &limits), [Got::Broken(Break::Conflict)], "before the beginning");
        // What has been acknowledged is not read again.
        let mut with = segments.clone();
        with.insert(segments.len(), other);
        assert_eq!(replay(&with, &limits), expected(SAID), "after its acknowledgement");
    }
}

#[test]
fn a_reset_ends_it_where_the_stream_is() {
    let limits = Limits::default();
    let mut segments = connection([7, 8], SAID, 9);
    segments.truncate(4);
    let next = segments[3].sequence + 3;
    let reset = |sequence| Sent { sequence, rst: true, bytes: Vec::new(), ..segments[3].clone() };
    let said = [Got::Bytes(Client, b"abcd".to_vec()), Got::Bytes(Server, b"xyz".to_vec())];
    let with = |sequence| replay(&[&segments[..], &[reset(sequence)]].concat(), &limits);
    assert_eq!(with(next), [&said[..], &[Got::Broken(Break::Reset)]].concat());
    assert_eq!(with(next - 1), said, "not where the stream is");
    assert_eq!(
        with(next + 9),
        [&said[..], &[Got::Broken(Break::Gap)]].concat(),
        "something is missing before it"
    );
}

/// Memory is bounded, whatever comes; `replay` looks after each segment.
#[test]
fn hostile_segments_are_not_kept_beyond_the_limits() {
    let limits = Limits { waiting_bytes: 1000, waiting_segments: 20, unacknowledged: 100 };
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..500 {
        let mut segments = connection([0, 0], &[], 1);
        segments.truncate(2);
        for _ in 0..100 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let bits = random.to_le_bytes();
            segments.push(Sent {
                sender: if bits[0].is_multiple_of(2) { Client } else { Server },
                sequence: u32::from(bits[1]) * if bits[2] < 200 { 1 } else { 0x0101_0101 },
                acknowledges: (!bits[3].is_multiple_of(3)).then(|| u32::from(bits[4] / 8)),
                syn: bits[5] > 250,
                fin: bits[5] < 3,
                rst: bits[5] == 100,
                bytes: vec![bits[6] % 2; usize::from(bits[7])],
            });
        }
        replay(&segments, &limits);
    }
}
