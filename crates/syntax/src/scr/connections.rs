//! Which roles are connected where a statement connects them, sends, or disconnects them.
//!
//! Two roles may be connected at a statement if some way leads there on which they were connected and not disconnected since, and they are
//! connected if that is so on every way. `do` is followed; a protocol that does itself again, with the same roles, is a recursion.
//! Recursions are gone round until nothing changes.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{Block, Module, Name, ProtocolKind, Statement, StatementId, StatementKind};
use super::names::{Names, ProtocolId};
use crate::diagnostics::Diagnostic;
use crate::diagnostics::structure::{connected_twice, not_connected};
use crate::source::Span;

/// How often recursions are gone round at most; each time a connection more is seen to come back, or not to.
const ROUNDS: usize = 16;

/// Connections times statements: what is larger was not written by people, and is not looked at.
const MAX_WORK: usize = 1 << 20;

/// Two roles, in the order of their names.
type Pair = (Arc<str>, Arc<str>);

/// Where two roles are connected, and whether they are on every way.
type Connection = (Span, bool);

/// The pairs that may be connected; `None` where no way leads.
type Connected = Option<FxHashMap<Pair, Connection>>;

/// Whether something in `module` is about connections.
pub(super) fn are_made(module: &Module) -> bool {
    let connects = |statement: &Statement| match &statement.kind {
        StatementKind::Connection { .. } => true,
        StatementKind::Message(message) => message.connects,
        _ => false,
    };
    module.protocols.iter().any(|protocol| protocol.explicit) || module.statements.iter().any(connects)
}

/// What is wrong with the connections of the protocol `id`: roles that are connected twice, and in an explicit protocol roles that are not
/// connected. What is auxiliary is looked at for that where it is done. Nothing where that is too much work.
pub(super) fn wrong(names: &Names<'_>, id: ProtocolId) -> Vec<Diagnostic> {
    let protocol = names.protocol(id);
    let roles = protocol.roles.iter().map(|role| (&*role.text, Arc::clone(&role.text))).collect();
    let context = Rc::new(Context { protocol: id, number: 0, roles });
    let mut walk = Walk {
        names,
        explicit: protocol.explicit && protocol.kind != ProtocolKind::Auxiliary,
        context,
        numbers: FxHashMap::default(),
        again: FxHashMap::default(),
        twice: Vec::new(),
        missing: Vec::new(),
        changed: true,
        work: MAX_WORK,
    };
    for _ in 0..ROUNDS {
        if !std::mem::take(&mut walk.changed) {
            break;
        }
        walk.twice.clear();
        walk.missing.clear();
        if walk.block(&protocol.body).is_none() {
            return Vec::new();
        }
    }
    // That two roles are not connected is one mistake, however much they send.
    let mut seen = FxHashSet::default();
    let missing = walk.missing.into_iter().filter(|(pair, _)| seen.insert(pair.clone()));
    walk.twice.into_iter().chain(missing.map(|(_, diagnostic)| diagnostic)).collect()
}

/// A protocol that is being done: who plays its roles.
struct Context<'a> {
    protocol: ProtocolId,
    /// Tells the ways on which it came to be done apart.
    number: usize,
    roles: FxHashMap<&'a str, Arc<str>>,
}

/// Where ways come back to: a recursion, or the beginning of what is done.
type Point = (usize, Option<Span>);

/// What is left to do, last first.
enum Task<'a> {
    Statements(std::slice::Iter<'a, StatementId>),
    /// The next branch of a choice, which began so; and what the branches before it came to.
    Branches(std::slice::Iter<'a, Block>, Connected, Connected),
    /// The end of the body of a recursion.
    Leave,
    /// The end of what was done.
    Return(Rc<Context<'a>>, Vec<(&'a Name, Point)>),
}

struct Walk<'a, 'n> {
    names: &'n Names<'a>,
    explicit: bool,
    context: Rc<Context<'a>>,
    /// By the number of a context and the `do` in it, the number of what is done.
    numbers: FxHashMap<(usize, Span), usize>,
    /// What comes back to a place.
    again: FxHashMap<Point, FxHashMap<Pair, Connection>>,
    twice: Vec<Diagnostic>,
    missing: Vec<(Pair, Diagnostic)>,
    changed: bool,
    work: usize,
}

impl<'a> Walk<'a, '_> {
    /// `None` if it is too much work.
    fn block(&mut self, body: &'a Block) -> Option<()> {
        let mut now: Connected = Some(FxHashMap::default());
        let mut recursions: Vec<(&'a Name, Point)> = Vec::new();
        let mut tasks = vec![Task::Statements(body.statements.iter())];
        while let Some(task) = tasks.pop() {
            self.work = self.work.checked_sub(1 + now.as_ref().map_or(0, FxHashMap::len))?;
            match task {
                Task::Leave => {
                    recursions.pop();
                }
                Task::Return(context, outer) => {
                    self.context = context;
                    recursions = outer;
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
                    let statement = &self.names.module_of(self.context.protocol).statements[id.index()];
                    match &statement.kind {
                        StatementKind::Choice { branches, .. } => {
                            let entry = now.take();
                            tasks.push(Task::Branches(branches.iter(), entry, None));
                        }
                        // As if one block came after the other: what one connects, others do not need.
                        StatementKind::Par { blocks } => {
                            let statements = |block: &'a Block| Task::Statements(block.statements.iter());
                            tasks.extend(blocks.iter().rev().map(statements));
                        }
                        StatementKind::Rec { name, body, .. } => {
                            let point = (self.context.number, Some(statement.span));
                            self.enter(point, &mut now);
                            recursions.push((name, point));
                            tasks.push(Task::Leave);
                            tasks.push(Task::Statements(body.statements.iter()));
                        }
                        StatementKind::Continue { name, .. } => {
                            let to = recursions.iter().rev().find(|(own, _)| own.text == name.text);
                            self.comes_back(to.map(|to| to.1), now.take());
                        }
                        StatementKind::Do { protocol, roles, .. } => {
                            self.follow(
                                statement.span,
                                protocol,
                                roles,
                                &mut now,
                                &mut recursions,
                                &mut tasks,
                            );
                        }
                        _ => self.step(statement, &mut now),
                    }
                }
            }
        }
        Some(())
    }

    fn enter(&self, point: Point, now: &mut Connected) {
        if let Some(back) = self.again.get(&point)
            && now.is_some()
        {
            *now = merge(now.take(), Some(back.clone()));
        }
    }

    fn comes_back(&mut self, to: Option<Point>, now: Connected) {
        let (Some(to), Some(now)) = (to, now) else { return };
        let known = self.again.remove(&to);
        let merged = merge(known.clone(), Some(now));
        let always = |map: &FxHashMap<Pair, Connection>| map.values().filter(|(_, always)| *always).count();
        let size = |map: &FxHashMap<Pair, Connection>| (map.len(), always(map));
        self.changed |= known.as_ref().map(size) != merged.as_ref().map(size);
        self.again.extend(merged.map(|merged| (to, merged)));
    }

    /// Does `protocol`, or comes back to where it is being done.
    fn follow(
        &mut self,
        span: Span,
        protocol: &'a Name,
        roles: &'a [Name],
        now: &mut Connected,
        recursions: &mut Vec<(&'a Name, Point)>,
        tasks: &mut Vec<Task<'a>>,
    ) {
        let module = self.names.protocols[self.context.protocol.0].module;
        let Some(id) = self.names.known_global(protocol, module).filter(|_| !self.names.nested_mode) else {
            return;
        };
        let declared = self.names.protocol(id);
        let players = roles.iter().filter_map(|role| self.context.roles.get(&*role.text).cloned());
        let players: FxHashMap<&str, Arc<str>> =
            declared.roles.iter().map(|role| &*role.text).zip(players).collect();
        let is_same = |context: &Context<'_>| context.protocol == id && context.roles == players;
        let around = tasks.iter().filter_map(|task| match task {
            Task::Return(context, _) => Some(context),
            _ => None,
        });
        let same = around.chain([&self.context]).find(|context| is_same(context)).map(|same| same.number);
        if let Some(number) = same {
            self.comes_back(Some((number, None)), now.take());
            return;
        }
        let fresh = self.numbers.len() + 1;
        let number = *self.numbers.entry((self.context.number, span)).or_insert(fresh);
        let inner = Rc::new(Context { protocol: id, number, roles: players });
        tasks.push(Task::Return(std::mem::replace(&mut self.context, inner), std::mem::take(recursions)));
        self.enter((number, None), now);
        tasks.push(Task::Statements(declared.body.statements.iter()));
    }

    fn step(&mut self, statement: &Statement, now: &mut Connected) {
        let Some(now) = now else { return };
        match &statement.kind {
            StatementKind::Message(message) if message.connects => {
                message.to.iter().for_each(|to| self.connect(statement.span, &message.from, to, now));
            }
            StatementKind::Message(message) => {
                message.to.iter().for_each(|to| self.need(statement.span, &message.from, to, now));
            }
            StatementKind::Connection { keyword: "connect", left, right } => {
                self.connect(statement.span, left, right, now);
            }
            StatementKind::Connection { keyword, left, right } => {
                self.need(statement.span, left, right, now);
                if *keyword == "disconnect"
                    && let Some(pair) = self.pair(left, right)
                {
                    now.remove(&pair);
                }
            }
            _ => {}
        }
    }

    fn connect(&mut self, span: Span, left: &Name, right: &Name, now: &mut FxHashMap<Pair, Connection>) {
        let Some(pair) = self.pair(left, right) else { return };
        if let Some((first, _)) = now.insert(pair, (span, true)) {
            self.twice.push(connected_twice(span, first, &left.text, &right.text));
        }
    }

    fn need(&mut self, span: Span, left: &Name, right: &Name, now: &mut FxHashMap<Pair, Connection>) {
        let Some(pair) = self.pair(left, right).filter(|_| self.explicit) else { return };
        let known = now.get(&pair).copied();
        if known.is_none_or(|(_, always)| !always) {
            let somewhere = known.map(|(span, _)| span);
            self.missing.push((pair, not_connected(span, somewhere, &left.text, &right.text)));
        }
    }

    /// The two of them, if they are two roles.
    fn pair(&self, left: &Name, right: &Name) -> Option<Pair> {
        let role = |name: &Name| self.context.roles.get(&*name.text).cloned();
        let (left, right) = (role(left)?, role(right)?);
        match left.cmp(&right) {
            std::cmp::Ordering::Less => Some((left, right)),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some((right, left)),
        }
    }
}

/// What holds where two ways meet.
fn merge(one: Connected, other: Connected) -> Connected {
    let (mut one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (one, other) => return one.or(other),
    };
    for (pair, (_, always)) in &mut one {
        *always &= other.get(pair).is_some_and(|(_, always)| *always);
    }
    for (pair, (place, _)) in other {
        one.entry(pair).or_insert((place, false));
    }
    Some(one)
}
