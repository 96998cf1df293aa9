//! Algorithm 2 of RV'23 with Definition 8, over the shared nodes of a global type: each is visited once per
//! role, and whether branches differ is whether two numbers do.
//!
//! Two corrections. The line for D′ projects μX.G′, as Example 10 does, not G′ as printed. "Arbitrary k" (line
//! 15) is a choice that the caller makes: see [`super::Network`]. Why one visit per node is enough although D
//! depends on the way there: a role leaves D at a loop in which it has nothing to do with p, so where a node
//! can be reached with different D, the difference has no dependency to add.

use std::rc::Rc;
use std::sync::Arc;

use referee_theory::relative::{Relative, RelativeType};
use referee_theory::{Exchange, Global, GlobalType, Label, Message, NodeId, Role};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::term::{Branches, Followed, RoleMonitor, Term, TermId, Terms};

/// Which branch a role follows where it does not depend on an exchange: by exchange, the first unless said.
pub(super) type Follow = FxHashMap<NodeId, usize>;

/// What a role's monitor does at a node of the global type.
#[derive(Clone, Debug)]
pub(super) enum Duty {
    /// Nothing any more.
    End,
    /// What it does at another node.
    Same(NodeId),
    /// The component sends, then these are told.
    Send(SmallVec<[Role; 2]>),
    /// The component receives, then these are told.
    Receive(SmallVec<[Role; 2]>),
    /// The monitor is told by these, one after the other.
    Learn(SmallVec<[Role; 2]>),
}

/// The monitor of one role, and where its parts come from.
pub(super) struct Synthesised {
    pub(super) monitor: RoleMonitor,
    /// By node of the global type; `None` where the role never comes.
    pub(super) duties: Vec<Option<Duty>>,
}

/// D, shared between the nodes that have the same.
type Others = Rc<[Role]>;

enum Visit {
    Enter(NodeId, Others),
    Leave(NodeId, Others),
}

struct Synthesis<'a> {
    global: &'a GlobalType,
    role: Role,
    /// The relative types of `role`, by the other role.
    relative: FxHashMap<Role, &'a RelativeType>,
    follow: &'a Follow,
    terms: Terms,
    made: Vec<Option<TermId>>,
    duties: Vec<Option<Duty>>,
    followed: Vec<Followed>,
}

/// `gt2mon(G, role, part(G) \ {role})`; `relative` are the relative types of all pairs.
pub(super) fn synthesise(
    global: &GlobalType,
    relative: &[RelativeType],
    role: Role,
    follow: &Follow,
) -> Synthesised {
    let of_role = relative.iter().filter_map(|relative| match relative.pair() {
        (p, q) if p == role => Some((q, relative)),
        (p, q) if q == role => Some((p, relative)),
        _ => None,
    });
    let relative: FxHashMap<Role, &RelativeType> = of_role.collect();
    let mut others: Vec<Role> = relative.keys().copied().collect();
    others.sort_unstable();
    let mut synthesis = Synthesis {
        global,
        role,
        relative,
        follow,
        terms: Terms::default(),
        made: vec![None; global.node_count()],
        duties: vec![None; global.node_count()],
        followed: Vec::new(),
    };
    let root = synthesis.run(others.into());
    let monitor = RoleMonitor {
        vocabulary: Arc::clone(global.vocabulary()),
        role,
        terms: synthesis.terms,
        root,
        followed: synthesis.followed,
    };
    Synthesised { monitor, duties: synthesis.duties }
}

impl Synthesis<'_> {
    fn run(&mut self, others: Others) -> TermId {
        let root = self.global.root();
        let mut stack = vec![Visit::Enter(root, others)];
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Enter(node, _) | Visit::Leave(node, _) if self.made[node.index()].is_some() => {}
                Visit::Enter(node, others) => self.enter(node, others, &mut stack),
                Visit::Leave(node, others) => self.leave(node, &others),
            }
        }
        self.term_of(root)
    }

    fn enter(&mut self, node: NodeId, others: Others, stack: &mut Vec<Visit>) {
        match self.global.node(node) {
            // There are no relative types of a `par`, so none comes here.
            Global::End | Global::Par(_) | Global::Join(_) => self.set(node, Term::End, Duty::End),
            Global::Call(call) => {
                let level = match self.global.node(call.target) {
                    Global::Rec(rec) => rec.level,
                    _ => 0,
                };
                self.set(node, Term::Call { level }, Duty::Same(call.target));
            }
            Global::Rec(rec) => {
                let concerned = |other: &&Role| {
                    self.relative
                        .get(*other)
                        .is_some_and(|relative| relative.node(relative.of(node)) != &Relative::End)
                };
                let inside: Vec<Role> = others.iter().filter(concerned).copied().collect();
                if inside.is_empty() {
                    self.set(node, Term::End, Duty::End);
                } else {
                    let inside =
                        if inside.len() == others.len() { Rc::clone(&others) } else { inside.into() };
                    stack.push(Visit::Leave(node, others));
                    stack.push(Visit::Enter(rec.body, inside));
                }
            }
            Global::Exchange(exchange) => {
                stack.push(Visit::Leave(node, Rc::clone(&others)));
                let nexts = exchange.branches.iter().rev().map(|branch| branch.next);
                stack.extend(nexts.map(|next| Visit::Enter(next, Rc::clone(&others))));
            }
        }
    }

    fn leave(&mut self, node: NodeId, others: &[Role]) {
        match self.global.node(node) {
            Global::Exchange(exchange) => self.exchange(node, exchange, others),
            Global::Rec(rec) => {
                let term = Term::Rec { level: rec.level, body: self.term_of(rec.body) };
                let term = self.terms.add_named(term, &rec.name);
                self.made[node.index()] = Some(term);
                self.duties[node.index()] = Some(Duty::Same(rec.body));
            }
            Global::End | Global::Call(_) | Global::Par(_) | Global::Join(_) => {}
        }
    }

    /// Lines 4 to 15.
    fn exchange(&mut self, node: NodeId, exchange: &Exchange, others: &[Role]) {
        let sender = exchange.sender;
        // A well-formed type has one receiver at each exchange.
        let receiver = exchange.branches[0].receiver;
        if self.role == sender || self.role == receiver {
            let depends =
                |other: &&Role| **other != sender && **other != receiver && self.differs(**other, exchange);
            let informed: SmallVec<[Role; 2]> = others.iter().filter(depends).copied().collect();
            let sends = self.role == sender;
            let branches = self.told(node, exchange, &informed, sends);
            let (term, duty) = if sends {
                (Term::Output { peer: receiver, branches }, Duty::Send(informed))
            } else {
                (Term::Input { peer: sender, branches }, Duty::Receive(informed))
            };
            return self.set(node, term, duty);
        }
        let informers = [sender, receiver].into_iter();
        let informers: SmallVec<[Role; 2]> =
            informers.filter(|other| others.contains(other) && self.differs(*other, exchange)).collect();
        let Some(&informer) = informers.first() else { return self.independent(node, exchange) };
        let second = informers.get(1).copied();
        let branches = self.labels(exchange);
        self.set(node, Term::Learn { informer, second, branches }, Duty::Learn(informers));
    }

    /// Line 15: any branch would do, were it not for the order across pairs.
    fn independent(&mut self, node: NodeId, exchange: &Exchange) {
        let first = self.term_of(exchange.branches[0].next);
        let same = exchange.branches.iter().all(|branch| self.term_of(branch.next) == first);
        let mut branch = 0;
        if !same {
            branch = self.follow.get(&node).copied().unwrap_or(0).min(exchange.branches.len() - 1);
            self.followed.push(Followed {
                exchange: node,
                origin: exchange.origin,
                branch,
                message: exchange.branches[branch].message,
                branches: exchange.branches.len(),
            });
        }
        let next = exchange.branches[branch].next;
        self.made[node.index()] = Some(self.term_of(next));
        self.duties[node.index()] = Some(Duty::Same(next));
    }

    /// Definition 8, for an `other` that takes no part in the exchange and a role that does, or the reverse.
    fn differs(&self, other: Role, exchange: &Exchange) -> bool {
        let Some(relative) = self.relative.get(&other) else { return false };
        let first = relative.of(exchange.branches[0].next);
        exchange.branches.iter().any(|branch| relative.of(branch.next) != first)
    }

    /// The branches of an exchange that the role takes part in, each followed by `p!D(i)`.
    fn told(
        &mut self,
        node: NodeId,
        exchange: &Exchange,
        informed: &SmallVec<[Role; 2]>,
        sends: bool,
    ) -> Branches<Message> {
        let vocabulary = self.global.vocabulary();
        let mut branches = Branches::new();
        for (index, branch) in exchange.branches.iter().enumerate() {
            let next = self.term_of(branch.next);
            let label = vocabulary.label(branch.message);
            let informing = self.terms.add(Term::Inform { informed: informed.clone(), label, next });
            branches.push((self.global.message_as_checked((node, index), branch.message, sends), informing));
        }
        branches
    }

    fn labels(&self, exchange: &Exchange) -> Branches<Label> {
        let vocabulary = self.global.vocabulary();
        let branches = exchange.branches.iter();
        branches.map(|branch| (vocabulary.label(branch.message), self.term_of(branch.next))).collect()
    }

    fn set(&mut self, node: NodeId, term: Term, duty: Duty) {
        self.made[node.index()] = Some(self.terms.add(term));
        self.duties[node.index()] = Some(duty);
    }

    /// What was made of `node`, which was visited before whatever leads to it.
    fn term_of(&self, node: NodeId) -> TermId {
        self.made[node.index()].unwrap_or(TermId(0))
    }
}
