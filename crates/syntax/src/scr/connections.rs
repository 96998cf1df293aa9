//! Which roles are connected already where a statement connects them.
//!
//! A pair may be connected at a statement if some way leads there on which it was connected and not disconnected since. Ways are those of
//! one protocol: what it does by `do` is looked at by itself. Recursions are gone round until nothing changes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ast::{Block, Module, Name, Protocol, Statement, StatementKind};
use crate::diagnostics::Diagnostic;
use crate::diagnostics::structure::connected_twice;
use crate::source::Span;

/// How often recursions are gone round at most; each time a connection more is seen to come back.
const ROUNDS: usize = 16;

/// Connections times statements: what is larger was not written by people, and is not looked at.
const MAX_WORK: usize = 10_000_000;

/// Two roles, in the order of their names.
type Pair = (Arc<str>, Arc<str>);
/// The pairs that may be connected, each with the place where; `None` where no way leads.
type Connected = Option<FxHashMap<Pair, Span>>;

/// Whether something in `module` connects roles, and it is worth the while to look.
pub(super) fn are_made(module: &Module) -> bool {
    let connects = |statement: &&Statement| match &statement.kind {
        StatementKind::Connection { .. } => true,
        StatementKind::Message(message) => message.connects,
        _ => false,
    };
    let count = module.statements.iter().filter(connects).count();
    count > 0 && count.saturating_mul(module.statements.len()) <= MAX_WORK
}

/// What of `protocol` connects two roles that are connected already.
pub(super) fn connected_already(module: &Module, protocol: &Protocol) -> Vec<Diagnostic> {
    let mut walk = Walk { module, again: FxHashMap::default(), found: Vec::new(), grew: true };
    for _ in 0..ROUNDS {
        if !std::mem::take(&mut walk.grew) {
            break;
        }
        walk.found.clear();
        walk.block(&protocol.body);
    }
    walk.found
}

/// What is left to do, last first.
enum Task<'a> {
    Statements(std::slice::Iter<'a, super::ast::StatementId>),
    /// The next branch of a choice, which began so; and what the branches before it came to.
    Branches(std::slice::Iter<'a, Block>, Connected, Connected),
    /// The end of the body of a recursion.
    Leave,
}

struct Walk<'a> {
    module: &'a Module,
    /// By the place of a recursion, what comes back to it.
    again: FxHashMap<Span, FxHashMap<Pair, Span>>,
    found: Vec<Diagnostic>,
    grew: bool,
}

impl<'a> Walk<'a> {
    fn block(&mut self, body: &'a Block) {
        let mut now: Connected = Some(FxHashMap::default());
        let mut recursions: Vec<(&'a Name, Span)> = Vec::new();
        let mut tasks = vec![Task::Statements(body.statements.iter())];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Leave => {
                    recursions.pop();
                }
                Task::Branches(mut left, entry, before) => {
                    let merged = merge(before, now.take());
                    match left.next() {
                        Some(branch) => {
                            now.clone_from(&entry);
                            tasks.push(Task::Branches(left, entry, merged));
                            tasks.push(Task::Statements(branch.statements.iter()));
                        }
                        None => now = merged,
                    }
                }
                Task::Statements(mut left) => {
                    let Some(id) = left.next() else { continue };
                    tasks.push(Task::Statements(left));
                    let statement = &self.module.statements[id.index()];
                    match &statement.kind {
                        StatementKind::Choice { branches, .. } => {
                            let entry = now.take();
                            tasks.push(Task::Branches(branches.iter(), entry, None));
                        }
                        StatementKind::Rec { name, body, .. } => {
                            let back = self.again.get(&statement.span).cloned();
                            now = now.map(|now| union(now, back.unwrap_or_default()));
                            recursions.push((name, statement.span));
                            tasks.push(Task::Leave);
                            tasks.push(Task::Statements(body.statements.iter()));
                        }
                        StatementKind::Continue { name, .. } => {
                            let to = recursions.iter().rev().find(|(own, _)| own.text == name.text);
                            self.comes_back(to.map(|to| to.1), now.take());
                        }
                        _ => self.step(statement, &mut now),
                    }
                }
            }
        }
    }

    fn comes_back(&mut self, to: Option<Span>, now: Connected) {
        let (Some(to), Some(now)) = (to, now) else { return };
        let known = self.again.entry(to).or_default();
        let before = known.len();
        for (pair, place) in now {
            known.entry(pair).or_insert(place);
        }
        self.grew |= known.len() > before;
    }

    fn step(&mut self, statement: &Statement, now: &mut Connected) {
        let Some(now) = now else { return };
        let pairs: Vec<(&Name, &Name)> = match &statement.kind {
            StatementKind::Message(message) if message.connects => {
                message.to.iter().map(|to| (&message.from, to)).collect()
            }
            StatementKind::Connection { keyword: "connect", left, right } => vec![(left, right)],
            StatementKind::Connection { keyword: "disconnect", left, right } => {
                now.remove(&pair(left, right));
                return;
            }
            _ => return,
        };
        for (left, right) in pairs {
            if let Some(first) = now.insert(pair(left, right), statement.span) {
                self.found.push(connected_twice(statement.span, first, &left.text, &right.text));
            }
        }
    }
}

fn pair(left: &Name, right: &Name) -> Pair {
    let (left, right) = (Arc::clone(&left.text), Arc::clone(&right.text));
    if left <= right { (left, right) } else { (right, left) }
}

fn union(mut one: FxHashMap<Pair, Span>, other: FxHashMap<Pair, Span>) -> FxHashMap<Pair, Span> {
    for (pair, place) in other {
        one.entry(pair).or_insert(place);
    }
    one
}

fn merge(one: Connected, other: Connected) -> Connected {
    match (one, other) {
        (Some(one), Some(other)) => Some(union(one, other)),
        (one, other) => one.or(other),
    }
}
