//! Recursion data: who knows which value, and when it is computed.
//!
//! A role knows a recursion variable if its definition lists the role. When a recursion is entered or continued, a
//! role that knows its variables computes their values with the last message that it sent or received before: by
//! then it has seen everything it will see. So projection onto a role needs no steps but messages, and the
//! messages of machines carry [`Update`]s. A value that the role's monitor never reads is not computed.
//!
//! A role may not see all messages on the way. What it computes must then be the same on all ways that look the same
//! to it, as far as the value is needed later; where it is not, the role cannot know the value, and the
//! protocol is refused ([`AssertionError::CannotFollow`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::assertion::{AssertionError, BranchId};
use crate::expr::{Expr, Node};
use crate::global::{Exchange, Global, GlobalType, NodeId, Parameter};
use crate::machine::Action;
use crate::vocabulary::{Label, Message, Origin, Role, Update};

mod live;

use live::Live;

/// Values of more parts than this are not put together from several steps.
const MAX_PARTS: usize = 256;

/// So many sets of places are told apart for one role.
const MAX_SITUATIONS: usize = 1 << 16;

/// What each role computes after one of these branches, which look the same to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    updates: FxHashMap<(Role, Vec<BranchId>), Arc<[Update]>>,
}

impl Data {
    /// `None`: there is nothing to compute.
    pub(crate) fn updates(&self, role: Role, mut branches: Vec<BranchId>) -> Option<&Arc<[Update]>> {
        branches.sort_unstable();
        self.updates.get(&(role, branches))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.updates.is_empty()
    }
}

impl GlobalType {
    /// Works out what each role computes of the recursion data that it knows, so that its machine does. Assertions
    /// must have been checked and enforced before.
    ///
    /// # Errors
    /// Every role that cannot know a value although the protocol says that it does.
    pub fn carry_data(&mut self) -> Result<(), Vec<AssertionError>> {
        let mut errors = Vec::new();
        let mut found = Vec::new();
        if self.nodes().any(|(_, node)| matches!(node, Global::Rec(rec) if !rec.parameters.is_empty())) {
            for role in self.vocabulary().roles() {
                match Following::new(self, role).run() {
                    Ok(updates) => found.push((role, updates)),
                    Err(error) => errors.push(error),
                }
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        for (role, Found { initial, after }) in found {
            self.vocabulary_mut().set_initial_values(role, initial);
            for (branches, updates) in after {
                for &branch in &branches {
                    let message = self.enforced(branch, role);
                    let spec = self.vocabulary().spec(message).clone();
                    self.vocabulary_mut()
                        .add_message(crate::MessageSpec { updates: Arc::clone(&updates), ..spec });
                }
                self.data_mut().updates.insert((role, branches), updates);
            }
        }
        Ok(())
    }

    /// The message of `branch` as the monitor of `role`, one of its two roles, can check it; without updates.
    fn enforced(&self, branch: BranchId, role: Role) -> Message {
        let Global::Exchange(exchange) = self.node(branch.0) else { return Message(0) };
        let message = exchange.branches[branch.1].message;
        self.as_enforced(branch, message, exchange.sender == role)
    }
}

/// A value on the way to what the role sees next. Variables without one keep theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Known(Arc<Expr>),
    /// It differs from way to way.
    Unknown,
}

type Values = BTreeMap<Arc<str>, Value>;

/// What one role computes.
struct Found {
    initial: Arc<[Update]>,
    after: Vec<(Vec<BranchId>, Arc<[Update]>)>,
}

/// One role on its way through a protocol, as far as it sees it.
struct Following<'a> {
    global: &'a GlobalType,
    role: Role,
    /// The variables that the role knows.
    known: FxHashMap<&'a str, &'a Parameter>,
    live: Live<'a>,
}

impl<'a> Following<'a> {
    fn new(global: &'a GlobalType, role: Role) -> Self {
        let mut known = FxHashMap::default();
        for (_, node) in global.nodes() {
            if let Global::Rec(rec) = node {
                let of_role = rec.parameters.iter().filter(|parameter| parameter.is_known_to(role));
                known.extend(of_role.map(|parameter| (&*parameter.name, parameter)));
            }
        }
        let live = Live::new(global, role, known.keys().copied());
        Self { global, role, known, live }
    }

    fn run(self) -> Result<Found, AssertionError> {
        if self.known.is_empty() {
            return Ok(Found { initial: Arc::default(), after: Vec::new() });
        }
        let start = self.visible(self.global.root());
        let initial = self.updates(&start, Origin::NONE)?;
        let mut after: BTreeMap<Vec<BranchId>, Arc<[Update]>> = BTreeMap::new();
        let mut seen = FxHashSet::default();
        let mut pending = vec![branches(&start)];
        while let Some(situation) = pending.pop() {
            if !seen.insert(situation.clone()) {
                continue;
            }
            if seen.len() > MAX_SITUATIONS {
                return Err(self.cannot_follow(None, Origin::NONE));
            }
            for (alike, origin) in self.alike(&situation) {
                let mut next: BTreeMap<BranchId, Values> = BTreeMap::new();
                for branch in &alike {
                    next = join_all(next, self.visible(self.next(*branch)));
                }
                let updates = self.updates(&next, origin)?;
                pending.push(branches(&next));
                // A network of monitors tells a role what it does not see: there each branch is by itself.
                for &branch in &alike {
                    if alike.len() > 1 && !after.contains_key(&vec![branch]) {
                        let alone = self.updates(&self.visible(self.next(branch)), origin)?;
                        after.insert(vec![branch], alone);
                    }
                }
                after.insert(alike, updates);
            }
        }
        let after = after.into_iter().filter(|(_, updates)| !updates.is_empty()).collect();
        Ok(Found { initial, after })
    }

    fn exchange(&self, branch: BranchId) -> Option<&'a Exchange> {
        match self.global.node(branch.0) {
            Global::Exchange(exchange) => Some(exchange),
            _ => None,
        }
    }

    fn next(&self, branch: BranchId) -> NodeId {
        self.exchange(branch).map_or(branch.0, |exchange| exchange.branches[branch.1].next)
    }

    /// The branches of a situation, those that look the same to the role together, each with a place.
    fn alike(&self, situation: &[BranchId]) -> Vec<(Vec<BranchId>, Origin)> {
        let mut groups: BTreeMap<(Action, Role, Label), (Vec<BranchId>, Origin)> = BTreeMap::new();
        for &id in situation {
            let Some(exchange) = self.exchange(id) else { continue };
            let branch = &exchange.branches[id.1];
            let label = self.global.vocabulary().label(branch.message);
            let key = if exchange.sender == self.role {
                (Action::Send, branch.receiver, label)
            } else {
                (Action::Receive, exchange.sender, label)
            };
            groups.entry(key).or_insert((Vec::new(), branch.origin)).0.push(id);
        }
        groups.into_values().collect()
    }

    /// What the role sees first when the protocol is at `start`, each with the values it has then.
    fn visible(&self, start: NodeId) -> BTreeMap<BranchId, Values> {
        let mut at: FxHashMap<NodeId, Values> = FxHashMap::default();
        let mut pending = vec![start];
        at.insert(start, Values::new());
        let mut visible = BTreeMap::new();
        while let Some(node) = pending.pop() {
            let Some(values) = at.get(&node).cloned() else { continue };
            let mut go = |to: NodeId, values: Values| {
                let joined = match at.get(&to) {
                    Some(before) => join(before, &values),
                    None => values,
                };
                if at.get(&to) != Some(&joined) {
                    at.insert(to, joined);
                    pending.push(to);
                }
            };
            match self.global.node(node) {
                // With recursion data there is no `par`: `AssertionError::DataWithPar`.
                Global::End | Global::Par(_) | Global::Join(_) => {}
                Global::Rec(rec) => {
                    let initial = rec.parameters.iter().map(|parameter| &parameter.initial);
                    go(rec.body, self.assign(&values, &rec.parameters, initial));
                }
                Global::Call(call) => {
                    if let Global::Rec(rec) = self.global.node(call.target) {
                        go(rec.body, self.assign(&values, &rec.parameters, call.arguments.iter()));
                    }
                }
                Global::Exchange(exchange) => {
                    for (index, branch) in exchange.branches.iter().enumerate() {
                        if exchange.sender == self.role || branch.receiver == self.role {
                            visible.insert((node, index), values.clone());
                        } else {
                            go(branch.next, values.clone());
                        }
                    }
                }
            }
        }
        visible
    }

    /// `values` once `parameters` have got the values of `exprs`; without exprs they keep theirs.
    fn assign<'e>(
        &self,
        values: &Values,
        parameters: &[Parameter],
        exprs: impl Iterator<Item = &'e Arc<Expr>>,
    ) -> Values {
        let mut assigned = values.clone();
        for (parameter, expr) in parameters.iter().zip(exprs) {
            if !parameter.is_known_to(self.role) {
                continue;
            }
            let same = matches!(expr.node(), Node::Variable(name) if *name == parameter.name);
            if same && !values.contains_key(&parameter.name) {
                continue;
            }
            assigned.insert(Arc::clone(&parameter.name), put_in(expr, values));
        }
        assigned
    }

    /// What is computed before any of `next`, which the role cannot tell apart yet.
    fn updates(
        &self,
        next: &BTreeMap<BranchId, Values>,
        after: Origin,
    ) -> Result<Arc<[Update]>, AssertionError> {
        let variables: std::collections::BTreeSet<&Arc<str>> =
            next.values().flat_map(BTreeMap::keys).collect();
        let mut updates = Vec::new();
        for variable in variables {
            let mut first: Option<Option<&Value>> = None;
            let mut agree = true;
            for (branch, values) in next {
                let value = values.get(variable);
                if first == Some(value) || !self.live.at(variable, branch.0) {
                    continue;
                }
                agree &= first.is_none();
                first = Some(value);
            }
            match first {
                None | Some(None) if agree => {}
                Some(Some(Value::Known(value))) if agree => {
                    let Some(parameter) = self.known.get(&**variable) else { continue };
                    let (ty, value) = (parameter.ty.clone(), Arc::clone(value));
                    updates.push(Update { variable: Arc::clone(variable), ty, value });
                }
                _ => return Err(self.cannot_follow(Some(variable), after)),
            }
        }
        Ok(updates.into())
    }

    fn cannot_follow(&self, variable: Option<&str>, after: Origin) -> AssertionError {
        let named = variable.and_then(|name| self.known.get(name));
        let parameter = named.or_else(|| self.known.values().min_by_key(|parameter| parameter.origin));
        AssertionError::CannotFollow {
            role: self.role,
            variable: parameter.map_or_else(|| "".into(), |parameter| Arc::clone(&parameter.name)),
            declared: parameter.map_or(Origin::NONE, |parameter| parameter.origin),
            after,
            too_large: variable.is_none(),
        }
    }
}

fn branches(visible: &BTreeMap<BranchId, Values>) -> Vec<BranchId> {
    visible.keys().copied().collect()
}

fn join(left: &Values, right: &Values) -> Values {
    let keys = left.keys().chain(right.keys());
    let one = |name: &Arc<str>| match (left.get(name), right.get(name)) {
        (Some(left), Some(right)) if left == right => left.clone(),
        _ => Value::Unknown,
    };
    keys.map(|name| (Arc::clone(name), one(name))).collect()
}

fn join_all(
    mut all: BTreeMap<BranchId, Values>,
    more: BTreeMap<BranchId, Values>,
) -> BTreeMap<BranchId, Values> {
    for (branch, values) in more {
        let joined = match all.get(&branch) {
            Some(before) => join(before, &values),
            None => values,
        };
        all.insert(branch, joined);
    }
    all
}

/// `expr` where variables have `values`.
fn put_in(expr: &Arc<Expr>, values: &Values) -> Value {
    let free = expr.free_variables();
    let mut parts = 0;
    let mut changes = false;
    for name in &free {
        match values.get(&***name) {
            Some(Value::Known(value)) => {
                changes = true;
                parts += value.parts();
            }
            Some(Value::Unknown) => return Value::Unknown,
            None => {}
        }
    }
    if !changes {
        return Value::Known(Arc::clone(expr));
    }
    if expr.parts().saturating_mul(parts) > MAX_PARTS * MAX_PARTS {
        return Value::Unknown;
    }
    let known = |name: &Arc<str>| match values.get(name) {
        Some(Value::Known(value)) => Some(Expr::clone(value)),
        _ => None,
    };
    match expr.substitute(&known) {
        Ok(value) if value.parts() <= MAX_PARTS => Value::Known(Arc::new(value)),
        _ => Value::Unknown,
    }
}
