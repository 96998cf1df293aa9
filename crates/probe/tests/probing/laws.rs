//! Laws over random protocols: a peer that follows the protocol is never blamed, and one that sends something else instead of one of its
//! messages is, as soon as it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use referee_probe::{Mock, Options, Player, Prober};
use referee_wire::Sender;

use crate::memory::{End, Server, options, player};

/// Random numbers, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A random protocol between two roles: choices, loops, values that are read again.
fn protocol(
    dice: &mut Dice,
    depth: u32,
    labels: &mut u32,
    loops: &mut Vec<String>,
    known: &mut Vec<String>,
) -> String {
    if depth == 0 {
        let go_on = dice.below(2) == 0;
        return match loops.last().filter(|_| go_on) {
            Some(name) => format!("continue {name};"),
            None => String::new(),
        };
    }
    let (from, to) = if dice.below(2) == 0 { ("client", "server") } else { ("server", "client") };
    let opens = dice.below(3) == 0;
    if opens {
        loops.push(format!("L{labels}"));
    }
    let name = loops.last().cloned().unwrap_or_default();
    let mut branches = Vec::new();
    for _ in 0..=dice.below(3) {
        *labels += 1;
        let mark = known.len();
        let field = format!("x{labels}");
        let assertion = match (dice.below(4), known.last()) {
            (0, _) => format!(" where {field} > {}", dice.below(1000)),
            (1, Some(old)) => format!(" where {field} == {old} + {}", dice.below(5)),
            (2, Some(old)) => format!(" where {field} != {old}"),
            _ => String::new(),
        };
        known.push(field.clone());
        let message = format!("M{labels}({field}: int) from {from} to {to}{assertion};");
        let rest = protocol(dice, depth - 1, labels, loops, known);
        known.truncate(mark);
        branches.push(format!("{message} {rest}"));
    }
    let body = match branches.len() {
        1 => branches.remove(0),
        _ => format!("choice at {from} {{ {} }}", branches.join("} or {")),
    };
    if opens {
        loops.pop();
        return format!("rec {name} {{ {body} }}");
    }
    body
}

fn protocols(count: u64) -> impl Iterator<Item = (u64, String)> {
    (0..count).map(|seed| {
        let depth = 2 + u32::try_from(seed % 3).unwrap();
        let body = protocol(&mut Dice(seed), depth, &mut 0, &mut Vec::new(), &mut Vec::new());
        (seed, format!("protocol P(role client, role server) {{ {body} }}"))
    })
}

fn quick() -> Options {
    Options { quiet: std::time::Duration::from_millis(1), attempts: 3, sessions: 60, ..options() }
}

#[test]
fn a_peer_that_follows_the_protocol_is_never_blamed() {
    let (mut whole, mut transitions) = (0, 0);
    for (seed, text) in protocols(120) {
        let prober = Prober::new(&player(&text, Sender::Client, ""), Server::perfect(&text, ""), quick());
        let report = prober.run().unwrap();
        assert!(report.finding.is_none(), "{seed}: {text}\n{report}");
        assert!(report.not_judged.is_empty(), "{seed}: {text}\n{report}");
        assert!(
            report.uncovered.iter().all(|missing| !missing.reason.is_empty()),
            "{seed}: {text}\n{report}"
        );
        whole += u32::from(report.uncovered.is_empty());
        transitions += report.transitions.covered;
    }
    // Otherwise the law says little.
    assert!(whole >= 80 && transitions >= 500, "{whole} whole machines, {transitions} transitions");
}

/// A server that follows the protocol, but for the `nth` message that it sends on any connection.
fn wrong_once(server: &Arc<Player>, nth: usize) -> (Server, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let mock = Mock::new(server, options());
    let server = Server::new(move |end: End, seed| {
        let mut spoiled = Spoiled { end, count: Arc::clone(&count), nth };
        mock.serve(&mut spoiled, seed);
    });
    (server, sent)
}

struct Spoiled {
    end: End,
    count: Arc<AtomicUsize>,
    nth: usize,
}

impl referee_probe::Peer for Spoiled {
    fn connect(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.count.fetch_add(1, Ordering::SeqCst) >= self.nth {
            return self.end.send(b"{\"type\":\"M0\"}\n");
        }
        self.end.send(bytes)
    }

    fn receive(&mut self, patience: std::time::Duration) -> referee_probe::Heard {
        self.end.receive(patience)
    }

    fn close(&mut self) {}

    fn now(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}

#[test]
fn a_peer_that_is_wrong_is_found_at_its_first_wrong_message() {
    let mut found = 0;
    for (seed, text) in protocols(60) {
        for nth in [0, 2] {
            let (server, sent) = wrong_once(&player(&text, Sender::Server, ""), nth);
            let report = Prober::new(&player(&text, Sender::Client, ""), server, quick()).run().unwrap();
            let wrong = sent.load(Ordering::SeqCst) > nth;
            assert_eq!(report.finding.is_some(), wrong, "{seed}: {text}\n{report}");
            if let Some(finding) = report.finding {
                found += 1;
                assert_eq!(
                    (finding.verdict.blame.as_deref(), finding.verdict.kind.as_str()),
                    (Some("server"), "label")
                );
                // Later ones need the same choices of the peer.
                assert!(finding.reproduced || nth > 0, "{seed}: {text}");
            }
        }
    }
    assert!(found >= 40, "{found}");
}
