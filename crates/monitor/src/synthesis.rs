//! Synthesis: from a machine to the tables and the code of its monitor (ECOOP'21, Definition 9, Section 5.1).
//!
//! In three passes: which variables each state must keep and of which types (`scope`), where they are kept
//! (`slots`), and then, message by message, the checks and the code.

mod error;
mod scope;
mod slots;
mod times;

use std::sync::Arc;

use referee_theory::expr::{self, Expr, Scope, written_name};
use referee_theory::{
    Action, Field, Machine, Message, Origin, Role, State, Transition, Type, Update, Vocabulary,
};
use rustc_hash::{FxHashMap, FxHashSet};

pub use error::{SynthesisError, SynthesisProblem};

use crate::code::{Binding, Code, Frame, Load, compile};
use crate::event::Payload;
use crate::labels::Labels;
use crate::layout::{Layout, Slot};
use crate::monitor::{Bind, Check, Computed, Edge, Ends, Monitor, NO_CODE, PROCESS};
use crate::outlook::Outlook;
use crate::registry::{Predicate, Registry};
use crate::session::Session;
use crate::table::{SEVERAL, Table};

pub(crate) fn synthesise(
    machine: &Machine,
    vocabulary: &Arc<Vocabulary>,
    registry: &Registry,
) -> Result<Monitor, SynthesisError> {
    let mut problems = Vec::new();
    if let Some((state, first, second)) = machine.first_nondeterminism(vocabulary) {
        let (state, label) = (machine.state_name(state), vocabulary.label_of(first.message).into());
        let places = (first.origin, second.origin);
        problems.push(SynthesisProblem::Nondeterministic { state, label, places });
    }
    let initial = vocabulary.initial_values(machine.role());
    let kept = scope::analyse(machine, vocabulary, initial, &mut problems);
    let layout = slots::assign(machine, &kept);
    let Alphabet { peers, texts, label_numbers } = Alphabet::of(machine, vocabulary);
    let mut compiler = Compiler::new(machine, vocabulary, registry, &layout, &kept, problems);
    let mut edges = Vec::new();
    for state in machine.states() {
        for transition in machine.transitions(state) {
            edges.push(compiler.edge(state, transition));
        }
    }
    let start = compiler.start(initial);
    let times = compiler.times(&label_numbers);
    if !compiler.problems.is_empty() {
        return Err(SynthesisError::new(compiler.problems));
    }
    let any = if peers.len() == 1 { 0 } else { 1 };
    let channels = 2 * narrow(peers.len() + any);
    let mut places = vec![channels / 2; vocabulary.roles().len()];
    for (index, peer) in (0..).zip(&peers) {
        places[peer.index()] = index;
    }
    let rows = rows(machine, vocabulary, &label_numbers, &places, (any == 1).then(|| channels - 2));
    let table = Table::new(channels as usize, texts.len(), rows);
    let own = machine.role().index();
    let ends = (places.iter().enumerate())
        .map(|(role, place)| Ends {
            outgoing: table.channel(place * 2),
            incoming: table.channel(place * 2 + 1),
            own: role == own,
        })
        .collect();
    if let Some(own) = places.get_mut(own) {
        *own = PROCESS;
    }
    let outlook = Outlook::new(machine, vocabulary, &peers, |text| label_numbers[text]);
    let fingerprint = fingerprint(machine, vocabulary);
    Ok(Monitor {
        table,
        labels: Labels::new(texts),
        peers: peers.into(),
        places: places.into(),
        ends,
        edges: edges.into(),
        checks: compiler.checks.into(),
        names: compiler.names.into(),
        composites: compiler.composites.into(),
        binds: compiler.binds.into(),
        computed: compiler.computed.into(),
        releases: compiler.releases.into(),
        codes: compiler.codes.into(),
        predicates: compiler.predicates.into(),
        predicate_names: compiler.predicate_names.into(),
        vocabulary: Arc::clone(vocabulary),
        machine: machine.clone(),
        layout,
        outlook,
        fingerprint,
        times,
        start,
    })
}

/// Whom a machine talks to, and what its labels are called, in the order in which they occur.
struct Alphabet<'a> {
    peers: Vec<Role>,
    texts: Vec<Box<str>>,
    /// Where a label stands in `texts`.
    label_numbers: FxHashMap<&'a str, u32>,
}

impl<'a> Alphabet<'a> {
    fn of(machine: &Machine, vocabulary: &'a Vocabulary) -> Self {
        let mut alphabet = Self { peers: Vec::new(), texts: Vec::new(), label_numbers: FxHashMap::default() };
        let mut seen = FxHashSet::default();
        for transition in machine.all_transitions() {
            if seen.insert(transition.peer) {
                alphabet.peers.push(transition.peer);
            }
            let text = vocabulary.label_of(transition.message);
            alphabet.label_numbers.entry(text).or_insert_with(|| {
                alphabet.texts.push(text.into());
                narrow(alphabet.texts.len() - 1)
            });
        }
        alphabet
    }
}

/// For each state its entries of the table: channel, label, edge. From channel `any` on stand those for whichever peer
/// fits.
fn rows(
    machine: &Machine,
    vocabulary: &Vocabulary,
    label_numbers: &FxHashMap<&str, u32>,
    places: &[u32],
    any: Option<u32>,
) -> Vec<Vec<(u32, u32, u32)>> {
    let mut rows = Vec::with_capacity(machine.state_count());
    let mut index = 0;
    for state in machine.states() {
        let mut row: Vec<(u32, u32, u32)> = Vec::new();
        for transition in machine.transitions(state) {
            let direction = u32::from(transition.action == Action::Receive);
            let label = label_numbers[vocabulary.label_of(transition.message)];
            row.push((places[transition.peer.index()] * 2 + direction, label, index));
            if let Some(first) = any {
                let channel = first + direction;
                match row.iter_mut().find(|(c, l, _)| (*c, *l) == (channel, label)) {
                    Some(entry) => entry.2 = SEVERAL,
                    None => row.push((channel, label, index)),
                }
            }
            index += 1;
        }
        rows.push(row);
    }
    rows
}

/// FNV-1a over everything that a saved session depends on.
fn fingerprint(machine: &Machine, vocabulary: &Vocabulary) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut feed = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash = (hash ^ 0xff).wrapping_mul(0x0100_0000_01b3);
    };
    feed(vocabulary.role_name(machine.role()).as_bytes());
    let initial = vocabulary.initial_values(machine.role());
    initial.iter().for_each(|value| feed(value.to_string().as_bytes()));
    let mut messages: FxHashSet<Message> = FxHashSet::default();
    for state in machine.states() {
        feed(&state.0.to_le_bytes());
        for transition in machine.transitions(state) {
            feed(&transition.target.0.to_le_bytes());
            feed(vocabulary.role_name(transition.peer).as_bytes());
            feed(&[transition.action.symbol() as u8]);
            feed(&transition.message.0.to_le_bytes());
            if messages.insert(transition.message) {
                feed(vocabulary.display(transition.message).to_string().as_bytes());
                let spec = vocabulary.spec(transition.message);
                if let Some(assertion) = &spec.assertion {
                    feed(assertion.to_string().as_bytes());
                }
                for update in &*spec.updates {
                    feed(update.to_string().as_bytes());
                    // Another variable than the field of that name.
                    if written_name(&update.variable) != &*update.variable {
                        feed(update.variable.as_bytes());
                    }
                }
                if let Some(timing) = &spec.timing {
                    feed(timing.to_string().as_bytes());
                }
            }
        }
    }
    hash
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

struct Compiler<'a> {
    machine: &'a Machine,
    vocabulary: &'a Vocabulary,
    registry: &'a Registry,
    layout: &'a Layout,
    kept: &'a scope::Kept,
    checks: Vec<Check>,
    names: Vec<Option<Arc<str>>>,
    composites: Vec<Type>,
    binds: Vec<Bind>,
    computed: Vec<Computed>,
    releases: Vec<Slot>,
    codes: Vec<Code>,
    predicates: Vec<Arc<dyn Predicate>>,
    predicate_names: Vec<Arc<str>>,
    /// The first check of each message.
    fields_of: FxHashMap<Message, u32>,
    /// The code of each message's assertion, by the variables it reads.
    code_of: FxHashMap<(Message, Vec<u32>), u32>,
    problems: Vec<SynthesisProblem>,
    /// Missing predicates are reported once.
    reported: FxHashSet<Arc<str>>,
}

impl<'a> Compiler<'a> {
    fn new(
        machine: &'a Machine,
        vocabulary: &'a Vocabulary,
        registry: &'a Registry,
        layout: &'a Layout,
        kept: &'a scope::Kept,
        problems: Vec<SynthesisProblem>,
    ) -> Self {
        Self {
            machine,
            vocabulary,
            registry,
            layout,
            kept,
            checks: Vec::new(),
            names: Vec::new(),
            composites: Vec::new(),
            binds: Vec::new(),
            computed: Vec::new(),
            releases: Vec::new(),
            codes: Vec::new(),
            predicates: Vec::new(),
            predicate_names: Vec::new(),
            fields_of: FxHashMap::default(),
            code_of: FxHashMap::default(),
            problems,
            reported: FxHashSet::default(),
        }
    }

    fn edge(&mut self, source: State, transition: &Transition) -> Edge {
        let spec = self.vocabulary.spec(transition.message);
        let first_check = self.fields(transition.message, &spec.fields);
        let assertion = match &spec.assertion {
            Some(assertion) => self.assertion(source, transition, assertion, &spec.fields),
            None => NO_CODE,
        };
        let (first_bind, first_release) = (self.binds.len(), self.releases.len());
        let kept_after: Vec<u32> = self.kept.after(transition.target).collect();
        let computed = self.updates(source, transition, &spec.updates, &kept_after);
        for &variable in &kept_after {
            let variable = &self.layout.variables[variable as usize];
            if spec.updates.iter().any(|update| update.variable == variable.name) {
                continue;
            }
            let named = |field: &Field| field.name.as_ref() == Some(&variable.name);
            if let Some(field) = spec.fields.iter().position(named) {
                let (slot, ty) = (variable.slot, variable.ty.clone());
                self.binds.push(Bind { field: u16::try_from(field).unwrap_or(u16::MAX), slot, ty });
            }
        }
        if !self.machine.is_final(transition.target) {
            for variable in self.kept.after(source) {
                let slot = self.layout.variables[variable as usize].slot;
                let still = kept_after.iter().any(|&v| self.layout.variables[v as usize].slot == slot);
                if !still && !matches!(slot, Slot::First | Slot::Scalar(_)) {
                    self.releases.push(slot);
                }
            }
        }
        let (binds, releases) =
            (range(first_bind, self.binds.len()), range(first_release, self.releases.len()));
        let ends = self.machine.is_final(transition.target);
        let checks = self.checks[first_check as usize..].iter().take(spec.fields.len().min(4));
        Edge {
            target: transition.target.0,
            simple: assertion == NO_CODE && binds.1 == 0 && computed.1 == 0 && releases.1 == 0 && !ends,
            masks: checks.rev().fold(0, |masks, check| masks << 16 | u64::from(check.mask)),
            first_check,
            fields: u16::try_from(spec.fields.len()).unwrap_or(u16::MAX),
            ends,
            binds,
            computed,
            releases,
            assertion,
        }
    }

    fn fields(&mut self, message: Message, fields: &[Field]) -> u32 {
        if let Some(&first) = self.fields_of.get(&message) {
            return first;
        }
        if fields.len() >= usize::from(u16::MAX) {
            let label = self.vocabulary.label_of(message).into();
            self.problems.push(SynthesisProblem::TooManyFields { label });
        }
        let first = narrow(self.checks.len());
        for field in fields {
            // As `FieldValue::has_type` and `FieldValue::kind_bit` say.
            let mask = match &field.ty {
                Type::Unit => 1 << 0,
                Type::Bool => 1 << 1,
                Type::Int => 1 << 2,
                Type::Float => 1 << 3 | 1 << 2,
                Type::String => 1 << 4,
                Type::Bytes => 1 << 5 | 1 << 4,
                Type::List(_) | Type::Tuple(_) | Type::Record(_) | Type::Opaque(_) => 0,
            };
            let composite = narrow(self.composites.len());
            if mask == 0 {
                self.composites.push(field.ty.clone());
            }
            self.checks.push(Check { mask, composite });
            self.names.push(field.name.clone());
        }
        self.fields_of.insert(message, first);
        first
    }

    fn assertion(&mut self, source: State, transition: &Transition, expr: &Arc<Expr>, own: &[Field]) -> u32 {
        let free = expr.free_variables();
        let mut outer: Vec<u32> = self.kept.after(source).collect();
        outer.retain(|&v| free.contains(&&self.layout.variables[v as usize].name));
        let key = (transition.message, outer);
        if let Some(&code) = self.code_of.get(&key) {
            return code;
        }
        let mut names = Names { compiler: self, own, outer: &key.1 };
        let code = if names.well_typed(expr, &Type::Bool, transition.origin) {
            compile(expr, &mut names)
        } else {
            None
        };
        // Without code there is a problem, and there will be no monitor.
        self.codes.push(code.unwrap_or(Code::Bool(false)));
        let index = narrow(self.codes.len() - 1);
        self.code_of.insert(key, index);
        index
    }

    /// What `transition` computes: its place among the computed.
    fn updates(
        &mut self,
        source: State,
        transition: &Transition,
        updates: &[Update],
        kept_after: &[u32],
    ) -> (u32, u16) {
        let first = self.computed.len();
        let outer: Vec<u32> = self.kept.after(source).collect();
        let own = &self.vocabulary.spec(transition.message).fields;
        for update in updates {
            let kept = kept_after.iter().map(|&variable| &self.layout.variables[variable as usize]);
            let slot = kept.into_iter().find(|kept| kept.name == update.variable).map(|kept| kept.slot);
            let code = self.value_code(update, own, &outer, transition.origin);
            self.computed.push(Computed { slot, ty: update.ty.clone(), code });
        }
        range(first, self.computed.len())
    }

    fn value_code(&mut self, update: &Update, own: &[Field], outer: &[u32], origin: Origin) -> u32 {
        let mut names = Names { compiler: self, own, outer };
        let well_typed = names.well_typed(&update.value, &update.ty, origin);
        let code = if well_typed { compile(&update.value, &mut names) } else { None };
        // Without code there is a problem, and there will be no monitor.
        self.codes.push(code.unwrap_or(Code::Bool(false)));
        narrow(self.codes.len() - 1)
    }

    /// A session before its first event.
    fn start(&mut self, initial: &[Update]) -> Session {
        let mut session = Session::new();
        let kept: Vec<u32> = self.kept.after(self.machine.initial()).collect();
        for update in initial {
            let code = self.value_code(update, &[], &[], Origin::NONE);
            let empty = Session::new();
            let payload = Payload::Positional(&[]);
            let frame = Frame { payload, names: &[], session: &empty, predicates: &self.predicates };
            let value = self.codes.get(code as usize).and_then(|code| frame.value(code).ok());
            let kept = kept.iter().map(|&variable| &self.layout.variables[variable as usize]);
            let slot = kept.into_iter().find(|kept| kept.name == update.variable).map(|kept| kept.slot);
            match (value, slot) {
                (Some(value), Some(slot)) => session.store_value(slot, &update.ty, value, self.layout),
                (Some(_), None) => {}
                (None, _) => {
                    let (variable, value) = (Arc::clone(&update.variable), Arc::clone(&update.value));
                    self.problems.push(SynthesisProblem::NoInitialValue { variable, value });
                }
            }
        }
        session
    }
}

fn range(from: usize, to: usize) -> (u32, u16) {
    (narrow(from), u16::try_from(to - from).unwrap_or(u16::MAX))
}

/// What the names of one assertion stand for.
struct Names<'a, 'b> {
    compiler: &'a mut Compiler<'b>,
    own: &'a [Field],
    outer: &'a [u32],
}

impl Names<'_, '_> {
    /// Whether `expr` is of type `ty` over what is bound and registered; if not, the problem is reported.
    fn well_typed(&mut self, expr: &Arc<Expr>, ty: &Type, origin: Origin) -> bool {
        let mut scope = Scope::new().inferring();
        for &variable in self.outer {
            let variable = &self.compiler.layout.variables[variable as usize];
            scope.bind(&variable.name, variable.ty.clone());
        }
        for field in self.own.iter().rev() {
            if let Some(name) = &field.name {
                scope.bind(name, field.ty.clone());
            }
        }
        let mut missing = false;
        for name in expr.externals() {
            let declared = self.compiler.registry.declared(name).cloned();
            let given = self.compiler.registry.get(name).map(|predicate| predicate.signature().clone());
            match (declared, given) {
                (Some(declared), Some(given)) if declared != given => {
                    missing = true;
                    if self.compiler.reported.insert(Arc::clone(name)) {
                        let problem = SynthesisProblem::Signature { name: Arc::clone(name), declared, given };
                        self.compiler.problems.push(problem);
                    }
                }
                (_, Some(given)) => scope.declare(name, given),
                (Some(declared), None) => scope.declare(name, declared),
                (None, None) => {}
            }
        }
        let checked = match ty {
            Type::Bool => expr::check_assertion(expr, &scope),
            _ => expr::check(expr, &scope).map(|checked| checked.inferred),
        };
        for name in expr.externals() {
            if self.compiler.registry.get(name).is_some() {
                continue;
            }
            missing = true;
            if self.compiler.reported.insert(Arc::clone(name)) {
                let inferred = checked.as_ref().ok().and_then(|found| found.iter().find(|e| e.name == *name));
                let signature = self.compiler.registry.declared(name).cloned();
                let signature = signature.or_else(|| inferred.map(|external| external.signature.clone()));
                self.compiler.problems.push(SynthesisProblem::Missing { name: Arc::clone(name), signature });
            }
        }
        match checked {
            // The type of a missing predicate may be the only thing wrong.
            Err(errors) if !missing => {
                let expr = Arc::clone(expr);
                self.compiler.problems.push(SynthesisProblem::IllTyped { expr, origin, errors });
                false
            }
            _ => !missing,
        }
    }
}

impl Binding for Names<'_, '_> {
    fn variable(&self, name: &str) -> Option<Load> {
        if let Some(index) = self.own.iter().position(|field| field.name.as_deref() == Some(name)) {
            return Some(Load::Field(u16::try_from(index).ok()?, self.own[index].ty.clone()));
        }
        let variables = &self.compiler.layout.variables;
        let variable = self.outer.iter().map(|&v| &variables[v as usize]).find(|v| *v.name == *name)?;
        Some(Load::Slot(variable.slot, variable.ty.clone()))
    }

    fn predicate(&mut self, name: &str) -> Option<u32> {
        if let Some(index) = self.compiler.predicate_names.iter().position(|known| **known == *name) {
            return Some(narrow(index));
        }
        self.compiler.predicates.push(Arc::clone(self.compiler.registry.get(name)?));
        self.compiler.predicate_names.push(name.into());
        Some(narrow(self.compiler.predicates.len() - 1))
    }
}
