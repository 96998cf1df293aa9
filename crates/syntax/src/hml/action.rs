//! One event in the plain form: `a?alpha`, `b!{ok,7}`.

use referee_theory::property::{EventKind, EventView, Pattern, Term, Value};

use super::cursor::Token;
use super::parser::Parser;
use crate::diagnostics::Diagnostic;

/// An event that owns what it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedEvent {
    /// Received or sent.
    pub kind: EventKind,
    /// Who received, or to whom it was sent.
    pub process: Value,
    /// What.
    pub payload: Value,
}

impl OwnedEvent {
    /// This event, as properties look at it.
    #[must_use]
    pub fn view(&self) -> EventView<'_> {
        let process = self.process.view();
        let (subject, object) = match self.kind {
            EventKind::Send => (Term::Absent, process),
            _ => (process, Term::Absent),
        };
        EventView { subject, object, payload: self.payload.view(), ..EventView::new(self.kind) }
    }
}

/// Reads one action of the plain form. It holds no variables and no `_`.
///
/// # Errors
/// The first mistake.
pub fn action(text: &str) -> Result<OwnedEvent, Diagnostic> {
    let mut parser = Parser::new(text);
    let event = parser.plain_action();
    match (event, parser.cursor.into_diagnostics().into_iter().next()) {
        (Ok(event), None) => Ok(event),
        (_, Some(diagnostic)) => Err(diagnostic),
        (Err(_), None) => {
            Err(crate::diagnostics::properties::not_a_term(crate::source::Span::new(0, text.len()), text))
        }
    }
}

impl Parser<'_> {
    fn plain_action(&mut self) -> super::cursor::Parsed<OwnedEvent> {
        let process = self.value()?;
        let kind = match self.cursor.token() {
            Token::Question => EventKind::Receive,
            Token::Bang => EventKind::Send,
            _ => return Err(self.cursor.unexpected(&["`?`", "`!`"])),
        };
        self.cursor.bump();
        let payload = self.value()?;
        if !self.cursor.is_at_end() {
            return Err(self.cursor.unexpected(&["the end of the action"]));
        }
        Ok(OwnedEvent { kind, process, payload })
    }

    fn value(&mut self) -> super::cursor::Parsed<Value> {
        let start = self.cursor.span();
        let pattern = self.erlang_pattern(0)?;
        let span = start.to(self.cursor.previous());
        value(&pattern).ok_or_else(|| {
            let text = self.cursor.text_of(span);
            self.cursor.report(crate::diagnostics::properties::not_a_term(span, text))
        })
    }
}

/// The only term that matches `pattern`, if it leaves nothing open.
fn value(pattern: &Pattern) -> Option<Value> {
    match pattern {
        Pattern::Literal(term) => Some(term.clone()),
        Pattern::Tuple(parts) => Some(Value::Tuple(parts.iter().map(value).collect::<Option<_>>()?)),
        Pattern::List { front, tail: None } => {
            Some(Value::List(front.iter().map(value).collect::<Option<_>>()?))
        }
        _ => None,
    }
}
