//! What deserves a look in the times of a protocol: they can be kept to, but not as their author may think.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Since, Timing, known};
use crate::expr::Expr;
use crate::global::{Branch, Exchange, Global, GlobalType, NodeId};
use crate::vocabulary::{Origin, Role};

/// So many steps are taken to find waits; in larger protocols the rest is not looked at.
const MAX_STEPS: usize = 1 << 20;

/// Something about a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeAdvice {
    /// A `within` that is over before an `after` lets the message be sent.
    TooShort {
        /// The `within`.
        within: Arc<Expr>,
        /// What every way from the beginning waits for, in nanoseconds.
        after: i64,
        /// A message that waits; the message itself, if it does.
        waits: Origin,
    },
    /// A message has a `within`, and another that its sender may send instead has none: silence is never too long.
    SilenceAllowed {
        /// The `within`.
        within: Arc<Expr>,
        /// The message without.
        instead: Origin,
    },
    /// The receiver of a message may wait for it in vain, so it never has to be sent.
    NeedNotCome {
        /// The `within`.
        within: Arc<Expr>,
        /// The message.
        message: Origin,
    },
    /// `within … of LABEL`, where a message to the sender always comes after LABEL: its turn begins the time, not LABEL.
    NeverFirst {
        /// The `within`.
        within: Arc<Expr>,
        /// The label.
        label: Arc<str>,
        /// A message that comes between.
        between: Origin,
    },
}

impl GlobalType {
    /// What deserves a look in its times.
    #[must_use]
    pub fn time_advice(&self) -> Vec<TimeAdvice> {
        let mut advice = Vec::new();
        if !self.vocabulary().is_timed() {
            return advice;
        }
        let before = self.ways_back();
        let mut steps = 0;
        for (node, exchange) in self.exchanges() {
            let has_none =
                |branch: &&Branch| self.timing(branch).is_none_or(|timing| timing.within.is_none());
            let untimed = exchange.branches.iter().find(has_none);
            for branch in &exchange.branches {
                let Some(timing) = self.timing(branch) else { continue };
                let Some(within) = &timing.within else { continue };
                let length = || Arc::clone(&within.length);
                if let Some(other) = untimed {
                    advice.push(TimeAdvice::SilenceAllowed { within: length(), instead: other.origin });
                } else if self.is_optional(branch.origin) {
                    advice.push(TimeAdvice::NeedNotCome { within: length(), message: branch.origin });
                }
                let limit = known(&within.length);
                let own = timing.after.as_ref().and_then(|after| known(after));
                let mut waited = own.map(|own| (own, branch.origin));
                if let Since::Label(label) = &within.since {
                    let way = Way { global: self, before: &before, role: exchange.sender, label };
                    match way.shortest(node, &mut steps) {
                        Some(Beginning::Waited(0, _)) | None => {}
                        Some(Beginning::Waited(more, waits)) => {
                            waited = Some((more.saturating_add(own.unwrap_or(0)), waits));
                        }
                        Some(Beginning::Between(between)) => {
                            let label = Arc::clone(label);
                            advice.push(TimeAdvice::NeverFirst { within: length(), label, between });
                        }
                    }
                }
                if let (Some(limit), Some((after, waits))) = (limit, waited)
                    && limit < after
                {
                    advice.push(TimeAdvice::TooShort { within: length(), after, waits });
                }
            }
        }
        advice
    }

    fn timing(&self, branch: &Branch) -> Option<&Timing> {
        self.vocabulary().spec(branch.message).timing.as_deref()
    }

    /// The exchanges before each node, each with the branch that leads there.
    fn ways_back(&self) -> FxHashMap<NodeId, Vec<(NodeId, usize)>> {
        let mut before: FxHashMap<NodeId, Vec<(NodeId, usize)>> = FxHashMap::default();
        for (node, exchange) in self.exchanges() {
            for (index, branch) in exchange.branches.iter().enumerate() {
                before.entry(self.past_recursion(branch.next)).or_default().push((node, index));
            }
        }
        before
    }

    /// The exchange or the end that `node` leads to without a message.
    fn past_recursion(&self, mut node: NodeId) -> NodeId {
        // Recursions that are not guarded were refused.
        loop {
            node = match self.node(node) {
                // What came before a block or behind one is not looked at.
                Global::End | Global::Exchange(_) | Global::Par(_) | Global::Join(_) => return node,
                Global::Rec(rec) => rec.body,
                Global::Call(call) => call.target,
            };
        }
    }
}

/// What a time begins with.
enum Beginning {
    /// LABEL, on some way; and the least that any way from it waits for, with a message that does.
    Waited(i64, Origin),
    /// Always a message to the role, which comes after LABEL: such a message.
    Between(Origin),
}

/// The ways from the last LABEL that a role has seen.
struct Way<'a> {
    global: &'a GlobalType,
    before: &'a FxHashMap<NodeId, Vec<(NodeId, usize)>>,
    role: Role,
    label: &'a str,
}

impl Way<'_> {
    /// How a time of the role begins at `node`, backwards from there to what begins it, the shortest wait first.
    fn shortest(&self, node: NodeId, steps: &mut usize) -> Option<Beginning> {
        let mut pending = BinaryHeap::from([Reverse((0_i64, node, Origin::NONE))]);
        let mut reached: BTreeMap<NodeId, i64> = BTreeMap::new();
        let mut between = None;
        while let Some(Reverse((waited, at, waits))) = pending.pop() {
            if reached.get(&at).is_some_and(|earlier| *earlier <= waited) {
                continue;
            }
            reached.insert(at, waited);
            for &(earlier, index) in self.before.get(&at).into_iter().flatten() {
                *steps += 1;
                if *steps > MAX_STEPS {
                    return None;
                }
                let Global::Exchange(Exchange { sender, branches, .. }) = self.global.node(earlier) else {
                    continue;
                };
                let branch = &branches[index];
                if self.global.vocabulary().label_of(branch.message) == self.label {
                    return Some(Beginning::Waited(waited, waits));
                }
                if branch.receiver == self.role {
                    between = between.or(Some(branch.origin));
                    continue;
                }
                let own = if *sender == self.role { self.global.timing(branch) } else { None };
                let after = own.and_then(|timing| known(timing.after.as_ref()?));
                let waits = after.map_or(waits, |_| branch.origin);
                pending.push(Reverse((waited.saturating_add(after.unwrap_or(0)), earlier, waits)));
            }
        }
        between.map(Beginning::Between)
    }
}
