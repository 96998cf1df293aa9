//! Control states: sets of modalities that share one environment, and where a set of matches leads.
//!
//! A control state is a conjunction of necessities (or a disjunction of possibilities) over the same live
//! variables. Which of its patterns match an event is a mask; what follows from a mask is worked out once and
//! remembered. A formula without data has control states only: its automaton is a table, made ahead of time.

use rustc_hash::FxHashMap;

use super::program::{ModalityId, Program, Source};

/// A control state of an [`Automaton`].
pub(crate) type StateId = u32;

/// Which patterns of a state match, one bit each.
pub(crate) type Mask = u64;

/// How many patterns a state may have. Further modalities are in further states.
const MOST_PATTERNS: usize = Mask::BITS as usize;

/// Up to this many patterns the outcomes of a state are a table.
const TABLE: usize = 6;
const UNKNOWN: u32 = u32::MAX;

/// How many states are made ahead of time.
const AHEAD: usize = 1 << 12;

/// What follows when some patterns of a control state match.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The verdict is reached.
    pub(crate) over: bool,
    /// If exactly one submonitor follows, and its environment is the same: its state.
    pub(crate) stays: Option<StateId>,
    /// The submonitors that take the place of the old one.
    pub(crate) templates: Box<[Template]>,
}

/// A submonitor to come: its state, and where the values of its variables are.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) state: StateId,
    pub(crate) sources: Box<[Source]>,
}

/// A control state.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) domain: u32,
    /// The different patterns of the modalities.
    pub(crate) patterns: Box<[u32]>,
    // INVARIANT: sorted, and not empty.
    pub(crate) modalities: Box<[ModalityId]>,
    /// Outcomes by mask.
    table: Box<[u32]>,
    rare: FxHashMap<Mask, u32>,
}

/// The control states found so far, and their outcomes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Automaton {
    pub(crate) states: Vec<State>,
    pub(crate) outcomes: Vec<Outcome>,
    by_modalities: FxHashMap<Box<[ModalityId]>, StateId>,
    unions: FxHashMap<(StateId, StateId), Option<StateId>>,
    /// The submonitors at the start.
    pub(crate) start: Vec<Template>,
}

impl Automaton {
    /// The automaton of `program`, which is plain. Variables that are live at the start are `given`, in this order.
    pub(crate) fn new(program: &Program, given: &[referee_theory::property::Slot]) -> Self {
        let mut automaton = Self::default();
        let targets =
            program.start.iter().flat_map(|clause| &**clause).map(|target| (*target, given, 0, None));
        automaton.start = automaton.templates(program, targets.collect());
        if !program.has_data() {
            let mut next = 0;
            while next < automaton.states.len().min(AHEAD) {
                let masks = automaton.states[next].table.len();
                for mask in 0..masks {
                    automaton.outcome(program, next as StateId, mask as Mask);
                }
                next += 1;
            }
        }
        automaton
    }

    /// The state with these modalities, which are sorted and of one domain.
    fn state(&mut self, program: &Program, modalities: &[ModalityId]) -> StateId {
        if let Some(state) = self.by_modalities.get(modalities) {
            return *state;
        }
        let of = |modality: &ModalityId| program.modalities.get(*modality as usize);
        let patterns = patterns(program, modalities);
        let table = if patterns.len() <= TABLE { vec![UNKNOWN; 1 << patterns.len()] } else { Vec::new() };
        let id = self.states.len() as StateId;
        self.states.push(State {
            domain: modalities.first().and_then(of).map_or(0, |modality| modality.domain),
            patterns: patterns.into(),
            modalities: modalities.into(),
            table: table.into(),
            rare: FxHashMap::default(),
        });
        self.by_modalities.insert(modalities.into(), id);
        id
    }

    /// The state of both; `None` if they are too much for one.
    pub(crate) fn union(&mut self, program: &Program, left: StateId, right: StateId) -> Option<StateId> {
        if left == right {
            return Some(left);
        }
        let pair = (left.min(right), left.max(right));
        if let Some(state) = self.unions.get(&pair) {
            return *state;
        }
        let members =
            |id: StateId| self.states.get(id as usize).map(|state| &*state.modalities).unwrap_or_default();
        let mut modalities = [members(left), members(right)].concat();
        modalities.sort_unstable();
        modalities.dedup();
        let fits = patterns(program, &modalities).len() <= MOST_PATTERNS;
        let state = fits.then(|| self.state(program, &modalities));
        self.unions.insert(pair, state);
        state
    }

    /// The number of what follows in `state` when the patterns of `mask` match.
    #[inline]
    pub(crate) fn outcome(&mut self, program: &Program, state: StateId, mask: Mask) -> u32 {
        let found = self.states.get(state as usize).map_or(UNKNOWN, |state| {
            let known = state.table.get(mask as usize).copied();
            known.unwrap_or_else(|| state.rare.get(&mask).copied().unwrap_or(UNKNOWN))
        });
        if found == UNKNOWN { self.work_out(program, state, mask) } else { found }
    }

    #[cold]
    fn work_out(&mut self, program: &Program, id: StateId, mask: Mask) -> u32 {
        let Some(state) = self.states.get(id as usize) else { return 0 };
        let domain = state.domain;
        let kept: &[_] = program.domains.get(domain as usize).map(|slots| &**slots).unwrap_or_default();
        // Where the values start that each pattern binds.
        let mut starts = Vec::new();
        let mut start = 0;
        for (bit, pattern) in state.patterns.iter().enumerate() {
            starts.push(start);
            if mask >> bit & 1 == 1 {
                start +=
                    program.matchers.get(*pattern as usize).map_or(0, |matcher| matcher.binds.len() as u32);
            }
        }
        let mut over = false;
        let mut targets: Vec<Target<'_>> = Vec::new();
        for modality in state.modalities.iter().filter_map(|id| program.modalities.get(*id as usize)) {
            let Ok(bit) = state.patterns.binary_search(&modality.pattern) else { continue };
            if mask >> bit & 1 == 0 {
                continue;
            }
            over |= super::program::is_over(&modality.after);
            let start = starts.get(bit).copied().unwrap_or_default();
            let each = modality.after.iter().flat_map(|clause| &**clause);
            targets.extend(each.map(|target| (*target, kept, start, Some(modality.pattern))));
        }
        let templates = if over { Vec::new() } else { self.templates(program, targets) };
        let same =
            |sources: &[Source]| (0..).zip(sources).all(|(place, source)| *source == Source::Kept(place));
        let stays = match &*templates {
            [only] if self.states[only.state as usize].domain == domain && same(&only.sources) => {
                Some(only.state)
            }
            _ => None,
        };
        let outcome = self.outcomes.len() as u32;
        self.outcomes.push(Outcome { over, stays, templates: templates.into() });
        if let Some(state) = self.states.get_mut(id as usize) {
            match state.table.get_mut(mask as usize) {
                Some(place) => *place = outcome,
                None => {
                    state.rare.insert(mask, outcome);
                }
            }
        }
        outcome
    }

    /// The submonitors that `targets` come to: those with the same environment together.
    fn templates(&mut self, program: &Program, targets: Vec<Target<'_>>) -> Vec<Template> {
        let mut groups: Vec<(u32, Box<[Source]>, Vec<ModalityId>)> = Vec::new();
        for (target, kept, start, pattern) in targets {
            let binds = pattern.and_then(|pattern| program.matchers.get(pattern as usize));
            let binds = binds.map(|matcher| &*matcher.binds).unwrap_or_default();
            let source = |slot: &referee_theory::property::Slot| {
                let bound = binds.iter().position(|bound| bound == slot);
                let kept =
                    || kept.iter().position(|kept| kept == slot).map(|place| Source::Kept(place as u32));
                bound.map(|place| Source::Bound(start + place as u32)).or_else(kept)
            };
            // A variable without a value equals nothing: what reads it never moves.
            let Some(sources) = program.domain(target).iter().map(source).collect::<Option<Box<[_]>>>()
            else {
                continue;
            };
            let domain = program.modalities.get(target as usize).map_or(0, |modality| modality.domain);
            match groups.iter_mut().find(|group| group.0 == domain && group.1 == sources) {
                Some(group) => group.2.push(target),
                None => groups.push((domain, sources, vec![target])),
            }
        }
        let mut templates = Vec::new();
        for (_, sources, mut modalities) in groups {
            modalities.sort_unstable();
            modalities.dedup();
            // At most as many patterns as modalities.
            for part in modalities.chunks(MOST_PATTERNS) {
                templates.push(Template { state: self.state(program, part), sources: sources.clone() });
            }
        }
        templates
    }
}

/// A modality to come, the variables before, and where what a pattern bound starts.
type Target<'a> = (ModalityId, &'a [referee_theory::property::Slot], u32, Option<u32>);

fn patterns(program: &Program, modalities: &[ModalityId]) -> Vec<u32> {
    let of = |modality: &ModalityId| program.modalities.get(*modality as usize);
    let mut patterns: Vec<u32> = modalities.iter().filter_map(of).map(|modality| modality.pattern).collect();
    patterns.sort_unstable();
    patterns.dedup();
    patterns
}
