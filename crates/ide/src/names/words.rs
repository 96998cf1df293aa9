//! Lexemes one after the other, for the languages whose names are told by their neighbours.

use std::sync::Arc;

use referee_syntax::lexemes::{LexemeKind, lexemes};
use referee_syntax::{Language, Span};
use rustc_hash::FxHashMap;

use super::{Index, NameKind, RecursionScope, ScopeId, Symbol};

/// The lexemes of a text without its comments.
pub(super) struct Words<'a> {
    text: &'a str,
    all: Vec<(LexemeKind, Span)>,
    names: FxHashMap<&'a str, Arc<str>>,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str, language: Language) -> Self {
        let all = lexemes(text, language).into_iter();
        let all = all.filter(|lexeme| lexeme.kind != LexemeKind::Comment);
        Self {
            text,
            all: all.map(|lexeme| (lexeme.kind, lexeme.span)).collect(),
            names: FxHashMap::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The text of lexeme `at`; empty past the end.
    pub(super) fn text(&self, at: usize) -> &'a str {
        self.all.get(at).and_then(|(_, span)| self.text.get(span.range())).unwrap_or_default()
    }

    pub(super) fn span(&self, at: usize) -> Span {
        self.all.get(at).map_or(Span::at(self.text.len()), |(_, span)| *span)
    }

    /// Whether lexeme `at` is a name, a keyword or a number: roles and labels may be numbers.
    pub(super) fn is_word(&self, at: usize) -> bool {
        self.all.get(at).is_some_and(|(kind, _)| matches!(kind, LexemeKind::Word | LexemeKind::Number))
    }

    pub(super) fn name(&mut self, at: usize) -> Arc<str> {
        let text = self.text(at);
        Arc::clone(self.names.entry(text).or_insert_with(|| text.into()))
    }
}

/// Recursion variables in scope, innermost last, each with how deep the brackets around it are.
#[derive(Default)]
pub(super) struct Recursions<'a> {
    open: Vec<(&'a str, ScopeId, usize, Span)>,
    scopes: u32,
}

impl<'a> Recursions<'a> {
    pub(super) fn scope(&mut self) -> ScopeId {
        self.scopes += 1;
        ScopeId(self.scopes)
    }

    /// `rec X`, `mu X`, `max X` at `depth`; `header` begins at the keyword.
    pub(super) fn declare(&mut self, index: &mut Index, words: &mut Words<'a>, at: usize, depth: usize) {
        let (name, span, scope) = (words.name(at), words.span(at), self.scope());
        self.open.push((words.text(at), scope, depth, span));
        index.symbols.push(Symbol {
            name: Arc::clone(&name),
            kind: NameKind::Recursion,
            detail: String::new(),
            span,
            selection: span,
            children: Vec::new(),
        });
        index.add(NameKind::Recursion, name, span, scope, true);
    }

    pub(super) fn mention(&mut self, index: &mut Index, words: &mut Words<'a>, at: usize) {
        let text = words.text(at);
        let found = self.open.iter().rev().find(|(name, ..)| *name == text);
        let scope = found.map_or(ScopeId::NONE, |(_, scope, ..)| *scope);
        index.add(NameKind::Recursion, words.name(at), words.span(at), scope, false);
    }

    /// What is at least `depth` deep ends before byte `end`.
    pub(super) fn close(&mut self, index: &mut Index, depth: usize, end: u32) {
        while let Some((name, _, deep, span)) = self.open.last()
            && *deep >= depth
        {
            let body = Span { start: span.start, end };
            index.recursions.push(RecursionScope { name: (*name).into(), body });
            self.open.pop();
        }
    }
}

/// Declarations of `kind` reach up to the next; recursions are inside.
pub(super) fn outline(index: &mut Index, kind: NameKind, text: &str) {
    let mut outer: Vec<Symbol> = Vec::new();
    for symbol in index.symbols.drain(..) {
        match (symbol.kind, outer.last_mut()) {
            (NameKind::Recursion, Some(around)) if around.kind == kind => around.children.push(symbol),
            _ => outer.push(symbol),
        }
    }
    let mut end = text.trim_end().len();
    for symbol in outer.iter_mut().rev().filter(|symbol| symbol.kind == kind) {
        symbol.span = symbol.span.to(Span::at(end.max(symbol.span.end as usize)));
        end = symbol.span.start as usize;
    }
    index.symbols = outer;
}
