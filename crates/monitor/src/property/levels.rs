//! Variables by their depth: those that different branches bind at the same depth are one variable to the monitor.
//!
//! Branches that bind the same things under different names, as the conjuncts of `[α]φ and [α]ψ` do, then ask the
//! same of an event and keep the same values, so their submonitors are one. Names are the user's and stay in the
//! property, which explanations are made from.

use referee_theory::property::{Formula, FormulaId, LiveSlots, Property, Scope, Slot};

/// What each variable is called inside a program.
#[derive(Clone, Debug)]
pub(crate) struct Levels(Vec<Slot>);

impl Levels {
    pub(crate) fn of(property: &Property, live: &LiveSlots) -> Self {
        let by_depth = Self::by_depth(property);
        if by_depth.keeps_apart(property, live) { by_depth } else { Self::names(property) }
    }

    pub(crate) fn level(&self, slot: Slot) -> Slot {
        self.0.get(slot.0 as usize).copied().unwrap_or(slot)
    }

    /// Every variable is its own.
    fn names(property: &Property) -> Self {
        Self((0..).map(Slot).take(property.slots().len()).collect())
    }

    fn by_depth(property: &Property) -> Self {
        let mut levels = Self::names(property);
        let mut set = |binds: &[Slot], depth: u32| {
            for (slot, level) in binds.iter().zip(depth..) {
                if let Some(place) = levels.0.get_mut(slot.0 as usize) {
                    *place = Slot(level);
                }
            }
            depth + binds.len() as u32
        };
        let depth = set(&given(property), 0);
        let mut stack: Vec<(FormulaId, u32)> = vec![(property.root(), depth)];
        let mut seen = vec![false; property.node_count()];
        while let Some((node, depth)) = stack.pop() {
            if std::mem::replace(&mut seen[node.index()], true) {
                continue;
            }
            let formula = property.node(node);
            let inside = match formula {
                Formula::Modal { pattern, .. } => set(&property.pattern(*pattern).binds(), depth),
                _ => depth,
            };
            stack.extend(formula.children().iter().map(|child| (*child, inside)));
        }
        levels
    }

    /// Whether no two variables that have a value at the same time became one. They do not where a formula is a tree with
    /// calls to what encloses them, which is all that users can write; the monitor's verdicts do not rest on that.
    fn keeps_apart(&self, property: &Property, live: &LiveSlots) -> bool {
        let apart = |slots: &mut Vec<Slot>| {
            slots.sort_unstable();
            slots.dedup();
            let mut levels: Vec<Slot> = slots.iter().map(|slot| self.level(*slot)).collect();
            levels.sort_unstable();
            levels.dedup();
            levels.len() == slots.len()
        };
        let mut at_start: Vec<Slot> = given(property);
        at_start.extend(live.at(property.root()));
        let at_each = |node: FormulaId| {
            let mut slots: Vec<Slot> = live.at(node).collect();
            apart(&mut slots)
                && match property.node(node) {
                    Formula::Modal { pattern, next, .. } => {
                        let mut slots = property.pattern(*pattern).binds();
                        slots.extend(live.at(*next));
                        apart(&mut slots)
                    }
                    _ => true,
                }
        };
        apart(&mut at_start) && (0..).map(FormulaId).take(property.node_count()).all(at_each)
    }
}

/// What has a value before the formula begins.
fn given(property: &Property) -> Vec<Slot> {
    match property.scope() {
        Scope::PerProcess(scope) => scope.start.binds(),
        Scope::Stream | Scope::PerKey(_) => Vec::new(),
    }
}
