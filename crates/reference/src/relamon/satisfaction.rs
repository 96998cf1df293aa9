//! Satisfaction (RV'23, Definition 13, Figure 5), the label oracle (Definition 21, Figure 7) and transparency
//! (Definitions 19 and 20, Theorem 23), condition by condition.
//!
//! Both go through what the relative types of a participant allow next: a [`Standing`] is `(RTs, Lbls)`. Messages can
//! be simulated without end, and locations grow with every turn of a loop; so one message per sender is
//! simulated ahead, and nothing beyond [`DEPTH`] labels is looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::monitor::Monitor;
use super::network::{Action, Buffer, Buffered, Message, Monitored, Outcome, push};
use crate::global::{Branch, Tree as Global};
use crate::relative::{Location, Locations, Tree as Relative, project_with_locations};

/// How many labels a location may have.
pub const DEPTH: usize = 4;

/// `(RTs, Lbls)` of one participant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Standing {
    /// RTs, unfolded.
    rts: BTreeMap<String, Relative>,
    /// Lbls.
    labels: BTreeMap<Locations, String>,
}

/// A step of the relative types of p.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// p!q(m).
    Output(String, Message),
    /// p?q(m), a dependency included.
    Input(String, Message),
    /// p!q(l), a dependency.
    DependencyOutput(String, Message),
}

impl Standing {
    /// `(RTsOf(G, p), ∅)` for a well-formed G.
    #[must_use]
    pub fn of(g: &Global, p: &str) -> Self {
        let mut others = g.participants();
        others.remove(p);
        let relative = |q: String| {
            let projected = project_with_locations(g, p, &q).unwrap_or(Relative::End);
            (q, unfold(&projected))
        };
        Self { rts: others.into_iter().map(relative).collect(), labels: BTreeMap::new() }
    }

    /// Whether every relative type is `end`.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.rts.values().all(|r| *r == Relative::End)
    }

    fn is_too_deep(&self) -> bool {
        let deep = |locations: &Locations| locations.iter().any(|location| location.len() > DEPTH);
        self.rts.values().any(|r| first_locations(r).is_some_and(deep))
    }

    /// What the relative types of `p` allow: the cases of Figures 5 and 7.
    #[must_use]
    pub fn moves(&self, p: &str) -> Vec<(Move, Self)> {
        let mut moves = Vec::new();
        for (q, r) in &self.rts {
            match r {
                Relative::Exchange { sender, locations, branches, .. } => {
                    for branch in branches {
                        let message = Message::data(&branch.label, &branch.payload);
                        let next = self.after(q, branch, Some(locations));
                        let q = q.clone();
                        let step =
                            if sender == p { Move::Output(q, message) } else { Move::Input(q, message) };
                        moves.push((step, next));
                    }
                }
                Relative::Dependency { informer, locations, branches, .. } => {
                    let known = self.labels.iter().find(|(l, _)| !l.is_disjoint(locations)).map(|(_, j)| j);
                    for branch in branches {
                        let message = Message::dependency(&branch.label);
                        match (informer == p, known) {
                            // (Dependency output): the label of the exchange it comes from.
                            (true, Some(j)) if *j == branch.label => {
                                moves.push((
                                    Move::DependencyOutput(q.clone(), message),
                                    self.after(q, branch, None),
                                ));
                            }
                            // (Dependency input), known label.
                            (false, Some(j)) if *j == branch.label => {
                                moves.push((Move::Input(q.clone(), message), self.after(q, branch, None)));
                            }
                            // (Dependency input), fresh label.
                            (false, None) => {
                                let next = self.after(q, branch, Some(locations));
                                moves.push((Move::Input(q.clone(), message), next));
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        moves
    }

    fn after(&self, q: &str, branch: &Branch<Relative>, records: Option<&Locations>) -> Self {
        let mut next = self.clone();
        next.rts.insert(q.to_owned(), unfold(&branch.next));
        if let Some(locations) = records {
            next.labels.insert(locations.clone(), branch.label.clone());
        }
        // Lemma 41: what no relative type can come back to is not needed. It keeps the maps small.
        let ahead: Vec<&Locations> = next.rts.values().filter_map(first_locations).collect();
        let passed = |recorded: &Locations| {
            ahead.iter().all(|later| {
                later.iter().all(|l| recorded.iter().any(|r| r.len() < l.len() && l.starts_with(r)))
            })
        };
        next.labels.retain(|recorded, _| !passed(recorded));
        next
    }

    /// The second case of progress: p has to send something, and nothing comes before it.
    ///
    /// As printed, a reception at the same location does not come before: then nobody could wait for the message
    /// whose label it has to pass on, and Example 15 would be wrong. The text says that it may; so it does here.
    fn must_send(&self, p: &str) -> bool {
        self.rts.iter().any(|(q, r)| {
            let by_p = match r {
                Relative::Exchange { sender, .. } => sender == p,
                Relative::Dependency { informer, .. } => informer == p,
                _ => false,
            };
            let Some(locations) = first_locations(r).filter(|_| by_p) else { return false };
            self.rts.iter().filter(|(other, _)| *other != q).all(|(_, other)| match first_locations(other) {
                None => true,
                Some(others) if receives(other, p) => comes_strictly_first(locations, others),
                Some(others) => comes_first(locations, others),
            })
        })
    }
}

/// `𝕃 ≤ 𝕃'`.
fn comes_first(first: &Locations, then: &Locations) -> bool {
    then.iter().all(|then| first.iter().any(|first| then.starts_with(first)))
}

fn comes_strictly_first(first: &Locations, then: &Locations) -> bool {
    then.iter().all(|then| first.iter().any(|first| then.len() > first.len() && then.starts_with(first)))
}

/// Whether `p` waits for something here.
fn receives(r: &Relative, p: &str) -> bool {
    match r {
        Relative::Exchange { sender, .. } => sender != p,
        Relative::Dependency { informer, .. } => informer != p,
        _ => false,
    }
}

/// The locations of the first exchange or dependency; none of `end`.
fn first_locations(r: &Relative) -> Option<&Locations> {
    match r {
        Relative::Exchange { locations, .. } | Relative::Dependency { locations, .. } => Some(locations),
        _ => None,
    }
}

/// Definition 28.
fn unfold(r: &Relative) -> Relative {
    let Relative::Rec(x, locations, body) = r else { return r.clone() };
    let mut definition = Relative::Rec(x.clone(), locations.clone(), body.clone());
    remove_prefix(locations, &mut definition);
    let mut unfolded = (**body).clone();
    remove_prefix(locations, &mut unfolded);
    let mut unfolded = substitute(&unfolded, x, &definition);
    prepend(locations, &mut unfolded);
    unfold(&unfolded)
}

/// `remPref(𝕃, R)`.
fn remove_prefix(prefixes: &Locations, r: &mut Relative) {
    r.for_each_location_set(&mut |locations| {
        let rest = |location: &Location| {
            prefixes
                .iter()
                .filter_map(|prefix| location.strip_prefix(prefix.as_slice()))
                .map(<[String]>::to_vec)
                .collect::<Vec<_>>()
        };
        *locations = locations.iter().flat_map(rest).collect();
    });
}

/// `prepend(𝕃, R)`.
fn prepend(prefixes: &Locations, r: &mut Relative) {
    r.for_each_location_set(&mut |locations| {
        *locations = prefixes
            .iter()
            .flat_map(|prefix| locations.iter().map(move |rest| [prefix.as_slice(), rest].concat()))
            .collect();
    });
}

/// `R{prepend(𝕃', with)/X^𝕃'}`.
fn substitute(r: &Relative, x: &str, with: &Relative) -> Relative {
    let all = |branches: &[Branch<Relative>]| -> Vec<Branch<Relative>> {
        branches.iter().map(|b| Branch::new(&b.label, &b.payload, substitute(&b.next, x, with))).collect()
    };
    let mut result = r.clone();
    match &mut result {
        Relative::Call(name, locations) if name == x => {
            let mut copy = with.clone();
            prepend(locations, &mut copy);
            return copy;
        }
        Relative::Rec(name, _, body) if name != x => **body = substitute(body, x, with),
        Relative::Exchange { branches, .. } | Relative::Dependency { branches, .. } => {
            *branches = all(branches)
        }
        Relative::End | Relative::Call(..) | Relative::Rec(..) => {}
    }
    result
}

/// Whether `⊨ start ▷ RTsOf(G, p) @ p`, as far as [`DEPTH`] goes; how many triples the relation has, or the
/// condition that fails.
///
/// # Errors
/// The condition of Figure 5, or that of progress, which fails.
pub fn satisfies(start: &Monitored, g: &Global) -> Result<usize, String> {
    let p = &start.component.role;
    let first = (start.clone(), Some(Standing::of(g, p)));
    let mut relation = BTreeSet::from([first.clone()]);
    let mut pending = vec![first];
    while let Some((network, standing)) = pending.pop() {
        let steps = network.steps();
        // After (End) there are no relative types, and nothing may follow.
        let Some(standing) = standing else {
            if !steps.is_empty() {
                return Err("(End): transitions after the end".to_owned());
            }
            continue;
        };
        let moves = standing.moves(p);
        let obliged = standing.is_over() || standing.must_send(p);
        if obliged && steps.is_empty() {
            return Err("progress".to_owned());
        }
        let mut reached = Vec::new();
        for (rule, action, outcome) in steps {
            // An error signal has no transitions: if there is an obligation, progress fails there, and there is
            // always one before the end.
            let Outcome::On(next) = outcome else { return Err(rule.to_owned()) };
            match action {
                Action::Tau | Action::Input(..) => reached.push((*next, Some(standing.clone()))),
                Action::End if standing.is_over() => reached.push((*next, None)),
                Action::End => return Err("(End)".to_owned()),
                Action::Output(q, message) => {
                    let wanted = match message.payload {
                        Some(_) => Move::Output(q, message),
                        None => Move::DependencyOutput(q, message),
                    };
                    match moves.iter().find(|(step, _)| *step == wanted) {
                        Some((_, after)) if after.is_too_deep() => {}
                        Some((_, after)) => reached.push((*next, Some(after.clone()))),
                        None => return Err(format!("(Output): {wanted:?}")),
                    }
                }
            }
        }
        for (step, after) in &moves {
            if let Move::Input(q, message) = step
                && !network.buffer.contains_key(q)
                && !after.is_too_deep()
            {
                let mut next = network.clone();
                push(&mut next.buffer, q, message.clone());
                reached.push((next, Some(after.clone())));
            }
        }
        for triple in reached {
            if relation.insert(triple.clone()) {
                pending.push(triple);
            }
        }
    }
    Ok(relation.len())
}

/// An enhanced transition (Figure 6) under the label oracle: what is observed, and the oracle afterwards.
type Enhanced<N> = (Option<Action>, N, Standing);

fn oracle(standing: &Standing, p: &str, action: &Action) -> Option<Standing> {
    match action {
        Action::Tau => Some(standing.clone()),
        // The oracle of an ended participant allows nothing but τ.
        Action::End => standing.is_over().then(|| Standing { rts: BTreeMap::new(), labels: BTreeMap::new() }),
        Action::Output(q, message) => look(standing, p, &Move::Output(q.clone(), message.clone())),
        Action::Input(q, message) => look(standing, p, &Move::Input(q.clone(), message.clone())),
    }
}

/// The oracle looks past dependency outputs without requiring an action.
fn look(standing: &Standing, p: &str, wanted: &Move) -> Option<Standing> {
    let mut pending = vec![standing.clone()];
    let mut seen = BTreeSet::new();
    while let Some(standing) = pending.pop() {
        for (step, after) in standing.moves(p) {
            if step == *wanted {
                return Some(after).filter(|after| !after.is_too_deep());
            }
            if matches!(step, Move::DependencyOutput(..)) && seen.insert(after.clone()) {
                pending.push(after);
            }
        }
    }
    None
}

fn inputs(standing: &Standing, p: &str) -> Vec<(String, Message, Standing)> {
    let mut found = Vec::new();
    let mut pending = vec![standing.clone()];
    let mut seen = BTreeSet::new();
    while let Some(standing) = pending.pop() {
        for (step, after) in standing.moves(p) {
            match step {
                Move::Input(q, message) => found.push((q, message, after)),
                Move::DependencyOutput(..) if seen.insert(after.clone()) => pending.push(after),
                _ => {}
            }
        }
    }
    found
}

/// The monitored blackbox under the oracle.
fn monitored(network: &Monitored, standing: &Standing) -> Vec<Enhanced<Monitored>> {
    let p = &network.component.role;
    let mut steps = Vec::new();
    // BUF-MON.
    for (q, message, after) in inputs(standing, p) {
        if queued(&network.buffer, &network.component.buffer, &q) < 2 && !after.is_too_deep() {
            let mut next = network.clone();
            push(&mut next.buffer, &q, message.clone());
            steps.push((Some(Action::Input(q, message)), next, after));
        }
    }
    for (_, action, outcome) in network.steps() {
        let Outcome::On(next) = outcome else { continue };
        match &action {
            // DEP.
            Action::Output(_, message) if message.payload.is_none() => {
                steps.push((None, *next, standing.clone()))
            }
            // NO-DEP.
            Action::Tau => steps.push((None, *next, standing.clone())),
            _ => {
                if let Some(after) = oracle(standing, p, &action) {
                    steps.push((Some(action), *next, after));
                }
            }
        }
    }
    steps
}

/// The same component without its monitor, under the oracle.
fn unmonitored(component: &Buffered, standing: &Standing) -> Vec<Enhanced<Buffered>> {
    let p = &component.role;
    let mut steps = Vec::new();
    // BUF-UNMON.
    for (q, message, after) in inputs(standing, p) {
        if queued(&component.buffer, &Buffer::new(), &q) < 2 && !after.is_too_deep() {
            let mut next = component.clone();
            push(&mut next.buffer, &q, message.clone());
            steps.push((Some(Action::Input(q, message)), next, after));
        }
    }
    for (action, next) in component.steps() {
        if let Some(after) = oracle(standing, p, &action) {
            steps.push(((action != Action::Tau).then_some(action), next, after));
        }
    }
    steps
}

fn queued(first: &Buffer, second: &Buffer, q: &str) -> usize {
    first.get(q).map_or(0, Vec::len) + second.get(q).map_or(0, Vec::len)
}

/// `⟨p : P' : n⃗, m⃗⟩` of `[⟨p : P' : m⃗⟩ : M' : n⃗]`: the pairs of the proof of Theorem 23.
fn without_monitor(network: &Monitored) -> Buffered {
    let mut component = network.component.clone();
    for (q, messages) in &network.buffer {
        component.buffer.entry(q.clone()).or_default().extend(messages.iter().cloned());
    }
    component
}

/// Checks that the relation of the proof of Theorem 23 is a bisimulation under the label oracle, as far as
/// [`DEPTH`] goes. How many triples it has, or what one side can do and the other cannot.
///
/// # Errors
/// A step that the other side has no answer to.
pub fn transparent(start: &Monitored, g: &Global) -> Result<usize, String> {
    let first = (start.clone(), Standing::of(g, &start.component.role));
    let mut relation = BTreeSet::from([first.clone()]);
    let mut pending = vec![first];
    while let Some((network, standing)) = pending.pop() {
        let component = without_monitor(&network);
        let ours = monitored(&network, &standing);
        let theirs = unmonitored(&component, &standing);
        // Clause 1: whatever the monitored one does, the other does at once; moving a message from one buffer to
        // the other, and telling a label, is nothing to it.
        for (action, next, after) in &ours {
            let image = without_monitor(next);
            let idle = action.is_none() && image == component;
            let answered = theirs.iter().any(|(a, n, s)| a == action && *n == image && s == after);
            if !idle && !answered {
                return Err(format!("the component alone cannot {action:?}"));
            }
            if relation.insert((next.clone(), after.clone())) {
                pending.push((next.clone(), after.clone()));
            }
        }
        // Clause 2: whatever the component does alone, it does monitored, perhaps after further messages.
        for (action, next, _) in &theirs {
            if !catches_up(&network, &standing, action.as_ref(), next) {
                return Err(format!("the monitored component cannot {action:?}"));
            }
        }
    }
    Ok(relation.len())
}

/// Whether `network` can do `action` after silent steps and further messages, such that `reached`, given the same
/// messages, is the result without its monitor.
fn catches_up(network: &Monitored, standing: &Standing, action: Option<&Action>, reached: &Buffered) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending = vec![(network.clone(), standing.clone(), reached.clone())];
    while let Some((network, standing, reached)) = pending.pop() {
        if action.is_none() && without_monitor(&network) == reached {
            return true;
        }
        for (found, next, after) in monitored(&network, &standing) {
            if found.is_some() && found.as_ref() == action && without_monitor(&next) == reached {
                return true;
            }
            let mut caught_up = reached.clone();
            match &found {
                None => {}
                Some(Action::Input(q, message)) => push(&mut caught_up.buffer, q, message.clone()),
                Some(_) => continue,
            }
            if seen.insert((next.clone(), after.clone(), caught_up.clone())) {
                pending.push((next, after, caught_up));
            }
        }
    }
    // What lies beyond the depth cannot be answered, and is not held against anyone.
    standing.is_too_deep() || network.monitor == Monitor::Finished
}
