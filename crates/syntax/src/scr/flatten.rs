//! From the graph of a protocol to a [`GlobalType`]: a choice becomes one exchange of all the messages its
//! branches can begin with.
//!
//! A branch may begin with a recursion or with a jump. Then what counts is the first message in there, and
//! the recursion is unfolded once: the copy of what follows that message jumps back into the recursion
//! itself. Copies are shared: each recursion is unfolded at most once.

use std::sync::Arc;

use referee_theory::expr::Expr;
use referee_theory::{
    Branch, Global, GlobalType, GlobalTypeBuilder, NodeId, Origin, Role, Vocabulary, global,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

use super::calls::Places;
use super::graph::{Chooser, Raw, RawId, RawMessage};
use super::lower::MAX_NODES;
use crate::diagnostics::Diagnostic;
use crate::diagnostics::blocks::branch_begins_with_par;
use crate::diagnostics::names::unknown_chooser;
use crate::diagnostics::structure::{
    another_decides, begin_alike, empty_branch, ends_or_goes_on, too_large, unguarded_recursion,
    wrong_chooser,
};
use crate::ill_formed;
use crate::source::{Origins, Span};

mod beginnings;
mod knots;

/// So many nodes are looked at to unfold recursions.
const MAX_LOOKED_AT: usize = 8 * MAX_NODES;

pub(super) struct Flattening<'a> {
    nodes: Vec<Raw>,
    vocabulary: &'a Vocabulary,
    origins: &'a mut Origins,
    builder: GlobalTypeBuilder,
    /// By raw node; shorter than `nodes` while copies are made.
    converted: Vec<Option<NodeId>>,
    pending: Vec<RawId>,
    /// The choices between what follows branches that begin alike, by what follows.
    factored: FxHashMap<Vec<RawId>, RawId>,
    factors: bool,
    /// The first messages of each unfolded recursion.
    unfolded: FxHashMap<RawId, Vec<RawMessage>>,
    /// How many nodes were looked at to unfold recursions.
    looked_at: usize,
    diagnostics: Vec<Diagnostic>,
    /// Where recursion data of each name are declared.
    declared: FxHashMap<Arc<str>, Vec<Origin>>,
    /// The messages that their receivers may wait for in vain.
    optional: Vec<Origin>,
    /// The messages that connect their receivers.
    connecting: Vec<Origin>,
    /// What is opened or closed around messages, and around `par`.
    spots: Vec<(Origin, u32)>,
}

impl<'a> Flattening<'a> {
    /// The global type that starts at `root`, or what is wrong with it. `header` is where it is declared; `factors`
    /// whether branches may begin with the same message.
    pub(super) fn run(
        nodes: Vec<Raw>,
        root: RawId,
        vocabulary: &'a Arc<Vocabulary>,
        origins: &'a mut Origins,
        header: Span,
        (factors, calls): (bool, Option<Places>),
    ) -> (Option<GlobalType>, Vec<Diagnostic>) {
        let mut declared: FxHashMap<Arc<str>, Vec<Origin>> = FxHashMap::default();
        for node in &nodes {
            if let Raw::Rec { parameters, .. } = node {
                for parameter in parameters {
                    declared.entry(Arc::clone(&parameter.name)).or_default().push(parameter.origin);
                }
            }
        }
        let mut flattening = Self {
            nodes,
            declared,
            vocabulary,
            origins,
            builder: GlobalTypeBuilder::new(),
            converted: Vec::new(),
            pending: Vec::new(),
            factored: FxHashMap::default(),
            factors,
            unfolded: FxHashMap::default(),
            looked_at: 0,
            diagnostics: Vec::new(),
            optional: Vec::new(),
            connecting: Vec::new(),
            spots: Vec::new(),
        };
        let start = flattening.node(root);
        while let Some(raw) = flattening.pending.pop() {
            if flattening.is_too_large() {
                flattening.diagnostics.push(too_large(header, MAX_NODES));
                return (None, flattening.diagnostics);
            }
            flattening.convert(raw);
        }
        let too_large_after_all = flattening.is_too_large();
        let Self { builder, origins, mut diagnostics, optional, connecting, spots, .. } = flattening;
        if too_large_after_all {
            diagnostics.push(too_large(header, MAX_NODES));
        }
        if diagnostics.iter().any(Diagnostic::is_error) {
            return (None, diagnostics);
        }
        let Some((builder, start)) = knots::untie(builder, start, MAX_NODES) else {
            diagnostics.push(too_large(header, MAX_NODES));
            return (None, diagnostics);
        };
        match builder.finish(Arc::clone(vocabulary), start) {
            Ok(mut global) => {
                global.may_wait_for(optional);
                global.connect_with(connecting);
                if let Some(places) = calls {
                    global.open_calls(places.calls(&spots));
                }
                (Some(global), diagnostics)
            }
            Err(errors) => {
                diagnostics.extend(errors.iter().map(|e| ill_formed::global(e, vocabulary, origins)));
                (None, diagnostics)
            }
        }
    }

    /// The node that `raw` becomes; its content follows later.
    fn node(&mut self, raw: RawId) -> NodeId {
        match self.nodes[raw.index()] {
            Raw::End => return self.builder.end(),
            Raw::Join => return self.builder.join(),
            _ => {}
        }
        if self.converted.len() < self.nodes.len() {
            self.converted.resize(self.nodes.len(), None);
        }
        if let Some(node) = self.converted[raw.index()] {
            return node;
        }
        let node = self.builder.reserve();
        self.converted[raw.index()] = Some(node);
        self.pending.push(raw);
        node
    }

    fn convert(&mut self, raw: RawId) {
        let node = self.node(raw);
        match &self.nodes[raw.index()] {
            Raw::End | Raw::Join => {}
            Raw::Par { parts, spot, span } => {
                let (parts, spot, span) = (parts.clone(), *spot, *span);
                let mut blocks: Vec<NodeId> = parts.iter().map(|part| self.node(*part)).collect();
                let next = blocks.pop().unwrap_or(node);
                let origin = self.origins.add(span);
                self.spots.extend((spot > 0).then_some((origin, spot)));
                self.builder.set(node, Global::Par(global::Par { blocks, next, origin }));
            }
            Raw::Message(message) => {
                let (sender, branch) = (message.sender, self.branch(*message));
                let origin = branch.origin;
                let exchange = global::Exchange { sender, branches: smallvec![branch], origin };
                self.builder.set(node, Global::Exchange(exchange));
            }
            Raw::Choice { at, span, .. } => {
                let (at, span) = (at.clone(), *span);
                self.choice(raw, node, &at, span);
            }
            Raw::Rec { name, parameters, body, span, .. } => {
                let (name, parameters, body, span) = (Arc::clone(name), parameters.clone(), *body, *span);
                let (body, origin) = (self.node(body), self.origins.add(span));
                self.builder.set(node, Global::Rec(global::Rec { name, level: 0, parameters, body, origin }));
            }
            Raw::Call { target, arguments, span } => {
                let (target, arguments, span) = (*target, arguments.clone(), *span);
                let (target, origin) = (self.node(target), self.origins.add(span));
                self.builder.set(node, Global::Call(global::Call { target, arguments, origin }));
            }
        }
    }

    fn branch(&mut self, message: RawMessage) -> Branch {
        let RawMessage { receiver, message, next, may_wait, connects, spot, span, .. } = message;
        let (next, origin) = (self.node(next), self.origins.add(span));
        if may_wait {
            self.optional.push(origin);
        }
        if connects {
            self.connecting.push(origin);
        }
        if spot > 0 {
            self.spots.push((origin, spot));
        }
        Branch { receiver, message, next, origin }
    }

    fn choice(&mut self, raw: RawId, node: NodeId, at: &Chooser, span: Span) {
        let heads = self.first_messages(raw, span);
        let (all, alternatives) = (heads.len(), self.nodes[raw.index()].children().len());
        let heads = if self.factors { self.factor(heads, at, span) } else { heads };
        // A message that each alternative can begin with decides between none of them.
        let decides = all < alternatives * heads.len();
        let Some(first) = heads.first() else { return };
        let sender = match at {
            Chooser::Known(role) => *role,
            Chooser::Hidden { .. } => first.sender,
            Chooser::Unknown(place, name) => {
                let chooser = self.vocabulary.role_name(first.sender);
                self.diagnostics.push(unknown_chooser(*place, name, chooser));
                first.sender
            }
        };
        match at {
            Chooser::Hidden { by, first, second } => {
                let name = |role| self.vocabulary.role_name(role);
                let chooser = name(*by);
                if let Some(other) = heads.iter().find(|head| head.sender != sender) {
                    let nexts = [(heads[0].span, name(sender)), (other.span, name(other.sender))];
                    self.diagnostics.push(begin_alike(*second, *first, chooser, nexts));
                    return;
                }
                if let [one, another, ..] = &heads[..]
                    && decides
                    && sender != *by
                {
                    self.diagnostics.push(another_decides(another.span, one.span, chooser, name(sender)));
                }
            }
            _ => self.check_chooser(&heads, sender, span),
        }
        let branches = heads.into_iter().map(|head| self.branch(head)).collect();
        let origin = self.origins.add(span);
        let exchange = Global::Exchange(global::Exchange { sender, branches, origin });
        // A recursion that begins a branch is entered before its first message: its data get their values there.
        let mut outermost = node;
        for rec in self.entered_with_data(raw) {
            let Raw::Rec { name, parameters, span, .. } = &self.nodes[rec.index()] else { continue };
            let (name, parameters, span) = (Arc::clone(name), parameters.clone(), *span);
            let (body, origin) = (self.builder.reserve(), self.origins.add(span));
            self.builder
                .set(outermost, Global::Rec(global::Rec { name, level: 0, parameters, body, origin }));
            outermost = body;
        }
        self.builder.set(outermost, exchange);
    }

    fn check_chooser(&mut self, heads: &[RawMessage], sender: Role, choice: Span) {
        for head in heads.iter().filter(|head| head.sender != sender) {
            let name = |role| self.vocabulary.role_name(role);
            let (found, chooser) = (name(head.sender), name(sender));
            self.diagnostics.push(wrong_chooser(head.span, choice, found, chooser));
        }
    }

    /// The messages that the choice `start` can begin with.
    fn first_messages(&mut self, start: RawId, choice: Span) -> Vec<RawMessage> {
        enum Step {
            Enter(RawId),
            /// Leaves a node; a recursion that was entered from outside is unfolded.
            Leave(RawId, Option<usize>),
        }
        if let Some(heads) = self.messages_alone(start) {
            return heads;
        }
        let mut heads = Vec::new();
        // The nodes on the way from the choice to where we are: meeting one again means that the protocol
        // turns round without a message.
        let mut on_the_way = FxHashSet::default();
        let mut last_jump = choice;
        let mut steps = vec![Step::Enter(start)];
        while let Some(step) = steps.pop() {
            let raw = match step {
                Step::Leave(raw, unfolded_from) => {
                    on_the_way.remove(&raw);
                    if let Some(from) = unfolded_from {
                        self.unfold(raw, &mut heads[from..]);
                    }
                    continue;
                }
                Step::Enter(raw) => raw,
            };
            let (target, entered_by_jump) = match &self.nodes[raw.index()] {
                Raw::End | Raw::Join => {
                    self.report_empty_branch(start, choice);
                    continue;
                }
                Raw::Par { span, .. } => {
                    self.diagnostics.push(branch_begins_with_par(*span, choice));
                    continue;
                }
                Raw::Message(message) => {
                    heads.push(*message);
                    continue;
                }
                Raw::Call { target, span, .. } => {
                    last_jump = *span;
                    (*target, true)
                }
                Raw::Choice { .. } | Raw::Rec { .. } => (raw, false),
            };
            if !on_the_way.insert(target) {
                let definition = match &self.nodes[target.index()] {
                    Raw::Rec { span, .. } | Raw::Choice { span, .. } => *span,
                    _ => choice,
                };
                self.diagnostics.push(unguarded_recursion(last_jump, definition));
                continue;
            }
            match &self.nodes[target.index()] {
                Raw::Rec { body, .. } => {
                    if !entered_by_jump && let Some(known) = self.unfolded.get(&target) {
                        heads.extend(known);
                        on_the_way.remove(&target);
                        continue;
                    }
                    // Around a jump is the definition it jumps to: jumps to it stay valid.
                    steps.push(Step::Leave(target, (!entered_by_jump).then_some(heads.len())));
                    steps.push(Step::Enter(*body));
                }
                other => {
                    steps.push(Step::Leave(target, None));
                    steps.extend(other.children().iter().rev().map(|child| Step::Enter(*child)));
                }
            }
        }
        heads
    }

    /// The branches of the choice `start`, if each begins with a message.
    fn messages_alone(&self, start: RawId) -> Option<Vec<RawMessage>> {
        let message = |branch: &RawId| match &self.nodes[branch.index()] {
            Raw::Message(message) => Some(*message),
            _ => None,
        };
        self.nodes[start.index()].children().iter().map(message).collect()
    }

    fn report_empty_branch(&mut self, start: RawId, choice: Span) {
        if let Raw::Choice { at: Chooser::Hidden { first, second, .. }, .. } = &self.nodes[start.index()] {
            let diagnostic = ends_or_goes_on(*second, *first);
            return self.diagnostics.push(diagnostic);
        }
        let chooser = match &self.nodes[start.index()] {
            Raw::Choice { at: Chooser::Known(role), .. } => self.vocabulary.role_name(*role),
            _ => "the role that decides",
        };
        self.diagnostics.push(empty_branch(choice, chooser));
    }

    /// Takes the first messages of the recursion `rec` out of it: what follows them is copied, with jumps to
    /// `rec` replaced by `rec` itself.
    fn unfold(&mut self, rec: RawId, heads: &mut [RawMessage]) {
        self.looked_at += heads.len();
        if self.is_too_large() {
            return;
        }
        let starts: Vec<RawId> = heads.iter().map(|head| head.next).collect();
        for (head, next) in heads.iter_mut().zip(self.substitute(&starts, rec, None)) {
            head.next = next;
        }
        self.unfolded.insert(rec, heads.to_vec());
    }

    /// Copies of `starts` in which jumps to `rec` lead to `rec` itself, or jump to `retarget` where that is
    /// given. What contains no such jump is not copied.
    fn substitute(&mut self, starts: &[RawId], rec: RawId, retarget: Option<RawId>) -> Vec<RawId> {
        let order = self.postorder(starts);
        self.looked_at += order.len();
        let mut contains: FxHashSet<RawId> = FxHashSet::default();
        for &raw in &order {
            let node = &self.nodes[raw.index()];
            let jumps = matches!(node, Raw::Call { target, .. } if *target == rec);
            if jumps || node.children().iter().any(|child| contains.contains(child)) {
                contains.insert(raw);
            }
        }
        // Definitions that will be copied, so that jumps to them can be redirected before they are complete.
        let mut copies: FxHashMap<RawId, RawId> = FxHashMap::default();
        for &raw in &order {
            if contains.contains(&raw) && matches!(self.nodes[raw.index()], Raw::Rec { .. }) {
                let copy = self.push(Raw::End);
                copies.insert(raw, copy);
            }
        }
        let mut replaced: FxHashMap<RawId, RawId> = FxHashMap::default();
        for &raw in &order {
            let new = match &self.nodes[raw.index()] {
                Raw::Call { target, arguments, .. } if *target == rec => match retarget {
                    None => self.with_values(rec, arguments.clone()),
                    Some(other) => self.jump_copy(raw, other),
                },
                Raw::Call { target, .. } => match copies.get(target) {
                    Some(&copy) => self.jump_copy(raw, copy),
                    None => raw,
                },
                node if node.children().iter().all(|child| replaced[child] == *child) => raw,
                node => {
                    let mut node = node.clone();
                    for child in node.children_mut() {
                        *child = replaced[child];
                    }
                    match copies.get(&raw) {
                        Some(&copy) => {
                            self.nodes[copy.index()] = node;
                            copy
                        }
                        None => self.push(node),
                    }
                }
            };
            replaced.insert(raw, new);
        }
        starts.iter().map(|start| replaced[start]).collect()
    }

    /// The jump `raw`, to another definition.
    fn jump_copy(&mut self, raw: RawId, to: RawId) -> RawId {
        let mut copy = self.nodes[raw.index()].clone();
        if let Raw::Call { target, .. } = &mut copy {
            *target = to;
        }
        self.push(copy)
    }

    /// The recursion `rec` entered with other data: a copy, for its definition states the data on entry. Without
    /// `values` the data stay as they are.
    fn with_values(&mut self, rec: RawId, mut values: Vec<Arc<Expr>>) -> RawId {
        let mut copy = self.nodes[rec.index()].clone();
        match &copy {
            Raw::Rec { parameters, .. } if parameters.is_empty() => return rec,
            Raw::Rec { parameters, .. } if values.is_empty() => {
                values = parameters.iter().map(|p| Arc::new(Expr::variable(&p.name))).collect();
            }
            _ => {}
        }
        let new = self.push(Raw::End);
        if let Raw::Rec { parameters, body, .. } = &mut copy {
            for (parameter, value) in parameters.iter_mut().zip(values) {
                parameter.initial = value;
            }
            *body = self.substitute(&[*body], rec, Some(new))[0];
        }
        self.nodes[new.index()] = copy;
        new
    }

    /// All nodes that `starts` lead to, without following jumps, children first.
    fn postorder(&self, starts: &[RawId]) -> Vec<RawId> {
        let mut seen = FxHashSet::default();
        let mut order = Vec::new();
        let mut stack: Vec<(RawId, bool)> = starts.iter().rev().map(|start| (*start, false)).collect();
        while let Some((raw, children_done)) = stack.pop() {
            if children_done {
                order.push(raw);
            } else if seen.insert(raw) {
                stack.push((raw, true));
                stack.extend(self.nodes[raw.index()].children().iter().rev().map(|child| (*child, false)));
            }
        }
        order
    }

    /// Unfolding nested recursions can take the square of their size: there is a limit.
    fn is_too_large(&self) -> bool {
        self.nodes.len() > MAX_NODES || self.looked_at > MAX_LOOKED_AT
    }

    fn push(&mut self, node: Raw) -> RawId {
        self.nodes.push(node);
        RawId(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX))
    }
}
