//! Definition 9 and its extension with assertions (Section 5.1).

use super::monitor::Monitor;
use super::session::{Branch, Session};
use super::value::{Atom, Predicate};

/// ⟦S⟧ of Definition 9: assertions are not looked at.
#[must_use]
pub fn synthesise(session: &Session) -> Monitor {
    match session {
        // ⟦⊕{!l(B).S}⟧ = ▷{l(x).if isB(x) then ▲l(x).⟦S⟧ else noP}
        Session::Select(branches) => Monitor::Receive(
            branches
                .iter()
                .map(|b| {
                    let forward = Monitor::Out(b.label, atom(b), Box::new(synthesise(&b.next)));
                    (b.label, b.variable, check(is_base(b), forward, Monitor::NoP))
                })
                .collect(),
        ),
        // ⟦&{?l(B).S}⟧ = ▼{l(x).if isB(x) then ◁l(x).⟦S⟧ else noE}
        Session::Branch(branches) => Monitor::In(
            branches
                .iter()
                .map(|b| {
                    let forward = Monitor::Send(b.label, atom(b), Box::new(synthesise(&b.next)));
                    (b.label, b.variable, check(is_base(b), forward, Monitor::NoE))
                })
                .collect(),
        ),
        Session::Rec(name, body) => Monitor::Rec(name, Box::new(synthesise(body))),
        Session::Variable(name) => Monitor::Variable(name),
        Session::End => Monitor::Nil,
    }
}

/// ⟦S⟧ of Section 5.1.
#[must_use]
pub fn synthesise_with_assertions(session: &Session) -> Monitor {
    match session {
        // ⟦⊕{!l(x: B)[A].S}⟧ = ▷{l(x).if isB(x) then (if A then ▲l(x).⟦S⟧ else noP^A) else noP}
        Session::Select(branches) => Monitor::Receive(
            branches
                .iter()
                .map(|b| {
                    let next = Box::new(synthesise_with_assertions(&b.next));
                    let forward = Monitor::Out(b.label, atom(b), next);
                    let asserted = check(b.assertion.clone(), forward, Monitor::NoPA);
                    (b.label, b.variable, check(is_base(b), asserted, Monitor::NoP))
                })
                .collect(),
        ),
        // ⟦&{?l(x: B)[A].S}⟧ = ▼{l(x).if isB(x) then (if A then ◁l(x).⟦S⟧ else noE^A) else noE}
        Session::Branch(branches) => Monitor::In(
            branches
                .iter()
                .map(|b| {
                    let next = Box::new(synthesise_with_assertions(&b.next));
                    let forward = Monitor::Send(b.label, atom(b), next);
                    let asserted = check(b.assertion.clone(), forward, Monitor::NoEA);
                    (b.label, b.variable, check(is_base(b), asserted, Monitor::NoE))
                })
                .collect(),
        ),
        Session::Rec(name, body) => Monitor::Rec(name, Box::new(synthesise_with_assertions(body))),
        Session::Variable(name) => Monitor::Variable(name),
        Session::End => Monitor::Nil,
    }
}

fn atom(branch: &Branch) -> Atom {
    Atom::Variable(branch.variable)
}

fn is_base(branch: &Branch) -> Predicate {
    Predicate::Is(branch.base, atom(branch))
}

fn check(predicate: Predicate, then: Monitor, otherwise: Monitor) -> Monitor {
    Monitor::If(predicate, Box::new(then), Box::new(otherwise))
}
