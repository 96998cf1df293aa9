//! Calls of JSON-RPC in flight: whatever the schedule, an engine blames who a script of a dozen lines blames, at the same message, and nobody
//! else. 2,000 random schedules of 1 to 64 calls; `REFEREE_SCHEDULES` sets another number, `REFEREE_SEED` the first seed.

use std::collections::BTreeSet;
use std::sync::Arc;

use referee_pipeline::{Language, Parsed};
use referee_session::{Options, TwoPartyRules};
use referee_wire::Sender::{self, Client, Server};

use crate::relay::Relay;

/// A small generator: the schedules are the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

fn rules() -> Arc<TwoPartyRules> {
    let preset = referee_wire::preset::find("jsonrpc").unwrap();
    let parsed = Parsed::new(preset.protocol, Language::Scr).well_formed().unwrap();
    let protocol = parsed.protocol(None).unwrap();
    let made = protocol.monitorable_between(protocol.role("client").unwrap()).unwrap();
    let monitor = made.monitor().unwrap();
    let client = monitor.vocabulary().find_role("client").unwrap();
    let rules = TwoPartyRules::compile(Arc::new(monitor), client, &preset.table().unwrap()).unwrap();
    Arc::new(rules.with_options(Options { pipelining: [true; 2], ..Options::default() }))
}

/// The script: for each side, the ids of its requests that are not answered.
#[derive(Default)]
struct Script {
    open: [BTreeSet<usize>; 2],
}

impl Script {
    /// Whether this message is right.
    fn takes(&mut self, sender: Sender, says: &Says) -> bool {
        match says {
            Says::Request(id) => self.open[sender.index()].insert(*id),
            Says::Answer(id) => self.open[sender.other().index()].remove(id),
            Says::Notification => true,
        }
    }
}

enum Says {
    Request(usize),
    Answer(usize),
    Notification,
}

/// An id as somebody writes it: of each number there are three ways.
fn written(id: usize, random: &mut Random) -> String {
    match (id % 3, random.below(3)) {
        (0, _) => format!("\"{id}\""),
        (_, 0) => format!("{id}"),
        (_, 1) => format!("{id}.0"),
        _ => format!("{id}e0"),
    }
}

fn line(says: &Says, random: &mut Random) -> String {
    match says {
        Says::Request(id) => {
            format!("{{\"method\":\"m\",\"params\":[[{{}}]],\"id\":{}}}\n", written(*id, random))
        }
        Says::Answer(id) if random.below(4) == 0 => {
            format!("{{\"id\":{},\"error\":{{\"code\":-1,\"message\":\"no\"}}}}\n", written(*id, random))
        }
        Says::Answer(id) => format!("{{\"result\":{{}},\"id\":{}}}\n", written(*id, random)),
        Says::Notification => "{\"method\":\"n\"}\n".to_owned(),
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how many schedules, for a long run")]
fn schedules_of_calls_are_judged_as_the_script_says() {
    let number = |name: &str, otherwise| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (schedules, seed) = (number("REFEREE_SCHEDULES", 2000_u64), number("REFEREE_SEED", 1_u64));
    let rules = rules();
    let (mut right, mut wrong, mut most) = (0, 0, 0);
    for schedule in 0..schedules {
        let mut random = Random((seed + schedule).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let (in_flight, mistakes) = (1 + random.below(64), random.below(2) == 0);
        let (mut relay, mut script, mut next) = (Relay::new(&rules), Script::default(), 0);
        let mut expected = None;
        for step in 0..4 * in_flight {
            let sender = if random.below(4) == 0 { Server } else { Client };
            let open = &script.open[sender.other().index()];
            let mistake = mistakes && random.below(2 * in_flight) == 0;
            let says = match random.below(8) {
                0 => Says::Notification,
                // An id that was used, or one that never was.
                _ if mistake && random.below(2) == 0 => Says::Request(random.below(next + 1)),
                _ if mistake => Says::Answer(random.below(next + 2)),
                1..=4 if script.open[sender.index()].len() < in_flight => {
                    next += 1;
                    Says::Request(next)
                }
                _ if !open.is_empty() => Says::Answer(*open.iter().nth(random.below(open.len())).unwrap()),
                _ => Says::Notification,
            };
            let text = line(&says, &mut random);
            let at = random.below(text.len());
            relay.receive(&[
                (sender, text.as_bytes()[..at].to_vec()),
                (sender, text.as_bytes()[at..].to_vec()),
            ]);
            if !script.takes(sender, &says) {
                expected = Some((sender, step));
            }
            most = most.max(script.open[0].len() + script.open[1].len());
            let blamed = relay.engine_verdicts().first().map(|verdict| {
                let role = verdict.blame.clone().unwrap_or_default();
                (if role == "client" { Client } else { Server }, step)
            });
            assert_eq!(blamed, expected, "schedule {schedule} of seed {seed}, step {step}: {text}");
            if expected.is_some() {
                break;
            }
        }
        if expected.is_some() { wrong += 1 } else { right += 1 }
    }
    assert!(
        schedules < 1000 || (wrong > schedules / 10 && right > schedules / 10 && most >= 64),
        "{wrong} {right} {most}"
    );
}
