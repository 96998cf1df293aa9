//! All small session types, processes and monitors, and random larger types with processes that have them.
//!
//! Size counts messages, definitions and conditionals. Variables are named by their depth, so that what is
//! bound last and what is bound around are the same thing.

use std::collections::BTreeMap;

use referee_reference::stmonitor::monitor::Monitor;
use referee_reference::stmonitor::process::Process;
use referee_reference::stmonitor::session::{Branch, Session};
use referee_reference::stmonitor::typing::{Gamma, Theta};
use referee_reference::stmonitor::value::{Atom, Base, Predicate, Value};
use referee_reference::stmonitor::{Label, Name};

use crate::random::Random;

pub(crate) const LABELS: [Label; 2] = ["a", "b"];
pub(crate) const BASES: [Base; 2] = [Base::Int, Base::Str];
pub(crate) const VALUES: [Value; 3] = [Value::Int(0), Value::Int(1), Value::Str("s")];
const VARIABLES: [Name; 8] = ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"];
const DEFINITIONS: [Name; 8] = ["X0", "X1", "X2", "X3", "X4", "X5", "X6", "X7"];
const TRUE: Predicate = Predicate::Constant(true);

/// Every message that an environment may send: labels of the type and one that is not, values of each type.
pub(crate) fn messages() -> Vec<(Label, Value)> {
    ["a", "b", "c"].into_iter().flat_map(|label| VALUES.map(|value| (label, value))).collect()
}

/// Where a term stands: how many messages are around it, how many definitions, how many of them guarded.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    definitions: usize,
    guarded: usize,
}

impl Place {
    const TOP: Self = Self { depth: 0, definitions: 0, guarded: 0 };

    fn under_message(self) -> Self {
        Self { depth: self.depth + 1, guarded: self.definitions, ..self }
    }

    fn under_definition(self) -> Self {
        Self { definitions: self.definitions + 1, ..self }
    }
}

/// Every closed session type of at most `size`, without assertions.
pub(crate) fn sessions(size: usize) -> Vec<Session> {
    (0..=size).flat_map(|size| sessions_of(size, Place::TOP)).collect()
}

fn sessions_of(size: usize, place: Place) -> Vec<Session> {
    if size == 0 {
        let calls = DEFINITIONS[..place.guarded].iter().map(|name| Session::Variable(name));
        return calls.chain([Session::End]).collect();
    }
    let mut all = Vec::new();
    let branch = |label, base, next| {
        let variable = VARIABLES[place.depth];
        Branch { label, variable, base, assertion: TRUE, next }
    };
    for next in sessions_of(size - 1, place.under_message()) {
        for label in LABELS {
            for base in BASES {
                all.push(Session::Select(vec![branch(label, base, next.clone())]));
                all.push(Session::Branch(vec![branch(label, base, next.clone())]));
            }
        }
    }
    for left in 0..size.saturating_sub(1) {
        let rights = sessions_of(size - 2 - left, place.under_message());
        for one in sessions_of(left, place.under_message()) {
            for other in &rights {
                for bases in [[Base::Int, Base::Int], [Base::Int, Base::Str], [Base::Str, Base::Int]] {
                    let both = || {
                        let first = branch(LABELS[0], bases[0], one.clone());
                        vec![first, branch(LABELS[1], bases[1], other.clone())]
                    };
                    all.push(Session::Select(both()));
                    all.push(Session::Branch(both()));
                }
            }
        }
    }
    let name = DEFINITIONS[place.definitions];
    for body in sessions_of(size - 1, place.under_definition()) {
        if matches!(body, Session::Select(_) | Session::Branch(_))
            && body.substitute(&Session::End, name) != body
        {
            all.push(Session::Rec(name, Box::new(body)));
        }
    }
    all
}

/// Every closed process of at most `size`; conditionals compare a variable that was received.
pub(crate) fn processes(size: usize) -> Vec<Process> {
    let mut all = Vec::new();
    for size in 0..=size {
        all.extend(processes_of(size, Place::TOP, &[]).into_iter().map(|process| numbered(process, &mut 0)));
    }
    all
}

fn processes_of(size: usize, place: Place, bound: &[Name]) -> Vec<Process> {
    if size == 0 {
        let calls = DEFINITIONS[..place.guarded].iter().map(|name| Process::Variable(name));
        return calls.chain([Process::Nil]).collect();
    }
    let mut all = Vec::new();
    let values = VALUES.map(Atom::Value).into_iter();
    let atoms: Vec<Atom> = values.chain(bound.iter().map(|name| Atom::Variable(name))).collect();
    for next in processes_of(size - 1, place.under_message(), bound) {
        for label in LABELS {
            all.extend(atoms.iter().map(|&atom| Process::Send(label, atom, Box::new(next.clone()))));
        }
    }
    let variable = VARIABLES[place.depth];
    let inner: Vec<Name> = bound.iter().copied().chain([variable]).collect();
    for next in processes_of(size - 1, place.under_message(), &inner) {
        all.extend(LABELS.map(|label| Process::Receive(vec![(label, variable, next.clone())])));
    }
    for left in 0..size.saturating_sub(1) {
        let rights = processes_of(size - 2 - left, place.under_message(), &inner);
        for one in processes_of(left, place.under_message(), &inner) {
            for other in &rights {
                let branches = vec![(LABELS[0], variable, one.clone()), (LABELS[1], variable, other.clone())];
                all.push(Process::Receive(branches));
            }
        }
    }
    let mut predicates = vec![TRUE];
    for name in bound {
        let name = Atom::Variable(name);
        predicates.push(Predicate::AtLeast(name, Atom::Value(Value::Int(1))));
        predicates.push(Predicate::Equal(name, Atom::Value(Value::Str("s"))));
    }
    for left in 0..size {
        let rights = processes_of(size - 1 - left, place, bound);
        for then in processes_of(left, place, bound) {
            for otherwise in rights.iter().filter(|other| **other != then) {
                all.extend(predicates.iter().map(|predicate| {
                    Process::If(0, predicate.clone(), Box::new(then.clone()), Box::new(otherwise.clone()))
                }));
            }
        }
    }
    let name = DEFINITIONS[place.definitions];
    for body in processes_of(size - 1, place.under_definition(), bound) {
        let guarded = matches!(body, Process::Send(..) | Process::Receive(_));
        if guarded && body.unfold(&Process::Nil, name) != body {
            all.push(Process::Rec(name, Box::new(body)));
        }
    }
    all
}

/// Gives every conditional its own number.
fn numbered(process: Process, next: &mut u32) -> Process {
    match process {
        Process::If(_, predicate, then, otherwise) => {
            *next += 1;
            let number = *next;
            let then = Box::new(numbered(*then, next));
            Process::If(number, predicate, then, Box::new(numbered(*otherwise, next)))
        }
        Process::Send(label, atom, rest) => Process::Send(label, atom, Box::new(numbered(*rest, next))),
        Process::Rec(name, body) => Process::Rec(name, Box::new(numbered(*body, next))),
        Process::Receive(branches) => {
            Process::Receive(branches.into_iter().map(|(l, x, rest)| (l, x, numbered(rest, next))).collect())
        }
        Process::Variable(_) | Process::Nil => process,
    }
}

/// Every closed monitor of at most `size`.
pub(crate) fn monitors(size: usize) -> Vec<Monitor> {
    (0..=size).flat_map(|size| monitors_of(size, Place::TOP)).collect()
}

fn monitors_of(size: usize, place: Place) -> Vec<Monitor> {
    if size == 0 {
        let calls = DEFINITIONS[..place.guarded].iter().map(|name| Monitor::Variable(name));
        return calls.chain([Monitor::Nil, Monitor::NoP, Monitor::NoE]).collect();
    }
    let mut all = Vec::new();
    let variable = VARIABLES[place.depth];
    let atom = match place.depth {
        0 => Atom::Value(Value::Int(0)),
        depth => Atom::Variable(VARIABLES[depth - 1]),
    };
    for next in monitors_of(size - 1, place.under_message()) {
        for label in LABELS {
            all.push(Monitor::Send(label, atom, Box::new(next.clone())));
            all.push(Monitor::Out(label, atom, Box::new(next.clone())));
            all.push(Monitor::Receive(vec![(label, variable, next.clone())]));
            all.push(Monitor::In(vec![(label, variable, next.clone())]));
        }
        if let Atom::Variable(_) = atom {
            let check = Predicate::Is(Base::Int, atom);
            all.push(Monitor::If(check, Box::new(next.clone()), Box::new(Monitor::NoP)));
        }
    }
    for left in 0..size.saturating_sub(1) {
        let rights = monitors_of(size - 2 - left, place.under_message());
        for one in monitors_of(left, place.under_message()) {
            for other in &rights {
                let both = vec![(LABELS[0], variable, one.clone()), (LABELS[1], variable, other.clone())];
                all.push(Monitor::Receive(both.clone()));
                all.push(Monitor::In(both));
            }
        }
    }
    all
}

/// A random closed session type of about `size`.
pub(crate) fn random_session(random: &mut Random, size: usize, asserted: bool) -> Session {
    random_session_at(random, size, Place::TOP, &[], asserted)
}

fn random_session_at(
    random: &mut Random,
    size: usize,
    place: Place,
    bound: &[(Name, Base)],
    asserted: bool,
) -> Session {
    if size == 0 || place.depth >= VARIABLES.len() {
        if place.guarded > 0 && random.chance(2, 3) {
            return Session::Variable(DEFINITIONS[random.below(place.guarded)]);
        }
        return Session::End;
    }
    if random.chance(1, 4) && place.definitions < DEFINITIONS.len() {
        let body = random_session_at(random, size - 1, place.under_definition(), bound, asserted);
        if matches!(body, Session::Select(_) | Session::Branch(_)) {
            return Session::Rec(DEFINITIONS[place.definitions], Box::new(body));
        }
        // Nothing in it refers to the definition that is left out: it would stand unguarded.
        return Session::End;
    }
    let two = random.chance(1, 2);
    let mut branches = Vec::new();
    for label in if two { &LABELS[..] } else { std::slice::from_ref(random.pick(&LABELS)) } {
        let (variable, base) = (VARIABLES[place.depth], *random.pick(&BASES));
        let mut inner = bound.to_vec();
        inner.push((variable, base));
        let assertion = if asserted { random_assertion(random, &inner) } else { TRUE };
        let size = (size - 1) / if two { 2 } else { 1 };
        let next = random_session_at(random, size, place.under_message(), &inner, asserted);
        branches.push(Branch { label, variable, base, assertion, next });
    }
    if random.chance(1, 2) { Session::Select(branches) } else { Session::Branch(branches) }
}

/// A well-typed predicate over `bound`.
pub(crate) fn random_assertion(random: &mut Random, bound: &[(Name, Base)]) -> Predicate {
    if random.chance(1, 3) {
        return TRUE;
    }
    let (name, base) = *random.pick(bound);
    let others: Vec<Atom> =
        bound.iter().filter(|(_, b)| *b == base).map(|(n, _)| Atom::Variable(n)).collect();
    let constants: Vec<Atom> = VALUES.into_iter().filter(|v| v.base() == base).map(Atom::Value).collect();
    let pool = if random.chance(1, 2) { others } else { constants };
    let other = *random.pick(&pool);
    let leaf = if base == Base::Int && random.chance(1, 2) {
        Predicate::AtLeast(Atom::Variable(name), other)
    } else {
        Predicate::Equal(Atom::Variable(name), other)
    };
    match random.below(4) {
        0 => Predicate::Not(Box::new(leaf)),
        1 => Predicate::And(Box::new(leaf), Box::new(random_assertion(random, bound))),
        _ => leaf,
    }
}

/// A random process of type `session`, built along the typing rules.
pub(crate) fn implement(random: &mut Random, session: &Session) -> Process {
    let process = implement_at(random, session, &Theta::new(), &Gamma::new(), 0, 24);
    numbered(process, &mut 0)
}

fn implement_at(
    random: &mut Random,
    session: &Session,
    theta: &Theta,
    gamma: &Gamma,
    depth: usize,
    fuel: usize,
) -> Process {
    // tPVar, where a variable of this type is in scope and guarded.
    let known: Vec<Name> = theta.iter().filter(|(_, ty)| ty.equals(session)).map(|(name, _)| *name).collect();
    if !known.is_empty() && (fuel == 0 || random.chance(1, 2)) {
        return Process::Variable(known[random.below(known.len())]);
    }
    // tRec, so that an infinite type can be implemented at all.
    if let Session::Rec(..) = session
        && theta.len() < DEFINITIONS.len()
    {
        let name = DEFINITIONS[theta.len()];
        let mut inner = theta.clone();
        inner.insert(name, session.clone());
        let body = implement_choice(random, &session.unfold(), (&inner, theta), gamma, depth, fuel);
        return Process::Rec(name, Box::new(body));
    }
    implement_choice(random, &session.unfold(), (theta, theta), gamma, depth, fuel)
}

/// `theta` may be used once a message has passed, `now` before.
fn implement_choice(
    random: &mut Random,
    session: &Session,
    (theta, now): (&Theta, &Theta),
    gamma: &Gamma,
    depth: usize,
    fuel: usize,
) -> Process {
    let variable = VARIABLES[depth % VARIABLES.len()];
    let fuel = fuel.saturating_sub(1);
    if fuel > 0 && !gamma.is_empty() && random.chance(1, 4) {
        let bound: Vec<(Name, Base)> = gamma.iter().map(|(name, base)| (*name, *base)).collect();
        let predicate = random_assertion(random, &bound);
        let then = implement_choice(random, session, (theta, now), gamma, depth, fuel / 2);
        let otherwise = implement_choice(random, session, (theta, now), gamma, depth, fuel / 2);
        return Process::If(0, predicate, Box::new(then), Box::new(otherwise));
    }
    match session {
        Session::Select(branches) => {
            let branch = random.pick(branches);
            let variables = gamma.iter().filter(|(_, base)| **base == branch.base);
            let mut atoms: Vec<Atom> = variables.map(|(name, _)| Atom::Variable(name)).collect();
            atoms.extend(VALUES.into_iter().filter(|v| v.base() == branch.base).map(Atom::Value));
            let atom = *random.pick(&atoms);
            let next = implement_at(random, &branch.next, theta, gamma, depth, fuel);
            Process::Send(branch.label, atom, Box::new(next))
        }
        Session::Branch(branches) => {
            let mut offered = Vec::new();
            for branch in branches {
                let mut inner = gamma.clone();
                inner.insert(variable, branch.base);
                let fuel = fuel / branches.len();
                offered.push((
                    branch.label,
                    variable,
                    implement_at(random, &branch.next, theta, &inner, depth + 1, fuel),
                ));
            }
            // A process may offer more than its type asks for.
            if random.chance(1, 3) {
                offered.push(("extra", variable, Process::Nil));
            }
            Process::Receive(offered)
        }
        Session::End | Session::Rec(..) | Session::Variable(_) => Process::Nil,
    }
}

/// How many cases met a premise, by name, so that a law can show that it is not empty.
#[derive(Default)]
pub(crate) struct Tally(BTreeMap<&'static str, usize>);

impl Tally {
    /// One more.
    pub(crate) fn count(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }

    /// Fails if there were fewer than `least`; prints all counts for whoever runs with `--nocapture`.
    #[expect(clippy::print_stdout, reason = "what a law covers can be read off its run")]
    pub(crate) fn at_least(&self, name: &'static str, least: usize) {
        println!("{:?}", self.0);
        let found = self.0.get(name).copied().unwrap_or(0);
        assert!(found >= least, "only {found} cases of `{name}`, of {least} at least: {:?}", self.0);
    }
}
