//! Relative projection: RV'23, Algorithm 1 (Definition 5) and Algorithm 3 (Definition 25), line by line.
//!
//! One transcription serves both: Algorithm 3 is Algorithm 1 with locations, and Algorithm 1 is Algorithm 3
//! started with the empty set, for ∅ + ℓ = ∅. Where the printed text leaves room there are [`Readings`]:
//! the product follows [`Readings::DOCUMENTED`] (docs/differences.md), the tests show what the others would do.

use std::collections::BTreeSet;

use crate::global::{self, Branch};

mod tree;

/// A location: the labels that lead to an exchange.
pub type Location = Vec<String>;
/// 𝕃, a set of locations.
pub type Locations = BTreeSet<Location>;

/// A relative type with locations (Definition 24); without, all sets are empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tree {
    /// `end`.
    End,
    /// `p!q^𝕃{i<Ti>.Ri}`.
    Exchange {
        /// p.
        sender: String,
        /// q.
        receiver: String,
        /// 𝕃.
        locations: Locations,
        /// The branches.
        branches: Vec<Branch<Tree>>,
    },
    /// `(p!r)!q^𝕃{i.Ri}` if `sends`, `(p?r)!q^𝕃{i.Ri}` otherwise.
    Dependency {
        /// p.
        informer: String,
        /// Whether p sent to r.
        sends: bool,
        /// r.
        other: String,
        /// q.
        informed: String,
        /// 𝕃.
        locations: Locations,
        /// The branches, without payloads.
        branches: Vec<Branch<Tree>>,
    },
    /// `μX^𝕃.R`.
    Rec(String, Locations, Box<Tree>),
    /// `X^𝕃`.
    Call(String, Locations),
}

/// How to read what Algorithm 1 prints.
#[derive(Clone, Copy, Debug)]
pub struct Readings {
    /// Line 7 compares up to renaming of recursion variables; otherwise names count.
    pub up_to_renaming: bool,
    /// Line 12, "a recursive call on any Y ≠ X", means a free Y; otherwise any.
    pub free_calls_only: bool,
    /// Lines 8 and 9 forward labels as in Definition 4; otherwise labels with their payload types.
    pub labels_only: bool,
}

impl Readings {
    /// What the product implements.
    pub const DOCUMENTED: Self = Self { up_to_renaming: true, free_calls_only: true, labels_only: true };
}

/// The projection is undefined at the exchange with this location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    /// The labels that lead to the exchange that neither of the pair takes part in.
    pub at: Location,
}

/// Algorithm 1: `G ⟩ (p, q)`.
///
/// # Errors
/// When it is undefined; at the first such exchange if projections are computed in the order of the text.
pub fn project(g: &global::Tree, p: &str, q: &str, readings: Readings) -> Result<Tree, Undefined> {
    Projection { p, q, readings }.algorithm(g, &Locations::new(), &Location::new())
}

/// Algorithm 3: `G ⟩ (p, q)^{ε}`, under the documented readings.
///
/// # Errors
/// As [`project`].
pub fn project_with_locations(g: &global::Tree, p: &str, q: &str) -> Result<Tree, Undefined> {
    let readings = Readings::DOCUMENTED;
    Projection { p, q, readings }.algorithm(g, &Locations::from([Location::new()]), &Location::new())
}

struct Projection<'a> {
    p: &'a str,
    q: &'a str,
    readings: Readings,
}

impl Projection<'_> {
    /// `at` is where we are, only to say where the projection is undefined.
    fn algorithm(&self, g: &global::Tree, l: &Locations, at: &Location) -> Result<Tree, Undefined> {
        let (p, q) = (self.p, self.q);
        // Line 2: switch G do.
        match g {
            // Line 3: case s!r{i<Ti>.Gi} do.
            global::Tree::Exchange { sender: s, receiver: r, branches } => {
                // Line 4: for all i in I, Ri := Gi ⟩ (p, q)^(𝕃+i).
                let mut projected: Vec<Branch<Tree>> = Vec::new();
                for Branch { label: i, payload: t, next: gi } in branches {
                    let here = [at.as_slice(), std::slice::from_ref(i)].concat();
                    let ri = self.algorithm(gi, &append(l, i), &here)?;
                    projected.push(Branch::new(i, t, ri));
                }
                // Lines 5 and 6.
                for (a, b) in [(p, q), (q, p)] {
                    if a == s && b == r {
                        return Ok(Tree::Exchange {
                            sender: a.to_owned(),
                            receiver: b.to_owned(),
                            locations: l.clone(),
                            branches: projected,
                        });
                    }
                }
                // Line 7: if for all i, j in I, erase(Ri) = erase(Rj) then return their union.
                let erased: Vec<Tree> = projected.iter().map(|branch| branch.next.erase()).collect();
                if erased.iter().all(|ri| erased.iter().all(|rj| self.equal(ri, rj))) {
                    let mut all = projected.into_iter().map(|branch| branch.next);
                    let first = all.next().unwrap_or(Tree::End);
                    return Ok(all.fold(first, |union, next| union.union(&next)));
                }
                // Lines 8 and 9 (the payloads are not forwarded: Definition 4).
                for (me, sends, other) in [(s, true, r), (r, false, s)] {
                    if me == p || me == q {
                        let t = if me == p { q } else { p };
                        if self.readings.labels_only {
                            projected.iter_mut().for_each(|branch| branch.payload.clear());
                        }
                        return Ok(Tree::Dependency {
                            informer: me.clone(),
                            sends,
                            other: other.clone(),
                            informed: t.to_owned(),
                            locations: l.clone(),
                            branches: projected,
                        });
                    }
                }
                Err(Undefined { at: at.clone() })
            }
            // Line 10: case μX.G' do.
            global::Tree::Rec(x, body) => {
                // Line 11.
                let r = self.algorithm(body, l, at)?;
                // Line 12.
                let calls = if self.readings.free_calls_only { r.free_calls() } else { r.calls() };
                if r.contains_exchange() || calls.iter().any(|y| y != x) {
                    // Line 13.
                    Ok(Tree::Rec(x.clone(), l.clone(), Box::new(r)))
                } else {
                    // Line 14.
                    Ok(Tree::End)
                }
            }
            // Line 15.
            global::Tree::Call(x) => Ok(Tree::Call(x.clone(), l.clone())),
            // Line 16.
            global::Tree::End => Ok(Tree::End),
        }
    }

    fn equal(&self, left: &Tree, right: &Tree) -> bool {
        if self.readings.up_to_renaming {
            left.equal_up_to_renaming(right)
        } else {
            left.sorted() == right.sorted()
        }
    }
}

/// Definition 25: `𝕃 + ℓ`.
fn append(l: &Locations, label: &str) -> Locations {
    l.iter().map(|location| [location.as_slice(), &[label.to_owned()]].concat()).collect()
}

/// Definition 7: every pair of participants has a relative projection, and recursion is bound and guarded.
#[must_use]
pub fn is_well_formed(g: &global::Tree) -> bool {
    let participants: Vec<String> = g.participants().into_iter().collect();
    let mut pairs = participants.iter().flat_map(|p| participants.iter().map(move |q| (p, q)));
    g.free_variables().is_empty()
        && is_guarded(g, &BTreeSet::new())
        && pairs.all(|(p, q)| p == q || project(g, p, q, Readings::DOCUMENTED).is_ok())
}

/// Whether no call is reached from its definition without an exchange in between.
fn is_guarded(g: &global::Tree, pending: &BTreeSet<&str>) -> bool {
    match g {
        global::Tree::End => true,
        global::Tree::Call(x) => !pending.contains(x.as_str()),
        global::Tree::Rec(x, body) => {
            let mut pending = pending.clone();
            pending.insert(x);
            is_guarded(body, &pending)
        }
        global::Tree::Exchange { branches, .. } => {
            branches.iter().all(|branch| is_guarded(&branch.next, &BTreeSet::new()))
        }
    }
}

/// Definition 8: `p depsOn q in G`, for a well-formed G (otherwise a branch without projection counts as
/// different from every other).
#[must_use]
pub fn depends_on(p: &str, q: &str, g: &global::Tree) -> bool {
    let global::Tree::Exchange { sender: s, receiver: r, branches } = g else { return false };
    let project = |branch: &Branch<global::Tree>| project(&branch.next, p, q, Readings::DOCUMENTED).ok();
    let all: Vec<Option<Tree>> = branches.iter().map(project).collect();
    let differ = |left: &Option<Tree>, right: &Option<Tree>| match (left, right) {
        (Some(left), Some(right)) => !left.equal_up_to_renaming(right),
        _ => true,
    };
    p != s && p != r && (q == s || q == r) && all.iter().any(|a| all.iter().any(|b| differ(a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::{Tree as Global, call, exchange};

    /// RV'23, Example 11: in Ga, a depends on both s and c, and nobody else on anybody.
    #[test]
    fn dependence_in_the_authorisation_protocol() {
        let login =
            exchange("c", "a", vec![("pwd", "str", exchange("a", "s", vec![("succ", "bool", call("X"))]))]);
        let body = exchange("s", "c", vec![("login", "", login.clone()), ("quit", "", Global::End)]);
        assert!(depends_on("a", "s", &body) && depends_on("a", "c", &body));
        assert!(!depends_on("c", "s", &body) && !depends_on("s", "c", &body) && !depends_on("s", "a", &body));
        assert!(!depends_on("s", "c", &login), "one branch decides nothing");
        assert!(is_well_formed(&global::rec("X", body)));
    }

    /// RV'23, Appendix C.2: the locations of the example there, up to the first two labels.
    #[test]
    fn locations() {
        let body = exchange(
            "p",
            "q",
            vec![("l1", "T1", exchange("q", "p", vec![("l2", "T2", call("X"))])), ("l'", "T'", call("X"))],
        );
        let tree = global::message("r", "s", "1", global::rec("X", body));
        let located = project_with_locations(&tree, "p", "q").unwrap();
        let Tree::Rec(_, at, body) = &located else { panic!("{located:?}") };
        let location = |labels: &[&str]| -> Locations {
            Locations::from([labels.iter().map(|label| (*label).to_owned()).collect()])
        };
        assert_eq!(*at, location(&["1"]));
        let Tree::Exchange { locations, branches, .. } = &**body else { panic!("{body:?}") };
        assert_eq!(*locations, location(&["1"]));
        let Tree::Exchange { locations, .. } = &branches[0].next else { panic!("{branches:?}") };
        assert_eq!(*locations, location(&["1", "l1"]));
        assert_eq!(branches[1].next, Tree::Call("X".to_owned(), location(&["1", "l'"])));
    }
}
