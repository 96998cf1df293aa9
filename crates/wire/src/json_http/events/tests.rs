//! Streams cut everywhere, and what they are refused for.

use super::*;

/// The data of each unit of `stream`, which comes in pieces of `size` bytes; and the bytes of each.
fn units(framing: BodyFraming, stream: &[u8], size: usize) -> Result<Vec<(String, usize)>, String> {
    let mut events = EventStream::new(framing);
    let (mut units, mut unread) = (Vec::new(), Vec::new());
    for piece in stream.chunks(size) {
        unread.extend_from_slice(piece);
        while let Some(unit) = events.next(&unread).map_err(|wrong| wrong.to_string())? {
            let event = events.event().map_err(|wrong| wrong.to_string())?;
            units.push((String::from_utf8(event.data).unwrap(), unit.bytes));
            assert_eq!(events.next(&unread), Ok(Some(unit)), "asked again");
            events.advance();
            unread.drain(..unit.bytes);
            if unit.is_last {
                assert!(unread.is_empty());
                return Ok(units);
            }
            if unread.is_empty() {
                break;
            }
        }
    }
    Ok(units)
}

fn chunked(pieces: &[&str]) -> Vec<u8> {
    let chunk = |piece: &&str| format!("{:x}\r\n{piece}\r\n", piece.len());
    (pieces.iter().map(chunk).collect::<String>() + "0\r\n\r\n").into_bytes()
}

const STREAM: &str = ": hello\n\nevent: message\r\nid: 7\r\ndata: {\"a\":1,\r\ndata:\"b\":2}\r\n\r\ndata: x\nretry: 5\n\ndata\n\n";

#[test]
fn however_it_is_cut_the_events_are_the_same() {
    let data = |units: Vec<(String, usize)>| units.into_iter().map(|(data, _)| data).collect::<Vec<_>>();
    let expected = ["", "", "{\"a\":1,\n\"b\":2}", "x", ""];
    for size in 1..=STREAM.len() {
        assert_eq!(data(units(BodyFraming::UntilEnd, STREAM.as_bytes(), size).unwrap()), expected, "{size}");
        let length = BodyFraming::Length(STREAM.len() as u64);
        assert_eq!(data(units(length, STREAM.as_bytes(), size).unwrap()), expected, "{size}");
    }
    // Chunks of any size around them, and these cut anywhere.
    for width in 1..20 {
        let pieces: Vec<&str> =
            STREAM.as_bytes().chunks(width).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
        let stream = chunked(&pieces);
        let whole = units(BodyFraming::Chunked(Chunked::new(false)), &stream, stream.len()).unwrap();
        assert_eq!(whole.iter().map(|(_, bytes)| bytes).sum::<usize>(), stream.len());
        for size in 1..40 {
            let found = units(BodyFraming::Chunked(Chunked::new(false)), &stream, size).unwrap();
            assert_eq!(found, whole, "{width} {size}");
        }
        assert_eq!(data(whole)[..5], expected);
    }
}

#[test]
fn what_readers_differ_about_is_refused() {
    let wrong = |stream: &str| units(BodyFraming::UntilEnd, stream.as_bytes(), 1).unwrap_err();
    assert!(wrong("data: a\rdata: b\n\n").contains("CR"));
    assert!(wrong("data: a\r\r\n\n").contains("CR"));
    assert!(wrong("\u{feff}data: a\n\n").contains("byte order mark"));
    assert!(wrong("Data: a\n\n").contains("take for `data`"));
    assert!(wrong(" data : a\n\n").contains("take for `data`"));
    // Other fields mean nothing to anybody.
    let fine = units(BodyFraming::UntilEnd, b"database: a\ndata: b\n\n", 3).unwrap();
    assert_eq!(fine, [("b".to_owned(), 21)]);
}

/// An event that the end of the stream cuts off: some readers take it for one.
#[test]
fn what_the_end_cuts_off_is_an_event() {
    let stream = chunked(&["data: a\n\ndata: ", "b"]);
    let found = units(BodyFraming::Chunked(Chunked::new(false)), &stream, 4).unwrap();
    assert_eq!(found.iter().map(|(data, _)| &**data).collect::<Vec<_>>(), ["a", "b"]);
    let length = BodyFraming::Length(8);
    assert_eq!(units(length, b"data: a\n", 3).unwrap(), [("a".to_owned(), 8)]);
}

#[test]
fn only_whole_chunks_can_be_replaced() {
    let replaceable = |framing, stream: &[u8]| {
        let mut events = EventStream::new(framing);
        events.next(stream).unwrap().unwrap();
        events.is_replaceable()
    };
    let chunks = |pieces: &[&str]| replaceable(BodyFraming::Chunked(Chunked::new(false)), &chunked(pieces));
    assert!(chunks(&["data: a\n\n"]) && chunks(&["data: ", "a\n\n", "data: b\n\n"]));
    assert!(!chunks(&["data: a\n\ndata: b\n\n"]) && !chunks(&["data: a\n"]));
    assert!(replaceable(BodyFraming::UntilEnd, b"data: a\n\ndata"));
    assert!(!replaceable(BodyFraming::Length(9), b"data: a\n\n"));
    let stream = EventStream::new(BodyFraming::Chunked(Chunked::new(false)));
    assert_eq!(stream.framed("data: no\n\n"), b"a\r\ndata: no\n\n\r\n");
}
