//! A global type as papers write it, in a `.gt` text: `G = μt. p→q:{l1(int). t, l2. end}`. It is read as a whole, so that its
//! correction is one.

use super::{Candidate, Kind, Scene, insert, replace};
use crate::diagnostics::Edit;
use crate::source::Span;

/// Types nested deeper are not looked at.
const MAX_DEPTH: usize = 64;

/// The text in the notation of `.gt`, if it is one of a paper from its beginning to its end.
pub(super) fn global_type(scene: &Scene<'_>) -> Option<Candidate> {
    let mut paper = Paper {
        scene,
        at: 0,
        edits: Vec::new(),
        first: None,
        differs: false,
        unclosed: false,
        closed: Vec::new(),
    };
    if scene.is_word(0) && scene.word(1) == "=" {
        let skipped = Span { start: scene.span(0).start, end: scene.span(2).start };
        paper.edits.push(replace(skipped, ""));
        paper.at = 2;
    }
    paper.global(0)?;
    if paper.at < scene.pieces.len() || !paper.differs {
        return None;
    }
    let (choice, form) = paper.first?;
    let mut edits = paper.edits;
    edits.sort_by_key(|edit| edit.span);
    let message = String::from("this is the notation of papers, not of `.gt` files");
    let help = format!("write `{form}`");
    let kind = Kind::Slip { span: choice, message, help, corrects: !paper.unclosed };
    Some(Candidate::new(edits, kind, 0))
}

struct Paper<'s, 'a> {
    scene: &'s Scene<'a>,
    at: usize,
    edits: Vec<Edit>,
    /// The first exchange, and how it is written.
    first: Option<(Span, String)>,
    /// Whether something is written as in papers alone.
    differs: bool,
    /// Whether braces are missing at the end: then it is not certain what was meant.
    unclosed: bool,
    /// The braces of recursions, which are left out.
    closed: Vec<usize>,
}

/// How an exchange goes on.
struct Roles {
    from: usize,
    to: usize,
}

impl Paper<'_, '_> {
    fn is(&self, words: &[&str]) -> bool {
        words.contains(&self.scene.word(self.at))
    }

    /// Writes `text` for the current piece, and goes on.
    fn becomes(&mut self, text: &str) {
        if self.scene.word(self.at) != text {
            self.edits.push(replace(self.scene.span(self.at), text));
        }
        self.at += 1;
    }

    fn name(&mut self) -> Option<usize> {
        self.scene.is_word(self.at).then(|| {
            self.at += 1;
            self.at - 1
        })
    }

    /// A whole type, with the braces of its recursions.
    fn global(&mut self, depth: usize) -> Option<()> {
        self.one(depth)?;
        while self.closed.last() == Some(&self.at) {
            self.closed.pop();
            self.at += 1;
        }
        Some(())
    }

    fn one(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.recursions()?;
        let after = self.scene.word(self.at + 1);
        if matches!(after, "->" | "→" | "-->" | "⟶") {
            return self.exchange(depth);
        }
        if self.is(&["0"]) {
            self.becomes("end");
            return Some(());
        }
        self.name().map(|_| ())
    }

    /// `μX.`, also written as one word, any number of times.
    fn recursions(&mut self) -> Option<()> {
        loop {
            let word = self.scene.word(self.at);
            let is_greek = word.starts_with(['μ', 'µ']);
            if is_greek && word.chars().count() > 1 {
                self.becomes(&format!("mu {}", word.trim_start_matches(['μ', 'µ'])));
            } else if is_greek || matches!(word, "mu" | "rec") && self.scene.is_word(self.at + 1) {
                self.becomes("mu");
                self.name()?;
            } else {
                return Some(());
            }
            if self.is(&["{"]) {
                // `rec X { G }`: the body goes on to the end of what it stands in.
                let close = self.scene.closing(self.at);
                self.edits.push(replace(self.scene.span(self.at), "."));
                self.edits.push(replace(self.scene.span(close), ""));
                self.closed.push(close);
                self.differs = true;
                self.at += 1;
            } else if self.is(&[".", ":"]) {
                self.becomes(".");
            } else {
                return None;
            }
        }
    }

    /// `p -> q : { … }`, `p -> q : l . G`, or as `.gt` has it.
    fn exchange(&mut self, depth: usize) -> Option<()> {
        let start = self.at;
        let from = self.name()?;
        self.becomes("->");
        let to = self.name()?;
        let roles = Roles { from, to };
        if self.is(&["<", "⟨"]) {
            self.types()?;
            self.is(&[".", ";"]).then(|| self.becomes("."))?;
            return self.global(depth + 1);
        }
        let gap = self.scene.span(to).end;
        if self.is(&[":"]) && self.value_follows() {
            let next = self.scene.span(self.at + 1);
            let is_bare = self.scene.is_word(self.at + 1);
            self.edits.push(replace(Span { start: gap, end: next.start }, if is_bare { " <" } else { " " }));
            self.differs = true;
            self.first.get_or_insert((self.scene.spans(start..to + 1), String::from("p -> q <int> . …")));
            self.at += 1;
            if is_bare {
                self.name()?;
                self.edits.push(insert(self.scene.span(self.at - 1).end, ">"));
            } else {
                self.types()?;
            }
            self.is(&[".", ";"]).then(|| self.becomes("."))?;
            return self.global(depth + 1);
        }
        // Who chooses is marked in some.
        let marked = self.is(&["&", "+", "⊕"]) && matches!(self.scene.word(self.at + 1), "{" | "(");
        self.at += usize::from(marked);
        let colon = self.is(&[":"]).then(|| self.scene.span(self.at));
        self.at += usize::from(colon.is_some());
        let mut labels = Vec::new();
        if self.is(&["{", "("]) {
            self.differs |= colon.is_some() || self.is(&["{"]);
            let open = self.scene.span(self.at);
            self.edits.push(replace(Span { start: gap, end: open.end }, " ("));
            let close = if self.is(&["{"]) { "}" } else { ")" };
            self.at += 1;
            loop {
                labels.push(self.branch(&roles, depth)?);
                if !self.is(&[",", ";", "|"]) {
                    break;
                }
                self.becomes(",");
            }
            if self.at == self.scene.pieces.len() {
                self.edits.push(insert(self.scene.span(self.at - 1).end, ")"));
                self.unclosed = true;
            } else {
                self.is(&[close]).then(|| self.becomes(")"))?;
            }
        } else {
            let colon = colon?;
            self.differs = true;
            self.edits.push(replace(Span { start: gap, end: colon.end }, " ("));
            let label = self.scene.span(self.at).start;
            self.edits.push(replace(Span { start: colon.end, end: label }, ""));
            labels.push(self.branch(&roles, depth)?);
            self.edits.push(insert(self.scene.span(self.at - 1).end, ")"));
        }
        if self.first.is_none()
            || self.first.as_ref().is_some_and(|(span, _)| span.start > self.scene.span(start).start)
        {
            let (p, q) = (self.scene.word(roles.from), self.scene.word(roles.to));
            let branches: Vec<String> =
                labels.iter().map(|label| format!("{} . …", self.scene.word(*label))).collect();
            self.first =
                Some((self.scene.spans(start..to + 1), format!("{p} -> {q} ({})", branches.join(", "))));
        }
        Some(())
    }

    /// Whether `: <int> .` or `: int .` stands here.
    fn value_follows(&self) -> bool {
        let next = self.scene.word(self.at + 1);
        matches!(next, "<" | "⟨")
            || matches!(next, "int" | "str" | "string" | "bool" | "real" | "unit" | "nat")
                && self.scene.word(self.at + 2) == "."
    }

    /// `l . G`, `l(int) . G`: the label.
    fn branch(&mut self, roles: &Roles, depth: usize) -> Option<usize> {
        let label = self.name()?;
        if self.is(&["(", "<", "⟨", "["]) {
            let value = format!(" . {} -> {} ", self.scene.word(roles.from), self.scene.word(roles.to));
            let behind = self.scene.span(label).end;
            if matches!(self.scene.word(self.at + 1), ")" | ">" | "⟩" | "]") {
                let nothing = Span { start: behind, end: self.scene.span(self.at + 1).end };
                self.edits.push(replace(nothing, ""));
                self.at += 2;
            } else {
                let open = self.scene.span(self.at).start;
                self.edits.push(replace(Span { start: behind, end: open }, value));
                self.types()?;
            }
            self.differs = true;
        }
        // What ends there ends without a word in papers.
        if self.differs && self.is(&[",", "}", "|"]) {
            self.edits.push(insert(self.scene.span(self.at - 1).end, " . end"));
            return Some(label);
        }
        if self.is(&["end"]) {
            self.edits.push(insert(self.scene.span(self.at - 1).end, " ."));
        } else if self.is(&[".", ";", ":"]) {
            self.becomes(".");
        } else {
            return None;
        }
        self.global(depth + 1)?;
        Some(label)
    }

    /// `(int, str)` or `<int>`.
    fn types(&mut self) -> Option<()> {
        let close = match self.scene.word(self.at) {
            "(" => ")",
            "[" => "]",
            "<" => ">",
            _ => "⟩",
        };
        self.becomes("<");
        loop {
            self.name()?;
            if !self.is(&[","]) {
                break;
            }
            self.at += 1;
        }
        self.is(&[close]).then(|| self.becomes(">"))
    }
}
