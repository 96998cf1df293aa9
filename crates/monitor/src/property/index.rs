//! Many submonitors: found by the values that an event must have, and moved together where nothing tells them apart.
//!
//! Submonitors with the same variables are the rows of one table; each row is in a *group*, all of whose members are
//! in the same control state. An event asks each group which of its patterns match whatever the values are, and
//! for the patterns that compare values with the event looks up the rows they fit. Those rows are stepped one by
//! one. All others of the group move at once, if they keep their values, or are dropped at once: their rows
//! remain in the table until as many are dead as alive, so that each is paid for when it is made.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use referee_theory::property::{EventView, Term};
use smallvec::SmallVec;

use super::automaton::{Automaton, Mask, StateId};
use super::matcher::{Bound, Demand};
use super::program::Program;
use super::rows::{self, Row, Submonitor, Submonitors};

/// The submonitors of one instance.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// One for each domain.
    tables: Vec<Table>,
    hasher: RandomState,
    /// The submonitor that gave the verdict.
    pub(crate) closing: Option<(StateId, Row)>,
}

#[derive(Clone, Debug, Default)]
struct Table {
    rows: Vec<Entry>,
    /// Rows by all their values.
    by_row: HashMap<u64, SmallVec<[u32; 1]>>,
    /// Rows by some of their values: which places, and the rows for each hash of them.
    lookups: Vec<(Box<[u32]>, Lookup)>,
    groups: Vec<Group>,
    /// The groups that live and are part of no other.
    alive: Vec<u32>,
    /// How many rows are in groups that live.
    live: usize,
}

/// Rows by the hash of some of their values.
type Lookup = HashMap<u64, SmallVec<[u32; 2]>>;

#[derive(Clone, Debug)]
struct Entry {
    row: Row,
    /// Which group; it may have become part of another.
    group: u32,
}

#[derive(Clone, Debug)]
struct Group {
    /// `None`: its rows are dead.
    state: Option<StateId>,
    /// The group that it has become part of.
    joined: Option<u32>,
    count: usize,
}

/// The group of dead rows.
const DEAD: u32 = 0;
/// Below this many rows a table is not tidied.
const TIDY: usize = 64;

impl Index {
    pub(crate) fn new(program: &Program, automaton: &mut Automaton, submonitors: Submonitors) -> Self {
        let mut index = Self {
            tables: vec![Table::default(); program.domains.len()],
            hasher: RandomState::new(),
            closing: None,
        };
        index.tables.iter_mut().for_each(Table::clear);
        for Submonitor { state, row } in submonitors {
            index.add(program, automaton, state, row);
        }
        index
    }

    pub(crate) fn len(&self) -> usize {
        self.tables.iter().map(|table| table.live).sum()
    }

    /// Steps all submonitors over `event`; whether the verdict is reached.
    pub(crate) fn step(
        &mut self,
        program: &Program,
        automaton: &mut Automaton,
        event: &EventView<'_>,
    ) -> bool {
        let mut moved = Vec::new();
        for table in &mut self.tables {
            if table.live > 0 && table.step(program, automaton, event, &self.hasher, &mut moved) {
                self.closing = moved.pop();
                return true;
            }
        }
        for (state, row) in moved {
            self.add(program, automaton, state, row);
        }
        self.tables.iter_mut().for_each(|table| table.tidy(&self.hasher));
        false
    }

    /// Adds a submonitor, or makes it part of the one with the same values.
    fn add(&mut self, program: &Program, automaton: &mut Automaton, state: StateId, row: Row) {
        let Some(domain) = automaton.states.get(state as usize).map(|state| state.domain) else { return };
        let Some(table) = self.tables.get_mut(domain as usize) else { return };
        let hash = self.hasher.hash_one(&row);
        let candidates = table.by_row.get(&hash).cloned().unwrap_or_default();
        for id in candidates {
            if table.rows.get(id as usize).is_none_or(|entry| entry.row != row) {
                continue;
            }
            let Some(known) = table.state_of(id) else {
                // The same values have been here before.
                return table.assign(id, state);
            };
            if let Some(union) = automaton.union(program, known, state) {
                if union != known {
                    table.assign(id, union);
                }
                return;
            }
        }
        table.insert(row, hash, state, &self.hasher);
    }
}

impl Table {
    fn clear(&mut self) {
        *self = Self::default();
        self.groups.push(Group { state: None, joined: None, count: 0 });
    }

    /// The group that `group` has become.
    fn root(&self, mut group: u32) -> u32 {
        while let Some(next) = self.groups.get(group as usize).and_then(|group| group.joined) {
            group = next;
        }
        group
    }

    fn group_of(&self, id: u32) -> u32 {
        self.rows.get(id as usize).map_or(DEAD, |entry| self.root(entry.group))
    }

    fn state_of(&self, id: u32) -> Option<StateId> {
        self.groups.get(self.group_of(id) as usize)?.state
    }

    /// The group in `state`, made if there is none.
    fn group(&mut self, state: StateId) -> u32 {
        let is = |group: &&u32| self.groups[**group as usize].state == Some(state);
        if let Some(found) = self.alive.iter().find(is) {
            return *found;
        }
        let group = self.groups.len() as u32;
        self.groups.push(Group { state: Some(state), joined: None, count: 0 });
        self.alive.push(group);
        group
    }

    fn count(&mut self, group: u32) -> &mut usize {
        &mut self.groups[group as usize].count
    }

    /// Puts a row into the group of `state`.
    fn assign(&mut self, id: u32, state: StateId) {
        self.release(id);
        let group = self.group(state);
        *self.count(group) += 1;
        self.live += 1;
        if let Some(entry) = self.rows.get_mut(id as usize) {
            entry.group = group;
        }
    }

    /// Makes a row dead.
    fn release(&mut self, id: u32) {
        let group = self.group_of(id);
        if self.groups[group as usize].state.is_some() {
            *self.count(group) -= 1;
            self.live -= 1;
            if *self.count(group) == 0 {
                self.groups[group as usize].state = None;
            }
        }
        if let Some(entry) = self.rows.get_mut(id as usize) {
            entry.group = DEAD;
        }
    }

    fn insert(&mut self, row: Row, hash: u64, state: StateId, hasher: &RandomState) {
        let id = self.rows.len() as u32;
        for (places, lookup) in &mut self.lookups {
            lookup.entry(key(&row, places, hasher)).or_default().push(id);
        }
        self.by_row.entry(hash).or_default().push(id);
        let group = self.group(state);
        *self.count(group) += 1;
        self.live += 1;
        self.rows.push(Entry { row, group });
    }

    /// Steps all rows; those that do not simply stay are taken out and come to `moved`.
    fn step(
        &mut self,
        program: &Program,
        automaton: &mut Automaton,
        event: &EventView<'_>,
        hasher: &RandomState,
        moved: &mut Vec<(StateId, Row)>,
    ) -> bool {
        let state_of = |group: &u32| Some((*group, self.groups[*group as usize].state?));
        let groups: SmallVec<[(u32, StateId); 8]> = self.alive.iter().filter_map(state_of).collect();
        // Found before anything moves: a row that joins a group must not be stepped twice.
        let mut fits = Vec::with_capacity(groups.len());
        for (group, state) in &groups {
            fits.push(self.fits(program, automaton, event, hasher, *group, *state));
        }
        let mut moves = Vec::new();
        for ((group, state), (common, special)) in groups.into_iter().zip(fits) {
            for id in special {
                let Some(row) = self.rows.get(id as usize).map(|entry| entry.row.clone()) else { continue };
                self.release(id);
                if step_row(program, automaton, event, state, &row, moved) {
                    moved.push((state, row));
                    return true;
                }
            }
            let outcome = automaton.outcome(program, state, common);
            let Some(outcome) = automaton.outcomes.get(outcome as usize) else { continue };
            if self.groups[group as usize].count == 0 {
                continue;
            }
            if outcome.over {
                let of = |id: &u32| self.group_of(*id) == group;
                let row = (0..self.rows.len() as u32).find(of).and_then(|id| self.rows.get(id as usize));
                moved.extend(row.map(|entry| (state, entry.row.clone())));
                return true;
            }
            moves.push((group, state, outcome.stays, outcome.templates.is_empty()));
        }
        for (group, state, stays, dies) in moves {
            if stays.is_none() && !dies {
                for id in
                    (0..self.rows.len() as u32).filter(|id| self.group_of(*id) == group).collect::<Vec<_>>()
                {
                    let Some(row) = self.rows.get(id as usize).map(|entry| entry.row.clone()) else {
                        continue;
                    };
                    if step_row(program, automaton, event, state, &row, moved) {
                        moved.push((state, row));
                        return true;
                    }
                }
            }
            let place = &mut self.groups[group as usize];
            place.state = stays;
            if stays.is_none() {
                self.live -= std::mem::take(&mut place.count);
            }
        }
        self.join();
        false
    }

    /// The patterns that match whatever the values of a group's rows are, and the rows that must be looked at.
    fn fits(
        &mut self,
        program: &Program,
        automaton: &Automaton,
        event: &EventView<'_>,
        hasher: &RandomState,
        group: u32,
        state: StateId,
    ) -> (Mask, Vec<u32>) {
        let mut common = 0;
        let mut special = Vec::new();
        let patterns = automaton.states.get(state as usize).map(|state| &*state.patterns).unwrap_or_default();
        for (bit, pattern) in patterns.iter().enumerate() {
            let Some(matcher) = program.matchers.get(*pattern as usize) else { continue };
            if !matcher.is_dependent {
                common |= Mask::from(matcher.matches(event, &[], &mut Bound::new())) << bit;
                continue;
            }
            if matcher.kind().is_some_and(|kind| kind != event.kind) {
                continue;
            }
            let mut compared: Vec<(u32, Term<'_>)> = Vec::new();
            let mut possible = true;
            for (access, demand) in &matcher.demands {
                match (demand, access.of(event)) {
                    (_, None) => possible = false,
                    (Demand::Constant(constant), Some(term)) => possible &= *constant == term,
                    (Demand::Kept(place), Some(term)) => compared.push((*place, term)),
                }
            }
            if !possible {
                continue;
            }
            if compared.is_empty() {
                // A guard alone: every row must be asked.
                special.extend((0..self.rows.len() as u32).filter(|id| self.group_of(*id) == group));
                continue;
            }
            compared.sort_by_key(|(place, _)| *place);
            compared.dedup_by_key(|(place, _)| *place);
            let places: Box<[u32]> = compared.iter().map(|(place, _)| *place).collect();
            let hash = hasher.hash_one(Hashed(&compared.iter().map(|(_, term)| *term).collect::<Vec<_>>()));
            let rows = self.lookup(places, hasher).get(&hash).cloned().unwrap_or_default();
            special.extend(rows.into_iter().filter(|id| self.group_of(*id) == group));
        }
        special.sort_unstable();
        special.dedup();
        (common, special)
    }

    /// The rows by their values at `places`.
    fn lookup(&mut self, places: Box<[u32]>, hasher: &RandomState) -> &Lookup {
        let found = self.lookups.iter().position(|(known, _)| *known == places);
        let at = found.unwrap_or_else(|| {
            let mut lookup = Lookup::new();
            for (id, entry) in (0..).zip(&self.rows) {
                lookup.entry(key(&entry.row, &places, hasher)).or_default().push(id);
            }
            self.lookups.push((places, lookup));
            self.lookups.len() - 1
        });
        &self.lookups[at].1
    }

    /// Groups that have come to the same state become one.
    fn join(&mut self) {
        let mut kept: Vec<u32> = Vec::with_capacity(self.alive.len());
        for right in std::mem::take(&mut self.alive) {
            let Some(state) = self.groups[right as usize].state else { continue };
            let same = |group: &&u32| self.groups[**group as usize].state == Some(state);
            match kept.iter().find(same).copied() {
                None => kept.push(right),
                Some(left) => {
                    let count = std::mem::take(self.count(right));
                    *self.count(left) += count;
                    self.groups[right as usize].joined = Some(left);
                }
            }
        }
        self.alive = kept;
    }

    /// Makes room, when as many rows are dead as alive.
    fn tidy(&mut self, hasher: &RandomState) {
        if self.rows.len() < TIDY.max(2 * self.live) && self.groups.len() < TIDY.max(self.rows.len()) {
            return;
        }
        let mut old = std::mem::take(self);
        self.clear();
        self.lookups = old.lookups.drain(..).map(|(places, _)| (places, HashMap::new())).collect();
        for id in 0..old.rows.len() as u32 {
            let Some(state) = old.state_of(id) else { continue };
            let Some(row) = old.rows.get_mut(id as usize).map(|entry| std::mem::take(&mut entry.row)) else {
                continue;
            };
            let hash = hasher.hash_one(&row);
            self.insert(row, hash, state, hasher);
        }
    }
}

/// Steps one row; what it comes to is added to `moved`.
fn step_row(
    program: &Program,
    automaton: &mut Automaton,
    event: &EventView<'_>,
    state: StateId,
    row: &Row,
    moved: &mut Vec<(StateId, Row)>,
) -> bool {
    let mut bound = Bound::new();
    let mask = rows::mask(program, automaton, state, row, event, &mut bound);
    let outcome = automaton.outcome(program, state, mask);
    let Some(outcome) = automaton.outcomes.get(outcome as usize) else { return false };
    if let Some(state) = outcome.stays {
        moved.push((state, row.clone()));
    } else {
        moved.extend(
            outcome.templates.iter().map(|template| (template.state, rows::build(template, row, &bound))),
        );
    }
    outcome.over
}

/// The hash of a row's values at `places`.
fn key(row: &Row, places: &[u32], hasher: &RandomState) -> u64 {
    let terms: SmallVec<[Term<'_>; 4]> =
        places.iter().filter_map(|place| row.get(*place as usize)).map(super::datum::Datum::view).collect();
    hasher.hash_one(Hashed(&terms))
}

#[derive(Hash)]
struct Hashed<'a>(&'a [Term<'a>]);
