//! Properties over recorded events: one instance for each session, key or process.
//!
//! Lines become events (`event`, with `json` and `plain` for the formats), events are spread over instances by
//! their keys (`plan`, `decode`), and instances are stepped (`lane`). What is told, and in which order, does not
//! depend on the number of threads.

mod clock;
mod decode;
mod event;
mod instances;
mod json;
mod lane;
mod letters;
mod plain;
mod plan;
mod unseen;

use std::sync::Arc;

use bumpalo::Bump;
use referee_monitor::property::{Derivation, PropertyMonitor, PropertyVerdict};
use referee_theory::property::{Again, EventView, Property};

use self::event::Reader;
use self::plan::{KeyedBy, PropertyPlan};
use crate::checkpoint::resuming;
use crate::error::WatchError;
use crate::input::Input;
use crate::options::Options;
use crate::report::{Notice, Observer, PropertyReport, Summary};
use crate::run::work;
use crate::scan::Flaw;

/// Watches the events of `inputs` with `monitors` and tells `observer` what it finds.
///
/// A property without a key of its own has one instance for each session. What is decided before any event is told
/// once, as event −1 of no session.
///
/// # Errors
/// If an input cannot be read, or the observer does not want to hear more.
pub fn watch_properties(
    monitors: Vec<Arc<PropertyMonitor>>,
    inputs: Vec<Input>,
    mut options: Options,
    observer: &mut dyn Observer,
) -> Result<Summary, WatchError> {
    options.messages = false;
    resuming(&options.clone(), observer, |observer| watch_all(monitors, inputs, options, observer))
}

fn watch_all(
    monitors: Vec<Arc<PropertyMonitor>>,
    inputs: Vec<Input>,
    mut options: Options,
    observer: &mut dyn Observer,
) -> Result<Summary, WatchError> {
    let timed = |property: &Property| property.is_timed() || matches!(property.again(), Again::After(_));
    options.clock |= monitors.iter().any(|monitor| timed(monitor.property()));
    let mut at_start = Vec::new();
    for (number, monitor) in monitors.iter().enumerate() {
        let Some(verdict) = monitor.verdict_at_start() else { continue };
        let report = PropertyReport {
            certain: true,
            number,
            property: Arc::clone(monitor.property()),
            verdict,
            session: None,
            key: None,
            event: -1,
            got: None,
            place: None,
            time: None,
            history: Vec::new(),
            derivation: Derivation::find(monitor.property(), &[]).filter(|_| options.history > 0),
            unexplained: None,
            deadline: None,
            sentence: None,
            lost_elsewhere: None,
        };
        observer.notice(Notice::Property(Box::new(report.clone()))).map_err(WatchError::Report)?;
        at_start.push(report);
    }
    let plan = PropertyPlan::new(monitors, options.clone());
    let mut summary = work(plan, inputs, &options, observer)?;
    at_start.iter().for_each(|report| summary.note_at_start(report));
    Ok(summary)
}

/// What a derivation derives, and about which instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rechecked {
    /// The verdict.
    pub verdict: PropertyVerdict,
    /// Of the instance, if it is that of a session that has one.
    pub session: Option<String>,
    /// Of the instance, if it is that of a key or process.
    pub key: Option<String>,
}

/// Checks that `derivation` derives a verdict of `property` over the events in `lines`, and nothing less than all of
/// them, and that these are events of one instance. CSV cannot be checked this way, because its lines need their header.
///
/// # Errors
/// Why not.
pub fn recheck(
    property: &Property,
    lines: &[&str],
    options: &Options,
    derivation: &Derivation,
) -> Result<Rechecked, String> {
    let keyed_by = KeyedBy::of(property);
    let reader = Reader::new(options.format, &options.shape, false, std::iter::once(property));
    let bump = Bump::new();
    let (mut events, mut instance): (Vec<EventView<'_>>, Option<String>) = (Vec::new(), None);
    for (at, line) in lines.iter().enumerate() {
        let flawed = |flaw: Flaw| format!("event {at}: {flaw}");
        let spans = reader.spans(line).map_err(flawed)?;
        let event = reader.event(line, &spans, None, line, None, &bump).map_err(flawed)?;
        let own = decode::instance(&keyed_by, options.format, line, spans, &event)?;
        let own = own.ok_or_else(|| format!("event {at} belongs to no instance"))?;
        if let Some(instance) = instance.as_ref().filter(|instance| **instance != own) {
            return Err(format!("event {at} is of instance `{own}`, those before it of `{instance}`"));
        }
        instance = Some(own);
        events.push(event);
    }
    let verdict = derivation.check(property, &events).map_err(|flaw| flaw.to_string())?;
    let by_session = keyed_by == KeyedBy::Session;
    Ok(Rechecked {
        verdict,
        session: instance.clone().filter(|session| by_session && !session.is_empty()),
        key: instance.filter(|_| !by_session),
    })
}
