//! What is left of a property after some events, where values are not known: two residuals, of the violations that
//! happen whatever the values are, and of those that happen for some.
//!
//! A residual is a set of clauses, each a set of *obligations*: a modality of the formula with the slots it still reads. The
//! property is violated as soon as all obligations of one clause are. Equal residuals have equal numbers.

use referee_theory::property::{FormulaId, Judged, LiveSlots, Polarity, Property, Rule};
use rustc_hash::{FxHashMap, FxHashSet};

use super::matching::{Certainty, ProtocolEvent, Slots};

/// A modality, and what the slots hold that are read from it on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Obligation {
    node: FormulaId,
    slots: Slots,
}

/// Any of these clauses, all of a clause; sorted, and none contains another.
type Clauses = Vec<Vec<u32>>;

/// The most clauses of one residual.
const MOST_CLAUSES: usize = 1 << 12;

/// The most residuals that are looked at without the protocol.
const MOST_RESIDUALS: usize = 1 << 10;

/// A property has more clauses than can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyClauses;

/// Both residuals of a property, by number; 0 is the property itself.
pub(super) struct Residuals<'p> {
    judged: Judged<'p>,
    live: LiveSlots,
    obligations: FxHashMap<Obligation, u32>,
    by_number: Vec<Obligation>,
    pairs: Vec<[Clauses; 2]>,
    numbers: FxHashMap<[Clauses; 2], u32>,
    /// Where a residual leads by an event.
    known: FxHashMap<(u32, u32), u32>,
    /// Bytes of all clauses.
    clauses: usize,
}

impl<'p> Residuals<'p> {
    /// `None` if no events violate `property`.
    pub(super) fn new(property: &'p Property) -> Option<Result<Self, TooManyClauses>> {
        let judged = property.judged().filter(|judged| judged.polarity() == Polarity::Violation)?;
        let mut all = Self {
            judged,
            live: LiveSlots::of(property),
            obligations: FxHashMap::default(),
            by_number: Vec::new(),
            pairs: Vec::new(),
            numbers: FxHashMap::default(),
            known: FxHashMap::default(),
            clauses: 0,
        };
        Some(all.unfolded(property.root(), &Slots::new()).map(|clauses| {
            all.number([clauses.clone(), clauses]);
            all
        }))
    }

    /// Whether the events so far violate the property: certainly, or for some values.
    pub(super) fn is_violated(&self, residual: u32) -> Certainty {
        let [certain, possible] = &self.pairs[residual as usize];
        if certain.first().is_some_and(Vec::is_empty) {
            Certainty::Yes
        } else if possible.first().is_some_and(Vec::is_empty) {
            Certainty::Perhaps
        } else {
            Certainty::No
        }
    }

    /// Whether no sequence of these `events`, by number, violates the property, in whatever order they come. `false` also where that
    /// takes too long to see.
    pub(super) fn is_never_violated(&mut self, events: &[Option<ProtocolEvent>]) -> bool {
        let mut seen = FxHashSet::from_iter([0]);
        let mut agenda = vec![0];
        while let Some(residual) = agenda.pop() {
            if self.is_violated(residual) != Certainty::No || seen.len() > MOST_RESIDUALS {
                return false;
            }
            for (number, event) in (0..).zip(events) {
                let Some(event) = event else { continue };
                let Ok(next) = self.after(residual, number, event) else { return false };
                if seen.insert(next) {
                    agenda.push(next);
                }
            }
        }
        true
    }

    /// Whether nothing that follows can violate it any more.
    pub(super) fn is_settled(&self, residual: u32) -> bool {
        self.pairs[residual as usize][1].is_empty()
    }

    /// What is left of `residual` after `event`, which has the number `number`.
    pub(super) fn after(
        &mut self,
        residual: u32,
        number: u32,
        event: &ProtocolEvent,
    ) -> Result<u32, TooManyClauses> {
        if let Some(&next) = self.known.get(&(residual, number)) {
            return Ok(next);
        }
        let [certain, possible] = self.pairs[residual as usize].clone();
        let certain = self.step(&certain, event, Certainty::Yes)?;
        let possible = self.step(&possible, event, Certainty::Perhaps)?;
        let next = self.number([certain, possible]);
        self.known.insert((residual, number), next);
        Ok(next)
    }

    fn number(&mut self, pair: [Clauses; 2]) -> u32 {
        let next = crate::model::narrow(self.pairs.len());
        *self.numbers.entry(pair).or_insert_with_key(|pair| {
            let clauses =
                pair.iter().flatten().map(|clause| size_of_val(&clause[..]) + size_of::<Vec<u32>>());
            // Once in the list and once in the table.
            self.clauses += 2 * clauses.sum::<usize>();
            self.pairs.push(pair.clone());
            next
        })
    }

    /// Bytes held, but for a constant for each obligation, of which there are few.
    pub(super) fn memory(&self) -> usize {
        const PAIR: usize = 2 * size_of::<[Clauses; 2]>();
        const STEP: usize = 2 * size_of::<((u32, u32), u32)>();
        self.clauses + self.pairs.len() * PAIR + self.known.len() * STEP
    }

    /// Each obligation is replaced by what stands behind its modality if the event matches, at least as certainly as
    /// `enough`; otherwise nothing violates it any more, and its clause is dropped.
    fn step(
        &mut self,
        clauses: &Clauses,
        event: &ProtocolEvent,
        enough: Certainty,
    ) -> Result<Clauses, TooManyClauses> {
        let mut all = Clauses::new();
        for clause in clauses {
            let mut product = vec![Vec::new()];
            for &obligation in clause {
                let next = self.discharged(obligation, event, enough)?;
                product = both(&product, &next)?;
            }
            all.extend(product);
        }
        least(all)
    }

    fn discharged(
        &mut self,
        obligation: u32,
        event: &ProtocolEvent,
        enough: Certainty,
    ) -> Result<Clauses, TooManyClauses> {
        let Obligation { node, slots } = self.by_number[obligation as usize].clone();
        let Rule::After { pattern, next, .. } = self.judged.node(node) else { return Ok(Clauses::new()) };
        let mut bound = Slots::new();
        if event.matches(pattern, &slots, &mut bound) < enough {
            return Ok(Clauses::new());
        }
        bound.extend(slots);
        self.unfolded(next, &bound)
    }

    /// The clauses of `node`; of two values of a slot the first counts.
    fn unfolded(&mut self, node: FormulaId, slots: &Slots) -> Result<Clauses, TooManyClauses> {
        match self.judged.node(node) {
            // A property that speaks of time is not asked here.
            Rule::Never | Rule::Timed { .. } => Ok(Clauses::new()),
            Rule::Now => Ok(vec![Vec::new()]),
            Rule::Any(parts) => {
                let mut all = Clauses::new();
                for part in parts {
                    all.extend(self.unfolded(*part, slots)?);
                }
                least(all)
            }
            Rule::All(parts) => {
                let mut product = vec![Vec::new()];
                for part in parts {
                    let part = self.unfolded(*part, slots)?;
                    product = both(&product, &part)?;
                }
                Ok(product)
            }
            Rule::After { .. } => {
                let node = self.judged.property().unfold(node);
                let live = self.live.at(node).filter_map(|slot| {
                    slots.iter().find(|(known, _)| *known == slot).map(|(_, value)| (slot, value.clone()))
                });
                let obligation = Obligation { node, slots: live.collect() };
                let next = crate::model::narrow(self.by_number.len());
                let number = *self.obligations.entry(obligation).or_insert_with_key(|obligation| {
                    self.by_number.push(obligation.clone());
                    next
                });
                Ok(vec![vec![number]])
            }
        }
    }
}

/// The clauses of a conjunction.
fn both(left: &Clauses, right: &Clauses) -> Result<Clauses, TooManyClauses> {
    if left.len().saturating_mul(right.len()) > MOST_CLAUSES {
        return Err(TooManyClauses);
    }
    let joined = left.iter().flat_map(|left| {
        right.iter().map(|right| {
            let mut clause = [&left[..], right].concat();
            clause.sort_unstable();
            clause.dedup();
            clause
        })
    });
    least(joined.collect())
}

/// Without clauses that contain another.
fn least(mut clauses: Clauses) -> Result<Clauses, TooManyClauses> {
    clauses.sort_by(|left, right| left.len().cmp(&right.len()).then_with(|| left.cmp(right)));
    clauses.dedup();
    let mut kept = Clauses::new();
    for clause in clauses {
        let contains = |other: &Vec<u32>| other.iter().all(|part| clause.binary_search(part).is_ok());
        if !kept.iter().any(contains) {
            kept.push(clause);
        }
    }
    if kept.len() > MOST_CLAUSES { Err(TooManyClauses) } else { Ok(kept) }
}
