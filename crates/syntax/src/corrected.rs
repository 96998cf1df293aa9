//! Texts with their certain mistakes put right: what `referee fix` writes.

use crate::diagnostics::{Diagnostic, Edit, Fix};
use crate::language::Language;
use crate::parse;
use crate::repair::{has_syntax_errors, is_elsewhere};

/// What became of a text.
#[derive(Clone, Debug)]
pub struct Corrected {
    /// The text, corrected.
    pub text: String,
    /// What was put right, each mistake with the text in which it was found.
    pub corrections: Vec<Correction>,
    /// Whether something could be put right, but not enough for the text to be read: then nothing is.
    pub withheld: bool,
}

/// One mistake that was put right.
#[derive(Clone, Debug)]
pub struct Correction {
    /// The mistake.
    pub diagnostic: Diagnostic,
    /// The line on which the first change is, from 1, in the text as corrected so far.
    pub line: usize,
    /// The lines that changed, as they were and as they are.
    pub before: String,
    /// See `before`.
    pub after: String,
}

/// After so many corrections a text is left as it is.
const MAX_CORRECTIONS: usize = 1000;

/// `text` with every correction that is certain, if it can be read then: what is read only in part may have been meant
/// otherwise. Correcting what was corrected changes nothing.
#[must_use]
pub fn corrected(text: &str, language: Language) -> Corrected {
    let mut corrected = Corrected { text: text.to_owned(), corrections: Vec::new(), withheld: false };
    let mut errors = count_errors(text, language);
    while corrected.corrections.len() < MAX_CORRECTIONS {
        let document = parse(&corrected.text, language);
        let certain = |diagnostic: &&Diagnostic| diagnostic.fix.as_ref().is_some_and(|fix| fix.certain);
        let Some(diagnostic) = document.diagnostics.iter().find(certain).cloned() else { break };
        let Some(fix) = &diagnostic.fix else { break };
        let text = fix.apply(&corrected.text);
        // One after the other, and only while there are fewer mistakes each time: so this ends.
        let left = count_errors(&text, language);
        if left >= errors {
            break;
        }
        errors = left;
        corrected.corrections.push(correction(&diagnostic, fix, &corrected.text));
        corrected.text = text;
    }
    if !corrected.corrections.is_empty() && has_syntax_errors(&parse(&corrected.text, language)) {
        return Corrected { text: text.to_owned(), corrections: Vec::new(), withheld: true };
    }
    corrected
}

fn count_errors(text: &str, language: Language) -> usize {
    let found = parse(text, language).diagnostics;
    found.iter().filter(|found| found.is_error() && !is_elsewhere(found, text)).count()
}

fn correction(diagnostic: &Diagnostic, fix: &Fix, text: &str) -> Correction {
    let start = fix.edits.first().map_or(0, |edit| edit.span.start as usize);
    let same = |edit: &Edit| Edit {
        span: edit.span,
        text: text.get(edit.span.range()).unwrap_or_default().to_owned(),
    };
    let unchanged = Fix { edits: fix.edits.iter().map(same).collect(), certain: true };
    Correction {
        diagnostic: diagnostic.clone(),
        line: text.get(..start).map_or(1, |before| before.matches('\n').count() + 1),
        before: unchanged.corrected_lines(text),
        after: fix.corrected_lines(text),
    }
}
