//! What may be written at the cursor.

mod scr;

use std::sync::Arc;

use referee_syntax::lexemes::{Lexeme, LexemeKind};
use referee_syntax::{Language, Span};
use rustc_hash::FxHashSet;

use crate::names::{NameKind, ScopeId};
use crate::semantic::keywords;
use crate::workspace::{File, Workspace};

/// What a completion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// A word of the language.
    Keyword,
    /// A name.
    Name(NameKind),
    /// A type that is built in.
    BuiltinType,
    /// A function that is built in.
    BuiltinFunction,
    /// A whole statement, with places to fill: `$1`, `${2:name}`.
    Snippet,
}

/// Something that may be written at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What is listed.
    pub label: String,
    /// What is written; for a [`CompletionKind::Snippet`] with places to fill.
    pub insert: String,
    /// What it is.
    pub kind: CompletionKind,
    /// A few words.
    pub detail: String,
}

/// Everything that may be written at a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// What is replaced: the beginning of the word at the cursor.
    pub span: Span,
    /// What may stand there.
    pub items: Vec<Completion>,
}

/// Where a cursor is.
struct Context<'a> {
    workspace: &'a Workspace,
    file: &'a File,
    offset: u32,
    /// The lexemes before the word at the cursor, comments left out.
    before: Vec<Lexeme>,
}

impl<'a> Context<'a> {
    /// The text of the `n`-th lexeme before the cursor, from 1.
    fn back(&self, n: usize) -> &'a str {
        let at = self.before.len().checked_sub(n);
        at.and_then(|at| self.before.get(at)).map_or("", |lexeme| self.file.slice(lexeme.span))
    }
}

/// What may be written at byte `offset` of the file at `path`.
#[must_use]
pub fn completions(workspace: &Workspace, path: &str, offset: u32) -> Completions {
    let Some(file) = workspace.file(path) else { return Completions::default() };
    let all = file.lexemes();
    let near = &all[..all.partition_point(|lexeme| lexeme.span.start < offset)];
    if near.last().is_some_and(|lexeme| is_inside(file, *lexeme, offset)) {
        return Completions { span: Span { start: offset, end: offset }, items: Vec::new() };
    }
    let mut before: Vec<Lexeme> =
        near.iter().filter(|lexeme| lexeme.kind != LexemeKind::Comment).copied().collect();
    let mut span = Span { start: offset, end: offset };
    if let Some(last) = before.last()
        && last.kind == LexemeKind::Word
        && last.span.end >= offset
    {
        span.start = last.span.start;
        before.pop();
    }
    let context = Context { workspace, file, offset, before };
    let mut items = match file.language() {
        Language::Scr => scr::items(&context),
        _ => by_neighbours(&context),
    };
    let mut seen = FxHashSet::default();
    items.retain(|item| seen.insert(item.label.clone()));
    Completions { span, items }
}

/// Whether `offset` is within a comment or a string: nothing is completed there.
fn is_inside(file: &File, lexeme: Lexeme, offset: u32) -> bool {
    let is_line_comment =
        !file.slice(lexeme.span).ends_with("*/") && !file.slice(lexeme.span).ends_with("*)");
    match lexeme.kind {
        LexemeKind::Comment if is_line_comment => lexeme.span.start < offset && offset <= lexeme.span.end,
        LexemeKind::Comment | LexemeKind::String => lexeme.span.start < offset && offset < lexeme.span.end,
        _ => false,
    }
}

fn name(name: &Arc<str>, kind: NameKind, detail: &str) -> Completion {
    let text = name.to_string();
    Completion {
        label: text.clone(),
        insert: text,
        kind: CompletionKind::Name(kind),
        detail: detail.to_owned(),
    }
}

fn keyword(word: &str) -> Completion {
    let (label, insert) = (word.to_owned(), word.to_owned());
    Completion { label, insert, kind: CompletionKind::Keyword, detail: String::new() }
}

/// The names of `kinds` in the file but for what is being typed, and the words of the language.
fn by_neighbours(context: &Context<'_>) -> Vec<Completion> {
    use NameKind::{Field, Label, Recursion, Role, State, Type};
    let kinds: &[NameKind] = match (context.file.language(), context.back(1)) {
        (Language::Gt, "->") => &[Role],
        (Language::Gt, "(") => &[Label],
        (Language::Gt, "<") | (Language::Kmc, "<") => &[Type],
        (Language::Gt, ".") => &[Role, Recursion],
        (Language::Kmc | Language::St | Language::Fsm, "!" | "?") => &[Label],
        (Language::Kmc, _) => &[Role, Recursion],
        (Language::St, "[") => &[Field],
        (Language::Fsm, _) => &[State, Role, Label],
        (Language::Hml, "->") => &[Role],
        (Language::Hml, ":") => &[Label],
        (Language::Hml, "[" | "<") => &[Role],
        _ => &[Role, Label, Recursion, Field, Type],
    };
    let index = context.file.index();
    let typed = |span: Span| span.start < context.offset && context.offset <= span.end;
    let reachable = |found: &crate::names::Occurrence| {
        let bodies = index.recursions.iter().filter(|recursion| recursion.name == found.name);
        let is_around = |body: Span| body.start <= context.offset && context.offset <= body.end;
        found.kind != Recursion || bodies.map(|recursion| recursion.body).any(is_around)
    };
    let names = index.occurrences.iter().filter(|found| kinds.contains(&found.kind) && !typed(found.span));
    let names = names.filter(|found| found.scope != ScopeId::NONE && reachable(found));
    let mut items: Vec<Completion> =
        names.map(|found| name(&found.name, found.kind, found.kind.noun())).collect();
    if !matches!(context.back(1), "->" | "!" | "?") {
        items.extend(keywords(context.file.language()).iter().map(|word| keyword(word)));
    }
    items
}
