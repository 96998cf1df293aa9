//! A property, ready to be run: modalities with what follows them, and the live variables of each.
//!
//! Fixpoints are gone: what follows a modality is the set of modalities that its unfolding consists of, which
//! is finite because recursion is guarded. In the fragment of FMSD'15 one violated modality suffices; where both
//! connectives meet, *clauses* are needed, of which one must be closed whole (disjunctive normal form).

use std::fmt;
use std::sync::Arc;

use referee_theory::property::guard::Condition;
use referee_theory::property::{FormulaId, Judged, LiveSlots, Polarity, Property, Rule, Slot, TimeBound};
use rustc_hash::FxHashMap;

use super::levels::Levels;
use super::matcher::Matcher;
use super::window::WindowProgram;

/// A modality of a program.
pub(crate) type ModalityId = u32;

/// Modalities that must all lead to the verdict; sorted. An empty clause is the verdict.
pub(crate) type Clause = Box<[ModalityId]>;

/// A property as a run-time program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) polarity: Polarity,
    /// What it calls the property's variables.
    pub(crate) levels: Levels,
    pub(crate) modalities: Vec<Modality>,
    pub(crate) matchers: Vec<Matcher>,
    /// Sets of live variables.
    pub(crate) domains: Vec<Arc<[Slot]>>,
    pub(crate) start: Box<[Clause]>,
    /// Whether every clause has one modality.
    pub(crate) plain: bool,
    /// The windows that guards ask.
    pub(crate) windows: Vec<WindowProgram>,
    /// What waits at the start, if every event leads back there: see `rest`.
    pub(crate) loops: Option<u64>,
    /// Which letter each matcher asks for, if one member decides them all: see `letters`.
    pub(crate) letters: Option<Box<[u8]>>,
}

/// `[α]φ`, `expect α within D` or `never α for D` in its place.
#[derive(Clone, Debug)]
pub(crate) struct Modality {
    /// `α`, as one of the matchers.
    pub(crate) pattern: u32,
    /// The variables that it or what follows reads, as one of the domains.
    pub(crate) domain: u32,
    /// `φ`: one of these must be closed.
    pub(crate) after: Box<[Clause]>,
    pub(crate) timed: Option<Box<TimedPart>>,
    /// What each place of its environment is, as the property calls it.
    pub(crate) slots: Box<[Slot]>,
    /// Where it stands.
    pub(crate) node: FormulaId,
}

/// What makes `expect` or `never` of a modality.
#[derive(Clone, Debug)]
pub(crate) struct TimedPart {
    pub(crate) bound: TimeBound,
    pub(crate) duration: Condition,
    /// Its value in nanoseconds, if it depends on no variable.
    pub(crate) constant: Option<i64>,
}

/// Where the value of a variable comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// A place in the environment before.
    Kept(u32),
    /// Something that the matches bound.
    Bound(u32),
}

/// Why a property cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    name: Arc<str>,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "property `{}` mixes `and` and `or` in more than {MOST_CLAUSES} combinations: split it into several",
            self.name
        )
    }
}

impl std::error::Error for TooLarge {}

/// How many clauses a formula may unfold to at one place, if both connectives meet in it.
const MOST_CLAUSES: usize = 4096;

impl Program {
    /// The program of `property`.
    pub(crate) fn new(property: &Property, judged: Judged<'_>) -> Result<Self, TooLarge> {
        let live = LiveSlots::of(property);
        let levels = Levels::of(property, &live);
        let mut compiler = Compiler {
            judged,
            live,
            program: Self {
                polarity: judged.polarity(),
                levels,
                modalities: Vec::new(),
                matchers: Vec::new(),
                domains: Vec::new(),
                start: Box::default(),
                plain: true,
                windows: Vec::new(),
                loops: None,
                letters: None,
            },
            known: FxHashMap::default(),
            pending: Vec::new(),
            domains: FxHashMap::default(),
            expanded: FxHashMap::default(),
            alike: FxHashMap::default(),
        };
        let too_large = || TooLarge { name: Arc::clone(property.name()) };
        let start = compiler.expand(property.root()).ok_or_else(too_large)?;
        while let Some((modality, next)) = compiler.pending.pop() {
            let after = compiler.expand(next).ok_or_else(too_large)?;
            if let Some(modality) = compiler.program.modalities.get_mut(modality as usize) {
                modality.after = after;
            }
        }
        let mut program = compiler.program;
        program.start = start;
        let all = program.modalities.iter().flat_map(|modality| &*modality.after).chain(&*program.start);
        program.plain = all.into_iter().all(|clause| clause.len() <= 1);
        program.loops = program.first_loop();
        program.letters = program.asked_letters();
        Ok(program)
    }

    /// Whether the verdict is given before any event.
    pub(crate) fn is_over_at_start(&self) -> bool {
        is_over(&self.start)
    }

    /// Whether submonitors keep values.
    pub(crate) fn has_data(&self) -> bool {
        self.domains.iter().any(|domain| !domain.is_empty())
    }

    /// The bit of a clause that is one modality without values, which waits for the next event.
    #[inline]
    pub(crate) fn fixed(&self, clause: &[ModalityId]) -> Option<u64> {
        let [only] = clause else { return None };
        let modality = self.modalities.get(*only as usize)?;
        (modality.timed.is_none() && modality.slots.is_empty()).then(|| 1_u64.checked_shl(*only)).flatten()
    }

    pub(crate) fn domain(&self, modality: ModalityId) -> &[Slot] {
        let domain = self.modalities.get(modality as usize).map_or(0, |modality| modality.domain);
        self.domains.get(domain as usize).map(|slots| &**slots).unwrap_or_default()
    }
}

/// Whether one of `clauses` is closed.
pub(crate) fn is_over(clauses: &[Clause]) -> bool {
    clauses.iter().any(|clause| clause.is_empty())
}

struct Compiler<'a> {
    judged: Judged<'a>,
    live: LiveSlots,
    program: Program,
    known: FxHashMap<FormulaId, ModalityId>,
    /// Modalities whose continuation is not worked out.
    pending: Vec<(ModalityId, FormulaId)>,
    domains: FxHashMap<Vec<Slot>, u32>,
    expanded: FxHashMap<FormulaId, Box<[Clause]>>,
    /// Matchers by their fingerprints.
    alike: FxHashMap<u64, Vec<u32>>,
}

impl Compiler<'_> {
    /// What `node` unfolds to; `None` if that is too much. No recursion: formulas may be deep.
    fn expand(&mut self, node: FormulaId) -> Option<Box<[Clause]>> {
        let mut stack = vec![node];
        while let Some(&at) = stack.last() {
            if self.expanded.contains_key(&at) {
                stack.pop();
                continue;
            }
            let clauses = match self.judged.node(at) {
                Rule::Never => Box::default(),
                Rule::Now => [Clause::default()].into(),
                Rule::After { next, .. } => [[self.modality(at, Some(next))].into()].into(),
                Rule::Timed { .. } => [[self.modality(at, None)].into()].into(),
                Rule::Any(parts) | Rule::All(parts) => {
                    let before = stack.len();
                    stack.extend(parts.iter().filter(|part| !self.expanded.contains_key(*part)));
                    if stack.len() > before {
                        continue;
                    }
                    let any = matches!(self.judged.node(at), Rule::Any(_));
                    let parts = parts.iter().filter_map(|part| self.expanded.get(part).map(|c| &**c));
                    if any { simplify(parts.flatten().cloned().collect()) } else { product(parts)? }
                }
            };
            self.expanded.insert(at, clauses);
            stack.pop();
        }
        self.expanded.get(&node).cloned()
    }

    fn modality(&mut self, node: FormulaId, next: Option<FormulaId>) -> ModalityId {
        let node = self.judged.property().unfold(node);
        if let Some(modality) = self.known.get(&node) {
            return *modality;
        }
        let (pattern, timed) = match self.judged.node(node) {
            Rule::After { pattern, .. } => (pattern, None),
            Rule::Timed { bound, pattern, duration } => (pattern, Some((bound, duration))),
            _ => return 0,
        };
        let level = |slot: &Slot| self.program.levels.level(*slot);
        let mut slots: Vec<Slot> = self.live.at(node).collect();
        slots.sort_unstable_by_key(level);
        let levels: Vec<Slot> = slots.iter().map(level).collect();
        let mut matcher = Matcher::new(pattern, &slots, &self.program.levels);
        let Program { levels: all_levels, windows, .. } = &mut self.program;
        matcher.ask(&pattern.windows, |window| {
            let program = WindowProgram::new(window, all_levels);
            let known = windows.iter().position(|known| *known == program);
            known.unwrap_or_else(|| {
                windows.push(program);
                windows.len() - 1
            })
        });
        let domain = match self.domains.get(&levels) {
            Some(domain) => *domain,
            None => {
                let domain = self.program.domains.len() as u32;
                self.program.domains.push(levels.as_slice().into());
                self.domains.insert(levels, domain);
                domain
            }
        };
        let pattern = self.matcher(matcher);
        let id = self.program.modalities.len() as ModalityId;
        let timed = timed.map(|(bound, duration)| Box::new(TimedPart::new(bound, duration.clone())));
        self.program.modalities.push(Modality {
            pattern,
            domain,
            after: Box::default(),
            timed,
            node,
            slots: slots.into(),
        });
        self.known.insert(node, id);
        self.pending.extend(next.map(|next| (id, next)));
        id
    }
}

impl Compiler<'_> {
    /// The number of `matcher`.
    fn matcher(&mut self, matcher: Matcher) -> u32 {
        let alike = self.alike.entry(matcher.fingerprint()).or_default();
        let matchers = &mut self.program.matchers;
        let is = |known: &&u32| matchers.get(**known as usize).is_some_and(|known| *known == matcher);
        if let Some(found) = alike.iter().find(is) {
            return *found;
        }
        let pattern = matchers.len() as u32;
        alike.push(pattern);
        matchers.push(matcher);
        pattern
    }
}

/// One of each; the verdict alone, if it is among them.
fn simplify(mut clauses: Vec<Clause>) -> Box<[Clause]> {
    if is_over(&clauses) {
        return [Clause::default()].into();
    }
    clauses.sort_unstable();
    clauses.dedup();
    clauses.into()
}

/// One clause of each part, in all combinations.
fn product<'a>(parts: impl Iterator<Item = &'a [Clause]>) -> Option<Box<[Clause]>> {
    let mut combined: Vec<Clause> = vec![Clause::default()];
    for part in parts {
        if combined.len().saturating_mul(part.len()) > MOST_CLAUSES {
            return None;
        }
        combined = combined.iter().flat_map(|left| part.iter().map(|right| join(left, right))).collect();
    }
    Some(simplify(combined))
}

fn join(left: &Clause, right: &Clause) -> Clause {
    let mut clause = [&**left, &**right].concat();
    clause.sort_unstable();
    clause.dedup();
    clause.into()
}
