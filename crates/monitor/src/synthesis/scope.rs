//! Which variables each state must keep because a later assertion reads them, and of which types they are.
//!
//! A variable is the field, or the recursion data, of its name that was passed last. It is kept in a state if some way on reads it
//! before binding it anew. Going forward from the initial state gives each kept variable its type.

use std::sync::Arc;

use referee_theory::{Field, Machine, MessageSpec, State, Transition, Type, Update, Vocabulary};
use rustc_hash::FxHashMap;

use super::error::SynthesisProblem;
use crate::dataflow::{Combine, Sets, backward, set};

/// A name with a type: two types make two variables.
pub(super) type Variable = (Arc<str>, Type);

/// What each state keeps.
pub(super) struct Kept {
    pub(super) variables: Vec<Variable>,
    /// `kept[offsets[s]..offsets[s + 1]]` are indices of variables, ascending.
    pub(super) offsets: Vec<u32>,
    pub(super) kept: Vec<u32>,
}

impl Kept {
    /// The variables that are kept once `state` is reached.
    pub(super) fn after(&self, state: State) -> impl Iterator<Item = u32> {
        let range = self.offsets[state.index()] as usize..self.offsets[state.index() + 1] as usize;
        self.kept[range].iter().copied()
    }
}

pub(super) fn analyse(
    machine: &Machine,
    vocabulary: &Vocabulary,
    initial: &[Update],
    problems: &mut Vec<SynthesisProblem>,
) -> Kept {
    let names = read_later(machine, vocabulary);
    let number: FxHashMap<&Arc<str>, usize> = names.iter().enumerate().map(|(i, name)| (name, i)).collect();
    let live = live(machine, vocabulary, &number);
    let mut typing = Typing {
        machine,
        vocabulary,
        names: &names,
        initial,
        live: &live,
        variables: Vec::new(),
        index: FxHashMap::default(),
        at: vec![FxHashMap::default(); machine.state_count()],
        problems,
    };
    typing.run();
    let (mut offsets, mut kept) = (vec![0], Vec::new());
    for found in &typing.at {
        let first = kept.len();
        kept.extend(found.values().copied());
        kept[first..].sort_unstable();
        offsets.push(u32::try_from(kept.len()).unwrap_or(u32::MAX));
    }
    Kept { variables: typing.variables, offsets, kept }
}

/// The names that some assertion or update reads and its own message does not bind.
fn read_later(machine: &Machine, vocabulary: &Vocabulary) -> Vec<Arc<str>> {
    let mut names = std::collections::BTreeSet::new();
    let mut messages = rustc_hash::FxHashSet::default();
    for transition in machine.all_transitions() {
        if !messages.insert(transition.message) {
            continue;
        }
        let spec = vocabulary.spec(transition.message);
        let values = spec.updates.iter().map(|update| &update.value);
        let free = spec.assertion.iter().chain(values).flat_map(|expr| expr.free_variables());
        names.extend(free.filter(|name| !binds(&spec.fields, name)));
        // Times are computed before the message is there.
        names.extend(timed(spec));
    }
    names.into_iter().cloned().collect()
}

/// The names that the times of a message read.
fn timed(spec: &MessageSpec) -> impl Iterator<Item = &Arc<str>> {
    let lengths = spec.timing.iter().flat_map(|timing| timing.lengths());
    lengths.flat_map(|length| length.free_variables())
}

fn binds(fields: &[Field], name: &Arc<str>) -> bool {
    fields.iter().any(|field| field.name.as_ref() == Some(name))
}

/// The names whose values each state must have.
fn live(machine: &Machine, vocabulary: &Vocabulary, number: &FxHashMap<&Arc<str>, usize>) -> Sets {
    let width = number.len();
    let mut effects = FxHashMap::default();
    for transition in machine.all_transitions() {
        effects.entry(transition.message).or_insert_with(|| {
            let spec = vocabulary.spec(transition.message);
            let fields = spec.fields.iter().filter_map(|f| number.get(f.name.as_ref()?).copied());
            let updated = spec.updates.iter().filter_map(|update| number.get(&update.variable).copied());
            let bound = fields.chain(updated);
            // What an update reads is read whether or not anything needs its result: it must have a value.
            let values = spec.updates.iter().map(|update| &update.value);
            let free = spec.assertion.iter().chain(values).flat_map(|expr| expr.free_variables());
            let read = free.filter(|name| !binds(&spec.fields, name)).chain(timed(spec));
            let read = read.filter_map(|name| number.get(name).copied());
            (set(width, bound), set(width, read))
        });
    }
    backward(machine, width, Combine::Any, |transition, row| {
        let (bound, read) = &effects[&transition.message];
        for ((word, bound), read) in row.iter_mut().zip(bound).zip(read) {
            *word = *word & !bound | read;
        }
    })
}

struct Typing<'a> {
    machine: &'a Machine,
    vocabulary: &'a Vocabulary,
    names: &'a [Arc<str>],
    initial: &'a [Update],
    live: &'a Sets,
    variables: Vec<Variable>,
    index: FxHashMap<Variable, u32>,
    /// For each state, the variable that each live name stands for.
    at: Vec<FxHashMap<usize, u32>>,
    problems: &'a mut Vec<SynthesisProblem>,
}

impl Typing<'_> {
    fn run(&mut self) {
        let initial = self.machine.initial();
        for name in self.live.members(initial.index()) {
            if let Some(update) = self.initial.iter().find(|update| update.variable == self.names[name]) {
                let variable = self.intern(&update.variable, &update.ty);
                self.at[initial.index()].insert(name, variable);
                continue;
            }
            let (variable, state) = (Arc::clone(&self.names[name]), self.machine.state_name(initial));
            self.problems.push(SynthesisProblem::Unbound { variable, state });
        }
        let mut visited = vec![false; self.machine.state_count()];
        visited[initial.index()] = true;
        // Every state gets its variables when it is first met; other ways into it must agree.
        let mut pending = vec![initial];
        while let Some(state) = pending.pop() {
            let machine = self.machine;
            for transition in machine.transitions(state) {
                let target = transition.target.index();
                self.pass(state, transition);
                if !visited[target] {
                    visited[target] = true;
                    pending.push(transition.target);
                }
            }
        }
    }

    fn pass(&mut self, source: State, transition: &Transition) {
        let spec = self.vocabulary.spec(transition.message);
        let live = self.live;
        for name in live.members(transition.target.index()) {
            let text = &self.names[name];
            let updated = spec.updates.iter().find(|update| update.variable == *text).map(|u| &u.ty);
            let field = spec.fields.iter().find(|field| field.name.as_ref() == Some(text)).map(|f| &f.ty);
            let variable = match updated.or(field) {
                Some(ty) => self.intern(text, ty),
                // Absent only where a problem was reported.
                None => match self.at[source.index()].get(&name) {
                    Some(&variable) => variable,
                    None => continue,
                },
            };
            let known = *self.at[transition.target.index()].entry(name).or_insert(variable);
            if known != variable {
                let types = |v: u32| self.variables[v as usize].1.clone();
                self.problems.push(SynthesisProblem::Ambiguous {
                    variable: Arc::clone(text),
                    state: self.machine.state_name(transition.target),
                    types: (types(known), types(variable)),
                });
            }
        }
    }

    fn intern(&mut self, name: &Arc<str>, ty: &Type) -> u32 {
        let variable = (Arc::clone(name), ty.clone());
        let next = u32::try_from(self.variables.len()).unwrap_or(u32::MAX);
        *self.index.entry(variable.clone()).or_insert_with(|| {
            self.variables.push(variable);
            next
        })
    }
}
