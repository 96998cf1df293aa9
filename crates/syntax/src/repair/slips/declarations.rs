//! Slips in the declarations of `.scr` texts.

use super::{Candidate, Scene, refused, replace, slip};
use crate::diagnostics::Edit;
use crate::payload;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(fences(scene));
    found.extend(pragma(scene));
    found.extend(open_pragma(scene));
    found.extend(roles_behind_colon(scene));
    found.extend(bare_header(scene));
    found.extend(import(scene));
    found.extend(type_without_equals(scene));
    found.extend(record(scene));
    found.extend(message(scene));
    found.extend(payload_of_signature(scene));
    found.extend(unquoted_type(scene));
    found.extend(other_protocol(scene));
    found.extend(other_roles(scene));
    found
}

/// Whether nothing is open where `piece` stands.
fn is_outside(scene: &Scene<'_>, piece: usize) -> bool {
    super::super::candidate::opening_piece(scene, piece).is_none()
}

/// The line of `piece`, with its end.
fn line(scene: &Scene<'_>, piece: usize) -> Span {
    let at = scene.span(piece).start as usize;
    let start = scene.text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = scene.text[at..].find('\n').map_or(scene.text.len(), |length| at + length + 1);
    Span::new(start, end)
}

/// The lines of three backticks that a text from a Markdown file begins and ends with.
fn fences(scene: &Scene<'_>) -> Option<Candidate> {
    let is_fence = |piece: &usize| {
        let start = scene.span(*piece).start as usize;
        scene.pieces.get(*piece).is_some_and(|piece| piece.indent.is_some())
            && scene.text[start..].starts_with("```")
    };
    if !is_fence(&scene.at) {
        return None;
    }
    let edits: Vec<Edit> =
        (0..scene.pieces.len()).filter(is_fence).map(|piece| replace(line(scene, piece), "")).collect();
    let start = scene.span(scene.at).start;
    let span = Span { start, end: start + 3 };
    Some(slip(
        span,
        "this line belongs to a Markdown file, not to the protocol",
        "remove the lines of three backticks",
        edits,
    ))
}

/// `#pragma RefinementTypes`
fn pragma(scene: &Scene<'_>) -> Option<Candidate> {
    let hash = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "#")?;
    if scene.word(hash + 1) != "pragma" || !scene.is_word(hash + 2) {
        return None;
    }
    let line = line(scene, hash);
    let end =
        (hash + 2..scene.pieces.len()).take_while(|&piece| scene.span(piece).start < line.end).last()?;
    let right = format!("(*# {} #*)", scene.words(hash + 2..end + 1));
    let span = scene.spans(hash..end + 1);
    Some(slip(
        span,
        "a pragma stands between `(*#` and `#*)`",
        format!("write `{right}`"),
        [replace(span, right)],
    ))
}

/// `(*# RefinementTypes *)`
fn open_pragma(scene: &Scene<'_>) -> Option<Candidate> {
    let star = (scene.at.saturating_sub(1)..=scene.at + 1).find(|&piece| scene.word(piece) == "*")?;
    let open = (0..star)
        .rev()
        .take_while(|&piece| scene.word(piece) != "#*)")
        .find(|&piece| scene.word(piece) == "(*#")?;
    let is_names = (open + 1..star).all(|piece| scene.is_word(piece) || scene.word(piece) == ",");
    let span = scene.spans(star..star + 2);
    (is_names && scene.word(star + 1) == ")")
        .then(|| slip(span, "a pragma ends with `#*)`", "write `#*)`", [replace(span, "#*)")]))
}

/// `protocol P(A: role, B: role)`
fn roles_behind_colon(scene: &Scene<'_>) -> Option<Candidate> {
    let is_one = |piece: &usize| {
        scene.is_word(*piece) && scene.word(piece + 1) == ":" && scene.word(piece + 2) == "role"
    };
    let first = (scene.at.saturating_sub(2)..=scene.at).find(is_one)?;
    let close = (first..scene.pieces.len()).find(|&piece| scene.word(piece) == ")")?;
    let right = |piece: usize| format!("role {}", scene.word(piece));
    let edits: Vec<Edit> = (first..close)
        .filter(is_one)
        .map(|piece| replace(scene.spans(piece..piece + 3), right(piece)))
        .collect();
    let help = format!("write `{}`", right(first));
    Some(slip(scene.spans(first..first + 3), "`role` stands before the name", help, edits))
}

/// `protocol P role A, role B {`
fn bare_header(scene: &Scene<'_>) -> Option<Candidate> {
    let protocol = (scene.at.saturating_sub(3)..=scene.at).find(|&piece| scene.word(piece) == "protocol")?;
    let first = protocol + 2;
    let open = (first..scene.pieces.len().min(first + 60)).find(|&piece| scene.word(piece) == "{")?;
    let is_list = (first..open).all(|piece| match (piece - first) % 3 {
        0 => scene.word(piece) == "role",
        1 => scene.is_word(piece),
        _ => scene.word(piece) == ",",
    });
    let is_header = scene.is_word(protocol + 1) && is_list && (open - first) % 3 == 2;
    let gap = Span { start: scene.span(protocol + 1).end, end: scene.span(first).start };
    let edits = [replace(gap, "("), super::insert(scene.span(open - 1).end, ")")];
    let help = format!("write `{}({})`", scene.word(protocol + 1), scene.words(first..open));
    is_header.then(|| slip(scene.spans(first..open), "roles stand in parentheses", help, edits))
}

/// `#include "x.scr"`, `use a.B;`, `require a.B;`, `package a.B;`
fn import(scene: &Scene<'_>) -> Option<Candidate> {
    const OTHERS: [&str; 6] = ["use", "require", "include", "using", "package", "namespace"];
    let is_one = |piece: &usize| OTHERS.contains(&scene.word(*piece)) && is_outside(scene, *piece);
    let word = (scene.at.saturating_sub(1)..=scene.at + 1).find(is_one)?;
    let first = word - usize::from(word > 0 && scene.word(word - 1) == "#");
    let (right, message) = match scene.word(word) {
        "package" | "namespace" => ("module", "what a file is called by others stands behind `module`"),
        _ => ("import", "another file is read with `import`"),
    };
    let name = word + 1;
    let mut end = name + 1;
    while scene.word(end) == "." && scene.is_word(end + 1) {
        end += 2;
    }
    let quoted = scene.word(name).starts_with('"');
    if !quoted && !scene.is_word(name) {
        return None;
    }
    let path = scene.words(name..end).trim_matches('"').trim_end_matches(".scr").replace('/', ".");
    let written = format!("{right} {path}{}", if scene.word(end) == ";" { "" } else { ";" });
    let help = format!("write `{right} {path};`");
    Some(slip(scene.spans(first..word + 1), message, help, [replace(scene.spans(first..end), written)]))
}

/// `typedef string Id;` as in C, `type Id string;` as in Go: the name of a type that is known is not the one declared.
fn type_without_equals(scene: &Scene<'_>) -> Option<Candidate> {
    let start = scene.statement().start;
    let word = scene.word(start);
    let is_one = matches!(word, "typedef" | "type" | "alias" | "newtype")
        && scene.is_word(start + 1)
        && scene.is_word(start + 2);
    if !is_one || scene.word(start + 3) != ";" || !is_outside(scene, start) {
        return None;
    }
    let is_known = |piece: usize| {
        let name = scene.word(piece);
        payload::builtin(name).is_some() || payload::elsewhere(name).is_some()
    };
    let (first, second) = (start + 1, start + 2);
    let (name, stands_for, doubtful) = match (is_known(first), is_known(second)) {
        (true, false) => (second, first, false),
        (false, true) => (first, second, false),
        _ if word == "typedef" => (second, first, true),
        _ => (first, second, true),
    };
    let right = format!("type {} = {}", scene.word(name), scene.word(stands_for));
    let span = scene.spans(start..start + 3);
    let message = match name < stands_for {
        true => "`=` stands between the name of a type and what it stands for",
        false => "the name of a type comes before what it stands for",
    };
    let found = slip(span, message, format!("write `{right};`"), [replace(span, right)]);
    Some(found.doubtful_if(doubtful))
}

/// `struct Id { x: int }`
fn record(scene: &Scene<'_>) -> Option<Candidate> {
    let start = (scene.at.saturating_sub(2)..=scene.at)
        .find(|&piece| matches!(scene.word(piece), "struct" | "record" | "class" | "enum"))?;
    if !is_outside(scene, start) || !scene.is_word(start + 1) || scene.word(start + 2) != "{" {
        return None;
    }
    let close = scene.closing(start + 2);
    let name = scene.word(start + 1);
    let end = close + usize::from(scene.word(close + 1) == ";");
    if scene.word(start) == "enum" {
        let help = format!(
            "write `type {name} = string;`, and what it may be as a condition: `where x in [\"a\", \"b\"]`"
        );
        return Some(refused(
            scene.spans(start..start + 2),
            "types are not enumerated",
            help,
            scene.spans(start..end + 1),
        ));
    }
    let mut edits = vec![replace(scene.spans(start..start + 3), format!("type {name} = {{"))];
    edits.extend(
        (start + 3..close)
            .filter(|&piece| scene.word(piece) == ";")
            .map(|piece| replace(scene.span(piece), if piece + 1 == close { "" } else { "," })),
    );
    if scene.word(close + 1) != ";" {
        edits.push(super::insert(scene.span(close).end, ";"));
    }
    let help = format!("write `type {name} = {{ … }};`");
    Some(slip(scene.spans(start..start + 2), "a record is a type", help, edits))
}

/// `message M(x: int);`
fn message(scene: &Scene<'_>) -> Option<Candidate> {
    let start = scene.statement().start;
    let is_one =
        matches!(scene.word(start), "message" | "msg" | "event" | "signal" | "label" | "labels" | "messages");
    if !is_one || !is_outside(scene, start) || !scene.is_word(start + 1) {
        return None;
    }
    let end = (start..scene.pieces.len()).find(|&piece| scene.word(piece) == ";")?;
    let help =
        format!("remove it, and write `{} from A to B;` where it is sent", scene.words(start + 1..end));
    Some(refused(
        scene.spans(start..start + 2),
        "messages are not declared",
        help,
        scene.spans(start..end + 1),
    ))
}

/// `sig M(int);`
fn payload_of_signature(scene: &Scene<'_>) -> Option<Candidate> {
    let start = scene.statement().start;
    if scene.word(start) != "sig"
        || !scene.is_word(start + 1)
        || !matches!(scene.word(start + 2), "(" | ";" | "=")
    {
        return None;
    }
    let end = (start..scene.pieces.len()).find(|&piece| scene.word(piece) == ";")?;
    let payload = if scene.word(start + 2) == "(" { "" } else { "()" };
    let help = format!(
        "remove it, and write `{}{payload} from A to B;` where it is sent",
        scene.words(start + 1..end)
    );
    let message = "`sig` names a message of a host language, `sig <java> \"a.B\" from \"a/B.java\" as M;`";
    Some(refused(scene.spans(start..start + 2), message, help, scene.spans(start..end + 1)))
}

/// `data <java> java.lang.Integer from "rt.jar" as Int;`
fn unquoted_type(scene: &Scene<'_>) -> Option<Candidate> {
    let start = scene.statement().start;
    let is_one = matches!(scene.word(start), "data" | "type" | "sig")
        && scene.word(start + 1) == "<"
        && scene.word(start + 3) == ">";
    let first = start + 4;
    if !is_one || !scene.is_word(first) {
        return None;
    }
    let last = (first..scene.pieces.len())
        .take_while(|&piece| scene.is_word(piece) && scene.word(piece) != "from" || scene.word(piece) == ".")
        .last()?;
    let right = format!("\"{}\"", scene.words(first..last + 1));
    let span = scene.spans(first..last + 1);
    Some(slip(
        span,
        "what it is called in the host language stands in quotation marks",
        format!("write `{right}`"),
        [replace(span, right)],
    ))
}

/// `global type P(role A, role B) {`, `choreography P(…) {`, `def P(…):`
fn other_protocol(scene: &Scene<'_>) -> Option<Candidate> {
    const OTHERS: [&str; 13] = [
        "choreography",
        "conversation",
        "contract",
        "interface",
        "class",
        "scenario",
        "sequence",
        "type",
        "fn",
        "func",
        "def",
        "function",
        "spec",
    ];
    let is_one = |piece: &usize| {
        OTHERS.contains(&scene.word(*piece)) && scene.is_word(piece + 1) && scene.word(piece + 2) == "("
    };
    let word =
        (scene.at.saturating_sub(3)..=scene.at).find(is_one).filter(|&word| is_outside(scene, word))?;
    let close = scene.closing(word + 2);
    if scene.word(close + 1) != "{" {
        let help = format!("write `protocol {}(role A, role B) {{ … }}`", scene.word(word + 1));
        let end = scene.pieces.len();
        return Some(refused(
            scene.span(word),
            "a protocol is declared with `protocol`, and its body stands in braces",
            help,
            scene.spans(word..end),
        ));
    }
    Some(slip(
        scene.span(word),
        "a protocol is declared with `protocol`",
        "write `protocol`",
        [replace(scene.span(word), "protocol")],
    ))
}

/// `protocol P(participant A, participant B)`, `protocol P<role A, role B>`, `protocol P { roles A, B; … }`
fn other_roles(scene: &Scene<'_>) -> Option<Candidate> {
    let protocol = (0..=scene.at.min(scene.pieces.len().checked_sub(1)?))
        .rev()
        .find(|&piece| scene.word(piece) == "protocol" && scene.is_word(piece + 1))?;
    let open = protocol + 2;
    let name = scene.word(protocol + 1);
    match scene.word(open) {
        "<" => {
            let close = (open..scene.pieces.len()).find(|&piece| scene.word(piece) == ">")?;
            let is_roles = scene.word(open + 1) == "role" && scene.word(close + 1) == "{";
            let edits = [replace(scene.span(open), "("), replace(scene.span(close), ")")];
            is_roles.then(|| slip(scene.span(open), "roles stand in parentheses", "write `( … )`", edits))
        }
        "(" => {
            let close = scene.closing(open);
            let is_other = |piece: &usize| {
                matches!(
                    scene.word(*piece),
                    "participant" | "party" | "actor" | "process" | "roles" | "agent" | "peer" | "endpoint"
                ) && scene.is_word(piece + 1)
                    && matches!(scene.word(piece - 1), "(" | ",")
            };
            let wrong: Vec<usize> = (open + 1..close).filter(is_other).collect();
            let first = *wrong.first()?;
            // `roles a, b`
            let is_bare = |piece: &usize| {
                scene.is_word(*piece)
                    && scene.word(*piece) != "role"
                    && matches!(scene.word(piece - 1), "(" | ",")
                    && matches!(scene.word(piece + 1), "," | ")")
            };
            let bare = (open + 1..close).filter(is_bare);
            let mut edits: Vec<Edit> =
                bare.map(|piece| super::insert(scene.span(piece).start, "role ")).collect();
            edits.extend(wrong.iter().map(|&piece| replace(scene.span(piece), "role")));
            edits.sort_by_key(|edit| edit.span);
            Some(slip(scene.span(first), "participants are declared with `role`", "write `role`", edits))
        }
        "{" => {
            let start = open + 1;
            let end = (start..scene.pieces.len()).find(|&piece| scene.word(piece) == ";")?;
            let is_list = (start + 1..end).all(|piece| scene.is_word(piece) || scene.word(piece) == ",");
            if !matches!(scene.word(start), "role" | "roles" | "participants" | "participant")
                || end < start + 2
                || !is_list
            {
                return None;
            }
            let names = (start + 1..end).filter(|&piece| scene.is_word(piece) && scene.word(piece) != "role");
            let list =
                names.map(|piece| format!("role {}", scene.word(piece))).collect::<Vec<_>>().join(", ");
            let gap = Span { start: scene.span(open).end, end: scene.span(end).end };
            let edits = [super::insert(scene.span(protocol + 1).end, format!("({list})")), replace(gap, "")];
            let help = format!("write `protocol {name}({list}) {{`");
            Some(slip(scene.spans(start..end), "roles are declared in the header", help, edits))
        }
        _ => None,
    }
}
