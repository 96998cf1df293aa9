//! Notations of papers and of other tools, in languages into which they cannot be translated piece by piece: one error that shows the
//! right form.

use super::Scene;
use crate::diagnostics::{Diagnostic, RF0004};
use crate::language::Language;
use crate::source::Span;

/// What is said of a `text` that cannot be read, if it is in a notation that is known.
pub(super) fn notation(text: &str, language: Language) -> Option<Diagnostic> {
    let scene = Scene::new(text, language, Span::at(0));
    let mut places = 0..scene.pieces.len();
    places.find_map(|piece| match language {
        Language::Kmc => global(&scene, piece).or_else(|| of_machines(&scene, piece)),
        Language::St => global(&scene, piece).or_else(|| of_sessions(&scene, piece)),
        Language::Fsm => global(&scene, piece).or_else(|| graphviz(&scene, piece)),
        Language::Hml => of_formulas(&scene, piece),
        Language::Scr | Language::Gt | Language::GtJson => None,
    })
}

fn said(scene: &Scene<'_>, first: usize, last: usize, message: &str, help: String) -> Diagnostic {
    let span = Span { start: scene.span(first).start, end: scene.span(last).end };
    RF0004.at(span, message.to_owned()).help(help)
}

/// `p -> q : { l1. …, l2. … }`.
fn global(scene: &Scene<'_>, arrow: usize) -> Option<Diagnostic> {
    let is_arrow = matches!(scene.word(arrow), "->" | "→");
    let first = arrow.checked_sub(1).filter(|first| is_arrow && scene.is_word(*first))?;
    let is_message = matches!(scene.word(arrow + 2), ":" | "(" | "{" | "<" | "⟨");
    if !is_message || !scene.is_word(arrow + 1) {
        return None;
    }
    let (p, q) = (scene.word(first), scene.word(arrow + 1));
    let own = match scene.language {
        Language::Kmc => format!("`{p}: {{{q}!l1; …, {q}!l2; …}}` and `{q}: {{{p}?l1; …, {p}?l2; …}}`"),
        Language::St => "`S = +{!l1().…, !l2().…}`, seen from one side".to_owned(),
        _ => "the states and transitions of each role, as in `q0 1 ! l1 q1`".to_owned(),
    };
    let help = format!("write {own}; or the global type in a `.gt` file: `{p} -> {q} (l1 . …, l2 . …)`");
    Some(said(scene, first, arrow + 1, "this is a global type, as papers write it", help))
}

/// `B⊕{l. …}`, `B + {l. …}`, `⊕{…}`, `B!{l. …}`, `B!⟨int⟩`, `p[B]!l` and `!B(l)`.
fn of_machines(scene: &Scene<'_>, piece: usize) -> Option<Diagnostic> {
    let before = piece.checked_sub(1)?;
    let message = "this is the notation of papers, not of `.kmc` files";
    let begins = |piece: usize| matches!(scene.word(piece), ":" | "{" | ";" | "," | ".");
    let choice = |peer: &str, action: &str| format!("write `{{{peer}{action}l1; …, {peer}{action}l2; …}}`");
    match scene.word(piece) {
        sign @ ("⊕" | "&" | "+") if scene.word(piece + 1) == "{" => {
            let action = if sign == "&" { "?" } else { "!" };
            let (first, peer) =
                if scene.is_word(before) { (before, scene.word(before)) } else { (piece, "B") };
            Some(said(scene, first, piece, message, choice(peer, action)))
        }
        action @ ("!" | "?") if scene.is_word(before) && scene.word(piece + 1) == "{" => {
            Some(said(scene, before, piece, message, choice(scene.word(before), action)))
        }
        action @ ("!" | "?") if scene.is_word(before) && matches!(scene.word(piece + 1), "⟨" | "<") => {
            let help = format!("write `{}{action}l<…>; …`, with a label of your own", scene.word(before));
            Some(said(scene, before, piece + 1, "a message has a label", help))
        }
        action @ ("!" | "?") if scene.is_word(piece + 1) && scene.word(piece + 2) == "(" => {
            let label = if scene.is_word(piece + 3) { scene.word(piece + 3) } else { "l" };
            let help = format!("write `{}{action}{label}; …`", scene.word(piece + 1));
            begins(before).then(|| said(scene, piece, piece + 2, message, help))
        }
        "[" if scene.is_word(before) && scene.word(piece + 2) == "]" => {
            let action = Some(scene.word(piece + 3)).filter(|action| matches!(*action, "!" | "?"))?;
            let help = format!("write `{}{action}{}; …`", scene.word(piece + 1), scene.word(piece + 4));
            Some(said(scene, before, piece + 3, message, help))
        }
        _ => None,
    }
}

/// `⊕{…}`, `µX. S` and `q!l(…)`.
fn of_sessions(scene: &Scene<'_>, piece: usize) -> Option<Diagnostic> {
    let message = "this is the notation of papers, not of `.st` files";
    let word = scene.word(piece);
    if word == "⊕" {
        return Some(said(scene, piece, piece, message, "write `+{!l1().…, !l2().…}`".to_owned()));
    }
    if let Some(name) = word.strip_prefix(['µ', 'μ']) {
        let name = if name.is_empty() { scene.word(piece + 1) } else { name };
        return Some(said(scene, piece, piece, message, format!("write `rec {name}.( … )`")));
    }
    if matches!(word, "!" | "?") && matches!(scene.word(piece + 1), "⟨" | "<") {
        let help = format!("write `{word}l(x: {}).…`, with a label of your own", scene.word(piece + 2));
        return Some(said(scene, piece, piece + 1, "a message has a label, and its fields have names", help));
    }
    if word == ":" && matches!(scene.word(piece + 1), "!" | "?" | "+" | "&" | "rec" | "end") {
        let label = piece.checked_sub(1).filter(|&label| label > 0 && scene.is_word(label))?;
        let is_branch = matches!(scene.word(label - 1), "{" | ",");
        let help =
            format!("write `+{{!{}().…, …}}`, or `&{{?{}().…, …}}`", scene.word(label), scene.word(label));
        return is_branch.then(|| said(scene, label, piece, "a branch begins with its message", help));
    }
    if word == "rec" && scene.word(piece + 2) == "." && !matches!(scene.word(piece + 3), "(" | "") {
        let name = scene.word(piece + 1);
        let help = format!("write `rec {name}.( … )`, and messages as `!l().…`");
        return Some(said(scene, piece, piece + 2, "the body of a recursion stands in parentheses", help));
    }
    let before = piece.checked_sub(2)?;
    let names_peer = matches!(word, "!" | "?")
        && scene.is_word(piece - 1)
        && scene.is_word(piece + 1)
        && scene.word(piece + 2) == "("
        && matches!(scene.word(before), "=" | "." | "{" | "," | "(");
    names_peer.then(|| {
        let message = "the other side has no name in `.st` files";
        let help = format!("write `{word}{}(x: Type).…`", scene.word(piece + 1));
        said(scene, piece - 1, piece + 1, message, help)
    })
}

/// `digraph G { … }`.
fn graphviz(scene: &Scene<'_>, piece: usize) -> Option<Diagnostic> {
    let help = "write `.outputs A`, `.state graph`, a transition in each line (`q0 1 ! l q1`), `.marking q0` and `.end` for each role";
    (piece == 0 && matches!(scene.word(0), "digraph" | "strict"))
        .then(|| said(scene, 0, 0, "this is a drawing for Graphviz, not an automaton", help.to_owned()))
}

/// `νX.φ`, and `G φ` or `AG φ`.
fn of_formulas(scene: &Scene<'_>, piece: usize) -> Option<Diagnostic> {
    let word = scene.word(piece);
    for (sign, operator) in [('ν', "max"), ('µ', "min"), ('μ', "min")] {
        if let Some(name) = word.strip_prefix(sign) {
            let name = if name.is_empty() { scene.word(piece + 1) } else { name };
            let help = format!("write `{operator} {name}.( … )`");
            return Some(said(scene, piece, piece, "fixed points are written as words here", help));
        }
    }
    let is_sign = word.starts_with(['□', '◇', '◊', '○']);
    let is_temporal = piece == 0 && matches!(word, "AG" | "AF" | "EG" | "EF" | "G" | "F");
    (is_sign || is_temporal).then(|| {
        let help = "write a fixed point, `max X.( … and [_]X)` for what always holds, or a rule (docs/languages/hml.md)";
        said(scene, piece, piece, "temporal operators are written as fixed points here", help.to_owned())
    })
}
