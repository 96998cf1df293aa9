//! Recursion data of one role: which recursion of its session type declares which, and what their values are.
//!
//! Messages of machines compute data ([`Update`](referee_theory::Update)); local protocols declare them at a recursion and give their next values where it is
//! continued. So values are followed symbolically from message to message, up to the next recursion.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use referee_theory::expr::{Expr, written_name};
use referee_theory::session::{Session, SessionBranch, SessionType, TermId};
use referee_theory::{MessageSpec, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::print::Inexpressible;

/// What is known of a variable since the recursion around it began: its value over what can be named here; `None` where it cannot
/// be said, because a field of that name was received since. Variables without an entry keep their value.
pub(super) type Values = Rc<FxHashMap<Arc<str>, Option<Arc<Expr>>>>;

/// The data of a session type.
pub(super) struct Data {
    /// All variables, with their types.
    pub(super) types: BTreeMap<Arc<str>, Type>,
    /// What those are called in the text that the protocol calls like a field.
    names: FxHashMap<Arc<str>, Arc<str>>,
    /// By node, the variables whose values are read before they get new ones.
    live: Vec<BTreeSet<Arc<str>>>,
    /// What each recursion declares.
    declared: FxHashMap<TermId, BTreeSet<Arc<str>>>,
    /// Whether something was declared since the last [`Data::settled`].
    has_changed: bool,
}

impl Data {
    pub(super) fn of(session: &SessionType) -> Self {
        let vocabulary = session.vocabulary();
        let mut types = BTreeMap::new();
        let initial = vocabulary.initial_values(session.role()).iter();
        types.extend(initial.map(|update| (Arc::clone(&update.variable), update.ty.clone())));
        for branch in branches(session) {
            let updates = vocabulary.spec(branch.message).updates.iter();
            types.extend(updates.map(|update| (Arc::clone(&update.variable), update.ty.clone())));
        }
        let live = if types.is_empty() { Vec::new() } else { live(session, &types) };
        let names = names(session, &types);
        Self { types, names, live, declared: FxHashMap::default(), has_changed: false }
    }

    /// What `variable` is called in the text.
    pub(super) fn name<'a>(&'a self, variable: &'a str) -> &'a str {
        self.names.get(variable).map_or(variable, |name| name)
    }

    /// `expr` with the names of the text.
    pub(super) fn written(&self, expr: &Expr) -> Expr {
        expr.renamed(&|name| self.names.get(name).cloned())
    }

    /// The values with which `session` begins.
    pub(super) fn initial(session: &SessionType) -> Values {
        let initial = session.vocabulary().initial_values(session.role()).iter();
        Rc::new(
            initial.map(|update| (Arc::clone(&update.variable), Some(Arc::clone(&update.value)))).collect(),
        )
    }

    /// Whether nothing was declared since this was asked last.
    pub(super) fn settled(&mut self) -> bool {
        !std::mem::take(&mut self.has_changed)
    }

    /// What the recursion `term` declares where it is entered with `values`.
    pub(super) fn enter(&mut self, term: TermId, values: &Values) -> Vec<Arc<str>> {
        let changed: Vec<Arc<str>> = values.keys().filter(|name| self.is_live(term, name)).cloned().collect();
        self.declare(term, changed);
        self.declared_at(term)
    }

    /// What the recursion `term` declares, which is continued with `values` from inside the recursions `inner`.
    pub(super) fn continued(&mut self, term: TermId, inner: &[TermId], values: &Values) -> Vec<Arc<str>> {
        let of_inner = inner.iter().filter_map(|inner| self.declared.get(inner)).flatten();
        let changed = values.keys().chain(of_inner);
        let changed = changed.filter(|name| self.is_live(term, name)).cloned().collect();
        self.declare(term, changed);
        self.declared_at(term)
    }

    fn declared_at(&self, term: TermId) -> Vec<Arc<str>> {
        self.declared.get(&term).into_iter().flatten().cloned().collect()
    }

    fn is_live(&self, term: TermId, name: &Arc<str>) -> bool {
        self.live.get(term.index()).is_some_and(|live| live.contains(name))
    }

    fn declare(&mut self, term: TermId, names: Vec<Arc<str>>) {
        for name in names {
            self.has_changed |= self.declared.entry(term).or_default().insert(name);
        }
    }

    /// The values behind a message, of which those are kept that `next` reads.
    pub(super) fn after(
        &self,
        spec: &MessageSpec,
        next: TermId,
        values: &Values,
    ) -> Result<Values, Inexpressible> {
        if self.types.is_empty() {
            return Ok(Rc::clone(values));
        }
        let fields: FxHashSet<&Arc<str>> =
            spec.fields.iter().filter_map(|field| field.name.as_ref()).collect();
        let mut behind: FxHashMap<Arc<str>, Option<Arc<Expr>>> = FxHashMap::default();
        // A field hides what its name meant before.
        let is_kept = |name: &Arc<str>| self.is_live(next, name) && !fields.contains(name);
        for (name, value) in values.iter().filter(|(name, _)| is_kept(name)) {
            let is_captured = |value: &&Arc<Expr>| value.free_variables().iter().any(|v| fields.contains(v));
            behind.insert(Arc::clone(name), value.as_ref().filter(|value| !is_captured(value)).cloned());
        }
        for update in spec.updates.iter().filter(|update| self.is_live(next, &update.variable)) {
            let value = put_in(&update.value, spec, values)?;
            behind.insert(Arc::clone(&update.variable), Some(Arc::new(value)));
        }
        Ok(Rc::new(behind))
    }
}

/// `expr`, which belongs to the message `spec`, over what can be named here.
pub(super) fn put_in(expr: &Expr, spec: &MessageSpec, values: &Values) -> Result<Expr, Inexpressible> {
    let is_field = |name: &Arc<str>| spec.fields.iter().any(|field| field.name.as_ref() == Some(name));
    for name in expr.free_variables() {
        let Some(value) = values.get(name).filter(|_| !is_field(name)) else { continue };
        let is_captured = |value: &Arc<Expr>| value.free_variables().iter().any(|used| is_field(used));
        if value.as_ref().is_none_or(is_captured) {
            return Err(computed_from_another(name));
        }
    }
    let known = |name: &Arc<str>| {
        let value = values.get(name).filter(|_| !is_field(name))?;
        value.as_ref().map(|value| Expr::clone(value))
    };
    expr.substitute(&known).map_err(|_| Inexpressible::new("the values of its data are nested too deep"))
}

/// The value of `variable` cannot be said here.
pub(super) fn computed_from_another(variable: &str) -> Inexpressible {
    let variable = written_name(variable);
    Inexpressible::new(format!("what `{variable}` was computed from has got another value meanwhile"))
}

/// The branches of all nodes.
fn branches(session: &SessionType) -> impl Iterator<Item = &SessionBranch> {
    nodes(session).flat_map(|(_, node)| match node {
        Session::Choice(branches) => &branches[..],
        _ => &[],
    })
}

/// Names for the data that are set apart from fields.
fn names(session: &SessionType, types: &BTreeMap<Arc<str>, Type>) -> FxHashMap<Arc<str>, Arc<str>> {
    let specs = branches(session).map(|branch| session.vocabulary().spec(branch.message));
    let mut taken: FxHashSet<Arc<str>> = types.keys().cloned().collect();
    taken.extend(specs.flat_map(|spec| spec.fields.iter().filter_map(|field| field.name.clone())));
    let mut names = FxHashMap::default();
    for variable in types.keys().filter(|variable| written_name(variable) != &***variable) {
        let wanted = written_name(variable);
        let mut name: Arc<str> = wanted.into();
        let mut number = 2_usize;
        while !taken.insert(Arc::clone(&name)) {
            name = format!("{wanted}_{number}").into();
            number += 1;
        }
        names.insert(Arc::clone(variable), name);
    }
    names
}

fn nodes(session: &SessionType) -> impl Iterator<Item = (TermId, &Session)> {
    let terms = (0..session.node_count()).map(|index| TermId(u32::try_from(index).unwrap_or(u32::MAX)));
    terms.map(|term| (term, session.node(term)))
}

/// By node, what is read before it gets a new value: the least solution, found by going through the nodes again and again.
fn live(session: &SessionType, types: &BTreeMap<Arc<str>, Type>) -> Vec<BTreeSet<Arc<str>>> {
    let nodes: Vec<(TermId, &Session)> = nodes(session).collect();
    let mut live = vec![BTreeSet::new(); nodes.len()];
    loop {
        let mut has_grown = false;
        for (term, node) in nodes.iter().rev() {
            let mut here: BTreeSet<Arc<str>> = BTreeSet::new();
            match node {
                Session::End => {}
                Session::Rec { body: next, .. } | Session::Call { target: next, .. } => {
                    here.clone_from(&live[next.index()]);
                }
                Session::Choice(branches) => {
                    for branch in branches {
                        let spec = session.vocabulary().spec(branch.message);
                        let read = read_before(spec, &live[branch.next.index()]);
                        here.extend(read.into_iter().filter(|name| types.contains_key(name)));
                    }
                }
            }
            if here.len() > live[term.index()].len() {
                live[term.index()] = here;
                has_grown = true;
            }
        }
        if !has_grown {
            return live;
        }
    }
}

/// The variables that are read with the message `spec`, or by what `after` it reads.
fn read_before(spec: &MessageSpec, after: &BTreeSet<Arc<str>>) -> Vec<Arc<str>> {
    let is_set = |name: &Arc<str>| spec.updates.iter().any(|update| update.variable == *name);
    let is_field = |name: &Arc<str>| spec.fields.iter().any(|field| field.name.as_ref() == Some(name));
    let mut read: Vec<Arc<str>> = after.iter().filter(|name| !is_set(name)).cloned().collect();
    for expr in spec.assertion.iter().chain(spec.updates.iter().map(|update| &update.value)) {
        read.extend(expr.free_variables().into_iter().cloned());
    }
    read.retain(|name| !is_field(name));
    read
}
