//! Relative projection: RV'23, Algorithm 1 (Definition 5) and Algorithm 3 (Definition 25), line by line.
//!
//! One transcription serves both: Algorithm 3 is Algorithm 1 with locations, and Algorithm 1 is Algorithm 3
//! started with the empty set, for ∅ + ℓ = ∅. Where the printed text leaves room there are [`Readings`]:
//! the product follows [`Readings::DOCUMENTED`] (docs/limits.md), the tests show what the others would do.

use std::collections::BTreeSet;
use std::fmt;

use referee_theory::Vocabulary;
use referee_theory::relative::{Relative, RelativeId, RelativeType};

use crate::global::{self, Branch, payload_name};

/// A location: the labels that lead to an exchange.
pub type Location = Vec<String>;
/// 𝕃, a set of locations.
pub type Locations = BTreeSet<Location>;

/// A relative type with locations (Definition 24); without, all sets are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
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

impl Tree {
    /// Definition 25: every set of locations replaced by ∅.
    #[must_use]
    pub fn erase(&self) -> Self {
        let mut erased = self.clone();
        erased.for_each_location_set(&mut |locations| locations.clear());
        erased
    }

    fn for_each_location_set(&mut self, visit: &mut impl FnMut(&mut Locations)) {
        match self {
            Self::End => {}
            Self::Call(_, locations) => visit(locations),
            Self::Rec(_, locations, body) => {
                visit(locations);
                body.for_each_location_set(visit);
            }
            Self::Exchange { locations, branches, .. } | Self::Dependency { locations, branches, .. } => {
                visit(locations);
                branches.iter_mut().for_each(|branch| branch.next.for_each_location_set(visit));
            }
        }
    }

    /// Definition 25: `R ∪ R'` for types that are equal (up to renaming) once erased.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let both = |a: &Locations, b: &Locations| a.union(b).cloned().collect();
        let merge = |a: &[Branch<Self>], b: &[Branch<Self>]| -> Vec<Branch<Self>> {
            a.iter()
                .map(|a| match b.iter().find(|b| b.label == a.label) {
                    Some(b) => Branch::new(&a.label, &a.payload, a.next.union(&b.next)),
                    None => a.clone(),
                })
                .collect()
        };
        match (self.clone(), other) {
            (Self::Call(name, l), Self::Call(_, m)) => Self::Call(name, both(&l, m)),
            (Self::Rec(name, l, body), Self::Rec(_, m, other)) => {
                Self::Rec(name, both(&l, m), Box::new(body.union(other)))
            }
            (
                Self::Exchange { sender, receiver, locations, branches },
                Self::Exchange { locations: m, branches: others, .. },
            ) => Self::Exchange {
                sender,
                receiver,
                locations: both(&locations, m),
                branches: merge(&branches, others),
            },
            (
                Self::Dependency { informer, sends, other, informed, locations, branches },
                Self::Dependency { locations: m, branches: others, .. },
            ) => Self::Dependency {
                informer,
                sends,
                other,
                informed,
                locations: both(&locations, m),
                branches: merge(&branches, others),
            },
            (same, _) => same,
        }
    }

    /// Equality up to renaming of recursion variables and the order of branches. Locations count.
    #[must_use]
    pub fn equal_up_to_renaming(&self, other: &Self) -> bool {
        self.equal_in(other, &mut Vec::new())
    }

    fn equal_in(&self, other: &Self, scope: &mut Vec<(String, String)>) -> bool {
        match (self, other) {
            (Self::End, Self::End) => true,
            (Self::Call(x, l), Self::Call(y, m)) => {
                // The innermost binders of both names must be one pair; free names must be the same.
                let left = scope.iter().rposition(|(a, _)| a == x);
                let right = scope.iter().rposition(|(_, b)| b == y);
                l == m && left == right && (left.is_some() || x == y)
            }
            (Self::Rec(x, l, a), Self::Rec(y, m, b)) => {
                scope.push((x.clone(), y.clone()));
                let equal = a.equal_in(b, scope);
                scope.pop();
                l == m && equal
            }
            (
                Self::Exchange { sender, receiver, locations, branches },
                Self::Exchange { sender: s, receiver: r, locations: m, branches: others },
            ) => (sender, receiver, locations) == (s, r, m) && Self::branches_equal(branches, others, scope),
            (
                Self::Dependency { informer, sends, other, informed, locations, branches },
                Self::Dependency { informer: i, sends: s, other: o, informed: d, locations: m, branches: bs },
            ) => {
                (informer, sends, other, informed, locations) == (i, s, o, d, m)
                    && Self::branches_equal(branches, bs, scope)
            }
            _ => false,
        }
    }

    fn branches_equal(a: &[Branch<Self>], b: &[Branch<Self>], scope: &mut Vec<(String, String)>) -> bool {
        a.len() == b.len()
            && a.iter().all(|a| {
                let same = b.iter().find(|b| (&b.label, &b.payload) == (&a.label, &a.payload));
                same.is_some_and(|b| a.next.equal_in(&b.next, scope))
            })
    }

    /// The same type with branches in the order of their labels.
    fn sorted(&self) -> Self {
        let mut sorted = self.clone();
        match &mut sorted {
            Self::End | Self::Call(..) => {}
            Self::Rec(_, _, body) => **body = body.sorted(),
            Self::Exchange { branches, .. } | Self::Dependency { branches, .. } => {
                branches.iter_mut().for_each(|branch| branch.next = branch.next.sorted());
                branches.sort_by(|a, b| a.label.cmp(&b.label));
            }
        }
        sorted
    }

    /// Whether the pair itself exchanges something: a dependency is no exchange.
    #[must_use]
    pub fn contains_exchange(&self) -> bool {
        match self {
            Self::End | Self::Call(..) => false,
            Self::Exchange { .. } => true,
            Self::Rec(_, _, body) => body.contains_exchange(),
            Self::Dependency { branches, .. } => branches.iter().any(|b| b.next.contains_exchange()),
        }
    }

    fn calls(&self) -> BTreeSet<String> {
        match self {
            Self::End => BTreeSet::new(),
            Self::Call(name, _) => BTreeSet::from([name.clone()]),
            Self::Rec(_, _, body) => body.calls(),
            Self::Exchange { branches, .. } | Self::Dependency { branches, .. } => {
                branches.iter().flat_map(|b| b.next.calls()).collect()
            }
        }
    }

    fn free_calls(&self) -> BTreeSet<String> {
        match self {
            Self::End => BTreeSet::new(),
            Self::Call(name, _) => BTreeSet::from([name.clone()]),
            Self::Rec(name, _, body) => {
                let mut free = body.free_calls();
                free.remove(name);
                free
            }
            Self::Exchange { branches, .. } | Self::Dependency { branches, .. } => {
                branches.iter().flat_map(|b| b.next.free_calls()).collect()
            }
        }
    }

    /// The product's type, without locations. Variables are called after their levels.
    #[must_use]
    pub fn from_theory(relative: &RelativeType) -> Self {
        Self::from_node(relative, relative.root())
    }

    fn from_node(relative: &RelativeType, node: RelativeId) -> Self {
        let vocabulary = relative.vocabulary();
        let name = |role| vocabulary.role_name(role).to_owned();
        match relative.node(node) {
            Relative::End => Self::End,
            Relative::Call { level } => Self::Call(format!("X{level}"), Locations::new()),
            Relative::Rec { level, body } => {
                let body = Box::new(Self::from_node(relative, *body));
                Self::Rec(format!("X{level}"), Locations::new(), body)
            }
            Relative::Exchange { sender, receiver, branches } => Self::Exchange {
                sender: name(*sender),
                receiver: name(*receiver),
                locations: Locations::new(),
                branches: Self::from_branches(relative, vocabulary, branches, true),
            },
            Relative::Dependency { informer, action, other, informed, branches } => Self::Dependency {
                informer: name(*informer),
                sends: *action == referee_theory::Action::Send,
                other: name(*other),
                informed: name(*informed),
                locations: Locations::new(),
                branches: Self::from_branches(relative, vocabulary, branches, false),
            },
        }
    }

    fn from_branches(
        relative: &RelativeType,
        vocabulary: &Vocabulary,
        branches: &[(referee_theory::Message, RelativeId)],
        payloads: bool,
    ) -> Vec<Branch<Self>> {
        let branch = |&(message, next): &(referee_theory::Message, RelativeId)| {
            let payload = if payloads { payload_name(vocabulary.spec(message)) } else { String::new() };
            Branch::new(vocabulary.label_of(message), &payload, Self::from_node(relative, next))
        };
        branches.iter().map(branch).collect()
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("end"),
            Self::Call(name, _) => f.write_str(name),
            Self::Rec(name, _, body) => write!(f, "μ{name}.{body}"),
            Self::Exchange { sender, receiver, branches, .. } => {
                write!(f, "{sender}!{receiver}")?;
                global::write_branches(f, branches)
            }
            Self::Dependency { informer, sends, other, informed, branches, .. } => {
                let symbol = if *sends { '!' } else { '?' };
                write!(f, "({informer}{symbol}{other})!{informed}")?;
                global::write_branches(f, branches)
            }
        }
    }
}
