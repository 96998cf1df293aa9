//! Bytes that nobody meant: damaged conversations, cut anywhere, never panic and never depend on the cut.

use referee_wire::Sender::{self, Client, Server};

use crate::support::{Proxy, preset};

struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as usize
    }
}

type Talk = &'static [(Sender, &'static [u8])];

const TALKS: [(&str, Talk); 4] = [
    (
        "smtp",
        &[
            (Server, b"220-a\r\n220 b\r\n"),
            (Client, b"EHLO x\r\nMAIL FROM:<a>\r\nRCPT TO:<b>\r\nDATA\r\n"),
            (Server, b"250 a\r\n250 b\r\n250 c\r\n354 d\r\n"),
            (Client, b"x\r\n..\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<b>\r\nBDAT 3\r\nabcBDAT 1 LAST\r\nxQUIT\r\n"),
            (Server, b"250 a\r\n250 b\r\n250 c\r\n250 d\r\n250 d\r\n221 e\r\n"),
        ],
    ),
    (
        "http",
        &[
            (Client, b"GET /x?y HTTP/1.1\r\nHost: h\r\n\r\nPOST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nt: u\r\n\r\n"),
            (Server, b"HTTP/1.1 100 Ok\r\n\r\nHTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 Ok\r\nContent-Length: 3\r\n\r\nabc"),
            (Client, b"HEAD / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab"),
        ],
    ),
    (
        "redis",
        &[
            (Client, b"*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING x\r\n*1\r\n$4\r\nEXEC\r\n"),
            (Server, b"+OK\r\n+QUEUED\r\n-ERR\r\n*2\r\n$-1\r\n%1\r\n+a\r\n*1\r\n:1\r\n>1\r\n+x\r\n"),
        ],
    ),
    (
        "postgres",
        &[
            (Client, b"\0\0\0\x08\x04\xd2\x16\x2f"),
            (Server, b"N"),
            (Client, b"\0\0\0\x0a\0\x03\0\0\0\0"),
            (Server, b"R\0\0\0\x08\0\0\0\0S\0\0\0\x06ab\x5a\0\0\0\x05I"),
            (Client, b"P\0\0\0\x05aB\0\0\0\x04E\0\0\0\x04S\0\0\0\x04"),
            (Server, b"1\0\0\0\x04E\0\0\0\x05xZ\0\0\0\x05I"),
        ],
    ),
];

/// Runs `pieces` whole and cut at random: each side's messages must be the same, as far as they were read before one
/// of the sides was stopped. Which side is read first may depend on the cut.
fn compare(proxy: &Proxy, pieces: &[(Sender, Vec<u8>)], dice: &mut Dice) {
    let whole = proxy.run(pieces.iter().map(|(sender, bytes)| (*sender, &**bytes)));
    let mut cut = Vec::new();
    for (sender, bytes) in pieces {
        let mut rest = &**bytes;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(1 + dice.below(rest.len().min(9)));
            cut.push((*sender, piece));
            rest = tail;
        }
    }
    let cut = proxy.run(cut);
    for side in ["Client: ", "Server: "] {
        let of = |said: &[String]| -> Vec<String> {
            said.iter()
                .filter(|line| line.starts_with(side) && !line.ends_with("transparent"))
                .cloned()
                .collect()
        };
        let (whole, cut) = (of(&whole), of(&cut));
        let both = whole.len().min(cut.len());
        assert_eq!(whole[..both], cut[..both], "{pieces:?}");
    }
}

#[test]
fn damaged_conversations() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for (name, talk) in TALKS {
        let proxy = preset(name);
        for _ in 0..3_000 {
            let mut pieces: Vec<(Sender, Vec<u8>)> =
                talk.iter().map(|(sender, bytes)| (*sender, bytes.to_vec())).collect();
            for _ in 0..=dice.below(3) {
                let which = dice.below(pieces.len());
                let bytes = &mut pieces[which].1;
                let at = dice.below(bytes.len());
                match dice.below(4) {
                    0 if !bytes.is_empty() => bytes[at] = dice.below(256) as u8,
                    1 if !bytes.is_empty() => drop(bytes.remove(at)),
                    2 => bytes.insert(at, [0, b'\n', b'\r', 0xff, b'9', b' '][dice.below(6)]),
                    _ => bytes.truncate(at),
                }
            }
            compare(&proxy, &pieces, &mut dice);
        }
    }
}

#[test]
fn noise() {
    let mut dice = Dice(0x0123_4567_89ab_cdef);
    for (name, _) in TALKS {
        let proxy = preset(name);
        for _ in 0..500 {
            let pieces: Vec<_> = (0..4)
                .map(|_| {
                    let length = dice.below(40);
                    let bytes = (0..length).map(|_| b"\0\r\n *$1:GETA\xff\x80{}"[dice.below(16)]).collect();
                    (if dice.below(2) == 0 { Client } else { Server }, bytes)
                })
                .collect();
            compare(&proxy, &pieces, &mut dice);
        }
    }
}
