//! From statements to a graph: `do` is replaced by what it does, and what follows a choice or a recursion is
//! attached to the ends of its branches, shared rather than copied.
//!
//! Statements are taken from the last to the first, each with the node of what comes after it. Open blocks
//! are on an explicit stack, so nesting is limited by memory alone.

use std::rc::Rc;
use std::sync::Arc;

use referee_theory::expr::{Expr, written_name};
use referee_theory::global::Parameter;
use referee_theory::{Role, Type, Vocabulary};
use rustc_hash::FxHashMap;

use super::ast::{
    Block, MessageStatement, MessageSyntax, Name, Protocol, SignatureDeclaration, Statement, StatementId,
    StatementKind, WithinSyntax,
};
use super::graph::{Chooser, Raw, RawId, RawMessage};
use super::names::{MAX_STEPS, Names, ProtocolId};
use crate::diagnostics::Diagnostic;
use crate::diagnostics::blocks::jump_out_of_block;
use crate::diagnostics::calls::runs_by_key;
use crate::diagnostics::names::{role_plays_twice, unknown_recursion_variable, unknown_role, wrong_number};
use crate::diagnostics::structure::{
    connections_not_monitored, not_tail_recursive, statement_after_block, together_too_large, too_large,
    too_many_roles, unreachable, unreachable_behind_loop,
};
use crate::diagnostics::times::{no_first_message, unused_deadline};
use crate::source::{Origins, Span};

mod calls;
mod message;
mod scope;
mod times;

pub(super) use calls::{Lowered, Mark};
use message::{Signatures, Types};
pub(super) use scope::data;

/// Protocols that have more steps than this when written out are refused.
pub(super) const MAX_NODES: usize = 1 << 20;

/// Roles are numbered with 16 bits.
const MAX_ROLES: usize = u16::MAX as usize;

/// A protocol being written out: who plays its roles, what its parameters stand for.
pub(super) struct Instance {
    protocol: ProtocolId,
    roles: Vec<Role>,
    /// The roles by the names they have inside.
    by_name: FxHashMap<Arc<str>, Role>,
    types: Types,
    signatures: Signatures,
}

enum Frame<'a> {
    Block {
        statements: &'a [StatementId],
        left: usize,
        next: RawId,
        within: Inherited<'a>,
    },
    Choice {
        statement: &'a Statement,
        branches: &'a [Block],
        at: Chooser,
        done: Vec<RawId>,
        next: RawId,
        within: Inherited<'a>,
    },
    /// The end of the only block of a `par`.
    Only {
        outer_scope: Definitions,
    },
    Par {
        blocks: &'a [Block],
        /// Where the complete blocks start.
        parts: Vec<RawId>,
        next: RawId,
        outer_scope: Definitions,
        span: Span,
    },
    Rec {
        node: RawId,
        name: &'a Name,
        data: Data,
        span: Span,
    },
    Do {
        key: Key,
        outer: Rc<Instance>,
        outer_scope: Definitions,
        out_of_reach: Vec<(Vec<Arc<str>>, Span)>,
        span: Span,
    },
}

/// The deadline that a choice gives to the first message of a branch.
type Inherited<'a> = Option<&'a WithinSyntax>;

/// The data of a recursion, and what must hold of them.
type Data = (Vec<Parameter>, Vec<Arc<Expr>>);

/// The recursions in force, by name: of those with one name, the innermost is last.
type Definitions = FxHashMap<Arc<str>, Vec<RawId>>;

/// What is being done: the same again, with the same left to do afterwards, is a jump.
type Key = (ProtocolId, Vec<Role>, String);

struct Active {
    node: RawId,
    next: RawId,
    called: bool,
}

pub(super) struct Lowering<'a, 'n> {
    pub(super) names: &'n mut Names<'a>,
    pub(super) vocabulary: Vocabulary,
    pub(super) nodes: Vec<Raw>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) origins: &'n mut Origins,
    instance: Rc<Instance>,
    scope: Definitions,
    /// The recursions around the blocks that are being written out, which no jump of theirs leads to, each with the `par`.
    out_of_reach: Vec<(Vec<Arc<str>>, Span)>,
    /// The recursion data in force, by name, each with its place.
    data_in_force: FxHashMap<Arc<str>, Span>,
    active: FxHashMap<Key, Active>,
    /// The deadlines of choices, and whether a message has each.
    choice_deadlines: FxHashMap<Span, bool>,
    /// The declared messages that are sent, by label.
    signatures: FxHashMap<Arc<str>, &'a SignatureDeclaration>,
    /// Where sub-sessions are opened and closed.
    marks: Vec<(RawId, Mark)>,
    /// The header of the protocol that is written out, if it runs once for each value of a key.
    keyed: Option<Span>,
}

impl<'a, 'n> Lowering<'a, 'n> {
    /// The graph of `protocol`. Its roles are called `players`, or else what it calls them.
    pub(super) fn run(
        names: &'n mut Names<'a>,
        origins: &'n mut Origins,
        protocol: ProtocolId,
        players: Option<&[Arc<str>]>,
    ) -> Lowered {
        let declaration = names.protocol(protocol);
        let mut vocabulary = Vocabulary::new();
        let declared = declaration.roles.iter().chain(&declaration.new_roles);
        let roles: Vec<Role> = match players {
            Some(players) => players.iter().map(|player| vocabulary.add_role(player)).collect(),
            None => declared.map(|role| vocabulary.add_role(&role.text)).collect(),
        };
        let by_name = by_name(declaration, &roles);
        // On its own, a protocol's parameters stand for themselves.
        let parameters = declaration.parameters.iter().filter(|parameter| !parameter.is_signature);
        let types = parameters.map(|p| (Arc::clone(&p.name.text), Type::Opaque(Arc::clone(&p.name.text))));
        let types = types.collect();
        let instance = Instance { protocol, roles, by_name, types, signatures: FxHashMap::default() };
        let mut lowering = Self {
            names,
            vocabulary,
            nodes: vec![Raw::End],
            diagnostics: Vec::new(),
            origins,
            instance: Rc::new(instance),
            scope: Definitions::default(),
            out_of_reach: Vec::new(),
            data_in_force: FxHashMap::default(),
            active: FxHashMap::default(),
            choice_deadlines: FxHashMap::default(),
            signatures: FxHashMap::default(),
            marks: Vec::new(),
            keyed: declaration.keyed.is_some().then_some(declaration.header),
        };
        let roles = declaration.roles.len() + declaration.new_roles.len();
        let root = if roles > MAX_ROLES {
            lowering.diagnostics.push(too_many_roles(declaration.header, MAX_ROLES));
            None
        } else {
            lowering.protocol(declaration.header)
        };
        let unused = lowering.choice_deadlines.iter().filter(|(_, used)| !**used);
        lowering.diagnostics.extend(unused.map(|(span, _)| unused_deadline(*span)));
        let interrupt = lowering.interrupt(declaration);
        let Self { nodes, vocabulary, marks, diagnostics, .. } = lowering;
        Lowered { nodes, root, vocabulary, marks, interrupt, diagnostics }
    }

    fn add(&mut self, node: Raw) -> RawId {
        self.nodes.push(node);
        RawId(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX))
    }

    fn protocol(&mut self, header: Span) -> Option<RawId> {
        let mut stack = Vec::new();
        let (protocol, roles) = (self.instance.protocol, self.instance.roles.clone());
        let outer = Rc::clone(&self.instance);
        self.begin((protocol, roles, String::new()), outer, header, RawId(0), &mut stack);
        let mut value = None;
        let limit = MAX_NODES.min(self.names.steps_left);
        while let Some(frame) = stack.pop() {
            if self.nodes.len() > limit {
                self.diagnostics.push(match limit {
                    MAX_NODES => too_large(header, MAX_NODES),
                    _ => together_too_large(header, MAX_STEPS),
                });
                value = None;
                break;
            }
            value = self.step(frame, value, &mut stack);
        }
        self.names.steps_left -= self.nodes.len().min(limit);
        value
    }

    /// Starts writing out the protocol of the current instance.
    fn begin(&mut self, key: Key, outer: Rc<Instance>, span: Span, next: RawId, stack: &mut Vec<Frame<'a>>) {
        let body = &self.names.protocol(key.0).body;
        let node = self.add(Raw::End);
        self.active.insert(key.clone(), Active { node, next, called: false });
        let outer_scope = std::mem::take(&mut self.scope);
        let out_of_reach = std::mem::take(&mut self.out_of_reach);
        stack.push(Frame::Do { key, outer, outer_scope, out_of_reach, span });
        let (statements, left) = (&body.statements[..], body.statements.len());
        stack.push(Frame::Block { statements, left, next, within: None });
    }

    /// Continues `frame`; `value` is the start of what was completed just before.
    fn step(&mut self, frame: Frame<'a>, value: Option<RawId>, stack: &mut Vec<Frame<'a>>) -> Option<RawId> {
        match frame {
            Frame::Block { left: 0, next, .. } => Some(value.unwrap_or(next)),
            Frame::Block { statements, left, next, within } => {
                let next = value.unwrap_or(next);
                let id = statements[left - 1];
                let follower = statements.get(left).copied();
                stack.push(Frame::Block { statements, left: left - 1, next, within });
                let within = within.filter(|_| left == 1);
                let here = &self.names.module_of(self.instance.protocol).statements[id.index()];
                self.check_follower(id, here, follower);
                self.statement(here, next, within, stack)
            }
            Frame::Choice { statement, branches, at, mut done, next, within } => {
                done.extend(value);
                match branches.get(done.len()) {
                    Some(branch) => {
                        stack.push(Frame::Choice { statement, branches, at, done, next, within });
                        let (statements, left) = (&branch.statements[..], branch.statements.len());
                        if let (0, Some(within)) = (left, within) {
                            self.diagnostics.push(no_first_message(branch.span, within.span, "nothing"));
                        }
                        stack.push(Frame::Block { statements, left, next, within });
                        None
                    }
                    None => Some(self.add(Raw::Choice { at, branches: done, span: statement.span })),
                }
            }
            Frame::Only { outer_scope } => {
                self.scope = outer_scope;
                self.out_of_reach.pop();
                value
            }
            Frame::Par { blocks, mut parts, next, outer_scope, span } => {
                parts.extend(value);
                match blocks.get(parts.len()) {
                    Some(block) => {
                        stack.push(Frame::Par { blocks, parts, next, outer_scope, span });
                        let (statements, left) = (&block.statements[..], block.statements.len());
                        // Each block has an end of its own: what is done again in it is no jump out of it.
                        let next = self.add(Raw::Join);
                        stack.push(Frame::Block { statements, left, next, within: None });
                        None
                    }
                    None => {
                        self.scope = outer_scope;
                        self.out_of_reach.pop();
                        parts.push(next);
                        Some(self.add(Raw::Par { parts, spot: 0, span }))
                    }
                }
            }
            Frame::Rec { node, name, data: (parameters, refinements), span } => {
                let body = value.unwrap_or(RawId(0));
                for parameter in &parameters {
                    self.data_in_force.remove(written_name(&parameter.name));
                }
                let name_text = Arc::clone(&name.text);
                self.nodes[node.index()] = Raw::Rec { name: name_text, parameters, refinements, body, span };
                if let Some(same_name) = self.scope.get_mut(&name.text) {
                    same_name.pop();
                }
                Some(node)
            }
            Frame::Do { key, outer, outer_scope, out_of_reach, span } => {
                (self.scope, self.out_of_reach) = (outer_scope, out_of_reach);
                let name = Arc::clone(&self.names.protocol(key.0).name.text);
                let active = self.active.remove(&key)?;
                self.instance = outer;
                let body = value.unwrap_or(RawId(0));
                if !active.called {
                    return Some(body);
                }
                let (parameters, refinements) = Data::default();
                self.nodes[active.node.index()] = Raw::Rec { name, parameters, refinements, body, span };
                Some(active.node)
            }
        }
    }

    /// Nothing can follow what never ends; with nested protocols, nothing may follow a block.
    fn check_follower(&mut self, id: StatementId, here: &Statement, follower: Option<StatementId>) {
        let Some(follower) = follower else { return };
        let protocol = self.instance.protocol;
        let follower = self.names.module_of(protocol).statements[follower.index()].span;
        match here.kind {
            StatementKind::Continue { .. } => self.diagnostics.push(unreachable(follower, here.span)),
            StatementKind::Choice { .. } | StatementKind::Rec { .. } if self.names.nested_mode => {
                self.diagnostics.push(statement_after_block(follower, here.span));
            }
            _ if !self.names.ends[self.module()][id.index()] => {
                self.diagnostics.push(unreachable_behind_loop(follower, here.span));
            }
            _ => {}
        }
    }

    /// Writes out one statement before `next`: gives its start, or leaves frames that will.
    fn statement(
        &mut self,
        here: &'a Statement,
        next: RawId,
        within: Inherited<'a>,
        stack: &mut Vec<Frame<'a>>,
    ) -> Option<RawId> {
        if let Some(within) = within {
            self.check_beginning(here, within);
        }
        match &here.kind {
            StatementKind::Message(message) => {
                let specs = self.message(message);
                let first = within.map_or(specs, |within| self.with_deadline(specs, within));
                let sender = self.role(&message.from);
                let mut start = next;
                for (index, receiver) in message.to.iter().enumerate().rev() {
                    let (Some(sender), Some(receiver)) = (sender, self.role(receiver)) else { continue };
                    let (next, span) = (start, here.span);
                    let MessageStatement { may_wait, connects, .. } = **message;
                    let specs = if index == 0 { first } else { specs };
                    let step = RawMessage {
                        sender,
                        receiver,
                        message: specs,
                        next,
                        may_wait,
                        connects,
                        spot: 0,
                        span,
                    };
                    start = self.add(Raw::Message(step));
                }
                Some(start)
            }
            StatementKind::Choice { at, within: own, branches } => {
                let chooser = match self.find_role(at) {
                    Some(role) => Chooser::Known(role),
                    None => Chooser::Unknown(at.span, Arc::clone(&at.text)),
                };
                let (statement, done) = (here, Vec::new());
                if let Some(own) = own {
                    self.choice_deadlines.entry(own.span).or_default();
                }
                let within = own.as_deref().or(within);
                stack.push(Frame::Choice { statement, branches, at: chooser, done, next, within });
                None
            }
            StatementKind::Par { blocks } => {
                self.par(blocks, here.span, next, stack);
                None
            }
            StatementKind::Rec { name, parameters, body } => {
                let node = self.add(Raw::End);
                let data = self.parameters(parameters);
                self.scope.entry(Arc::clone(&name.text)).or_default().push(node);
                stack.push(Frame::Rec { node, name, data, span: here.span });
                let (statements, left) = (&body.statements[..], body.statements.len());
                stack.push(Frame::Block { statements, left, next, within: None });
                None
            }
            StatementKind::Continue { name, arguments } => {
                let arguments = arguments.iter().map(|argument| self.in_scope(&argument.expr)).collect();
                Some(self.jump(name, arguments, here.span).unwrap_or(next))
            }
            StatementKind::Do { protocol, arguments, roles } => {
                self.do_protocol(protocol, arguments, roles, here.span, next, stack)
            }
            StatementKind::SubSession { opens, protocol, roles } => {
                Some(self.mark(*opens, protocol, roles, here.span, next))
            }
            StatementKind::Calls { caller, protocol, roles } => {
                let called = self.names.find_nested(protocol, self.instance.protocol);
                Some(self.call(caller, protocol, called, roles, here.span, next))
            }
            StatementKind::Connection { keyword, left, right } => {
                let (left, right) = (self.role(left), self.role(right));
                match (*keyword, left, right) {
                    // As in Scribble's grammar, the same as `() connect a to b;`.
                    ("connect", Some(sender), Some(receiver)) => {
                        let message = self.vocabulary.add_plain_message("");
                        let (may_wait, connects, span) = (false, true, here.span);
                        let step =
                            RawMessage { sender, receiver, message, next, may_wait, connects, spot: 0, span };
                        return Some(self.add(Raw::Message(step)));
                    }
                    ("connect", ..) => {}
                    _ => self.diagnostics.push(connections_not_monitored(here.span, keyword)),
                }
                Some(next)
            }
        }
    }

    /// Starts writing out the blocks of the `par` at `span`, out of which no jump leads.
    fn par(&mut self, blocks: &'a [Block], span: Span, next: RawId, stack: &mut Vec<Frame<'a>>) {
        let outer_scope = std::mem::take(&mut self.scope);
        let names = outer_scope.iter().filter(|(_, same_name)| !same_name.is_empty());
        let names = names.map(|(name, _)| Arc::clone(name)).collect();
        self.out_of_reach.push((names, span));
        if let [only] = blocks {
            // One block side by side with nothing is the block.
            stack.push(Frame::Only { outer_scope });
            let (statements, left) = (&only.statements[..], only.statements.len());
            stack.push(Frame::Block { statements, left, next, within: None });
        } else {
            stack.push(Frame::Par { blocks, parts: Vec::new(), next, outer_scope, span });
        }
    }

    fn jump(&mut self, name: &Name, arguments: Vec<Arc<Expr>>, span: Span) -> Option<RawId> {
        let target = self.scope.get(&name.text).and_then(|same_name| same_name.last());
        match target {
            Some(&target) => Some(self.add(Raw::Call { target, arguments, span })),
            None => {
                let around = self.out_of_reach.iter().rev().find(|(names, _)| names.contains(&name.text));
                if let Some((_, par)) = around {
                    self.diagnostics.push(jump_out_of_block(span, *par, &name.text));
                    return None;
                }
                let mut in_force: Vec<&str> = Vec::new();
                if self.names.may_compare(self.scope.len()) {
                    let scope = self.scope.iter().filter(|(_, same_name)| !same_name.is_empty());
                    in_force.extend(scope.map(|(name, _)| &**name));
                    in_force.sort_unstable();
                }
                self.diagnostics.push(unknown_recursion_variable(name.span, &name.text, in_force));
                None
            }
        }
    }

    fn do_protocol(
        &mut self,
        name: &Name,
        arguments: &[MessageSyntax],
        roles: &[Name],
        span: Span,
        next: RawId,
        stack: &mut Vec<Frame<'a>>,
    ) -> Option<RawId> {
        let found = self.names.find_global(name, self.module());
        if self.names.nested_mode {
            let Some(caller) = roles.first() else { return Some(next) };
            return Some(self.call(caller, name, found, roles, span, next));
        }
        let protocol = match found {
            Ok(protocol) => protocol,
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                return Some(next);
            }
        };
        let declared = self.names.protocol(protocol);
        if declared.keyed.is_some() {
            self.diagnostics.push(runs_by_key(name.span, declared.header, &name.text));
            return Some(next);
        }
        // Both are looked at, so that what is wrong with one does not hide what is wrong with the other.
        let players = self.players(name, protocol, roles);
        let given = self.arguments(name, protocol, arguments);
        let (Some(players), Some((types, signatures, given))) = (players, given) else { return Some(next) };
        let key = (protocol, players.clone(), given);
        if let Some(active) = self.active.get_mut(&key) {
            if active.next != next {
                self.diagnostics.push(not_tail_recursive(span, &name.text));
                return Some(next);
            }
            active.called = true;
            let target = active.node;
            return Some(self.add(Raw::Call { target, arguments: Vec::new(), span }));
        }
        let by_name = by_name(self.names.protocol(protocol), &players);
        let instance = Instance { protocol, roles: players, by_name, types, signatures };
        let outer = std::mem::replace(&mut self.instance, Rc::new(instance));
        self.begin(key, outer, span, next, stack);
        None
    }

    /// A nested protocol runs as a session of its own; here, its caller invites those who play in it.
    fn call(
        &mut self,
        caller: &Name,
        name: &Name,
        called: Result<ProtocolId, Diagnostic>,
        roles: &[Name],
        span: Span,
        next: RawId,
    ) -> RawId {
        let sender = self.role(caller);
        let protocol = match called {
            Ok(protocol) => protocol,
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                return next;
            }
        };
        let (Some(players), Some(sender)) = (self.players(name, protocol, roles), sender) else {
            return next;
        };
        let declared = &self.names.protocol(protocol).roles;
        let mut start = next;
        for (role, receiver) in declared.iter().zip(players).rev() {
            if receiver != sender {
                let label = format!("invite_{}_{}", name.text, role.text);
                let message = self.vocabulary.add_plain_message(&label);
                let (next, may_wait, connects) = (start, false, false);
                let step = RawMessage { sender, receiver, message, next, may_wait, connects, spot: 0, span };
                start = self.add(Raw::Message(step));
            }
        }
        start
    }

    /// Who plays the roles of `protocol`, if as many different ones are given as it needs.
    fn players(&mut self, name: &Name, protocol: ProtocolId, roles: &[Name]) -> Option<Vec<Role>> {
        let declared = self.names.protocol(protocol);
        let players: Vec<Option<Role>> = roles.iter().map(|role| self.role(role)).collect();
        let expected = declared.roles.len();
        if roles.len() != expected {
            let (header, found) = (declared.header, roles.len());
            self.diagnostics.push(wrong_number(name.span, header, &name.text, "roles", expected, found));
            return None;
        }
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        let mut fits = true;
        for role in roles {
            if let Some(first) = seen.insert(&role.text, role.span) {
                self.diagnostics.push(role_plays_twice(role.span, first, &role.text));
                fits = false;
            }
        }
        fits.then(|| players.into_iter().collect()).flatten()
    }

    /// The file whose protocol is being written out.
    pub(super) fn module(&self) -> usize {
        self.names.protocols[self.instance.protocol.0].module
    }

    fn find_role(&self, name: &Name) -> Option<Role> {
        self.instance.by_name.get(&name.text).copied()
    }

    /// The role called `name`, or a diagnostic.
    fn role(&mut self, name: &Name) -> Option<Role> {
        let found = self.find_role(name);
        if found.is_none() {
            let declared = self.names.protocol(self.instance.protocol);
            let count = declared.roles.len() + declared.new_roles.len();
            let roles = declared.roles.iter().chain(&declared.new_roles).map(|role| &*role.text);
            let roles = roles.take(if self.names.may_compare(count) { count } else { 0 });
            self.diagnostics.push(unknown_role(name.span, &name.text, roles));
        }
        found
    }
}

/// The roles of a protocol by the names they have in it; of two with one name, the first.
fn by_name(declared: &Protocol, players: &[Role]) -> FxHashMap<Arc<str>, Role> {
    let mut by_name = FxHashMap::default();
    for (name, role) in declared.roles.iter().chain(&declared.new_roles).zip(players) {
        by_name.entry(Arc::clone(&name.text)).or_insert(*role);
    }
    by_name
}
