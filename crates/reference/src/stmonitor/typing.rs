//! Figure 4: session typing. Assertions play no part in it (Section 5.1).

use std::collections::{BTreeMap, BTreeSet};

use super::Name;
use super::process::Process;
use super::session::Session;
use super::value::{Atom, Base, Predicate};

/// Θ: process variables and their session types.
pub type Theta = BTreeMap<Name, Session>;
/// Γ: value variables and their base types.
pub type Gamma = BTreeMap<Name, Base>;

/// ∅ · ∅ ⊢ P : S.
#[must_use]
pub fn is_typed(process: &Process, session: &Session) -> bool {
    types(&Theta::new(), &Gamma::new(), process, session)
}

/// Θ · Γ ⊢ P : S.
#[must_use]
pub fn types(theta: &Theta, gamma: &Gamma, process: &Process, session: &Session) -> bool {
    match process {
        // tBra
        Process::Receive(offered) => {
            let Session::Branch(required) = session.unfold() else { return false };
            required.iter().all(|branch| {
                offered.iter().find(|(label, ..)| *label == branch.label).is_some_and(
                    |(_, variable, next)| {
                        let mut gamma = gamma.clone();
                        gamma.insert(variable, branch.base);
                        types(theta, &gamma, next, &branch.next)
                    },
                )
            })
        }
        // tSel
        Process::Send(label, atom, next) => {
            let Session::Select(allowed) = session.unfold() else { return false };
            allowed.iter().any(|branch| {
                branch.label == *label
                    && base(gamma, *atom) == Some(branch.base)
                    && types(theta, gamma, next, &branch.next)
            })
        }
        // tIf
        Process::If(_, predicate, then, otherwise) => {
            is_boolean(gamma, predicate)
                && types(theta, gamma, then, session)
                && types(theta, gamma, otherwise, session)
        }
        // tRec
        Process::Rec(name, body) => {
            let mut theta = theta.clone();
            theta.insert(name, session.clone());
            types(&theta, gamma, body, session)
        }
        // tPVar
        Process::Variable(name) => theta.get(name).is_some_and(|known| known.equals(session)),
        // tNil
        Process::Nil => session.unfold() == Session::End,
    }
}

/// ∅ ⊢ P : S where rule tRec unfolds, Γ ⊢ P\[μX.P/X\] : S, and derivations may be infinite. Not in the paper:
/// Figure 4 gives a process variable one type, so that μX.▷{a(x).0, b(x).X} does not have the type
/// ?b.?a.end although it behaves as it says. Whatever has a type by Figure 4 has it here.
///
/// Binders of value variables must be distinct along every path, so that unfolding captures nothing.
#[must_use]
pub fn is_typed_unfolded(process: &Process, session: &Session) -> bool {
    types_unfolded(&Gamma::new(), process, session, &mut BTreeSet::new())
}

fn types_unfolded(
    gamma: &Gamma,
    process: &Process,
    session: &Session,
    assumed: &mut BTreeSet<(Gamma, Process, Session)>,
) -> bool {
    let session = session.unfold();
    if !assumed.insert((gamma.clone(), process.clone(), session.clone())) {
        return true;
    }
    match (process, &session) {
        (Process::Receive(offered), Session::Branch(required)) => required.iter().all(|branch| {
            offered.iter().find(|(label, ..)| *label == branch.label).is_some_and(|(_, variable, next)| {
                let mut gamma = gamma.clone();
                gamma.insert(variable, branch.base);
                types_unfolded(&gamma, next, &branch.next, assumed)
            })
        }),
        (Process::Send(label, atom, next), Session::Select(allowed)) => allowed.iter().any(|branch| {
            branch.label == *label
                && base(gamma, *atom) == Some(branch.base)
                && types_unfolded(gamma, next, &branch.next, assumed)
        }),
        (Process::If(_, predicate, then, otherwise), session) => {
            is_boolean(gamma, predicate)
                && types_unfolded(gamma, then, session, assumed)
                && types_unfolded(gamma, otherwise, session, assumed)
        }
        (Process::Rec(name, body), session) => {
            types_unfolded(gamma, &body.unfold(process, name), session, assumed)
        }
        (Process::Nil, Session::End) => true,
        _ => false,
    }
}

/// Γ ⊢ a : B: rules tVar and tVal.
#[must_use]
pub fn base(gamma: &Gamma, atom: Atom) -> Option<Base> {
    match atom {
        Atom::Variable(name) => gamma.get(name).copied(),
        Atom::Value(value) => Some(value.base()),
    }
}

/// Γ ⊢ A : Bool, with the standard rules (Remark 4).
#[must_use]
pub fn is_boolean(gamma: &Gamma, predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Constant(_) => true,
        Predicate::Equal(a, b) => {
            let (a, b) = (base(gamma, *a), base(gamma, *b));
            a.is_some() && a == b
        }
        Predicate::AtLeast(a, b) => base(gamma, *a) == Some(Base::Int) && base(gamma, *b) == Some(Base::Int),
        Predicate::And(left, right) => is_boolean(gamma, left) && is_boolean(gamma, right),
        Predicate::Not(inner) => is_boolean(gamma, inner),
        Predicate::Is(_, a) => base(gamma, *a).is_some(),
    }
}
