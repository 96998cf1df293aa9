//! Monitors (RV'23, Figure 2) and their synthesis (Definition 9, Algorithm 2), line by line.

use std::collections::BTreeSet;
use std::fmt;

use crate::global::{Branch, Tree as Global, rec};
use crate::relative::{self, Readings, Tree as Relative, depends_on};

/// M.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Monitor {
    /// `p!q{i<Ti>.M}`.
    Output(String, String, Vec<Branch<Monitor>>),
    /// `p!D(l).M`.
    DependencyOutput(String, BTreeSet<String>, String, Box<Monitor>),
    /// `p?q{i<Ti>.M}`.
    Input(String, String, Vec<Branch<Monitor>>),
    /// `p?q{i.M}`.
    DependencyInput(String, String, Vec<Branch<Monitor>>),
    /// `μX.M`.
    Rec(String, Box<Monitor>),
    /// `X`.
    Call(String),
    /// `end`.
    End,
    /// `error`.
    Error,
    /// `✓`.
    Finished,
}

/// How to read Algorithm 2.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// The line for D′ projects μX.G′, as Example 10 does; otherwise G′, as printed.
    pub project_definition: bool,
    /// Line 15: which branch is followed, where there are so many (the last if there are fewer).
    pub k: usize,
}

impl Lines {
    /// What the product implements.
    pub const CORRECTED: Self = Self { project_definition: true, k: 0 };
}

/// `gt2mon(G, p, D)` for a well-formed G.
#[must_use]
pub fn gt2mon(g: &Global, p: &str, d: &BTreeSet<String>, lines: Lines) -> Monitor {
    // Line 2: switch G do.
    match g {
        // Line 3: case s!r{i<Ti>.Gi} do.
        Global::Exchange { sender: s, receiver: r, branches } => {
            // Line 4.
            let deps: BTreeSet<String> = d.iter().filter(|q| depends_on(q, p, g)).cloned().collect();
            let told = |i: &Branch<Global>| {
                let next = gt2mon(&i.next, p, d, lines);
                let next =
                    Monitor::DependencyOutput(p.to_owned(), deps.clone(), i.label.clone(), Box::new(next));
                Branch::new(&i.label, &i.payload, next)
            };
            // Line 5.
            if p == s {
                return Monitor::Output(p.to_owned(), r.clone(), branches.iter().map(told).collect());
            }
            // Line 6.
            if p == r {
                return Monitor::Input(p.to_owned(), s.clone(), branches.iter().map(told).collect());
            }
            // Lines 8 and 9.
            let on_s = d.contains(s) && depends_on(p, s, g);
            let on_r = d.contains(r) && depends_on(p, r, g);
            let plain = |i: &Branch<Global>| Branch::new(&i.label, "", gt2mon(&i.next, p, d, lines));
            match (on_s, on_r) {
                // Line 10.
                (true, false) => {
                    Monitor::DependencyInput(p.to_owned(), s.clone(), branches.iter().map(plain).collect())
                }
                // Line 11.
                (false, true) => {
                    Monitor::DependencyInput(p.to_owned(), r.clone(), branches.iter().map(plain).collect())
                }
                // Line 13.
                (true, true) => {
                    let confirmed = |i: &Branch<Global>| {
                        let second = branches.iter().map(|j| {
                            let next = if i.label == j.label {
                                gt2mon(&i.next, p, d, lines)
                            } else {
                                Monitor::Error
                            };
                            Branch::new(&j.label, "", next)
                        });
                        let second = Monitor::DependencyInput(p.to_owned(), r.clone(), second.collect());
                        Branch::new(&i.label, "", second)
                    };
                    Monitor::DependencyInput(
                        p.to_owned(),
                        s.clone(),
                        branches.iter().map(confirmed).collect(),
                    )
                }
                // Line 15.
                (false, false) => gt2mon(&branches[lines.k.min(branches.len() - 1)].next, p, d, lines),
            }
        }
        // Line 16: case μX.G' do.
        Global::Rec(x, body) => {
            // Line 17.
            let projected =
                if lines.project_definition { rec(x, (**body).clone()) } else { (**body).clone() };
            let concerned = |q: &&String| {
                relative::project(&projected, p, q, Readings::DOCUMENTED).ok() != Some(Relative::End)
            };
            let inside: BTreeSet<String> = d.iter().filter(concerned).cloned().collect();
            // Lines 18 and 19.
            if inside.is_empty() {
                Monitor::End
            } else {
                Monitor::Rec(x.clone(), Box::new(gt2mon(body, p, &inside, lines)))
            }
        }
        // Line 20.
        Global::Call(x) => Monitor::Call(x.clone()),
        // Line 21.
        Global::End => Monitor::End,
    }
}

/// The monitor of `p` in `g`: `gt2mon(G, p, part(G) \ {p})`.
#[must_use]
pub fn of_role(g: &Global, p: &str, lines: Lines) -> Monitor {
    let mut others = g.participants();
    others.remove(p);
    gt2mon(g, p, &others, lines)
}

impl Monitor {
    /// Definition 34: `M{μX.M/X}` for `μX.M`, repeated while a definition is on top.
    #[must_use]
    pub fn unfold(&self) -> Self {
        match self {
            Self::Rec(x, body) => body.substitute(x, self).unfold(),
            other => other.clone(),
        }
    }

    /// Whether every definition does something before it is called again.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        match self {
            Self::Rec(_, body) => {
                let mut inner = body;
                while let Self::Rec(_, body) = &**inner {
                    inner = body;
                }
                !matches!(**inner, Self::Call(_)) && body.is_guarded()
            }
            Self::Output(_, _, branches)
            | Self::Input(_, _, branches)
            | Self::DependencyInput(_, _, branches) => branches.iter().all(|branch| branch.next.is_guarded()),
            Self::DependencyOutput(_, _, _, next) => next.is_guarded(),
            Self::Call(_) | Self::End | Self::Error | Self::Finished => true,
        }
    }

    fn substitute(&self, x: &str, with: &Self) -> Self {
        let all = |branches: &[Branch<Self>]| -> Vec<Branch<Self>> {
            branches.iter().map(|b| Branch::new(&b.label, &b.payload, b.next.substitute(x, with))).collect()
        };
        match self {
            Self::Call(name) if name == x => with.clone(),
            Self::Rec(name, body) if name != x => Self::Rec(name.clone(), Box::new(body.substitute(x, with))),
            Self::Output(p, q, branches) => Self::Output(p.clone(), q.clone(), all(branches)),
            Self::Input(p, q, branches) => Self::Input(p.clone(), q.clone(), all(branches)),
            Self::DependencyInput(p, q, branches) => {
                Self::DependencyInput(p.clone(), q.clone(), all(branches))
            }
            Self::DependencyOutput(p, d, label, next) => Self::DependencyOutput(
                p.clone(),
                d.clone(),
                label.clone(),
                Box::new(next.substitute(x, with)),
            ),
            Self::Rec(..) | Self::Call(_) | Self::End | Self::Error | Self::Finished => self.clone(),
        }
    }

    /// The monitor with its recursion variables named by how many definitions enclose theirs, and its branches in
    /// alphabetical order.
    #[must_use]
    pub fn canonical(&self) -> Self {
        self.renamed(&mut Vec::new())
    }

    fn renamed(&self, scope: &mut Vec<String>) -> Self {
        let all = |branches: &[Branch<Self>], scope: &mut Vec<String>| -> Vec<Branch<Self>> {
            let mut all: Vec<Branch<Self>> =
                branches.iter().map(|b| Branch::new(&b.label, &b.payload, b.next.renamed(scope))).collect();
            all.sort();
            all
        };
        match self {
            Self::Call(x) => {
                let depth = scope.iter().rposition(|name| name == x);
                Self::Call(depth.map_or_else(|| x.clone(), |depth| format!("X{depth}")))
            }
            Self::Rec(x, body) => {
                let name = format!("X{}", scope.len());
                scope.push(x.clone());
                let body = body.renamed(scope);
                scope.pop();
                Self::Rec(name, Box::new(body))
            }
            Self::Output(p, q, branches) => Self::Output(p.clone(), q.clone(), all(branches, scope)),
            Self::Input(p, q, branches) => Self::Input(p.clone(), q.clone(), all(branches, scope)),
            Self::DependencyInput(p, q, branches) => {
                Self::DependencyInput(p.clone(), q.clone(), all(branches, scope))
            }
            Self::DependencyOutput(p, d, label, next) => {
                Self::DependencyOutput(p.clone(), d.clone(), label.clone(), Box::new(next.renamed(scope)))
            }
            Self::End | Self::Error | Self::Finished => self.clone(),
        }
    }
}

/// The notation of `corpus/gt/expected.json`, which is the paper's in ASCII.
impl fmt::Display for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, head: String, branches: &[Branch<Self>], payloads: bool| {
            write!(f, "{head}{{")?;
            for (index, branch) in branches.iter().enumerate() {
                write!(f, "{}{}", if index > 0 { ", " } else { "" }, branch.label)?;
                if payloads {
                    write!(f, "<{}>", branch.payload)?;
                }
                write!(f, ".{}", branch.next)?;
            }
            f.write_str("}")
        };
        match self {
            Self::Output(p, q, branches) => list(f, format!("{p}!{q}"), branches, true),
            Self::Input(p, q, branches) => list(f, format!("{p}?{q}"), branches, true),
            Self::DependencyInput(p, q, branches) => list(f, format!("{p}?{q}"), branches, false),
            Self::DependencyOutput(p, d, label, next) => {
                let all: Vec<&str> = d.iter().map(String::as_str).collect();
                write!(f, "{p}!{{{}}}({label}).{next}", all.join(","))
            }
            Self::Rec(x, body) => write!(f, "mu {x}.{body}"),
            Self::Call(x) => f.write_str(x),
            Self::End => f.write_str("end"),
            Self::Error => f.write_str("error"),
            Self::Finished => f.write_str("✓"),
        }
    }
}
