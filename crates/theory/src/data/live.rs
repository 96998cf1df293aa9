//! Where the value of a recursion variable may still be read by a role: by an assertion that its monitor checks, or to
//! compute another value that is.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::expr::Expr;
use crate::global::{Global, GlobalType, NodeId, Parameter};
use crate::vocabulary::Role;

/// Beyond so many facts every value counts as needed.
const MAX_FACTS: usize = 1 << 22;

/// Which variables a role needs at which nodes.
pub(super) struct Live<'a> {
    global: &'a GlobalType,
    role: Role,
    /// The variables in question, by name.
    numbers: FxHashMap<&'a str, u32>,
    facts: Option<FxHashSet<(u32, NodeId)>>,
}

impl<'a> Live<'a> {
    pub(super) fn new(global: &'a GlobalType, role: Role, variables: impl Iterator<Item = &'a str>) -> Self {
        let mut live = Self { global, role, numbers: variables.zip(0..).collect(), facts: None };
        live.facts = if live.numbers.is_empty() { None } else { live.search() };
        live
    }

    /// Whether the role may read `variable` after it came to `node`, before it gets another value.
    pub(super) fn at(&self, variable: &str, node: NodeId) -> bool {
        let Some(number) = self.numbers.get(variable) else { return false };
        self.facts.as_ref().is_none_or(|facts| facts.contains(&(*number, node)))
    }

    /// `None`: there are too many.
    fn search(&self) -> Option<FxHashSet<(u32, NodeId)>> {
        let before = before(self.global);
        let mut facts = FxHashSet::default();
        let mut pending = Vec::new();
        for (node, content) in self.global.nodes() {
            let Global::Exchange(exchange) = content else { continue };
            for (index, branch) in exchange.branches.iter().enumerate() {
                let sends = exchange.sender == self.role;
                if sends || branch.receiver == self.role {
                    let message = self.global.as_enforced((node, index), branch.message, sends);
                    let spec = self.global.vocabulary().spec(message);
                    let times = spec.timing.iter().flat_map(|timing| timing.lengths());
                    for expr in spec.assertion.iter().chain(times) {
                        self.reads(Some(expr), |variable| pending.push((variable, node)));
                    }
                }
            }
        }
        while let Some((variable, node)) = pending.pop() {
            if !facts.insert((variable, node)) {
                continue;
            }
            if facts.len() > MAX_FACTS {
                return None;
            }
            for &(earlier, branch) in &before[node.index()] {
                match self.assigned(earlier, branch, variable) {
                    Assigned::Not => pending.push((variable, earlier)),
                    Assigned::Otherwise => {}
                    Assigned::To(value) => self.reads(Some(value), |read| pending.push((read, earlier))),
                }
            }
        }
        Some(facts)
    }

    fn reads(&self, expr: Option<&Arc<Expr>>, mut found: impl FnMut(u32)) {
        let names = expr.into_iter().flat_map(|expr| expr.free_variables());
        names.filter_map(|name| self.numbers.get(&**name)).for_each(|number| found(*number));
    }

    /// What passing branch `branch` of `node` gives the role for `variable`.
    fn assigned(&self, node: NodeId, branch: usize, variable: u32) -> Assigned<'a> {
        let is_it = |name: &str| self.numbers.get(name) == Some(&variable);
        let of = |parameters: &'a [Parameter], values: &mut dyn Iterator<Item = &'a Arc<Expr>>| {
            let mut pairs = parameters.iter().zip(values);
            let found =
                pairs.find(|(parameter, _)| is_it(&parameter.name) && parameter.is_known_to(self.role));
            found.map_or(Assigned::Not, |(_, value)| Assigned::To(value))
        };
        match self.global.node(node) {
            Global::End | Global::Par(_) | Global::Join(_) => Assigned::Not,
            Global::Rec(rec) => of(&rec.parameters, &mut rec.parameters.iter().map(|p| &p.initial)),
            Global::Call(call) => match self.global.node(call.target) {
                Global::Rec(rec) => of(&rec.parameters, &mut call.arguments.iter()),
                _ => Assigned::Not,
            },
            Global::Exchange(exchange) => {
                let branch = &exchange.branches[branch];
                let mut fields = self.global.vocabulary().spec(branch.message).fields.iter();
                let learns = exchange.sender == self.role || branch.receiver == self.role;
                let binds = learns && fields.any(|field| field.name.as_deref().is_some_and(is_it));
                if binds { Assigned::Otherwise } else { Assigned::Not }
            }
        }
    }
}

enum Assigned<'a> {
    Not,
    To(&'a Arc<Expr>),
    /// A field of that name is bound.
    Otherwise,
}

/// Per node, the nodes before it, each with the branch that leads there.
fn before(global: &GlobalType) -> Vec<Vec<(NodeId, usize)>> {
    let mut before = vec![Vec::new(); global.node_count()];
    for (node, content) in global.nodes() {
        match content {
            Global::End | Global::Par(_) | Global::Join(_) => {}
            Global::Rec(rec) => before[rec.body.index()].push((node, 0)),
            Global::Call(call) => {
                if let Global::Rec(rec) = global.node(call.target) {
                    before[rec.body.index()].push((node, 0));
                }
            }
            Global::Exchange(exchange) => {
                for (index, branch) in exchange.branches.iter().enumerate() {
                    before[branch.next.index()].push((node, index));
                }
            }
        }
    }
    before
}
