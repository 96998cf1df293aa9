//! Rules about calls, for people who do not read formulas: `rule NAME: before call a(x: v) there must be result of b(x: v)`.
//!
//! ```text
//! rule    ::= "rule" NAME ":" says ["in" "the" "same" "session"]
//! says    ::= "before" events "there" "must" "be" events
//!           | "before" "each" events "there" "must" "be" "a" "new" events
//!           | "never" events ["after" events]
//!           | events "at" "most" ("once" | N "times") ["in" duration] ["for" "each" variable ("," variable)*]
//! events  ::= event ("or" event)*
//! event   ::= ("call" TOOL | "result" "of" TOOL | "failure" "of" TOOL | "any" ("call" | "result" | "failure")
//!             | "message" LABEL) ["(" fields ")"] ["from" ROLE "to" ROLE] ["when" "(" condition ")"]
//! fields  ::= NAME ":" (variable | constant | "_" | "{" fields "}") ("," …)*
//! ```
//!
//! A rule is a property: this file makes it, and [`super::print`] shows it. A variable that stands in what the rule compares is a key of
//! the property (`for each`), so that there is one instance for each value; `translate` has the formulas.

mod translate;

use std::sync::Arc;

use referee_theory::expr::Expr;
use referee_theory::property::{Scope, Value};
use referee_theory::time;

use super::cursor::{Cursor, MAX_NESTING, Parsed, Token};
use super::parser::{Header, Parser};
use crate::diagnostics::assertions::duplicate_field;
use crate::diagnostics::properties::unbound_variable;
use crate::diagnostics::rules::{bad_count, no_duration};
use crate::expr;
use crate::source::{Span, narrow};

/// So many are counted one by one; in a duration any number is.
const MOST_COUNTED: u64 = 50;

/// What a message is to a rule.
#[derive(Clone, Debug, PartialEq)]
enum Subject {
    Call(Option<Arc<str>>),
    /// A result that does not say that the tool failed.
    Result(Option<Arc<str>>),
    Failure(Option<Arc<str>>),
    Message {
        label: Arc<str>,
        roles: Option<(Arc<str>, Arc<str>)>,
    },
}

/// What a field must be.
#[derive(Clone, Debug)]
enum Leaf {
    /// It is there.
    Any,
    Constant(Value),
    Variable(Arc<str>),
}

/// A field of a message, and where in the payload it is.
#[derive(Clone, Debug)]
struct Field {
    path: Vec<Arc<str>>,
    span: Span,
    leaf: Leaf,
}

/// One kind of message that a rule speaks of.
#[derive(Clone, Debug)]
struct RuleEvent {
    span: Span,
    subject: Subject,
    fields: Vec<Field>,
    condition: Option<Expr>,
}

/// What a rule says.
#[derive(Debug)]
enum Says {
    Before { later: Vec<RuleEvent>, needed: Vec<RuleEvent>, each: bool },
    Never { forbidden: Vec<RuleEvent>, after: Vec<RuleEvent> },
    AtMost { events: Vec<RuleEvent>, count: u64, within: Option<i64>, each: Vec<(Arc<str>, Span)> },
}

impl<'a> Parser<'a> {
    /// A rule; the cursor is at the word.
    pub(super) fn rule(&mut self) -> Parsed<Header> {
        let documentation = self.documentation();
        self.cursor.bump();
        let (name, span) = self.cursor.name("the name of the rule")?;
        self.cursor.expect(Token::Colon)?;
        let start = self.cursor.span();
        let says = self.says()?;
        let in_session = self.cursor.is_word("in");
        if in_session {
            self.words(&["in", "the", "same", "session"])?;
        }
        if !self.cursor.is_at_end() && !self.cursor.is_word("rule") && !self.cursor.is_word("property") {
            return Err(self.cursor.unexpected(&[
                "`for each`",
                "`in the same session`",
                "`rule`",
                "`property`",
            ]));
        }
        let whole = start.to(self.cursor.previous());
        // Who is refused is told what the rule says.
        let own = || self.cursor.text_of(whole).split_whitespace().collect::<Vec<_>>().join(" ");
        let documentation = if documentation.is_empty() { own() } else { documentation };
        let keys = self.compared(&says, in_session);
        let root = self.translate(&says, &keys, span)?;
        let scope = match keys.is_empty() {
            true => Scope::Stream,
            false => Scope::PerKey(keys.into_iter().map(|(_, key)| key).collect()),
        };
        Ok(Header { name, span, documentation, scope, again: Default::default(), root })
    }

    /// Each of `words`, in this order.
    fn words(&mut self, words: &[&str]) -> Parsed<()> {
        for word in words {
            if !self.cursor.eat_word(word) {
                return Err(self.cursor.unexpected(&[&format!("`{word}`")]));
            }
        }
        Ok(())
    }

    fn says(&mut self) -> Parsed<Says> {
        if self.cursor.eat_word("before") {
            let each = self.cursor.eat_word("each");
            let later = self.rule_events()?;
            self.words(&["there", "must", "be"])?;
            if each {
                self.words(&["a", "new"])?;
            } else if self.cursor.is_word("a") {
                return Err(self.cursor.unexpected(&[
                    "`call`",
                    "`result`",
                    "`failure`",
                    "`any`",
                    "`message`",
                ]));
            }
            let needed = self.rule_events()?;
            return Ok(Says::Before { later, needed, each });
        }
        if self.cursor.eat_word("never") {
            let forbidden = self.rule_events()?;
            let after = if self.cursor.eat_word("after") { self.rule_events()? } else { Vec::new() };
            return Ok(Says::Never { forbidden, after });
        }
        let starts = ["call", "result", "failure", "any", "message"];
        if !starts.into_iter().any(|word| self.cursor.is_word(word)) {
            return Err(self.cursor.unexpected(&[
                "`before`",
                "`never`",
                "`call`",
                "`result`",
                "`any`",
                "`message`",
            ]));
        }
        let events = self.rule_events()?;
        self.words(&["at", "most"])?;
        let (count, at) = if self.cursor.eat_word("once") {
            (1, self.cursor.previous())
        } else {
            let text = self.cursor.text();
            let at = self.cursor.expect_as(Token::Int, "`once`, or a number and `times`")?;
            if text != "1" || !self.cursor.eat_word("time") {
                self.words(&["times"])?;
            }
            let Ok(count) = text.parse() else {
                return Err(self.cursor.report(bad_count(at, text, MOST_COUNTED)));
            };
            (count, at)
        };
        let within = match self.cursor.is_word("in") && self.cursor.text_nth(1) != "the" {
            true => Some(self.rule_duration()?),
            false => None,
        };
        if count == 0 || (within.is_none() && count > MOST_COUNTED) {
            let text = self.cursor.text_of(at).to_owned();
            return Err(self.cursor.report(bad_count(at, &text, MOST_COUNTED)));
        }
        let each = self.each(&events)?;
        Ok(Says::AtMost { events, count, within, each })
    }

    /// `for each i, j`: the variables that are counted apart.
    fn each(&mut self, events: &[RuleEvent]) -> Parsed<Vec<(Arc<str>, Span)>> {
        let mut each = Vec::new();
        if !self.cursor.eat_word("for") {
            return Ok(each);
        }
        self.words(&["each"])?;
        loop {
            let (name, span) = self.cursor.name("a variable of the rule")?;
            let known = events.iter().flat_map(|event| &event.fields).filter_map(Field::variable);
            let known: Vec<&str> = known.map(|name| &**name).collect();
            if !known.contains(&&*name) {
                return Err(self.cursor.report(unbound_variable(span, &name, &known)));
            }
            each.push((name, span));
            if !self.cursor.eat(Token::Comma) {
                return Ok(each);
            }
        }
    }

    /// `in 1m`, in nanoseconds. What follows may be another `in`, which an expression would take for its own.
    fn rule_duration(&mut self) -> Parsed<i64> {
        self.cursor.bump();
        let start = self.cursor.span().start as usize;
        let rest = self.cursor.whole_text().get(start..).unwrap_or_default();
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
        let text = rest.get(..length).unwrap_or_default();
        let Some(duration) = time::read_duration(text).filter(|duration| *duration > 0) else {
            return Err(self.cursor.report(no_duration(Span::new(start, start + length.max(1)), text)));
        };
        self.cursor.seek(start + length);
        Ok(duration)
    }

    fn rule_events(&mut self) -> Parsed<Vec<RuleEvent>> {
        let mut events = vec![self.rule_event()?];
        while self.cursor.eat_word("or") {
            events.push(self.rule_event()?);
        }
        Ok(events)
    }

    fn rule_event(&mut self) -> Parsed<RuleEvent> {
        let start = self.cursor.span();
        let subject = self.subject()?;
        let mut fields = Vec::new();
        if self.cursor.eat(Token::OpenParen) {
            let mut path = match subject {
                Subject::Message { .. } => Vec::new(),
                _ => vec!["arguments".into()],
            };
            self.rule_fields(Token::CloseParen, &mut path, &mut fields)?;
        }
        let subject = match subject {
            Subject::Message { label, .. } if self.cursor.eat_word("from") => {
                let from = self.word_or_text("a role")?;
                self.words(&["to"])?;
                Subject::Message { label, roles: Some((from, self.word_or_text("a role")?)) }
            }
            other => other,
        };
        let condition = match self.cursor.eat_word("when") {
            true => Some(self.rule_condition()?),
            false => None,
        };
        Ok(RuleEvent { span: start.to(self.cursor.previous()), subject, fields, condition })
    }

    fn subject(&mut self) -> Parsed<Subject> {
        let any = self.cursor.eat_word("any");
        for (word, make) in [
            ("call", Subject::Call as fn(Option<Arc<str>>) -> Subject),
            ("result", Subject::Result),
            ("failure", Subject::Failure),
        ] {
            if !self.cursor.eat_word(word) {
                continue;
            }
            if any {
                return Ok(make(None));
            }
            if word != "call" {
                self.words(&["of"])?;
            }
            return Ok(make(Some(self.word_or_text("the name of a tool")?)));
        }
        if !any && self.cursor.eat_word("message") {
            return Ok(Subject::Message { label: self.word_or_text("a label")?, roles: None });
        }
        let expected: &[&str] = match any {
            true => &["`call`", "`result`", "`failure`"],
            false => &["`call`", "`result of`", "`failure of`", "`any`", "`message`"],
        };
        Err(self.cursor.unexpected(expected))
    }

    /// A name, in quotes where it is none.
    fn word_or_text(&mut self, what: &str) -> Parsed<Arc<str>> {
        let span = self.cursor.span();
        if self.cursor.is_at(Token::String) {
            self.cursor.bump();
            return Ok(self.unquoted(span)?.into());
        }
        self.cursor.name(what).map(|(name, _)| name)
    }

    /// The condition after `when`: in parentheses, for words of the rule follow it.
    fn rule_condition(&mut self) -> Parsed<Expr> {
        self.cursor.expect_as(Token::OpenParen, "`(`")?;
        let start = self.cursor.span().start as usize;
        let source = self.cursor.whole_text().get(start..).unwrap_or_default();
        let (expr, length) =
            expr::parse_guard_prefix(source, narrow(start)).map_err(|error| self.guard_syntax(&error))?;
        self.cursor.seek(start + length);
        self.cursor.expect(Token::CloseParen)?;
        Ok(expr)
    }

    /// `a: v, "b c": {d: 1}`, up to `close`; those in braces are further in.
    fn rule_fields(&mut self, close: Token, path: &mut Vec<Arc<str>>, fields: &mut Vec<Field>) -> Parsed<()> {
        self.cursor.enter(MAX_NESTING)?;
        let mut seen: Vec<(Arc<str>, Span)> = Vec::new();
        while !self.cursor.is_at(close) {
            let span = self.cursor.span();
            let name = self.word_or_text("the name of an argument")?;
            self.cursor.expect(Token::Colon)?;
            if let Some((_, first)) = seen.iter().find(|(known, _)| *known == name) {
                self.cursor.report(duplicate_field(span, *first, &name));
            }
            seen.push((Arc::clone(&name), span));
            path.push(name);
            if self.cursor.eat(Token::OpenBrace) {
                self.rule_fields(Token::CloseBrace, path, fields)?;
            } else {
                let leaf = self.leaf()?;
                fields.push(Field { path: path.clone(), span: span.to(self.cursor.previous()), leaf });
            }
            path.pop();
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect(close)?;
        self.cursor.leave();
        Ok(())
    }

    fn leaf(&mut self) -> Parsed<Leaf> {
        let (text, span) = (self.cursor.text(), self.cursor.span());
        if self.cursor.is_at(Token::Name) {
            self.cursor.bump();
            return Ok(match text {
                "_" => Leaf::Any,
                "true" | "false" => Leaf::Constant(Value::Bool(text == "true")),
                "null" => Leaf::Constant(Value::Unit),
                name => Leaf::Variable(name.into()),
            });
        }
        if self.cursor.is_at(Token::String) {
            self.cursor.bump();
            return Ok(Leaf::Constant(Value::string(&self.unquoted(span)?)));
        }
        match self.at_erlang_constant() {
            true => self.erlang_constant().map(Leaf::Constant),
            false => Err(self.cursor.unexpected(&["a variable", "a constant", "`_`", "`{`"])),
        }
    }
}

/// Whether the next words begin a rule: `rule NAME :`. (`rule` may be a name elsewhere.)
pub(super) fn is_at_rule(cursor: &Cursor<'_>) -> bool {
    cursor.is_word("rule") && cursor.peek_nth(1) == Some(Token::Name)
}
