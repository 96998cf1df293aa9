//! Time in properties: `at x`, durations, and the windows that guards ask.
//!
//! A window has a pattern of events inside an expression. It is read first, and a name of the same length is put in its place, so
//! that the expression is read as any other and every place in it stays where it is.

use std::sync::Arc;

use referee_theory::expr::{Literal, Node};
use referee_theory::property::guard::{Condition, Mistake, constant};
use referee_theory::property::window::placeholder;
use referee_theory::property::{Aggregate, EventPattern, Modality, Slot, Window, WindowSpan};

use super::cursor::{Parsed, Token};
use super::parser::{Parser, Step, Variable};
use crate::diagnostics::RF0806;
use crate::diagnostics::properties::guard_without_value;
use crate::expr;
use crate::source::{Span, narrow};

/// Windows, and the slots that guards find their values in.
pub(super) type Asked = Vec<(Slot, Arc<Window>)>;

impl Parser<'_> {
    /// `NAME` after `at`: a new variable.
    pub(super) fn time_slot(&mut self) -> Parsed<Slot> {
        let (text, own) = (self.cursor.text(), self.data_depth());
        let span = self.cursor.expect_as(Token::Name, "the name of a variable")?;
        match self.variable(text, span, own)? {
            Variable::New(slot) => Ok(slot),
            Variable::Known(_) => {
                let error =
                    RF0806.at(span, format!("`{text}` has a value here, and `at` needs a new variable"));
                Err(self.cursor.report(error.help("write another name, and compare: `at u when u == …`")))
            }
        }
    }

    /// A duration after `word`.
    pub(super) fn duration(&mut self, word: &'static str) -> Parsed<Condition> {
        let start = self.cursor.span().start as usize;
        let source = self.cursor.whole_text().get(start..).unwrap_or_default();
        let (expr, length) =
            expr::parse_guard_prefix(source, narrow(start)).map_err(|error| self.guard_syntax(&error))?;
        self.cursor.seek(start + length);
        let condition = self.condition(&expr, &Asked::new())?;
        match condition.node() {
            Node::Literal(Literal::Duration(_)) => Ok(condition),
            Node::Literal(other) => {
                let (place, expected, found) =
                    (condition.place(), "a duration, as `5s`", other.kind().to_owned());
                let mistake = Mistake { place, operation: word, expected, found };
                Err(self.cursor.report(guard_without_value(&mistake)))
            }
            _ => {
                let mut variables = false;
                condition.variables(&mut |_| variables = true);
                let found = match constant(&condition) {
                    _ if variables => return Ok(condition),
                    Some(Literal::Duration(length)) if length >= 0 => return Ok(condition),
                    Some(Literal::Duration(_)) => "negative duration".to_owned(),
                    Some(other) => other.kind().to_owned(),
                    None => "no value".to_owned(),
                };
                let mistake = Mistake {
                    place: condition.place(),
                    operation: word,
                    expected: "a duration, as `5s`",
                    found,
                };
                Err(self.cursor.report(guard_without_value(&mistake)))
            }
        }
    }

    /// A duration after `word` that is written as one; `otherwise` says why it must be.
    pub(super) fn constant_duration(&mut self, word: &'static str, otherwise: &str) -> Parsed<i64> {
        let start = self.cursor.span();
        match self.duration(word)?.node() {
            Node::Literal(Literal::Duration(length)) => Ok(*length),
            _ => {
                let error = RF0806.at(start, otherwise.to_owned());
                Err(self.cursor.report(error.help("write a duration, as `60s`")))
            }
        }
    }

    /// The text from `start` on with a name in place of each window, and the windows.
    pub(super) fn windows(&mut self, start: usize) -> Parsed<(String, Asked)> {
        let text = self.cursor.whole_text();
        let mut source = text.get(start..).unwrap_or_default().to_owned();
        let mut asked = Asked::new();
        let mut at = start;
        while let Some(call) = next_window(text, at) {
            self.cursor.seek(call);
            let window = self.window()?;
            let end = self.cursor.previous().end as usize;
            let span = Span::new(call, end);
            let slot = self.new_slot(window.aggregate.name(), span);
            let name = placeholder(asked.len());
            let blanks = " ".repeat((end - call).saturating_sub(name.len()));
            source.replace_range(call - start..end - start, &(name + &blanks));
            asked.push((slot, Arc::new(window)));
            at = end;
        }
        self.cursor.seek(start);
        Ok((source, asked))
    }

    /// `count([p] in 60s)`, `sum(x of [p] in day)`; the cursor is at the first word.
    fn window(&mut self) -> Parsed<Window> {
        let name = self.cursor.text();
        self.cursor.bump();
        let aggregate =
            Aggregate::ALL.into_iter().find(|known| known.name() == name).unwrap_or(Aggregate::Count);
        self.cursor.expect(Token::OpenParen)?;
        let value = match aggregate {
            Aggregate::Count => None,
            _ => {
                let value = self.cursor.name("the name of a variable")?;
                if !self.cursor.eat_word("of") {
                    return Err(self.cursor.unexpected(&["`of`"]));
                }
                Some(value)
            }
        };
        let depth = self.data_depth();
        let start = self.cursor.span();
        let Step { pattern, .. } = self.modality(Modality::Necessity)?;
        let span = start.to(self.cursor.previous());
        let own = pattern.binds();
        let value = match value {
            None => None,
            Some((name, at)) => match self.data_slot(&name).filter(|slot| own.contains(slot)) {
                Some(slot) => Some(slot),
                None => {
                    let error = RF0806.at(at, format!("the pattern of this window binds no new `{name}`"));
                    return Err(self.cursor.report(error.help("give it a name that has no value outside")));
                }
            },
        };
        self.leave_data(depth);
        let mut read = Vec::new();
        pattern.guard.iter().for_each(|guard| guard.slots(&mut read));
        read.extend(pattern.except.iter().flat_map(EventPattern::reads));
        if !pattern.windows.is_empty() || read.iter().any(|slot| !own.contains(slot)) {
            let error = RF0806.at(span, "a window compares with variables from outside only by equality");
            return Err(self.cursor.report(error.help("write `{key: variable}` in its pattern")));
        }
        let outer = pattern.reads().into();
        if !self.cursor.eat_word("in") {
            return Err(self.cursor.unexpected(&["`in`"]));
        }
        let span = self.window_span()?;
        self.cursor.expect(Token::CloseParen)?;
        Ok(Window { aggregate, pattern, value, span, outer })
    }

    fn window_span(&mut self) -> Parsed<WindowSpan> {
        if self.cursor.eat_word("day") {
            return Ok(WindowSpan::Day);
        }
        if !self.cursor.eat_word("last") {
            let constant = self.constant_duration("in", "the length of a window is a constant");
            return constant.map(WindowSpan::Duration);
        }
        let text = self.cursor.text();
        self.cursor.expect_as(Token::Int, "how many events")?;
        let Some(count) = text.parse().ok().filter(|count| *count > 0) else {
            return Err(self.cursor.unexpected(&["how many events"]));
        };
        if !self.cursor.eat_word("of") {
            return Ok(WindowSpan::Last(count));
        }
        let (depth, start) = (self.data_depth(), self.cursor.span());
        let Step { pattern, .. } = self.modality(Modality::Necessity)?;
        self.leave_data(depth);
        if !pattern.reads().is_empty() || !pattern.windows.is_empty() {
            let error =
                RF0806.at(start, "which events are counted does not depend on variables from outside");
            return Err(self.cursor.report(error));
        }
        Ok(WindowSpan::LastOf(count, Box::new(pattern)))
    }
}

/// Where the next window begins in the guard that goes on at `from`, before the bracket that closes it.
fn next_window(text: &str, from: usize) -> Option<usize> {
    let (mut at, mut depth) = (from, 0_usize);
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return None,
            ')' | ']' | '}' => depth -= 1,
            '"' | '\'' => at += string(rest, c),
            c if c.is_alphabetic() || c == '_' => {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if is_window(&name, rest.get(name.len()..).unwrap_or_default()) {
                    return Some(at);
                }
                at += name.len();
                continue;
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}

/// How many bytes of the string that begins here come before its closing quote.
fn string(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at,
            _ => {}
        }
    }
    rest.len().saturating_sub(1)
}

/// Whether the call of `name` with what follows is that of a window, not of a function.
fn is_window(name: &str, rest: &str) -> bool {
    let Some(inside) = rest.trim_start().strip_prefix('(').map(str::trim_start) else { return false };
    if name == Aggregate::Count.name() {
        return inside.starts_with('[');
    }
    let named = Aggregate::ALL.into_iter().any(|aggregate| aggregate.name() == name);
    let variable = inside.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    named && variable.len() < inside.len() && variable.trim_start().starts_with("of")
}
