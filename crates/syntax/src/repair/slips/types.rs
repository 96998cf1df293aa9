//! Slips in global and local types, `.gt`, `.st`, `.kmc`, and in properties, `.hml`.

use super::{Candidate, Scene, replace, slip};
use crate::diagnostics::Edit;
use crate::language::Language;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    if scene.language == Language::Gt {
        found.extend(super::paper::global_type(scene));
        found.extend(paper_choice(scene));
        found.extend(one_label(scene));
        found.extend(named_type(scene));
    }
    if scene.language == Language::Kmc {
        found.extend(received_with_ampersand(scene));
        found.extend(no_end(scene));
        found.extend(peer_before_braces(scene));
    }
    found.extend(other_recursion(scene));
    found.extend(greek_recursion(scene));
    found.extend(comment(scene));
    found
}

/// `p -> q : { l1 . G, l2 . G }`, as in papers.
fn paper_choice(scene: &Scene<'_>) -> Option<Candidate> {
    let first = (scene.at.saturating_sub(1)..=scene.at)
        .find(|&piece| matches!(scene.word(piece), ":" | "{" | "&" | "+"))?;
    let is_choice = |piece: usize| {
        let open = piece + usize::from(scene.word(piece) == ":");
        (matches!(scene.word(piece), ":" | "{") && scene.word(open) == "{").then_some(open)
    };
    let choices: Vec<(usize, usize)> =
        (first..scene.pieces.len()).filter_map(|piece| Some((piece, is_choice(piece)?))).collect();
    let mut edits: Vec<Edit> = Vec::new();
    let mut last = None;
    for (start, open) in choices {
        if last == Some(open) {
            continue;
        }
        last = Some(open);
        edits.push(replace(scene.span(start).to(scene.span(open)), "("));
        let close = scene.closing(open);
        if scene.word(close) == "}" {
            edits.push(replace(scene.span(close), ")"));
        }
    }
    edits.sort_by_key(|edit| edit.span);
    let open = is_choice(first)?;
    let span = scene.spans(first..open + 1);
    let message = "labels stand in parentheses here, not in braces as in papers";
    Some(slip(span, message, "write `p -> q (l1 . …, l2 . …)`", edits))
}

/// `p -> q : l . G`: one label without parentheses.
fn one_label(scene: &Scene<'_>) -> Option<Candidate> {
    let colon = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == ":")?;
    if !scene.is_word(colon + 1) {
        return None;
    }
    // Each label opens a parenthesis that closes where the type does.
    let mut edits = Vec::new();
    let mut open = 0_usize;
    let mut depth = 0_usize;
    let mut end = scene.pieces.len();
    for piece in colon..scene.pieces.len() {
        match scene.word(piece) {
            "(" => depth += 1,
            ")" | "," if depth == 0 => {
                end = piece;
                break;
            }
            ")" => depth -= 1,
            ":" if depth == 0 && scene.is_word(piece + 1) => {
                edits.push(replace(scene.span(piece), "("));
                open += 1;
            }
            _ => {}
        }
    }
    let last = scene.span(end.checked_sub(1)?).end;
    edits.push(super::insert(last, ")".repeat(open)));
    let label = scene.word(colon + 1);
    let message = "labels stand in parentheses";
    Some(slip(scene.span(colon), message, format!("write `({label} . …)`"), edits))
}

/// `B!{a; end, b; end}`: in `.kmc` every branch names its peer.
fn peer_before_braces(scene: &Scene<'_>) -> Option<Candidate> {
    let open = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "{")?;
    let peer = open.checked_sub(2).filter(|&peer| scene.is_word(peer))?;
    if !matches!(scene.word(peer + 1), "!" | "?") {
        return None;
    }
    let prefix = scene.words(peer..open);
    let mut edits = vec![replace(scene.spans(peer..open + 1), format!("{{{prefix}"))];
    let close = scene.closing(open);
    let mut depth = 0_usize;
    for piece in open..close {
        match scene.word(piece) {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "," if depth == 1 => edits.push(super::insert(scene.span(piece + 1).start, prefix)),
            _ => {}
        }
    }
    let message = "every branch names its peer";
    let help = format!("write `{{{prefix}…, {prefix}…}}`");
    Some(slip(scene.spans(peer..open + 1), message, help, edits))
}

/// `rec X .` for `mu X .` and the reverse, `μ`.
fn other_recursion(scene: &Scene<'_>) -> Option<Candidate> {
    let right = if scene.language == Language::Gt { "mu" } else { "rec" };
    let is_other = |piece: usize| {
        scene.word(piece) != right && matches!(scene.word(piece), "rec" | "mu" | "μ" | "µ" | "loop")
    };
    let wrong: Vec<usize> =
        (0..scene.pieces.len()).filter(|&piece| is_other(piece) && scene.is_word(piece + 1)).collect();
    let near = wrong.iter().copied().find(|&piece| piece + 3 >= scene.at && piece <= scene.at)?;
    let edits: Vec<Edit> = wrong.into_iter().map(|piece| replace(scene.span(piece), right)).collect();
    let message = format!("recursion is written `{right}` here");
    Some(slip(scene.span(near), message, format!("write `{right}`"), edits))
}

/// `μX . …`, written as one word.
fn greek_recursion(scene: &Scene<'_>) -> Option<Candidate> {
    let right = if scene.language == Language::Gt { "mu" } else { "rec" };
    let is_greek = |piece: &usize| {
        let is_one = |word: &str| word.chars().count() > 1 && word.starts_with(['μ', 'µ']);
        is_one(scene.word(*piece)) && scene.word(piece + 1) == "."
    };
    let near = (scene.at.saturating_sub(2)..=scene.at).find(is_greek)?;
    let first = |piece: usize| {
        let start = scene.span(piece).start;
        crate::source::Span { start, end: start + crate::source::narrow('μ'.len_utf8()) }
    };
    let all = (near..scene.pieces.len()).filter(is_greek);
    let edits: Vec<Edit> = all.map(|piece| replace(first(piece), format!("{right} "))).collect();
    let message = format!("recursion is written `{right}` here");
    let name = scene.word(near).trim_start_matches(['μ', 'µ']);
    Some(slip(scene.span(near), message, format!("write `{right} {name}`"), edits))
}

/// `G = p -> q …`, as in papers.
fn named_type(scene: &Scene<'_>) -> Option<Candidate> {
    let is_named = scene.at <= 1 && scene.is_word(0) && scene.word(1) == "=" && scene.is_word(2);
    let skipped = crate::source::Span { start: scene.span(0).start, end: scene.span(2).start };
    let message = "a type has no name here: the file has one";
    is_named.then(|| slip(scene.spans(0..2), message, "write the type alone", [replace(skipped, "")]))
}

/// `A&l`: what is received is written `A?l`.
fn received_with_ampersand(scene: &Scene<'_>) -> Option<Candidate> {
    let is_one = |piece: &usize| *piece > 0 && scene.word(*piece) == "&" && scene.is_word(piece + 1);
    let wrong = (scene.at.saturating_sub(1)..=scene.at).find(is_one)?;
    let right = format!("{}?{}", scene.word(wrong - 1), scene.word(wrong + 1));
    let span = scene.span(wrong);
    scene.is_word(wrong - 1).then(|| {
        slip(span, "what is received is written `?`", format!("write `{right}`"), [replace(span, "?")])
    })
}

/// `A: B!l`, and nothing behind it.
fn no_end(scene: &Scene<'_>) -> Option<Candidate> {
    let is_action =
        |piece: &usize| matches!(scene.word(*piece), "!" | "?") && scene.is_word(piece + 1) && *piece > 0;
    let mark = (scene.at.saturating_sub(2)..=scene.at).find(is_action)?;
    let behind = mark + 2;
    let is_over = match scene.word(behind) {
        "" | "}" | "," => true,
        _ => scene.is_word(behind) && scene.word(behind + 1) == ":",
    };
    let at = scene.span(mark + 1).end;
    let message = "what follows this action is missing: the machine ends with `end`";
    let action = scene.words(mark - 1..behind);
    is_over.then(|| {
        let help = format!("write `{action}; end`");
        // Anything may follow.
        slip(scene.spans(mark - 1..behind), message, help, [super::insert(at, "; end")]).doubtful()
    })
}

/// `#` and, where comments begin with dashes, `//`; and the reverse.
fn comment(scene: &Scene<'_>) -> Option<Candidate> {
    let right = if scene.language == Language::Kmc { "--" } else { "//" };
    let start = scene.span(scene.at).start;
    let rest = scene.text.get(start as usize..)?;
    let wrong =
        ["//", "--", "#", "%"].into_iter().find(|wrong| *wrong != right && rest.starts_with(wrong))?;
    let span = crate::source::Span::new(start as usize, start as usize + wrong.len());
    Some(slip(
        span,
        format!("a comment begins with `{right}` here"),
        format!("write `{right}`"),
        [replace(span, right)],
    ))
}

/// `<… when V > 1>`: the guard of a possibility needs parentheses.
pub(super) fn unparenthesised_guard(scene: &Scene<'_>) -> Vec<Candidate> {
    /// A guard may have comparisons of its own.
    const MOST_ENDS: usize = 4;
    let when = (scene.at.saturating_sub(2)..=scene.at).find(|&piece| scene.word(piece) == "when");
    let Some(when) = when.filter(|when| scene.word(when + 1) != "(") else { return Vec::new() };
    let ends = (when + 2..scene.pieces.len()).filter(|&piece| scene.word(piece) == ">").take(MOST_ENDS);
    let one = |end: usize| {
        let edits =
            [super::insert(scene.span(when + 1).start, "("), super::insert(scene.span(end - 1).end, ")")];
        let guard = scene.words(when + 1..end);
        let message = "the guard of a possibility stands in parentheses";
        slip(scene.spans(when + 1..end), message, format!("write `when ({guard})`"), edits)
    };
    ends.map(one).collect()
}
