//! The layout of `.hml` text: what `referee fmt` writes.
//!
//! Lines are indented by two blanks for each bracket that is open, brackets in patterns included, and so are the lines of a rule but its
//! first; blanks at the ends of
//! lines go, of several blank lines one remains, and none at the ends of the text. How formulas are broken into lines is
//! the author's, comments stay where they are, and nothing else is touched: formatting what was formatted changes
//! nothing, and reading it gives the same properties.

use crate::diagnostics::Diagnostic;
use crate::language::Language;

/// `text` in its layout.
///
/// # Errors
/// What is wrong with the text: it is not touched then.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let mut diagnostics = crate::parse(text, Language::Hml).diagnostics;
    diagnostics.retain(Diagnostic::is_error);
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let mut out = String::with_capacity(text.len());
    let mut state = State::default();
    let mut owes_blank_line = false;
    for line in text.strip_prefix('\u{feff}').unwrap_or(text).lines() {
        if state.in_comment {
            // The inside of a comment is the author's.
            out.push_str(line.trim_end());
            out.push('\n');
            state.read(line);
            continue;
        }
        let content = line.trim();
        if content.is_empty() {
            owes_blank_line = !out.is_empty();
            continue;
        }
        if std::mem::take(&mut owes_blank_line) {
            out.push('\n');
        }
        state.begin_line(content);
        let closing = content.chars().take_while(|c| matches!(c, ')' | ']' | '}')).count();
        let depth = state.depth.saturating_sub(closing) + usize::from(state.continues_rule);
        out.extend(std::iter::repeat_n("  ", depth.min(DEEPEST)));
        out.push_str(content);
        out.push('\n');
        state.read(content);
    }
    Ok(out)
}

/// Deeper lines are not indented further.
const DEEPEST: usize = 40;

/// What is open at the end of a line.
#[derive(Default)]
struct State {
    depth: usize,
    in_comment: bool,
    /// The line goes on with a rule that began before it.
    continues_rule: bool,
    in_rule: bool,
}

impl State {
    /// Looks at the first words of `line`, which is not within a comment.
    fn begin_line(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let begins = match (words.next(), words.next()) {
            (Some("rule"), Some(_)) => Some(true),
            (Some("property"), Some(_)) => Some(false),
            _ => None,
        };
        self.continues_rule =
            self.in_rule && begins.is_none() && !line.starts_with("//") && !line.starts_with('%');
        self.in_rule = begins.unwrap_or(self.in_rule);
    }

    fn read(&mut self, line: &str) {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            if self.in_comment {
                let Some(end) = rest.find("*/") else { return };
                self.in_comment = false;
                rest = rest.get(end + 2..).unwrap_or_default();
                continue;
            }
            if rest.starts_with("//") {
                return;
            }
            if rest.starts_with("/*") {
                self.in_comment = true;
                rest = rest.get(2..).unwrap_or_default();
                continue;
            }
            match first {
                // In guards `%` is an operator, and then it has something to its left within brackets; a comment that
                // is taken for one can only spoil the indentation.
                '%' if self.depth == 0 || rest.starts_with("%%") => return,
                '(' | '[' | '{' => self.depth += 1,
                ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                '"' | '\'' => {
                    rest = after_string(rest, first);
                    continue;
                }
                // A character of Erlang: `$(`.
                '$' => rest = rest.get(1..).unwrap_or_default(),
                _ => {}
            }
            rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
        }
    }
}

/// What follows the string that begins here.
fn after_string(text: &str, quote: char) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return text.get(at + 1..).unwrap_or_default(),
            _ => {}
        }
    }
    ""
}
