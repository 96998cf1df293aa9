//! The monitors of all roles as a system, and whether that system works.
//!
//! Well-formedness (Definition 7) compares what each pair does, and so ignores the order across pairs. A role
//! that does not learn of a choice has the same to do with everyone after each branch, but perhaps in another
//! order; Algorithm 2 lets its monitor follow any branch, and with the wrong one the network can deadlock.
//! [`Network::synthesise`] looks for branches with which it cannot: the first ones, then one number for all
//! roles, then every combination, up to [`ATTEMPTS`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use referee_check::{Observer, Options, Report, Verdict, check};
use referee_theory::relative::RelativeType;
use referee_theory::{GlobalType, Label, Message, NodeId, Role, System, Vocabulary};

use super::algorithm::{Follow, synthesise};
use super::machine::{Dependencies, machine};
use super::term::RoleMonitor;

/// At most this many combinations of branches are tried …
const ATTEMPTS: usize = 256;
/// … and no more once so many configurations were explored in all.
const CONFIGURATIONS: usize = 4_000_000;

/// The monitors of all roles, and what the check of their system says.
#[derive(Clone, Debug)]
pub struct Network {
    monitors: Vec<RoleMonitor>,
    system: System,
    dependencies: Dependencies,
    report: Report,
}

/// Why the monitors of a protocol must not be deployed: together they reach an error.
#[derive(Clone, Debug)]
pub struct Undeployable {
    /// What is wrong, in one sentence.
    pub explanation: String,
}

impl std::fmt::Display for Undeployable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the monitors of this protocol would not work together: {}", self.explanation)
    }
}

impl std::error::Error for Undeployable {}

/// The monitors of all roles of `global`, by role, unchecked. They are those of [`Network::synthesise`] unless
/// one of them follows a branch ([`RoleMonitor::followed`]): then a network may need another branch.
#[must_use]
pub fn draft(global: &GlobalType, relative: &[RelativeType]) -> Vec<RoleMonitor> {
    let monitor = |role| synthesise(global, relative, role, &Follow::default()).monitor;
    global.vocabulary().roles().map(monitor).collect()
}

/// A choice whose branch is followed: by whom, where, and how many branches there are.
type Choice = (Role, NodeId, usize);

impl Network {
    /// The monitors of `global`, whose relative types of all pairs are `relative`, checked as `options` say.
    /// Whether they may be deployed is [`deployable`](Self::deployable).
    #[must_use]
    pub fn synthesise(
        global: &GlobalType,
        relative: &[RelativeType],
        options: &Options,
        cancel: Option<&AtomicBool>,
        observer: &mut dyn Observer,
    ) -> Self {
        let dependencies = Dependencies::new(global.vocabulary());
        let mut explored = 0;
        let mut attempt = |choices: &[Choice], picks: &[usize]| {
            let (monitors, system) = combine(global, relative, &dependencies, choices, picks);
            let report = check(&system, options, cancel, observer);
            explored += report.bounds.iter().map(|bound| bound.states).sum::<usize>();
            let give_up = explored > CONFIGURATIONS || cancel.is_some_and(|c| c.load(Ordering::Relaxed));
            (Self { monitors, system, dependencies: dependencies.clone(), report }, give_up)
        };
        let (mut best, mut give_up) = attempt(&[], &[]);
        let of_monitor = |monitor: &RoleMonitor| -> Vec<Choice> {
            let followed = monitor.followed.iter();
            followed.map(|followed| (monitor.role, followed.exchange, followed.branches)).collect()
        };
        let choices: Vec<Choice> = best.monitors.iter().flat_map(of_monitor).collect();
        for picks in combinations(&choices).take(ATTEMPTS) {
            if give_up || rank(&best.report) == SAFE {
                break;
            }
            let (other, stop) = attempt(&choices, &picks);
            give_up = stop;
            if rank(&other.report) > rank(&best.report) {
                best = other;
            }
        }
        best
    }

    /// The monitors of the roles, by role; one that takes no part in anything just ends.
    #[must_use]
    pub fn monitors(&self) -> &[RoleMonitor] {
        &self.monitors
    }

    /// The monitor of `role`.
    #[must_use]
    pub fn monitor(&self, role: Role) -> Option<&RoleMonitor> {
        self.monitors.get(role.index())
    }

    /// The names behind the numbers of the system: the protocol's, and a message `(l)` for each label `l`.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.dependencies.vocabulary
    }

    /// The monitors as machines.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Whether `message` of the system tells a label to a role that depends on it.
    #[must_use]
    pub fn is_dependency(&self, message: Message) -> bool {
        self.told(message).is_some()
    }

    /// The label that `message` of the system tells, if it tells one.
    #[must_use]
    pub fn told(&self, message: Message) -> Option<Label> {
        self.dependencies.told(message)
    }

    /// What the check of the system says.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Says no where the monitors, all components behaving, reach an error.
    ///
    /// # Errors
    /// Which error, with the execution that leads there.
    pub fn deployable(&self) -> Result<(), Undeployable> {
        match &self.report.verdict {
            Verdict::Unsafe { witness, .. } => Err(Undeployable { explanation: witness.explanation.clone() }),
            Verdict::Safe { .. } | Verdict::Unknown { .. } => Ok(()),
        }
    }
}

const SAFE: u8 = 2;

fn rank(report: &Report) -> u8 {
    match report.verdict {
        Verdict::Safe { .. } => SAFE,
        Verdict::Unknown { .. } => 1,
        Verdict::Unsafe { .. } => 0,
    }
}

fn combine(
    global: &GlobalType,
    relative: &[RelativeType],
    dependencies: &Dependencies,
    choices: &[Choice],
    picks: &[usize],
) -> (Vec<RoleMonitor>, System) {
    let (mut monitors, mut machines) = (Vec::new(), Vec::new());
    for role in global.vocabulary().roles() {
        let own = choices.iter().zip(picks).filter(|((whose, ..), _)| *whose == role);
        let follow: Follow = own.map(|((_, exchange, _), pick)| (*exchange, *pick)).collect();
        let made = synthesise(global, relative, role, &follow);
        machines.push(machine(&made, global, dependencies).minimised(&dependencies.vocabulary));
        monitors.push(made.monitor);
    }
    (monitors, System::new(Arc::clone(&dependencies.vocabulary), machines))
}

/// Which branch each choice follows, but for the first of each: one number for all, then every combination.
fn combinations(choices: &[Choice]) -> impl Iterator<Item = Vec<usize>> {
    let limits: Vec<usize> = choices.iter().map(|(.., branches)| *branches).collect();
    let most = limits.iter().copied().max().unwrap_or(1);
    let alike = {
        let limits = limits.clone();
        (1..most).map(move |pick| limits.iter().map(|limit| pick.min(limit - 1)).collect())
    };
    let first: Vec<usize> = vec![0; limits.len()];
    let counting = std::iter::successors(Some(first), move |picks| {
        let mut next = picks.clone();
        let place = (0..next.len()).find(|&place| next[place] + 1 < limits[place])?;
        next[place] += 1;
        next[..place].fill(0);
        Some(next)
    });
    alike.chain(counting.skip(1))
}
