//! Asynchronous compatibility of a system of machines: bounded exploration, k-multiparty compatibility
//! (CAV'19), and a witness for every negative answer. Pure: no I/O, no clock.
//!
//! [`check`](check()) is the one call. It compiles the system ([`model`]), explores it bound after bound with a
//! reduction plugged into one search loop, asks every property of each explored graph at once
//! ([`properties`]), and concludes ([`verdict`]): *safe* for every bound, by Theorem 5 or because everything was explored, *unsafe* with a real
//! execution ([`witness`]) and the reason why the bound does not matter, or *unknown* with the reason and
//! what would help.
//!
//! ```
//! use referee_check::{Options, Verdict, check, generate};
//!
//! let report = check(&generate::exchange(2, 2, 1), &Options::default(), None, &mut ());
//! assert!(matches!(report.verdict, Verdict::Safe { k: 2, .. }));
//! ```
//!
//! What is deliberately absent: reading files, drawing diagrams (a [`Witness`] has all it takes), printing.
//! What each answer rests on is in `docs/theory.md`; where it stops, in `docs/limits.md`.

pub mod agnostic;
mod blocks;
mod bystanders;
pub mod check;
pub mod component;
pub mod csa;
mod edges;
mod examine;
mod explain;
mod explore;
mod fairness;
pub mod faults;
mod find;
pub mod generate;
mod graph;
pub mod growth;
pub mod inevitable;
mod instances;
mod keys;
mod layout;
pub mod model;
mod numbering;
mod obstacle;
mod packed;
pub mod product;
pub mod promela;
pub mod properties;
mod quotient;
mod reach;
pub mod repair;
pub mod report;
mod saturate;
mod segments;
mod show;
mod store;
mod symmetry;
mod unknown;
pub mod verdict;
pub mod witness;

use std::sync::atomic::AtomicBool;

pub use agnostic::Agnosticity;
pub use blocks::check_blocks;
pub use check::{Options, check, check_under};
pub use component::{Component, UnknownPeer, with_component};
pub use csa::{Defect, Shape, Undirected};
pub use examine::Reduction;
pub use explore::{Observer, Progress, Stop};
pub use faults::{Fault, Faults};
pub use growth::Growth;
pub use instances::{MOST_INSTANCES, Rounds, check_instances, instances, waits_for_rounds};
pub use model::{Model, Semantics, StateKind};
pub use product::{Doubt, Execution, Judgement, PropertyAnswer, check_properties};
pub use properties::Property;
pub use repair::{Edit, Fix, fixes};
pub use report::{BoundReport, Report};
pub use verdict::{Completeness, Ground, InputGround, OutputGround, Premises, Reason, SafeGround, Verdict};
pub use witness::{Fact, Failure, Queue, Situation, Standing, Step, Violation, Witness};

const UNLIMITED: explore::Limits<'static> = explore::Limits {
    states: usize::MAX,
    memory: usize::MAX,
    cancel: None,
    threads: 1,
    stability: true,
    keep_edges: true,
};

/// Explores `model` under `bound` with exactly this reduction and evaluates every property on what was
/// explored, whether or not the reduction is justified for the system.
#[must_use]
pub fn examine_bound(model: &Model, bound: u32, reduction: Reduction) -> BoundReport {
    BoundReport::of(&examine::examine(
        model,
        bound,
        reduction,
        examine::Questions::Premises,
        UNLIMITED,
        &mut (),
    ))
}

/// Explores one configuration for each class of those that differ only by which of several identical roles is which, and
/// asks k-safety and completeness; `None` if the system has no such roles.
#[must_use]
pub fn examine_classes(model: &Model, bound: u32) -> Option<BoundReport> {
    let symmetry = symmetry::Symmetry::of(model, UNLIMITED)?;
    let classes = quotient::Quotient::explore(model, &symmetry, bound, UNLIMITED, &mut ());
    Some(classes.report(&classes.ask(&symmetry, usize::MAX)?, None))
}

/// Whether each role behaves the same under `k` and `k + 1` (CAV'19, Theorem 3), within the limits of `options`.
///
/// # Errors
/// Why it was stopped.
pub fn bound_agnosticity(
    model: &Model,
    k: u32,
    options: &Options,
    cancel: Option<&AtomicBool>,
    observer: &mut dyn Observer,
) -> Result<Agnosticity, Stop> {
    agnostic::agnosticity(model, k, options.limits(cancel), observer)
}

/// Only explores `model` under `bound`, with up to `threads` threads: every property of the report is `None`.
/// Transitions are counted and not kept, unless a reduction needs them.
#[must_use]
pub fn explore_bound(model: &Model, bound: u32, reduction: Reduction, threads: usize) -> BoundReport {
    let keep_edges = reduction != Reduction::None;
    let limits = explore::Limits { threads, keep_edges, ..UNLIMITED };
    let explore::Explored { graph, stopped } =
        examine::search(model, bound, None, reduction, limits, &mut ());
    BoundReport::of(&examine::Examined { graph, reduction, stopped, telling: false, answers: None })
}
