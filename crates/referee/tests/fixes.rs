//! What `check --minimal-fix` suggests, made in the text where it says, makes the file safe: of every single mistake in a few
//! conversations.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

#[path = "support/process.rs"]
mod process;

use std::collections::BTreeMap;

use process::referee;
use serde_json::Value;

/// `A`'s side of conversations with `B`, who does the opposite.
const CONVERSATIONS: [&str; 7] = [
    "B!a; end",
    "B!a; B?b; B!c; end",
    "{B!a; B?b; end, B!c; end}",
    "rec x. {B!a; B?b; x, B!c; B?c; end}",
    "B!a; B?b; rec x. {B!a; x, B!c; end}",
    "B?a; {B?b; B!a; end, B?c; B!a; B!b; end}",
    "{B!a; {B?a; end, B?b; B!c; end}, B!b; B?c; end}",
];
const LABELS: [&str; 3] = ["a", "b", "c"];

fn answered(text: &str) -> Value {
    let arguments = ["check", "-", "--language", "kmc", "--format", "json", "--minimal-fix"];
    serde_json::from_slice::<Value>(&referee(&arguments, text).stdout).unwrap()["compatibility"].take()
}

/// Where `text` has actions, each with its `; `.
fn actions(text: &str) -> Vec<std::ops::Range<usize>> {
    let marks = text.match_indices(['!', '?']);
    marks.map(|(at, _)| at - 1..at + text[at..].find("; ").unwrap() + 2).collect()
}

/// `text` with one mistake, in each way.
fn mistakes(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for action in actions(text) {
        let (before, after) = (&text[..action.start], &text[action.end..]);
        all.push(format!("{before}{after}"));
        for label in LABELS {
            let (peer, mark) =
                (&text[action.start..=action.start], &text[action.start + 1..action.start + 2]);
            all.push(format!("{before}{peer}{mark}{label}; {after}"));
            all.push(format!("{before}{peer}{mark}{label}; {}", &text[action.start..]));
        }
    }
    all
}

/// `text` with the edit `fix`, made as a person would who reads it.
fn edited(text: &str, fix: &Value) -> String {
    let said = fix["message"].as_str().unwrap();
    let quoted: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    let (first, last) = (quoted[0], quoted[quoted.len() - 1]);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = match fix["line"].as_u64() {
        Some(line) => line as usize - 1,
        None => usize::from(fix["role"] == "B"),
    };
    let column = |name: &str| fix[name].as_u64().map(|column| column as usize - 1);
    let written = &lines[line];
    let (start, end) = (column("column").unwrap_or(0), column("end_column").unwrap_or(0));
    lines[line] = match fix["action"].as_str().unwrap() {
        "rename" => format!("{}{last}{}", &written[..start + 2], &written[end..]),
        "drop" if said.contains("the branch") => without_branch(written, start),
        "drop" => format!("{}{}", &written[..start], &written[end + 2..]),
        _ => {
            let peer = if fix["role"] == "A" { 'B' } else { 'A' };
            let mark = if said.contains(&format!("sends to `{peer}`, ")) { '!' } else { '?' };
            let added = format!("{peer}{mark}{first}; ");
            let insert = |at: usize| format!("{}{added}{}", &written[..at], &written[at..]);
            match said {
                _ if said.contains("`, after it") => insert(end + 2),
                _ if said.contains("`, before it") => insert(start),
                _ if said.contains("`, before the choice") => insert(written[..start].rfind('{').unwrap()),
                _ => written.replace("end", &format!("{added}end")),
            }
        }
    };
    lines.join("\n")
}

/// `text` without the branch of a choice that begins at `start`.
fn without_branch(text: &str, start: usize) -> String {
    let mut depth = 0;
    let ends = |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth < 0 || depth == 0 && c == ','
    };
    let end = start + text[start..].find(ends).unwrap();
    match text[end..].strip_prefix(", ") {
        Some(others) => format!("{}{others}", &text[..start]),
        None => format!("{}{}", text[..start].strip_suffix(", ").unwrap(), &text[end..]),
    }
}

#[test]
fn what_is_suggested_helps_in_the_text() {
    let mut made = BTreeMap::<String, usize>::new();
    for a in CONVERSATIONS {
        let b =
            a.replace('!', "¿").replace('?', "!").replace('¿', "?").replace("B!", "A!").replace("B?", "A?");
        let of_a = mistakes(a).into_iter().map(|a| format!("A: {a}\nB: {b}"));
        let of_b = mistakes(&b).into_iter().map(|b| format!("A: {a}\nB: {b}"));
        for text in of_a.chain(of_b) {
            let answer = answered(&text);
            for fix in answer["fixes"].as_array().into_iter().flatten() {
                let now = edited(&text, fix);
                assert_eq!(answered(&now)["verdict"], "safe", "{text}\n{fix:#}\n{now}");
                *made.entry(fix["action"].as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
    }
    println!("{made:?}");
    assert!(made.len() == 3 && made.values().all(|&count| count > 30), "{made:?}");
}
