//! Properties that are attached to an engine: observed on the messages of a connection, or of a role's component in a session,
//! beside the session's monitor.
//!
//! A message is observed once the monitor lets it pass. What a violation leads to is the policy, which the engine
//! applies. Instances are per connection or session, and per value of a key where the property says `for each`.

mod clock;

use std::collections::HashMap;
use std::sync::Arc;

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use referee_monitor::FieldValue;
use referee_monitor::property::{
    MAX_KEY, PropertyBundle, PropertyFamily, PropertyMemories, PropertyMonitor, PropertyVerdict,
};
use referee_theory::Field;
use referee_theory::expr::Value;
use referee_theory::property::{Again, EventKind, EventView, Fields, Items, Key, Property, Scope, Term};
use referee_verdict::{VerdictAction, VerdictClass, VerdictRecord};

use self::clock::Clock;
pub use self::clock::EventTime;

/// The properties of a listener, those with the same keys together.
#[derive(Debug)]
pub struct Properties {
    families: Vec<Family>,
    /// How many submonitors and keys one connection may have.
    most: usize,
}

#[derive(Debug)]
struct Family {
    keys: Box<[Key]>,
    /// Whether each session has instances of its own, where sessions share the others.
    per_session: bool,
    properties: PropertyFamily,
    /// For how long the exact time of an event can matter, by property.
    horizons: Box<[i64]>,
}

/// What one connection, or session of a role, has of the properties.
#[derive(Debug, Default)]
pub struct Observed {
    families: Vec<Instances>,
    bump: Bump,
    clock: Clock,
}

/// What one session has of the properties, where several sessions share the others.
#[derive(Debug, Default)]
pub(crate) struct SessionProperties(Vec<Instances>);

#[derive(Debug)]
struct Instances {
    /// How many submonitors and keys there are.
    held: usize,
    memories: PropertyMemories,
    by_key: HashMap<Arc<str>, Entry>,
    /// There was no room for a key, which was reported.
    is_full: bool,
    /// A key was too long, which was reported.
    has_long_key: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    events: u64,
    /// `None` when they can say nothing any more.
    bundle: Option<PropertyBundle>,
    /// When its timer passes; the end of time if there is none.
    wakes: i64,
    /// Until then what depends on when its events came is in doubt, by property. Empty if nothing is.
    doubts: Box<[i64]>,
}

/// What a property says about a message.
#[derive(Debug, PartialEq, Eq)]
pub struct PropertyFinding {
    /// Its name.
    pub property: Arc<str>,
    /// What its text says of it, in one line.
    documentation: String,
    /// What it says.
    pub verdict: PropertyVerdict,
    /// The key of the instance, if it has one, and is not too long for that.
    key: Option<String>,
    /// There is no instance, because its key would be longer than [`MAX_KEY`].
    has_long_key: bool,
    /// Which message of the instance, from 0; the last before, if a deadline has passed.
    event: i64,
    /// Why, where there is more to say than which message it was. It may show what messages say.
    reason: Option<String>,
    /// A deadline has passed: it is about no message.
    pub is_by_time: bool,
    /// Whether it would be said however exactly times were known.
    pub certain: bool,
}

const IN_DOUBT: &str = "; the guard did not see exactly enough when, so this is not certain";

/// A message, as properties see it.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The role that sends it.
    pub from: &'a str,
    /// The role that receives it.
    pub to: &'a str,
    /// Its label.
    pub label: &'a str,
    /// Its fields, as the protocol declares them.
    pub declared: &'a [Field],
    /// Their values.
    pub fields: &'a [FieldValue<'a>],
}

/// What stepping the instances of a family changes besides them.
struct Observing<'a> {
    /// Of the family.
    number: usize,
    /// How many submonitors and keys it may have.
    most: usize,
    clock: &'a mut Clock,
    time: Option<EventTime>,
}

/// Monitors of properties with the same keys.
type Group = (Box<[Key]>, bool, Vec<Arc<PropertyMonitor>>);

impl Properties {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.families.iter().map(|family| family.properties.monitors().len()).sum()
    }

    /// One that says what has to happen in time, if there is any: silence is nothing that a message shows.
    #[must_use]
    pub fn with_deadline(&self) -> Option<&str> {
        let mut all = self.families.iter().flat_map(|family| family.properties.monitors());
        all.find(|monitor| monitor.property().has_deadlines()).map(|monitor| &**monitor.property().name())
    }

    fn instances(&self, wanted: impl Fn(&Family) -> bool) -> Vec<Instances> {
        let of = |family: &Family| Instances {
            held: 0,
            memories: family.properties.memories(),
            by_key: HashMap::new(),
            is_full: false,
            has_long_key: false,
        };
        self.families.iter().filter(|family| wanted(family)).map(of).collect()
    }

    /// Whether one speaks of time.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.families.iter().any(|family| family.properties.is_timed())
    }

    /// These properties, of which one connection may keep `most` submonitors and keys.
    ///
    /// # Errors
    /// A property that cannot be observed on a connection, with its name.
    pub fn new(properties: &[Arc<Property>], most: usize) -> Result<Self, String> {
        let mut groups: Vec<Group> = Vec::new();
        for property in properties {
            let name = property.name();
            if property.again() != Again::Never {
                return Err(format!(
                    "`{name}` begins anew (`again`), which properties of guards do not: watch it"
                ));
            }
            let of_session = Key::name("session");
            let (keys, per_session): (Box<[Key]>, bool) = match property.scope() {
                Scope::Stream => (Box::default(), false),
                // Who observes a session has instances for it alone.
                Scope::PerKey(keys) => {
                    let others = keys.iter().filter(|key| **key != of_session);
                    (others.cloned().collect(), keys.contains(&of_session))
                }
                Scope::PerProcess(_) => {
                    return Err(format!(
                        "`{name}` is about processes (`with m:f(…)`), which a connection has not"
                    ));
                }
            };
            let monitor =
                PropertyMonitor::new(Arc::clone(property)).map_err(|problem| problem.to_string())?;
            if let Some(verdict) = monitor.verdict_at_start() {
                return Err(format!("`{name}`: {} before any message", verdict.name()));
            }
            match groups.iter_mut().find(|(known, own, _)| (known, *own) == (&keys, per_session)) {
                Some((.., members)) => members.push(Arc::new(monitor)),
                None => groups.push((keys, per_session, vec![Arc::new(monitor)])),
            }
        }
        let family = |(keys, per_session, members): Group| Family {
            keys,
            per_session,
            horizons: members.iter().map(|monitor| monitor.time_horizon()).collect(),
            properties: PropertyFamily::new(members),
        };
        Ok(Self { families: groups.into_iter().map(family).collect(), most })
    }

    /// What the properties say about a message that goes on, and came at `time`: needed where they speak of time, and then all that
    /// happened before must have been [reached](Self::reach). If it `is_suppressed` where it violates one, it has not happened for any
    /// of them: the next such message is judged as this one was.
    pub fn observe(
        &self,
        observed: &mut Observed,
        message: &Observation<'_>,
        time: Option<EventTime>,
        is_suppressed: bool,
    ) -> Vec<PropertyFinding> {
        observed.prepare(self);
        let Observed { families, bump, clock } = observed;
        let mut held: usize = families.iter().map(|instances| instances.held).sum();
        bump.reset();
        let mut event = message.event(bump);
        event.time = time.map(|time| time.at);
        let mut findings = Vec::new();
        let mut before = Vec::new();
        for (number, (family, instances)) in self.families.iter().zip(families.iter_mut()).enumerate() {
            let Some(key) = family.key(&event) else { continue };
            if is_suppressed {
                before.push((key.clone(), instances.by_key.get(&*key).cloned(), instances.held));
            }
            held -= instances.held;
            let most = self.most.saturating_sub(held);
            let mut observing = Observing { number, most, clock: &mut *clock, time };
            family.observe(instances, &mut observing, (key, &event), &mut findings);
            held += instances.held;
        }
        if is_suppressed && findings.iter().any(PropertyFinding::is_decisive) {
            let concerned =
                self.families.iter().zip(families).filter(|(family, _)| family.key(&event).is_some());
            for ((_, instances), (key, entry, held)) in concerned.zip(before) {
                instances.held = held;
                match entry {
                    Some(entry) => instances.by_key.insert(key.into(), entry),
                    None => instances.by_key.remove(&*key),
                };
            }
        }
        findings
    }
}

impl Observed {
    fn prepare(&mut self, properties: &Properties) {
        if self.families.is_empty() {
            self.families = properties.instances(|_| true);
        }
    }

    /// From here on this is what the session `own` has seen, which has what was seen before.
    pub(crate) fn exchange_session(&mut self, properties: &Properties, own: &mut SessionProperties) {
        self.prepare(properties);
        if own.0.is_empty() {
            own.0 = properties.instances(|family| family.per_session);
        }
        let families = self.families.iter_mut().zip(&properties.families);
        let mine = families.filter(|(_, family)| family.per_session).map(|(mine, _)| mine);
        for (mine, theirs) in mine.zip(&mut own.0) {
            std::mem::swap(mine, theirs);
        }
    }
}

impl Family {
    /// Which instance `event` concerns: without the key, none.
    fn key(&self, event: &EventView<'_>) -> Option<String> {
        let terms: Vec<Term<'_>> = self.keys.iter().map(|key| event.key(key)).collect::<Option<_>>()?;
        Some(match &*terms {
            [] => String::new(),
            [Term::Text(text)] => (*text).to_owned(),
            [only] => only.to_string(),
            several => Term::Tuple(Items::Terms(several)).to_string(),
        })
    }

    /// What the property `member` says; of the instance with `key`, if keys are shown.
    fn finding(&self, member: usize, verdict: PropertyVerdict, key: Option<&str>) -> Option<PropertyFinding> {
        let property = self.properties.monitors().get(member)?.property();
        Some(PropertyFinding {
            property: Arc::clone(property.name()),
            documentation: property.documentation().split_whitespace().collect::<Vec<_>>().join(" "),
            verdict,
            key: key.filter(|_| !self.keys.is_empty()).map(str::to_owned),
            has_long_key: false,
            event: 0,
            reason: None,
            is_by_time: false,
            certain: true,
        })
    }

    fn observe(
        &self,
        instances: &mut Instances,
        observing: &mut Observing<'_>,
        (key, event): (String, &EventView<'_>),
        findings: &mut Vec<PropertyFinding>,
    ) {
        // Cut, two keys might be one, and the innocent be blamed. `watch` takes no such events either.
        let has_long_key = key.len() > MAX_KEY;
        let limited = |member| {
            let key = (!has_long_key).then_some(&*key);
            let finding = self.finding(member, PropertyVerdict::ResourceLimit, key)?;
            Some(PropertyFinding { has_long_key, ..finding })
        };
        let members = 0..self.properties.monitors().len();
        if has_long_key {
            if !std::mem::replace(&mut instances.has_long_key, true) {
                findings.extend(members.filter_map(limited));
            }
            return;
        }
        if !instances.by_key.contains_key(&*key) {
            if instances.held >= observing.most {
                if !std::mem::replace(&mut instances.is_full, true) {
                    findings.extend(members.filter_map(limited));
                }
                return;
            }
            let bundle = self.properties.begin(&mut instances.memories, event);
            instances.held += bundle.as_ref().map_or(0, PropertyBundle::submonitors).max(1);
            let entry = Entry { events: 0, bundle, wakes: i64::MAX, doubts: Box::default() };
            instances.by_key.insert((&*key).into(), entry);
        }
        let Some(entry) = instances.by_key.get_mut(&*key) else { return };
        let number = entry.events;
        entry.events += 1;
        if entry.bundle.is_none() {
            return;
        }
        self.note_doubt(entry, observing.time);
        let Some(bundle) = &mut entry.bundle else { return };
        let room = observing.most.saturating_sub(instances.held);
        let step = self.properties.step(&mut instances.memories, bundle, event, room);
        observing.clock.fault |= step.fault;
        instances.held = instances.held.saturating_add_signed(step.grown);
        let (is_done, deadline) = (bundle.is_done(), self.properties.next_deadline(bundle));
        for (member, verdict) in &step.verdicts {
            let reason = instances.memories.take_reason(*member);
            let Some(finding) = self.finding(*member, *verdict, Some(&key)) else { continue };
            findings.push(PropertyFinding {
                event: i64::try_from(number).unwrap_or(i64::MAX),
                reason: reason.map(|reason| reason.sentence),
                certain: observing.time.is_none_or(|time| !entry.is_doubtful(*member, time.at)),
                ..finding
            });
        }
        if is_done {
            // The key itself is still kept.
            instances.held += 1;
            entry.bundle = None;
        } else {
            observing.clock.wake(entry, deadline, observing.number, &key);
        }
    }
}

impl PropertyFinding {
    /// Whether the property does not hold.
    #[must_use]
    pub fn is_violation(&self) -> bool {
        self.verdict == PropertyVerdict::Violation
    }

    /// Whether it does not hold for certain.
    #[must_use]
    pub fn is_decisive(&self) -> bool {
        self.is_violation() && self.certain
    }

    /// What is reported of it. The message is called `name`, which is its label if `is_known`; `violated` is what was done with it if
    /// this is a violation. A key is part of a payload, and shown only if `shows_key`.
    #[must_use]
    pub fn record(
        self,
        name: &str,
        is_known: bool,
        violated: Option<VerdictAction>,
        shows_key: bool,
    ) -> VerdictRecord {
        VerdictRecord {
            verdict: match self.verdict {
                PropertyVerdict::Violation => VerdictClass::Violation,
                PropertyVerdict::Satisfaction => VerdictClass::Satisfaction,
                PropertyVerdict::ResourceLimit => VerdictClass::ResourceLimit,
            },
            kind: "property".to_owned(),
            property: Some(self.property.to_string()),
            event: self.event,
            label: is_known.then(|| name.to_owned()),
            got: (!self.is_by_time).then(|| name.to_owned()),
            action: if self.is_violation() { violated } else { Some(VerdictAction::Forwarded) },
            certain: self.certain,
            message: self.sentence(name, shows_key),
            key: self.key.filter(|_| shows_key),
            ..VerdictRecord::default()
        }
    }

    /// What it says about the message called `name`, if it is about one; with what messages say, if that `is_shown`.
    #[must_use]
    pub fn sentence(&self, name: &str, is_shown: bool) -> String {
        let property = &self.property;
        match self.verdict {
            PropertyVerdict::Violation => {
                let reason = self.reason.as_deref().filter(|_| is_shown);
                let (violates, reason) = match (self.is_by_time, reason) {
                    (true, reason) => {
                        let silence = reason.unwrap_or("what it expects did not come in time");
                        (format!("{silence}, which violates property `{property}`"), None)
                    }
                    (false, reason) => (format!("`{name}` violates property `{property}`"), reason),
                };
                let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
                let colon = if self.documentation.is_empty() { "" } else { ": " };
                let doubt = if self.certain { "" } else { IN_DOUBT };
                format!("{violates}{reason}{colon}{}{doubt}", self.documentation)
            }
            PropertyVerdict::Satisfaction => format!("`{name}` satisfies property `{property}`"),
            PropertyVerdict::ResourceLimit if self.has_long_key => {
                format!("property `{property}` does not see `{name}`: its key is longer than {MAX_KEY} bytes")
            }
            PropertyVerdict::ResourceLimit => {
                format!("no room for property `{property}` (limits.instances): no more is said of it")
            }
        }
    }
}

impl<'a> Observation<'a> {
    /// What it carries.
    #[must_use]
    pub fn payload(&self) -> Value {
        self.event(&Bump::new()).payload.to_owned()
    }

    fn event(&self, bump: &'a Bump) -> EventView<'a> {
        let named = self.declared.iter().all(|field| field.name.is_some());
        let payload = if self.fields.is_empty() {
            Term::Absent
        } else if named && self.declared.len() == self.fields.len() {
            let mut members = BumpVec::with_capacity_in(self.fields.len(), bump);
            for (field, value) in self.declared.iter().zip(self.fields) {
                members.push((field.name.as_deref().unwrap_or_default(), term(value, bump)));
            }
            Term::Record(Fields::Terms(members.into_bump_slice()))
        } else {
            Term::List(Items::Terms(terms(self.fields, bump)))
        };
        EventView {
            subject: Term::Text(self.from),
            object: Term::Text(self.to),
            label: Term::Text(self.label),
            payload,
            ..EventView::new(EventKind::Exchange)
        }
    }
}

fn terms<'a>(values: &[FieldValue<'a>], bump: &'a Bump) -> &'a [Term<'a>] {
    let mut terms = BumpVec::with_capacity_in(values.len(), bump);
    terms.extend(values.iter().map(|value| term(value, bump)));
    terms.into_bump_slice()
}

/// The depth of values is that of the protocol's types.
fn term<'a>(value: &FieldValue<'a>, bump: &'a Bump) -> Term<'a> {
    match *value {
        FieldValue::Unit => Term::Null,
        FieldValue::Bool(value) => Term::Bool(value),
        FieldValue::Int(value) => Term::Int(value),
        FieldValue::Float(value) => Term::Float(value),
        FieldValue::Str(text) => Term::Text(text),
        FieldValue::Bytes(bytes) => Term::Text(bump.alloc_str(&String::from_utf8_lossy(bytes))),
        FieldValue::List(values) => Term::List(Items::Terms(terms(values, bump))),
        FieldValue::Record(fields) => {
            let mut members = BumpVec::with_capacity_in(fields.len(), bump);
            members.extend(fields.iter().map(|(name, value)| (*name, term(value, bump))));
            Term::Record(Fields::Terms(members.into_bump_slice()))
        }
        FieldValue::Malformed(_) => Term::Absent,
    }
}

#[cfg(test)]
mod tests {
    use referee_pipeline::Parsed;
    use referee_syntax::Language;
    use referee_theory::Type;

    use super::*;

    /// No key is set twice.
    const ONCE: &str = "property once for each \"/payload/key\" { \
        [client -> server : Set]max Y.([client -> server : Set]ff and [_]Y) }";

    fn findings(keys: &[&str]) -> Vec<(PropertyVerdict, bool)> {
        let file = Parsed::new(ONCE, Language::Hml).well_formed().unwrap();
        let properties = Properties::new(file.properties().unwrap(), 100).unwrap();
        let mut observed = Observed::default();
        let declared = [Field { name: Some("key".into()), ty: Type::String }];
        let each = keys.iter().flat_map(|key| {
            let fields = [FieldValue::Str(key)];
            let observation = Observation {
                from: "client",
                to: "server",
                label: "Set",
                declared: &declared,
                fields: &fields,
            };
            properties.observe(&mut observed, &observation, None, false)
        });
        each.map(|finding| (finding.verdict, finding.has_long_key)).collect()
    }

    /// A suppressed message has not happened: neither for the property that it violates nor for the others.
    #[test]
    fn what_is_suppressed_is_judged_again() {
        let text = "property asked { max X.([server -> client : B]ff and [client -> server : C]X) }\n\
            property few for each \"/payload/key\" { [_][_][_]ff }";
        let file = Parsed::new(text, Language::Hml).well_formed().unwrap();
        let properties = Properties::new(file.properties().unwrap(), 100).unwrap();
        let said = |is_suppressed| {
            let mut observed = Observed::default();
            let declared = [Field { name: Some("key".into()), ty: Type::String }];
            let each = ["B", "B", "C", "C", "B"].map(|label| {
                let fields = [FieldValue::Str("k")];
                let [from, to] = if label == "B" { ["server", "client"] } else { ["client", "server"] };
                let message = Observation { from, to, label, declared: &declared, fields: &fields };
                let findings = properties.observe(&mut observed, &message, None, is_suppressed);
                findings.into_iter().map(|finding| finding.property.to_string()).collect::<Vec<_>>().join(" ")
            });
            (each, observed.families.iter().map(|instances| instances.held).sum())
        };
        assert_eq!(said(true), (["asked", "asked", "", "", "asked few"].map(str::to_owned), 2));
        assert_eq!(said(false).0, ["asked", "", "few", "", ""]);
    }

    /// `for each session` saw nothing here: a connection is one, and says so nowhere.
    #[test]
    fn a_connection_is_a_session() {
        let text = "rule once: message Set at most once in the same session\n\
            rule each: message Set(key: k) at most once for each k in the same session";
        let file = Parsed::new(text, Language::Hml).well_formed().unwrap();
        let properties = Properties::new(file.properties().unwrap(), 100).unwrap();
        let mut observed = Observed::default();
        let declared = [Field { name: Some("key".into()), ty: Type::String }];
        let said = ["a", "b", "a"].map(|key| {
            let fields = [FieldValue::Str(key)];
            let (from, to, label) = ("client", "server", "Set");
            let message = Observation { from, to, label, declared: &declared, fields: &fields };
            let findings = properties.observe(&mut observed, &message, None, false);
            findings.into_iter().map(|found| (found.property.to_string(), found.key)).collect::<Vec<_>>()
        });
        let [once, each] = [("once".to_owned(), None), ("each".to_owned(), Some("a".to_owned()))];
        assert_eq!(said, [vec![], vec![once], vec![each]]);
    }

    #[test]
    fn two_long_keys_are_never_one_instance() {
        let long = "k".repeat(MAX_KEY);
        let (one, other) = (format!("{long}1"), format!("{long}2"));
        // Reported once, and nobody is blamed, not even for the same key.
        assert_eq!(findings(&[&one, &other, &one]), [(PropertyVerdict::ResourceLimit, true)]);
        assert_eq!(findings(&[&long, &one, &long]).len(), 2);
        assert_eq!(findings(&["a", "b", "a"]), [(PropertyVerdict::Violation, false)]);
    }
}
