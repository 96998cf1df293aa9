//! What `cargo xtask bench time` compares with: the same two questions, answered by a program that was written for them alone.
//!
//! `cargo run --release -p referee-watch --example by_hand -- EVENTS A|B`

use std::collections::VecDeque;
use std::io::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

#[derive(Deserialize)]
struct Event<'a> {
    time: i64,
    key: u64,
    event: &'a str,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, question] = &arguments[..] else { return Err("usage: by_hand EVENTS A|B".into()) };
    let text = std::fs::read(path)?;
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let events = lines.map(serde_json::from_slice::<Event<'_>>);
    let found = if question == "A" { failures(events)? } else { replies(events)? };
    writeln!(std::io::stdout(), "{found}")?;
    Ok(())
}

/// Keys with more than ten failures in a minute.
fn failures<'a>(events: impl Iterator<Item = serde_json::Result<Event<'a>>>) -> serde_json::Result<usize> {
    let mut times: FxHashMap<u64, VecDeque<i64>> = FxHashMap::default();
    let mut found = FxHashSet::default();
    for event in events {
        let Event { time, key, event } = event?;
        if event != "fail" || found.contains(&key) {
            continue;
        }
        let own = times.entry(key).or_default();
        own.push_back(time);
        while own.front().is_some_and(|first| *first <= time - 60_000) {
            own.pop_front();
        }
        if own.len() > 10 {
            found.insert(key);
            times.remove(&key);
        }
    }
    Ok(found.len())
}

/// Keys with a request that had no reply within five seconds.
fn replies<'a>(events: impl Iterator<Item = serde_json::Result<Event<'a>>>) -> serde_json::Result<usize> {
    let mut since: FxHashMap<u64, i64> = FxHashMap::default();
    let mut due: VecDeque<(i64, u64)> = VecDeque::new();
    let mut found = FxHashSet::default();
    for event in events {
        let Event { time, key, event } = event?;
        while let Some((asked, late)) = due.front().copied().filter(|(asked, _)| *asked + 5000 < time) {
            due.pop_front();
            if since.get(&late) == Some(&asked) {
                since.remove(&late);
                found.insert(late);
            }
        }
        match event {
            "request" if !found.contains(&key) && !since.contains_key(&key) => {
                since.insert(key, time);
                due.push_back((time, key));
            }
            "reply" => drop(since.remove(&key)),
            _ => {}
        }
    }
    Ok(found.len())
}
