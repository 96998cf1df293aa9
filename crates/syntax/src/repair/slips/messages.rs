//! Slips in the statements of `.scr` texts.

use super::{Candidate, Scene, insert, refusal, replace, slip, unsettled};
use crate::diagnostics::Edit;
use crate::payload;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(to_before_from(scene));
    found.extend(arrow(scene));
    found.extend(reversed_arrow(scene));
    found.extend(sends(scene));
    found.extend(send_to(scene));
    found.extend(nameless_field(scene));
    found.extend(from_first(scene));
    found.extend(several_senders(scene));
    found.extend(and_for_comma(scene));
    found.extend(types_first(scene));
    found.extend(missing_colons(scene));
    found.extend(three_words(scene));
    found.extend(call_without_do(scene));
    found.extend(bare_continue(scene));
    found.extend(jumps(scene));
    found.extend(nothing_to_say(scene));
    found
}

/// `m() to B from A`.
fn to_before_from(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let to = statement.clone().find(|&piece| scene.word(piece) == "to")?;
    let from = (to + 2..statement.end).find(|&piece| scene.word(piece) == "from")?;
    let receivers = scene.words(to + 1..from).to_owned();
    if !scene.is_word(from + 1) || from + 2 != statement.end {
        return None;
    }
    let sender = scene.word(from + 1);
    let span = scene.spans(to..from + 2);
    let edit = replace(span, format!("from {sender} to {receivers}"));
    Some(slip(span, "the sender comes first: `from` stands before `to`", "write `from … to …`", [edit]))
}

const ARROWS: [&str; 7] = ["->", "→", "=>", "-->", "==>", "~>", "⟶"];

/// `A -> B: m();`, `A -> B, C m();`, `A -> B { … }` as in papers, and `m() A -> B`.
fn arrow(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    // In the paper's choice, reading gets stuck at the arrow; anywhere else it does too.
    let arrow = statement.clone().find(|&piece| ARROWS.contains(&scene.word(piece)))?;
    let (sender, receiver) = (arrow.checked_sub(1)?, arrow + 1);
    if !scene.is_word(sender) || !scene.is_word(receiver) {
        return None;
    }
    if matches!(scene.word(statement.start), "mu" | "μ" | "µ" | "rec") {
        return Some(paper_recursion(scene, sender));
    }
    let mut label = receiver + 1;
    while scene.word(label) == "," && scene.is_word(label + 1) {
        label += 2;
    }
    let (from, to) = (scene.word(sender), scene.words(receiver..label));
    let span = scene.spans(sender..label);
    label += usize::from(scene.word(label) == ":");
    if scene.word(label) == "{" {
        return paper_choice(scene, statement.start, sender, label);
    }
    if sender == statement.start && label < statement.end {
        let message = scene.words(label..statement.end);
        let end = scene.span(statement.end - 1);
        // In papers what comes next stands behind a dot.
        let (message, rest) = match message.split_once('.') {
            Some((message, _)) if scene.word(label + 1) == "." => (message.trim(), true),
            _ => (message, false),
        };
        if rest {
            let help =
                format!("write `{message}() from {from} to {to};` and what follows as the next statement");
            let skipped = scene.span(sender).to(scene.span(statement.end));
            return Some(refusal(span, NO_ARROWS, help, skipped));
        }
        let edit = replace(scene.span(sender).to(end), format!("{message} from {from} to {to}"));
        let help = format!("write `{message} from {from} to {to};`");
        return Some(slip(span, NO_ARROWS, help, [edit]));
    }
    if sender > statement.start && scene.word(sender - 1) != "from" {
        // `m(): A -> B`.
        let colon = scene.word(sender - 1) == ":";
        let gap = Span { start: scene.span((sender - 1).saturating_sub(1)).end, end: span.end };
        let right = format!("from {from} to {to}");
        let edit = if colon { replace(gap, format!(" {right}")) } else { replace(span, right) };
        let help = format!("write `from {from} to {to}`");
        return Some(slip(span, NO_ARROWS, help, [edit]));
    }
    None
}

const NO_ARROWS: &str = "messages are not written with an arrow here";

/// `A <- B: m();`.
fn reversed_arrow(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let arrow = statement.clone().find(|&piece| matches!(scene.word(piece), "<-" | "←"))?;
    let receiver = arrow.checked_sub(1).filter(|&receiver| receiver == statement.start)?;
    let label = arrow + 2 + usize::from(scene.word(arrow + 2) == ":");
    if !scene.is_word(receiver) || !scene.is_word(arrow + 1) || label >= statement.end {
        return None;
    }
    let (from, to) = (scene.word(arrow + 1), scene.word(receiver));
    let help = format!("write `{} from {from} to {to};`", scene.words(label..statement.end));
    let skipped = scene.spans(receiver..statement.end + usize::from(scene.word(statement.end) == ";"));
    Some(refusal(scene.spans(receiver..arrow + 2), NO_ARROWS, help, skipped))
}

/// `mu X. p -> q : l. X`: the notation of papers.
fn paper_recursion(scene: &Scene<'_>, sender: usize) -> Candidate {
    let statement = scene.statement();
    let (from, to) = (scene.word(sender), scene.word(sender + 2));
    let name = scene.word(statement.start + 1);
    let label = sender + 3 + usize::from(scene.word(sender + 3) == ":");
    let label = if scene.is_word(label) { scene.word(label) } else { "m" };
    let help = format!("write `rec {name} {{ {label}() from {from} to {to}; … continue {name}; }}`");
    let ends = match scene.word(statement.end) {
        ";" => statement.end + 1,
        "{" => (scene.closing(statement.end) + 1).min(scene.pieces.len()),
        _ => statement.end,
    };
    refusal(
        scene.spans(statement.start..sender + 3),
        NOTATION_OF_PAPERS,
        help,
        scene.spans(statement.start..ends),
    )
}

const NOTATION_OF_PAPERS: &str = "this is the notation of papers, not of `.scr` files";

/// `p -> q : { l1. …, l2. … }`: the notation of papers.
fn paper_choice(scene: &Scene<'_>, start: usize, sender: usize, open: usize) -> Option<Candidate> {
    let (from, to) = (scene.word(sender), scene.word(sender + 2));
    let close = scene.closing(open);
    let mut labels = Vec::new();
    let mut depth = 0_usize;
    for piece in open..close {
        match scene.word(piece) {
            "{" | "(" => depth += 1,
            "}" | ")" => depth = depth.saturating_sub(1),
            label if depth == 1 && scene.is_word(piece) && matches!(scene.word(piece - 1), "{" | ",") => {
                labels.push(label);
            }
            _ => {}
        }
    }
    let branch = |label: &&str| format!("{{ {label}() from {from} to {to}; … }}");
    let shown = if labels.is_empty() { vec!["l1", "l2"] } else { labels };
    let branches = shown.iter().map(branch).collect::<Vec<_>>().join(" or ");
    let help = if shown.len() == 1 {
        format!("write `{}() from {from} to {to};` and what follows as the next statements", shown[0])
    } else {
        format!("write `choice at {from} {branches}`")
    };
    let skipped_to = if scene.word(close + 1) == ";" { close + 1 } else { close };
    // `G = p -> q : { … }` too.
    let start = if scene.word(start + 1) == "=" { start } else { sender };
    let skipped = scene.span(start).to(scene.span(skipped_to.min(scene.pieces.len().checked_sub(1)?)));
    let span = scene.spans(sender..sender + 3);
    Some(refusal(span, NOTATION_OF_PAPERS, help, skipped))
}

/// `A sends m() to B;`, `A send m() to B`.
fn sends(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let verb = statement.start + 1;
    if !matches!(scene.word(verb), "sends" | "send" | "says") {
        return None;
    }
    let to = (verb + 1..statement.end).find(|&piece| scene.word(piece) == "to")?;
    let (sender, message) = (scene.word(statement.start), scene.words(verb + 1..to));
    let right = format!("{message} from {sender}");
    let help = format!("write `{right} {};`", scene.words(to..statement.end));
    let span = scene.spans(statement.start..to);
    Some(slip(span, "the message comes first, then who sends it", help, [replace(span, right)]))
}

/// `from A to B: m();`, `from A to B m();`.
fn from_first(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    if scene.word(start) != "from" || scene.word(start + 2) != "to" {
        return None;
    }
    let message = start + 4 + usize::from(scene.word(start + 4) == ":");
    if message >= statement.end {
        return None;
    }
    let right = format!("{} {}", scene.words(message..statement.end), scene.words(start..start + 4));
    let span = scene.spans(start..statement.end);
    let help = format!("write `{right};`");
    Some(slip(span, "the message comes first, then who sends it", help, [replace(span, right)]))
}

/// `send m to B;`: who sends is not said.
fn send_to(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let to = start + 2;
    let is_one = matches!(scene.word(start), "send" | "emit" | "tell")
        && scene.is_word(start + 1)
        && scene.word(to) == "to"
        && statement.end == to + 2;
    let help = format!("write `{}() from … to {};`", scene.word(start + 1), scene.word(to + 1));
    let skipped = scene.spans(start..statement.end + usize::from(scene.word(statement.end) == ";"));
    is_one
        .then(|| super::refused(scene.spans(start..statement.end), "it is not said who sends", help, skipped))
}

/// `m(: int)`, `{x: int, : string}`
fn nameless_field(scene: &Scene<'_>) -> Option<Candidate> {
    let colon = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == ":")?;
    let before = scene.word(colon.checked_sub(1)?);
    let is_field = matches!(before, "(" | "," | "{") && scene.in_parentheses(colon);
    let span = scene.span(colon);
    let placeholder = insert(span.start, super::super::candidate::PLACEHOLDER);
    let help = format!("write `NAME: {}`", scene.word(colon + 1));
    is_field.then(|| unsettled(span, "the field has no name", help, vec![placeholder]))
}

/// `m() from A, B to C`.
fn several_senders(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let from = statement.clone().find(|&piece| scene.word(piece) == "from")?;
    let to = (from + 1..statement.end).find(|&piece| scene.word(piece) == "to")?;
    if !matches!(scene.word(from + 2), "," | "and") || from + 3 == to {
        return None;
    }
    let span = scene.spans(from + 1..to);
    let rest = scene.span(from + 2).to(scene.span(to - 1));
    let help = "write one message for each sender, one after the other";
    Some(refusal(span, "a message has one sender", help, rest))
}

/// `m() from A to B and C`.
fn and_for_comma(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let to = statement.clone().find(|&piece| scene.word(piece) == "to")?;
    let and = (to + 2..statement.end).find(|&piece| scene.word(piece) == "and")?;
    let span = scene.span(and);
    let gap = Span { start: scene.span(and - 1).end, end: span.end };
    Some(slip(span, "receivers are separated by commas", "write `,`", [replace(gap, ",")]))
}

/// The payload that is open where reading got stuck: the piece of its `(`.
fn open_payload(scene: &Scene<'_>) -> Option<usize> {
    let statement = scene.statement();
    (statement.start..statement.end.min(scene.at + 1)).rev().find(|&piece| scene.word(piece) == "(")
}

/// Where the fields of a payload begin: pieces behind `(` and `,`.
fn fields(scene: &Scene<'_>, open: usize) -> Vec<usize> {
    let close = scene.closing(open);
    let first = |piece: &usize| matches!(scene.word(piece - 1), "(" | ",") && scene.is_word(*piece);
    (open + 1..close).filter(first).collect()
}

const TYPES: [&str; 16] = [
    "int", "Int", "integer", "long", "nat", "string", "String", "str", "bool", "boolean", "float", "double",
    "number", "bytes", "char", "date",
];

/// How sure it is that `word` is a type: `string date` is a text called `date`.
fn likeness(word: &str) -> u8 {
    if payload::builtin(word).is_some() { 2 } else { TYPES.contains(&word).into() }
}

/// `m(int x)`, as in C.
fn types_first(scene: &Scene<'_>) -> Option<Candidate> {
    let open = open_payload(scene)?;
    let pairs: Vec<usize> = fields(scene, open)
        .into_iter()
        .filter(|&first| scene.is_word(first + 1) && matches!(scene.word(first + 2), "," | ")" | ""))
        .collect();
    let first = *pairs.first()?;
    // Either word may be the type where neither is known.
    if likeness(scene.word(first + 1)) > likeness(scene.word(first)) {
        return None;
    }
    let field = |first: usize| format!("{}: {}", scene.word(first + 1), scene.word(first));
    let edits: Vec<Edit> =
        pairs.iter().map(|&first| replace(scene.spans(first..first + 2), field(first))).collect();
    let help = format!("write `{}`", field(first));
    let found = slip(scene.spans(first..first + 2), "the name of a field comes before its type", help, edits);
    if pairs.iter().all(|&first| likeness(scene.word(first)) > likeness(scene.word(first + 1))) {
        return Some(found);
    }
    Some(Candidate { cost: 4, ..found.doubtful() })
}

/// `m(x int)`, as in Go.
fn missing_colons(scene: &Scene<'_>) -> Option<Candidate> {
    let open = open_payload(scene)?;
    let pairs: Vec<usize> = fields(scene, open)
        .into_iter()
        .filter(|&first| {
            scene.is_word(first + 1) && likeness(scene.word(first + 1)) > likeness(scene.word(first))
        })
        .collect();
    let first = *pairs.first()?;
    let edits: Vec<Edit> = pairs.iter().map(|&first| insert(scene.span(first).end, ":")).collect();
    let (name, ty) = (scene.word(first), scene.word(first + 1));
    let span = scene.spans(first..first + 2);
    let message = format!("a `:` belongs between the name `{name}` and its type");
    Some(slip(span, message, format!("write `{name}: {ty}`"), edits))
}

/// `m(x int y)`: a colon and a comma are missing, or the type of `y`.
fn three_words(scene: &Scene<'_>) -> Option<Candidate> {
    let open = open_payload(scene)?;
    let is_one = |first: &usize| {
        (first + 1..first + 3).all(|piece| scene.is_word(piece)) && matches!(scene.word(first + 3), "," | ")")
    };
    let first = fields(scene, open).into_iter().find(is_one)?;
    let words = [first, first + 1, first + 2].map(|piece| scene.word(piece));
    let is_type = |word: &str| TYPES.contains(&word);
    let help = match words {
        [name, ty, other] if is_type(ty) => format!("write `{name}: {ty}, {other}: …`"),
        [ty, name, other] if is_type(ty) => format!("write `{name}: {ty}, {other}: …`"),
        _ => return None,
    };
    let skipped = Span { start: scene.span(first).end, end: scene.span(first + 2).end };
    let message = "a field is a name and a type, and a comma stands before the next";
    Some(super::refused(scene.spans(first..first + 3), message, help, skipped))
}

/// `P(A, B);` or `call P(A, B);` for `do P(A, B);`.
fn call_without_do(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let verb =
        matches!(scene.word(statement.start), "call" | "calls" | "run" | "invoke" | "start" | "execute");
    let name = statement.start + usize::from(verb);
    if !scene.is_word(name) || scene.word(name + 1) != "(" || scene.closing(name + 1) + 1 != statement.end {
        return None;
    }
    let is_declared = (1..scene.pieces.len()).any(|piece| {
        matches!(scene.word(piece - 1), "protocol" | "global") && scene.word(piece) == scene.word(name)
    });
    if !is_declared && !verb {
        return None;
    }
    let call = scene.words(name..statement.end);
    let span = scene.spans(statement.start..name + 1);
    let edit =
        if verb { replace(scene.span(statement.start), "do") } else { insert(scene.span(name).start, "do ") };
    let found = slip(span, "another protocol is begun with `do`", format!("write `do {call};`"), [edit]);
    // A nested one is begun with `calls`.
    let has_nested = (0..scene.pieces.len()).any(|piece| matches!(scene.word(piece), "nested" | "calls"));
    Some(found.doubtful_if(has_nested))
}

/// `continue;` or `continue [n - 1];` without saying where: certain where there is one recursion around it only.
fn bare_continue(scene: &Scene<'_>) -> Vec<Candidate> {
    let statement = scene.statement();
    let has_data = scene.word(statement.start + 1) == "[";
    if scene.word(statement.start) != "continue" || statement.len() > 1 && !has_data {
        return Vec::new();
    }
    let span = scene.span(statement.start);
    let one = |name: &str| {
        let right = format!("continue {name}");
        let message = "`continue` needs the name of a recursion";
        let data = if has_data { " […]" } else { "" };
        slip(span, message, format!("write `{right}{data};`"), [replace(span, right)])
    };
    recursions(scene, statement.start).into_iter().rev().map(one).collect()
}

/// The names of the recursions around a piece, the innermost last.
fn recursions<'a>(scene: &Scene<'a>, piece: usize) -> Vec<&'a str> {
    let mut blocks: Vec<Option<&str>> = Vec::new();
    for index in 0..piece {
        match scene.word(index) {
            "{" => {
                // `rec X {`, `rec X [ … ] {`
                let head = match index.checked_sub(1).map(|before| scene.word(before)) {
                    Some("]") => (0..index).rev().find(|&piece| scene.word(piece) == "["),
                    _ => Some(index),
                };
                let rec = head.and_then(|head| head.checked_sub(2));
                blocks.push(rec.filter(|&rec| scene.word(rec) == "rec").map(|rec| scene.word(rec + 1)));
            }
            "}" => drop(blocks.pop()),
            _ => {}
        }
    }
    blocks.into_iter().flatten().collect()
}

/// `goto X;`, or the name of a recursion alone.
fn jumps(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let verb =
        matches!(scene.word(statement.start), "goto" | "jump" | "loop" | "repeat" | "again" | "recurse");
    let name = statement.start + usize::from(verb);
    let around = recursions(scene, statement.start);
    if name + 1 != statement.end || !around.contains(&scene.word(name)) {
        return None;
    }
    let right = format!("continue {}", scene.word(name));
    let span = scene.spans(statement);
    let message = "jumping back to a recursion is written `continue`";
    Some(slip(span, message, format!("write `{right};`"), [replace(span, right)]))
}

/// `end;`, `skip;`: a protocol ends where its text ends.
fn nothing_to_say(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let word = scene.word(statement.start);
    let ends = matches!(word, "end" | "stop" | "return" | "break");
    if statement.len() != 1 || !ends && !matches!(word, "skip" | "pass" | "nothing") {
        return None;
    }
    let last = if scene.word(statement.end) == ";" { statement.end } else { statement.start };
    let span = scene.span(statement.start).to(scene.span(last));
    if ends && !is_last(scene, last + 1) {
        let message = format!("`{word}` does not end a protocol: what stands behind still comes");
        let help = "write what shall come only otherwise into the other branches of a choice";
        let mut found = refusal(scene.span(statement.start), message, help, span);
        found.cost = 0;
        return Some(found);
    }
    let message = format!("`{word}` is not needed: a branch ends where its `}}` stands");
    let found = slip(span, message, "remove it", [replace(span, "")]);
    // Who leaves a loop thinks that the other branches go round.
    let goes_round = (0..scene.pieces.len()).any(|piece| scene.word(piece) == "continue");
    Some(found.doubtful_if(word == "break" && !goes_round))
}

/// Whether nothing comes any more where `piece` stands: neither there nor behind the blocks around it.
fn is_last(scene: &Scene<'_>, mut piece: usize) -> bool {
    loop {
        match scene.word(piece) {
            "" => return true,
            "}" => piece += 1,
            "or" if scene.word(piece + 1) == "{" => piece = scene.closing(piece + 1) + 1,
            "protocol" | "global" | "aux" | "explicit" | "nested" => return scene.is_word(piece + 1),
            _ => return false,
        }
    }
}
