//! Times: `within D of LABEL`, `after D`. The clocks of other tools are recognised, and reported once.

use std::sync::Arc;

use super::Parser;
use crate::diagnostics::assertions::assertion_syntax;
use crate::diagnostics::times::{clocks, two_times};
use crate::expr::{self, Dialect};
use crate::scr::ast::{SinceSyntax, TimesSyntax, WithinSyntax, Written};
use crate::scr::cursor::{Parsed, Reported};
use crate::scr::token::Token;
use crate::scr::written;
use crate::source::{Span, narrow};

impl Parser<'_> {
    /// The times of a message, in any order.
    pub(super) fn times(&mut self, times: &mut Option<Box<TimesSyntax>>) -> Parsed<()> {
        loop {
            if self.begins_clocks() {
                self.skip_clocks();
                return Ok(());
            }
            let start = self.cursor.span();
            if self.cursor.is_word("within") {
                let within = self.within()?;
                let place = &mut times.get_or_insert_default().within;
                if place.is_some() {
                    self.cursor.report(two_times(start.to(self.here()), "within"));
                }
                *place = Some(within);
            } else if self.cursor.is_word("after") {
                let length = self.length()?;
                let place = &mut times.get_or_insert_default().after;
                if place.is_some() {
                    self.cursor.report(two_times(start.to(self.here()), "after"));
                }
                *place = Some(length);
            } else {
                return Ok(());
            }
        }
    }

    /// The deadline of a choice.
    pub(super) fn choice_within(&mut self) -> Parsed<Option<Box<WithinSyntax>>> {
        if !self.cursor.is_word("within") {
            return Ok(None);
        }
        self.within().map(Box::new).map(Some)
    }

    fn within(&mut self) -> Parsed<WithinSyntax> {
        let start = self.cursor.span();
        let length = self.length()?;
        let since = match self.cursor.eat_word("of") {
            true if self.cursor.eat_word("any") => Some(SinceSyntax::Any),
            true => Some(SinceSyntax::Label(self.cursor.name("a label or `any`")?)),
            false => None,
        };
        Ok(WithinSyntax { length, since, span: start.to(self.here()) })
    }

    /// The expression behind the keyword here.
    fn length(&mut self) -> Parsed<Written> {
        let start = self.cursor.span().end as usize;
        match expr::parse_guard_prefix(&self.cursor.whole_text()[start..], narrow(start)) {
            Ok((expr, consumed)) => {
                let span = Span::new(start, start + consumed);
                let comments = written::comments(self.cursor.whole_text(), span, Dialect::Cel);
                self.cursor.add_comments(comments);
                self.cursor.seek(start + consumed);
                Ok(Written { expr: Arc::new(expr), span })
            }
            Err(error) => {
                self.cursor.report(assertion_syntax(&error));
                Err(Reported)
            }
        }
    }

    /// Whether clocks as in nuScr's `within [0;1] using x and resetting (x)` or timed Scribble's `[@A: x < 1]` stand here.
    fn begins_clocks(&self) -> bool {
        let second = self.cursor.second().0;
        match self.cursor.token() {
            Token::LeftBracket => second == Token::At,
            Token::At => second == Token::Less,
            Token::Word => {
                self.cursor.is_word("within") && matches!(second, Token::LeftBracket | Token::RightBracket)
            }
            _ => false,
        }
    }

    /// Goes to the semicolon behind clocks.
    fn skip_clocks(&mut self) {
        let (start, interval) = (self.cursor.span(), self.cursor.token() == Token::Word);
        // An interval has a semicolon of its own.
        for semicolon in 0..=usize::from(interval) {
            if semicolon > 0 {
                self.cursor.bump();
            }
            while !matches!(
                self.cursor.token(),
                Token::Semicolon | Token::LeftBrace | Token::RightBrace | Token::End
            ) {
                self.cursor.skip();
            }
        }
        if !std::mem::replace(&mut self.seen_clocks, true) {
            self.cursor.report(clocks(start.to(self.here())));
        }
    }
}
