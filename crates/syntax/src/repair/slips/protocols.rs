//! Slips in the headers and blocks of `.scr` texts.

use super::{Candidate, Scene, insert, refusal, replace, slip};
use crate::diagnostics::Edit;
use crate::payload;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(other_word(scene));
    found.extend(choice_without_at(scene));
    found.extend(roles_without_role(scene));
    found.extend(semicolons_between_roles(scene));
    found.extend(no_roles(scene));
    found.extend(local_protocol(scene));
    found.extend(interruptible(scene));
    found.extend(scoped_do(scene));
    found.extend(comment(scene));
    found
}

/// Words of other languages for what has a keyword here.
const OTHER_WORDS: [(&[&str], &str, &str); 10] = [
    (
        &["else", "otherwise", "elif", "elsif", "case", "alt", "|", "||", "xor"],
        "or",
        "branches are joined by `or`",
    ),
    (&["parallel", "fork"], "par", "blocks side by side are written `par { … } and { … }`"),
    (&["mu", "label"], "rec", "a loop is written `rec X { … continue X; }`"),
    (
        &["if", "switch", "select", "branch", "choose", "match", "alternative"],
        "choice",
        "a choice is written `choice at`",
    ),
    (&["by", "of", "from", "@"], "at", "who chooses stands behind `at`"),
    (
        &["participant", "party", "actor", "process", "roles", "agent"],
        "role",
        "participants are declared with `role`",
    ),
    (
        &["proto", "session", "interaction", "procedure", "function", "def"],
        "protocol",
        "a protocol is declared with `protocol`",
    ),
    (&["->", "→", "=>", "towards", "into", "for"], "to", "who receives stands behind `to`"),
    (&["by", "sender", "of"], "from", "who sends stands behind `from`"),
    (&["typedef", "datatype", "using", "alias", "newtype"], "type", "a type is declared with `type`"),
];

fn other_word(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for piece in scene.at.saturating_sub(3)..=scene.at {
        let word = scene.word(piece);
        for (others, right, message) in OTHER_WORDS {
            if !word.is_empty()
                && others.iter().any(|other| other.eq_ignore_ascii_case(word))
                && may_stand(scene, piece, right)
            {
                let span = scene.span(piece);
                let mut one = slip(span, message, format!("write `{right}`"), [replace(span, right)]);
                one.cost = 1;
                found.push(one.doubtful_if(!is_clear(scene, piece, right)));
                // `else if {`, `or choice {`.
                if right == "or" && scene.is_word(piece + 1) && scene.word(piece + 2) == "{" {
                    let both = span.to(scene.span(piece + 1));
                    found.push(slip(both, message, format!("write `{right}`"), [replace(both, right)]));
                }
            }
        }
    }
    found
}

/// Whether the keyword `right` could stand where `piece` does.
fn may_stand(scene: &Scene<'_>, piece: usize, right: &str) -> bool {
    let back = |count: usize| piece.checked_sub(count).map_or("", |before| scene.word(before));
    let is_name = scene.is_word(piece + 1);
    match right {
        "at" => back(1) == "choice",
        "to" => is_name && matches!(back(2), "from" | "connect" | "wrap"),
        "from" | "role" | "protocol" | "type" => is_name,
        "rec" => is_name && scene.word(piece + 2) == "{",
        _ => true,
    }
}

/// Whether what stands behind `piece` is all that has to stand behind the keyword `right`: before a message `or` would be its label, and
/// the name of a type that is known is not the one declared.
fn is_clear(scene: &Scene<'_>, piece: usize, right: &str) -> bool {
    match right {
        "or" => scene.word(piece + 1) == "{",
        "type" => payload::builtin(scene.word(piece + 1)).is_none(),
        _ => true,
    }
}

/// `choice { m() from A to B; … }`.
fn choice_without_at(scene: &Scene<'_>) -> Option<Candidate> {
    let choice = (scene.at.saturating_sub(2)..=scene.at).find(|&piece| scene.word(piece) == "choice")?;
    let open = (choice + 1..choice + 3).find(|&piece| scene.word(piece) == "{")?;
    // Whoever sends the first message chooses.
    let from = (open..scene.pieces.len()).find(|&piece| scene.word(piece) == "from")?;
    let chooser = scene.word(from + 1);
    let span = scene.span(choice);
    let gap = Span { start: span.end, end: scene.span(open).start };
    let right = format!("choice at {chooser} {{");
    let message = "it is not said who chooses";
    // Another role may choose, and tell this one by another way.
    Some(
        slip(span, message, format!("write `{right}`"), [replace(gap, format!(" at {chooser} "))]).doubtful(),
    )
}

/// The parentheses of the header where reading got stuck: `(` and `)`.
fn header(scene: &Scene<'_>) -> Option<(usize, usize)> {
    let start = (0..=scene.at.min(scene.pieces.len().checked_sub(1)?))
        .rev()
        .find(|&piece| matches!(scene.word(piece), "protocol" | "global") && scene.is_word(piece + 1))?;
    let open = (start + 2..scene.pieces.len().min(start + 40)).find(|&piece| scene.word(piece) == "(")?;
    let close = (open..scene.pieces.len()).find(|&piece| scene.word(piece) == ")")?;
    (close >= scene.at.saturating_sub(2)).then_some((open, close))
}

/// `protocol P(A, B)`, `protocol P(role A, B)`, `protocol P(A: role)`.
fn roles_without_role(scene: &Scene<'_>) -> Option<Candidate> {
    let (open, close) = header(scene)?;
    let inside = open + 1..close;
    let is_bare = |piece: &usize| {
        scene.is_word(*piece)
            && scene.word(*piece) != "role"
            && matches!(scene.word(piece - 1), "(" | ",")
            && matches!(scene.word(piece + 1), "," | ")")
    };
    let bare: Vec<usize> = inside.filter(is_bare).collect();
    let first = *bare.first()?;
    let edits: Vec<Edit> = bare.iter().map(|&piece| insert(scene.span(piece).start, "role ")).collect();
    let message = format!("`role` is missing before `{}`", scene.word(first));
    let help = format!("write `role {}`", scene.word(first));
    Some(slip(scene.span(first), message, help, edits))
}

/// `protocol P(role A; role B)`.
fn semicolons_between_roles(scene: &Scene<'_>) -> Option<Candidate> {
    let (open, close) = header(scene)?;
    let wrong: Vec<usize> =
        (open..close).filter(|&piece| scene.word(piece) == ";" && scene.word(piece + 1) == "role").collect();
    let first = *wrong.first()?;
    let edits: Vec<Edit> = wrong.iter().map(|&piece| replace(scene.span(piece), ",")).collect();
    Some(slip(scene.span(first), "roles are separated by commas", "write `,`", edits))
}

/// `protocol P { … }`.
fn no_roles(scene: &Scene<'_>) -> Option<Candidate> {
    let open = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "{")?;
    if open < 2 || !matches!(scene.word(open - 2), "protocol" | "global") {
        return None;
    }
    let close = scene.closing(open);
    let mut roles: Vec<&str> = Vec::new();
    for piece in open..close {
        if matches!(scene.word(piece), "from" | "to")
            && scene.is_word(piece + 1)
            && !roles.contains(&scene.word(piece + 1))
        {
            roles.push(scene.word(piece + 1));
        }
    }
    if roles.is_empty() {
        return None;
    }
    let list = roles.iter().map(|role| format!("role {role}")).collect::<Vec<_>>().join(", ");
    let name = scene.word(open - 1);
    let span = scene.span(open - 1);
    let message = format!("the roles of `{name}` are not declared");
    // Not all of them need be named where they are used.
    let found = slip(
        span,
        message,
        format!("write `protocol {name}({list})`"),
        [insert(span.end, format!("({list})"))],
    );
    Some(found.doubtful())
}

/// `local protocol P at A(role B) { … }`.
fn local_protocol(scene: &Scene<'_>) -> Option<Candidate> {
    let local = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "local")?;
    let open = (local..scene.pieces.len()).find(|&piece| scene.word(piece) == "{")?;
    let close = scene.closing(open).min(scene.pieces.len().checked_sub(1)?);
    let skipped = scene.span(local).to(scene.span(close));
    let message = "local protocols are computed, not written";
    let help = "write the global protocol; `referee show --view local` prints what each role does";
    Some(refusal(scene.span(local), message, help, skipped))
}

/// Scribble's `interruptible X { … } with { … }`.
fn interruptible(scene: &Scene<'_>) -> Option<Candidate> {
    let is_head = |piece: &usize| {
        let head = scene.word(*piece);
        let open =
            scene.word(piece + 1) == "{" || scene.word(piece + 2) == "{" || scene.word(piece + 3) == "{";
        head == "interruptible" && open
    };
    let head = (scene.at.saturating_sub(3)..=scene.at).rev().find(is_head)?;
    let mut open = (head..scene.pieces.len()).find(|&piece| scene.word(piece) == "{")?;
    let last = scene.pieces.len().checked_sub(1)?;
    let mut close = scene.closing(open).min(last);
    while scene.word(close + 1) == "with" && scene.word(close + 2) == "{" {
        open = close + 2;
        close = scene.closing(open).min(last);
    }
    let message = "`interruptible` is not supported, because a monitor follows one conversation at a time";
    let help = "write the interruption as a branch of a choice";
    let mut found = refusal(scene.span(head), message, help, scene.span(head).to(scene.span(close)));
    found.cost = 0;
    Some(found)
}

/// Scribble's `do scope: P(a, b);`.
fn scoped_do(scene: &Scene<'_>) -> Option<Candidate> {
    let colon = (scene.at.saturating_sub(1)..=scene.at + 1).find(|&piece| scene.word(piece) == ":")?;
    let start = colon.checked_sub(2)?;
    if scene.word(start) != "do" || !scene.is_word(start + 1) || !scene.is_word(colon + 1) {
        return None;
    }
    Some(no_scopes(scene.word(start + 1), scene.span(start + 1).to(scene.span(colon))))
}

/// Scopes are refused; what stands at `scope` is passed over.
pub(super) fn no_scopes(name: &str, scope: Span) -> Candidate {
    let message = format!("scopes are not supported, because labels are not told apart by them: `{name}`");
    let mut found =
        refusal(scope, message, "leave the scope out, or give the messages labels of their own", scope);
    found.cost = 0;
    found
}

/// `# …` and `-- …`.
fn comment(scene: &Scene<'_>) -> Option<Candidate> {
    let at = (scene.at.saturating_sub(1)..=scene.at + 1)
        .find(|&piece| matches!(scene.word(piece), "#" | "-" | "%"))?;
    let start = scene.span(at).start;
    let dashes = scene.text[start as usize..].starts_with("--");
    if scene.word(at) == "-" && !dashes {
        return None;
    }
    let opening = Span { start, end: start + 1 + u32::from(dashes) };
    let edit = replace(opening, "//");
    Some(slip(opening, "a comment begins with `//` here", "write `//`", [edit]))
}
