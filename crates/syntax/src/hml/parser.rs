//! Files, properties and formulas. Chains of modalities are read in a loop; only brackets nest.

use std::sync::Arc;

use referee_theory::Origin;
use referee_theory::property::{
    Again, EventPattern, Fixpoint, Formula, FormulaId, Key, Modality, ProcessScope, PropertyBuilder, Scope,
    Slot, TimeBound,
};

use super::cursor::{Cursor, MAX_NESTING, Parsed, Reported, Token};
use super::rule::is_at_rule;
use super::{PropertyFile, check};
use crate::diagnostics::names::unknown_recursion_variable;
use crate::diagnostics::properties::{
    bad_key, duplicate_property, hidden_variable, unguarded_formula, window_in_exception,
};
use crate::diagnostics::structure::too_many_variables;
use crate::document::{Content, Document, in_order};
use crate::language::Language;
use crate::scope;
use crate::source::{Origins, Span};

/// So many data variables a property may have: their live ranges are a table.
const MAX_SLOTS: usize = 4096;

pub(super) fn parse(text: &str) -> Document {
    let mut parser = Parser::new(text);
    parser.erlang = parser.cursor.is_word("with");
    let mut file = PropertyFile::default();
    parser.file(&mut file);
    let Parser { cursor, origins, .. } = parser;
    let mut diagnostics = cursor.into_diagnostics();
    for property in &file.properties {
        check::property(property, &origins, &mut diagnostics);
    }
    let content = Content::Properties(file);
    Document { language: Language::Hml, content, diagnostics: in_order(diagnostics), origins }
}

pub(super) struct Parser<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) origins: Origins,
    /// Whether this is one of detectEr's own files.
    pub(super) erlang: bool,
    pub(super) builder: PropertyBuilder,
    slots: usize,
    recursion: scope::Scope<'a, FormulaId>,
    data: scope::Scope<'a, (Slot, Span)>,
    /// For each label with fields by position, in all properties: how many, and where.
    pub(super) fields: Vec<(Arc<str>, usize, Span)>,
}

/// What precedes a formula: a modality with its pattern.
pub(super) struct Step {
    modality: Modality,
    pub(super) pattern: EventPattern,
    origin: Origin,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            cursor: Cursor::new(text),
            origins: Origins::default(),
            erlang: false,
            builder: PropertyBuilder::new(),
            slots: 0,
            recursion: scope::Scope::new(),
            data: scope::Scope::new(),
            fields: Vec::new(),
        }
    }

    fn file(&mut self, file: &mut PropertyFile) {
        let mut names: Vec<(Arc<str>, Span)> = Vec::new();
        if self.cursor.is_at_end() {
            self.cursor.unexpected(&["`property`", "`rule`", "`with`", "a formula"]);
        }
        let mut alone = !self.erlang && !self.cursor.is_word("property") && !is_at_rule(&self.cursor);
        while !self.cursor.is_at_end() {
            let start = self.cursor.span();
            let mistakes = self.cursor.errors();
            self.builder = PropertyBuilder::new();
            self.slots = 0;
            self.cursor.forget_nesting();
            let parsed = match (self.erlang, alone) {
                (true, _) => self.clause(file.properties.len()),
                (false, true) => self.lone_formula(),
                (false, false) if is_at_rule(&self.cursor) => self.rule(),
                (false, false) => self.named_property(),
            };
            self.recursion.leave_to(0);
            self.data.leave_to(0);
            match parsed {
                // What has errors of its own is not looked at further.
                Ok(_) if self.cursor.errors() > mistakes => {}
                Ok(header) => self.finish(header, file, &mut names),
                Err(Reported) => self.recover(start),
            }
            alone = false;
        }
        let mut fields = std::mem::take(&mut self.fields);
        for diagnostic in check::field_counts(&mut fields) {
            self.cursor.report(diagnostic);
        }
    }

    /// Skips to where the next property may begin.
    fn recover(&mut self, start: Span) {
        let begins = |cursor: &Cursor<'_>| match self.erlang {
            true => cursor.is_word("with"),
            false => cursor.is_word("property") || is_at_rule(cursor),
        };
        while !self.cursor.is_at_end() && (self.cursor.span() == start || !begins(&self.cursor)) {
            self.cursor.bump();
        }
    }

    fn finish(&mut self, header: Header, file: &mut PropertyFile, names: &mut Vec<(Arc<str>, Span)>) {
        let Header { name, span, documentation, scope, again, root } = header;
        if let Some((_, first)) = names.iter().find(|(known, _)| *known == name) {
            self.cursor.report(duplicate_property(span, *first, &name));
        }
        names.push((Arc::clone(&name), span));
        let origin = self.origins.add(span);
        let builder = std::mem::take(&mut self.builder);
        match builder.finish(name, documentation.into(), origin, scope, root) {
            Ok(property) => file.properties.push(Arc::new(property.beginning(again))),
            Err(errors) => {
                for error in errors {
                    let diagnostic = unguarded_formula(&error, &self.origins);
                    self.cursor.report(diagnostic);
                }
            }
        }
    }

    fn lone_formula(&mut self) -> Parsed<Header> {
        let documentation = self.documentation();
        let span = self.cursor.span();
        let root = self.formula()?;
        if !self.cursor.is_at_end() {
            return Err(self.cursor.unexpected(&["`and`", "`or`", "the end of the text"]));
        }
        let (scope, again) = (Scope::Stream, Again::Never);
        Ok(Header { name: "property".into(), span, documentation, scope, again, root })
    }

    fn named_property(&mut self) -> Parsed<Header> {
        let documentation = self.documentation();
        if !self.cursor.eat_word("property") {
            return Err(self.cursor.unexpected(&["`property`", "`rule`"]));
        }
        let (name, span) = self.cursor.name("the name of the property")?;
        let scope = if self.cursor.eat_word("for") {
            if !self.cursor.eat_word("each") {
                return Err(self.cursor.unexpected(&["`each`"]));
            }
            let mut keys = vec![self.key()?];
            while self.cursor.eat(Token::Comma) {
                keys.push(self.key()?);
            }
            Scope::PerKey(keys.into())
        } else {
            Scope::Stream
        };
        let again = self.again()?;
        self.cursor.expect(Token::OpenBrace)?;
        let root = self.formula()?;
        if !self.cursor.is_at(Token::CloseBrace) {
            return Err(self.cursor.unexpected(&["`and`", "`or`", "`}`"]));
        }
        self.cursor.bump();
        Ok(Header { name, span, documentation, scope, again, root })
    }

    /// `again each time`, `again after 5m`, or nothing.
    fn again(&mut self) -> Parsed<Again> {
        if !self.cursor.eat_word("again") {
            return Ok(Again::Never);
        }
        if self.cursor.eat_word("each") {
            return match self.cursor.eat_word("time") {
                true => Ok(Again::EachTime),
                false => Err(self.cursor.unexpected(&["`time`"])),
            };
        }
        if !self.cursor.eat_word("after") {
            return Err(self.cursor.unexpected(&["`each time`", "`after`"]));
        }
        self.constant_duration("after", "how long an instance waits is a constant").map(Again::After)
    }

    /// detectEr's `with m:f(a) when G check φ`, and the comma or full stop after it.
    fn clause(&mut self, index: usize) -> Parsed<Header> {
        let documentation = self.documentation();
        let start = self.cursor.span();
        if !self.cursor.eat_word("with") {
            return Err(self.cursor.unexpected(&["`with`"]));
        }
        let (function, payload) = self.function_pattern(0)?;
        let span = start.to(self.cursor.previous());
        let mut pattern = EventPattern {
            kind: Some(referee_theory::property::EventKind::Init),
            payload,
            origin: self.origins.add(span),
            ..EventPattern::any()
        };
        if self.cursor.eat_word("when") {
            pattern.guard = Some(self.erlang_guard()?);
        }
        if !self.cursor.eat_word("check") && !self.cursor.eat_word("monitor") {
            return Err(self.cursor.unexpected(&["`when`", "`check`", "`monitor`"]));
        }
        let root = self.formula()?;
        let at_next = self.cursor.is_at(Token::Comma);
        if at_next {
            self.cursor.bump();
            if !self.cursor.is_word("with") {
                return Err(self.cursor.unexpected(&["`with`"]));
            }
        } else {
            self.cursor.expect_as(Token::Dot, "`,` or `.`")?;
        }
        let name: Arc<str> =
            if index == 0 { Arc::clone(&function) } else { format!("{function}#{}", index + 1).into() };
        let scope = Scope::PerProcess(Box::new(ProcessScope { start: pattern, function }));
        Ok(Header { name, span, documentation, scope, again: Again::Never, root })
    }

    /// A key by name, or a JSON pointer in quotes.
    pub(super) fn key(&mut self) -> Parsed<Key> {
        let text = self.cursor.text();
        match self.cursor.token() {
            Token::Name => {
                self.cursor.bump();
                Ok(Key::name(text))
            }
            Token::String => {
                let span = self.cursor.bump();
                let text = self.unquoted(span)?;
                let key = if text.starts_with('/') { Key::pointer(&text) } else { Some(Key::name(&text)) };
                key.ok_or_else(|| self.cursor.report(bad_key(span, &text)))
            }
            _ => Err(self.cursor.unexpected(&["a key"])),
        }
    }

    /// The comment lines right above, if they are meant for readers of the property.
    pub(super) fn documentation(&self) -> String {
        let before = self.cursor.whole_text().get(..self.cursor.span().start as usize).unwrap_or_default();
        let mut lines: Vec<&str> = before
            .lines()
            .rev()
            .map(str::trim)
            .skip_while(|line| line.is_empty())
            .map_while(|line| line.strip_prefix("///").or_else(|| line.strip_prefix("%%")))
            .map(|line| line.trim_start_matches('%').trim())
            .collect();
        lines.reverse();
        lines.join("\n")
    }

    pub(super) fn formula(&mut self) -> Parsed<FormulaId> {
        self.cursor.enter(MAX_NESTING)?;
        let formula = self.disjunction();
        self.cursor.leave();
        formula
    }

    fn disjunction(&mut self) -> Parsed<FormulaId> {
        let start = self.cursor.span();
        let mut parts = vec![self.conjunction()?];
        while self.cursor.eat_word("or") {
            parts.push(self.conjunction()?);
        }
        Ok(self.joined(parts, start, Formula::Or))
    }

    fn conjunction(&mut self) -> Parsed<FormulaId> {
        let start = self.cursor.span();
        let mut parts = vec![self.prefixed()?];
        while self.cursor.eat_word("and") {
            parts.push(self.prefixed()?);
        }
        Ok(self.joined(parts, start, Formula::And))
    }

    /// One formula of `parts`.
    fn joined(
        &mut self,
        parts: Vec<FormulaId>,
        start: Span,
        join: fn(Box<[FormulaId]>) -> Formula,
    ) -> FormulaId {
        match &*parts {
            [only] => *only,
            _ => {
                let origin = self.origins.add(start.to(self.cursor.previous()));
                self.builder.add(join(parts.into()), origin)
            }
        }
    }

    /// Modalities and fixpoints, in a loop, and what they stand before.
    fn prefixed(&mut self) -> Parsed<FormulaId> {
        let depth = self.data.depth();
        let mut steps = Vec::new();
        let base = loop {
            match self.cursor.token() {
                Token::OpenBracket => steps.push(self.modality(Modality::Necessity)?),
                Token::Less => steps.push(self.modality(Modality::Possibility)?),
                _ => break self.primary()?,
            }
        };
        self.data.leave_to(depth);
        let mut next = base;
        while let Some(Step { modality, pattern, origin }) = steps.pop() {
            let pattern = self.builder.pattern(pattern);
            next = self.builder.add(Formula::Modal { modality, pattern, next }, origin);
        }
        Ok(next)
    }

    pub(super) fn modality(&mut self, modality: Modality) -> Parsed<Step> {
        let start = self.cursor.bump();
        let braces = self.erlang && self.cursor.eat(Token::OpenBrace);
        // Whether a guard may run up to the closing bracket, or `>` would be taken for an operator.
        let open = modality == Modality::Necessity || braces;
        let mut pattern = if self.erlang { self.process_action()? } else { self.native_action()? };
        if !self.erlang && self.cursor.eat_word("at") {
            pattern.at = Some(self.time_slot()?);
        }
        if self.cursor.eat_word("when") {
            let guard = if self.erlang {
                self.erlang_guard()?
            } else {
                let (guard, windows) = self.native_guard(open)?;
                pattern.windows = windows.into();
                guard
            };
            pattern.guard = super::guard::both(pattern.guard.take(), guard, &mut self.cursor)?;
        }
        if !self.erlang && self.cursor.eat_word("except") {
            pattern.except = self.exceptions(open)?;
        }
        if braces {
            self.cursor.expect(Token::CloseBrace)?;
        }
        let end = match modality {
            Modality::Necessity => self.cursor.expect(Token::CloseBracket)?,
            Modality::Possibility => self.cursor.expect(Token::Greater)?,
        };
        let origin = self.origins.add(start.to(end));
        pattern.origin = origin;
        Ok(Step { modality, pattern, origin })
    }

    /// `p, q when g`: what an event must not match; `except` has been read. What these bind is theirs alone.
    fn exceptions(&mut self, open: bool) -> Parsed<Box<[EventPattern]>> {
        let depth = self.data.depth();
        let mut all = Vec::new();
        loop {
            let start = self.cursor.span();
            let mut pattern = self.native_action()?;
            if self.cursor.eat_word("when") {
                let (guard, windows) = self.native_guard(open)?;
                if !windows.is_empty() {
                    let span = start.to(self.cursor.previous());
                    return Err(self.cursor.report(window_in_exception(span)));
                }
                pattern.guard = super::guard::both(pattern.guard.take(), guard, &mut self.cursor)?;
            }
            pattern.origin = self.origins.add(start.to(self.cursor.previous()));
            self.data.leave_to(depth);
            all.push(pattern);
            if !self.cursor.eat(Token::Comma) {
                return Ok(all.into());
            }
        }
    }

    fn primary(&mut self) -> Parsed<FormulaId> {
        let start = self.cursor.span();
        if self.cursor.eat(Token::OpenParen) {
            let inner = self.formula()?;
            self.cursor.expect(Token::CloseParen)?;
            return Ok(inner);
        }
        let word = self.cursor.text();
        if !self.cursor.is_at(Token::Name) {
            return Err(self.cursor.unexpected(&["a formula"]));
        }
        self.cursor.bump();
        match word {
            "ff" | "tt" => {
                let origin = self.origins.add(start);
                let constant = if word == "ff" { Formula::False } else { Formula::True };
                Ok(self.builder.add(constant, origin))
            }
            "max" | "min" if self.cursor.is_at(Token::Name) || self.cursor.is_at(Token::OpenParen) => {
                let fixpoint = if word == "max" { Fixpoint::Greatest } else { Fixpoint::Least };
                self.fixpoint(fixpoint, start)
            }
            "expect" if !self.erlang && self.cursor.is_at(Token::OpenBracket) => {
                self.time_bound(TimeBound::Expect, start)
            }
            "never" if !self.erlang && self.cursor.is_at(Token::OpenBracket) => {
                self.time_bound(TimeBound::Never, start)
            }
            "and" | "or" if self.erlang && self.cursor.eat(Token::OpenParen) => {
                let mut parts = vec![self.formula()?];
                while self.cursor.eat(Token::Comma) {
                    parts.push(self.formula()?);
                }
                self.cursor.expect_as(Token::CloseParen, "`,` or `)`")?;
                Ok(self.joined(parts, start, if word == "and" { Formula::And } else { Formula::Or }))
            }
            _ => match self.recursion.find(word) {
                Some(target) => {
                    let origin = self.origins.add(start);
                    Ok(self.builder.add(Formula::Call { target }, origin))
                }
                None => {
                    let error = unknown_recursion_variable(start, word, self.recursion.nearest());
                    let error = match word {
                        "false" | "False" | "FALSE" => error.help("did you mean `ff`?"),
                        "true" | "True" | "TRUE" => error.help("did you mean `tt`?"),
                        _ => error,
                    };
                    self.cursor.report(error);
                    // What follows can still be read.
                    let origin = self.origins.add(start);
                    Ok(self.builder.add(Formula::True, origin))
                }
            },
        }
    }

    /// `[p] within D` or `[p] for D`; the word before it has been read.
    fn time_bound(&mut self, bound: TimeBound, start: Span) -> Parsed<FormulaId> {
        let depth = self.data.depth();
        let Step { pattern, .. } = self.modality(Modality::Necessity)?;
        self.data.leave_to(depth);
        let word = if bound == TimeBound::Expect { "within" } else { "for" };
        if !self.cursor.eat_word(word) {
            return Err(self.cursor.unexpected(&[if bound == TimeBound::Expect {
                "`within`"
            } else {
                "`for`"
            }]));
        }
        let duration = Arc::new(self.duration(word)?);
        let origin = self.origins.add(start.to(self.cursor.previous()));
        let pattern = self.builder.pattern(pattern);
        Ok(self.builder.add(Formula::Timed { bound, pattern, duration }, origin))
    }

    /// `max X.(φ)`, or detectEr's older `max(X. φ)`; `max` has been read.
    fn fixpoint(&mut self, fixpoint: Fixpoint, start: Span) -> Parsed<FormulaId> {
        let older = self.erlang && self.cursor.eat(Token::OpenParen);
        let name = self.cursor.text();
        let end = self.cursor.expect_as(Token::Name, "a variable")?;
        self.cursor.expect(Token::Dot)?;
        let origin = self.origins.add(start.to(end));
        let node = self.builder.reserve(origin);
        let depth = self.recursion.depth();
        self.recursion.enter(name, node);
        let data = self.data.depth();
        let body = if older {
            self.formula()
        } else {
            self.cursor.expect(Token::OpenParen).and_then(|_| self.formula())
        }?;
        self.cursor.expect(Token::CloseParen)?;
        self.data.leave_to(data);
        self.recursion.leave_to(depth);
        self.builder.set(node, Formula::Fixpoint { fixpoint, name: name.into(), body });
        Ok(node)
    }

    /// What the data variable `name` is at this place of a pattern: known, so that it tests, or new. `own` are
    /// the variables that this pattern has bound.
    pub(super) fn variable(&mut self, name: &'a str, span: Span, own: usize) -> Parsed<Variable> {
        if let Some((slot, first)) = self.data.find(name) {
            let in_this_pattern = self.data.position(name).is_some_and(|position| position >= own);
            if in_this_pattern || !self.erlang {
                return Ok(Variable::Known(slot));
            }
            self.cursor.report(hidden_variable(span, first, name));
        }
        if self.slots == MAX_SLOTS {
            return Err(self.cursor.report(too_many_variables(span, MAX_SLOTS)));
        }
        let slot = self.new_slot(name, span);
        self.data.enter(name, (slot, span));
        Ok(Variable::New(slot))
    }

    /// A slot that no name in the text refers to.
    pub(super) fn new_slot(&mut self, name: &str, span: Span) -> Slot {
        self.slots += 1;
        let origin = self.origins.add(span);
        self.builder.slot(name.into(), origin)
    }

    /// Forgets the data variables beyond `depth`.
    pub(super) fn leave_data(&mut self, depth: usize) {
        self.data.leave_to(depth);
    }

    /// How many data variables are in scope.
    pub(super) fn data_depth(&self) -> usize {
        self.data.depth()
    }

    /// The slot of `name`.
    pub(super) fn data_slot(&self, name: &str) -> Option<Slot> {
        self.data.find(name).map(|(slot, _)| slot)
    }

    /// The names in scope, nearest first.
    pub(super) fn data_names(&self) -> Vec<&'a str> {
        self.data.nearest().collect()
    }
}

/// What a data variable is where it stands.
pub(super) enum Variable {
    /// It has a value.
    Known(Slot),
    /// It gets one.
    New(Slot),
}

/// A property but for its nodes.
pub(super) struct Header {
    pub(super) name: Arc<str>,
    pub(super) span: Span,
    pub(super) documentation: String,
    pub(super) scope: Scope,
    pub(super) again: Again,
    pub(super) root: FormulaId,
}
