//! Corrections: what would have to be written instead.

use crate::source::{Span, narrow};

/// One place and what to write there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; empty where something is inserted.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// A correction of one mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The changes, in the order of the text; none overlaps another.
    pub edits: Vec<Edit>,
    /// Whether nothing else can have been meant, so that `referee fix` may apply it.
    pub certain: bool,
}

impl Fix {
    /// `text`, corrected.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        apply(text, &self.edits)
    }

    /// The lines of `text` that change, corrected.
    #[must_use]
    pub fn corrected_lines(&self, text: &str) -> String {
        let (Some(first), Some(last)) = (self.edits.first(), self.edits.last()) else { return String::new() };
        let (start, end) = (first.span.start as usize, last.span.end as usize);
        let start = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let end = text.get(end..).and_then(|after| after.find('\n')).map_or(text.len(), |at| end + at);
        let shifted = |edit: &Edit| Edit {
            span: Span { start: edit.span.start - narrow(start), end: edit.span.end - narrow(start) },
            text: edit.text.clone(),
        };
        let edits: Vec<Edit> = self.edits.iter().map(shifted).collect();
        apply(text.get(start..end).unwrap_or_default(), &edits)
    }
}

/// `text` after `edits`, which are in order. What lies outside the text or overlaps is left out.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for edit in edits {
        let range = edit.span.range();
        let Some(before) = text.get(done..range.start) else { continue };
        if text.get(range.clone()).is_none() {
            continue;
        }
        out.push_str(before);
        out.push_str(&edit.text);
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::{Edit, Fix};
    use crate::source::Span;

    #[test]
    fn corrected_lines_are_whole_lines() {
        let edits = vec![
            Edit { span: Span::new(4, 5), text: "x".into() },
            Edit { span: Span::at(9), text: ";".into() },
        ];
        let fix = Fix { edits, certain: true };
        assert_eq!(fix.apply("abc\nd e f\ng"), "abc\nx e f;\ng");
        assert_eq!(fix.corrected_lines("abc\nd e f\ng"), "x e f;");
    }
}
