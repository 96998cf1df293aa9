//! Writes events of many interleaved sessions that follow the protocol `auth.scr` beside it, in lines of about
//! 120 bytes:
//!
//! `cargo run --release -p referee-watch --example generate -- EVENTS SESSIONS [WRONG]`
//!
//! `SESSIONS` sessions are under way at any time; one that ends makes room for a new one, unless `SESSIONS`
//! sessions have been started and the tenth event of each is its last. `WRONG` of a million events are wrong.

use std::io::{self, BufWriter, Write};

/// A small generator of numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

#[derive(Clone, Copy)]
enum State {
    Start,
    Asked,
    In,
    Got,
}

fn main() -> io::Result<()> {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let (events, sessions, wrong) = match arguments[..] {
        [events, sessions] => (events, sessions, 0),
        [events, sessions, wrong] => (events, sessions, wrong),
        _ => return Err(io::Error::other("usage: generate EVENTS SESSIONS [WRONG]")),
    };
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut states = vec![State::Start; usize::try_from(sessions).unwrap_or(1).max(1)];
    for event in 0..events {
        let at = numbers.below(states.len() as u64) as usize;
        let error = wrong > 0 && numbers.below(1_000_000) < wrong;
        let client = (r#""client","to":"server""#, r#""server","to":"client""#);
        let (from, label, payload, next) = match states[at] {
            State::Start => (
                client.0,
                "Auth",
                format!(r#"{{"uname":"user","pwd":"secret-{:05}"}}"#, at % 100_000),
                State::Asked,
            ),
            State::Asked => (client.1, "Succ", format!(r#"{{"tok":"token-{at:012}"}}"#), State::In),
            State::In => {
                let token = if error { "no-such-token".to_owned() } else { format!("token-{at:012}") };
                (
                    client.0,
                    "Get",
                    format!(r#"{{"resource":"r{}","reqTok":"{token}"}}"#, event % 100),
                    State::Got,
                )
            }
            State::Got => {
                (client.1, "Res", format!(r#"{{"content":"contents of {}"}}"#, event % 1000), State::In)
            }
        };
        if !error {
            states[at] = next;
        }
        let time = 1_700_000_000_000 + event;
        writeln!(
            out,
            r#"{{"session":"{at:07}","from":{from},"label":"{label}","payload":{payload},"time":{time}}}"#
        )?;
    }
    out.flush()
}
