//! What watching tells: violations, lines that are no events, and sums.

use std::io;
use std::sync::Arc;

use referee_monitor::property::{Derivation, PropertyVerdict};
use referee_monitor::{Expected, Kind, Rejection};
use referee_theory::Origin;
use referee_theory::expr::Value;
use referee_theory::property::Property;
use rustc_hash::FxHashMap;

/// A violation.
#[derive(Clone, Debug)]
pub struct Report {
    /// The key of the session; `None` if its events have none.
    pub session: Option<String>,
    /// The key of the call, if the message is one of a sub-session.
    pub key: Option<String>,
    /// In which way the protocol was broken.
    pub kind: Kind,
    /// Who broke it: a role, or the name that the event gives; `None` where something before it was not seen and it
    /// is not known who.
    pub blame: Option<String>,
    /// The paper's name for it, where it is known who.
    pub rejection: Option<Rejection>,
    /// Which event of the session it is, counted from 0.
    pub event: u64,
    /// The state in which it happened, if only one is possible.
    pub state: Option<String>,
    /// What could have happened instead.
    pub expected: Vec<Expected>,
    /// The label that came; `None` for an end.
    pub got: Option<String>,
    /// The assertion that does not hold.
    pub assertion: Option<String>,
    /// The variables of the part of it that fails, and their values.
    pub values: Vec<(Arc<str>, Value)>,
    /// Whether an earlier violation of this session may be the cause.
    pub consequence: bool,
    /// All this as a sentence.
    pub sentence: String,
    /// The place in the protocol's text that says otherwise.
    pub origin: Origin,
    /// Where the event was read.
    pub place: Place,
    /// When it was, as the event says.
    pub time: Option<String>,
    /// The last events of the session, this one included, if they were kept.
    pub history: Vec<Step>,
    /// How many events came before `history`.
    pub before: u64,
    /// Whether it is wrong whatever is not known about the times of events. If not, nobody is blamed.
    pub certain: bool,
    /// The deadline that passed, if no event broke the protocol: nanoseconds since 1970.
    pub deadline: Option<i64>,
}

/// A message that could not be judged, because an external predicate gave no answer. Nobody is blamed, and
/// nothing more is said about its session.
#[derive(Clone, Debug)]
pub struct Unanswered {
    /// The key of the session; `None` if its events have none.
    pub session: Option<String>,
    /// Which event of the session it is, counted from 0.
    pub event: u64,
    /// Which predicate, called with what, and why there is no answer.
    pub sentence: String,
    /// The place of the message in the protocol's text.
    pub origin: Origin,
    /// Where the event was read.
    pub place: Place,
}

/// What a property's monitor says about one instance.
#[derive(Clone, Debug)]
pub struct PropertyReport {
    /// Which of the properties, in the order in which they were given.
    pub number: usize,
    /// The property.
    pub property: Arc<Property>,
    /// What is said.
    pub verdict: PropertyVerdict,
    /// Whether every event of the instance could be read. If not, there may be nothing to say.
    pub certain: bool,
    /// The session, if the instance is that of one.
    pub session: Option<String>,
    /// The key of the instance, if the property has keys of its own.
    pub key: Option<String>,
    /// Which event of the instance it is, counted from 0; −1: decided before any event.
    pub event: i64,
    /// What happened, in short.
    pub got: Option<String>,
    /// Where the event was read.
    pub place: Option<Place>,
    /// When it was, as the event says.
    pub time: Option<String>,
    /// The lines of the instance's events up to this one, if they were kept.
    pub history: Vec<Box<str>>,
    /// Why the verdict was given, if that was asked for.
    pub derivation: Option<Derivation>,
    /// Why there is no derivation, if there should be one.
    pub unexplained: Option<&'static str>,
    /// The deadline that passed, if no event gave the verdict: nanoseconds since 1970.
    pub deadline: Option<i64>,
    /// What did not come by then.
    pub sentence: Option<String>,
    /// The family of properties, if all that makes it uncertain are lost events whose instance is not known.
    pub(crate) lost_elsewhere: Option<u16>,
}

/// `text` for a terminal: characters that would move its cursor, colour it or turn its direction are escaped.
#[must_use]
pub fn visible(text: &str) -> std::borrow::Cow<'_, str> {
    let hides = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(hides) {
        return text.into();
    }
    let shown = text.chars().flat_map(|c| {
        let escaped = hides(c).then(|| c.escape_default());
        let plain = escaped.is_none().then_some(c);
        escaped.into_iter().flatten().chain(plain)
    });
    shown.collect::<String>().into()
}

/// A line of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the input.
    pub file: Arc<str>,
    /// The number of the line, from 1.
    pub line: u64,
}

/// An event as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who sent it, as the event says.
    pub from: String,
    /// Whom it is for; empty if it does not say.
    pub to: String,
    /// The label and the payload, shortened; empty for an end.
    pub message: String,
}

/// Something to tell.
#[derive(Clone, Debug)]
pub enum Notice {
    /// Somebody broke the protocol.
    Violation(Box<Report>),
    /// A property's monitor has something to say.
    Property(Box<PropertyReport>),
    /// A line that is no event, and why.
    Malformed(Place, String),
    /// The monitor's configuration is wrong.
    Unanswered(Box<Unanswered>),
}

impl Notice {
    /// What comes first of several notices about one line, whichever lanes they come from.
    pub(crate) fn rank(&self) -> usize {
        match self {
            Self::Property(report) => report.number,
            _ => 0,
        }
    }

    /// Deadlines that passed with the same line: the earliest first, and before what the line itself gave.
    pub(crate) fn order(&self) -> (bool, i64, &str) {
        match self {
            Self::Property(report) => {
                let key = report.key.as_deref().or(report.session.as_deref()).unwrap_or_default();
                report.deadline.map_or((true, 0, ""), |deadline| (false, deadline, key))
            }
            Self::Violation(report) => {
                let key = report.session.as_deref().unwrap_or_default();
                report.deadline.map_or((true, 0, ""), |deadline| (false, deadline, key))
            }
            _ => (true, 0, ""),
        }
    }
}

/// Who is told, in the order of the input.
pub trait Observer: Send {
    /// Something was found.
    ///
    /// # Errors
    /// If it does not want to hear more: watching stops.
    fn notice(&mut self, notice: Notice) -> io::Result<()>;

    /// Something was found again that was told before a restart.
    fn told_before(&mut self, _notice: &Notice) {}

    /// A chunk of the input is done.
    ///
    /// # Errors
    /// If it does not want to hear more: watching stops.
    fn progress(&mut self, progress: &Progress) -> io::Result<()>;

    /// What is told from here on was found with this message, by its number from 1. Only where messages are read.
    fn reached(&mut self, _message: u64) {}

    /// How long the output is, where it is a file: who goes on later compares it with that.
    ///
    /// # Errors
    /// If it cannot be told.
    fn written(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bytes read, as they are stored.
    pub bytes: u64,
    /// What was counted so far.
    pub counts: Counts,
    /// The number of the last message that is done, where messages have numbers.
    pub through: Option<u64>,
    /// When the last event that is done was, in nanoseconds since 1970, if it has a time.
    pub time: Option<i64>,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events, without malformed lines.
    pub events: u64,
    /// Events among them that do not concern the role under scrutiny, or have no key that a property is for.
    pub ignored: u64,
    /// Events among them that nothing could be said about, because their session had been evicted or set aside.
    pub unjudged: u64,
    /// Sessions that were started.
    pub sessions: u64,
    /// Sessions in which the protocol was over.
    pub ended: u64,
    /// Sessions that were evicted.
    pub evicted: u64,
    /// Sessions that were set aside, because an external predicate gave no answer.
    pub unanswered: u64,
    /// Sessions with a violation.
    pub violated: u64,
    /// Violations after the first of a session.
    pub consequences: u64,
    /// Lines that are no events, or events that could not be read.
    pub malformed: u64,
    /// Events among these whose session is not known.
    pub lost_anywhere: u64,
    /// Sessions that only such an event explains.
    pub excused: u64,
    /// Verdicts of properties that may not be right, because an event before them could not be read.
    pub uncertain: u64,
    /// Instances of properties that were satisfied.
    pub satisfied: u64,
    /// Instances of properties that were given up for lack of room.
    pub limited: u64,
}

impl Counts {
    /// Whether something was not judged: lines that could not be read, sessions or instances that were given up.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.malformed + self.unjudged + self.excused + self.uncertain + self.limited > 0
    }

    /// All violations.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.violated + self.consequences
    }

    /// Counts what is told.
    pub fn count(&mut self, notice: &Notice) {
        match notice {
            Notice::Violation(report) if !report.certain => self.uncertain += 1,
            Notice::Violation(report) if report.consequence => self.consequences += 1,
            Notice::Violation(_) => self.violated += 1,
            Notice::Property(report) => match report.verdict {
                PropertyVerdict::Violation | PropertyVerdict::Satisfaction if !report.certain => {
                    self.uncertain += 1
                }
                PropertyVerdict::Violation => self.violated += 1,
                PropertyVerdict::Satisfaction => self.satisfied += 1,
                PropertyVerdict::ResourceLimit => self.limited += 1,
            },
            Notice::Malformed(..) => self.malformed += 1,
            Notice::Unanswered(_) => self.unanswered += 1,
        }
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.ignored += other.ignored;
        self.unjudged += other.unjudged;
        self.sessions += other.sessions;
        self.ended += other.ended;
        self.evicted += other.evicted;
        self.unanswered += other.unanswered;
        self.violated += other.violated;
        self.consequences += other.consequences;
        self.malformed += other.malformed;
        self.lost_anywhere += other.lost_anywhere;
        self.excused += other.excused;
        self.uncertain += other.uncertain;
        self.satisfied += other.satisfied;
        self.limited += other.limited;
    }
}

/// What it all came to.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// What was counted.
    pub counts: Counts,
    /// Bytes read, as they are stored.
    pub bytes: u64,
    /// Sessions that were not over when the input ended. Nobody is blamed for that.
    pub open: u64,
    /// Deadlines that had not passed when the input ended. Nobody has missed them.
    pub pending: u64,
    /// Lines that came too late to be put in the order of their times.
    pub late: u64,
    /// Messages that wait for later ones, to be put in the order of their times: whoever goes on judges them.
    pub held: u64,
    /// Lines that have the time of the one before, which is of another input: which came first is not known.
    pub ties: u64,
    /// First violations by kind.
    pub kinds: Ranking,
    /// First violations by who is blamed.
    pub blamed: Ranking,
    /// First violations by the label that came.
    pub labels: Ranking,
    /// First violations by state.
    pub states: Ranking,
    /// Violations by property.
    pub properties: Ranking,
    /// Names that properties ask for and no event had.
    pub unseen: Vec<Unseen>,
    /// Whether none of the properties could find anything because of that.
    pub is_blind: bool,
}

/// A name that a property asks for and no event had, but for one like it; or a member that never was what it is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// What it is the name of.
    pub kind: UnseenKind,
    /// The name.
    pub name: String,
    /// What it is compared with, and what it was, if it was there.
    pub compared: Option<(String, String)>,
    /// A name like it that some event had.
    pub alike: Option<String>,
}

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnseenKind {
    /// A key after `for each`.
    Key,
    /// A member of an event.
    Member,
    /// A label.
    Label,
    /// Who sent or received.
    Role,
}

impl UnseenKind {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Member => "member",
            Self::Label => "label",
            Self::Role => "role",
        }
    }
}

impl Summary {
    pub(crate) fn note(&mut self, report: &Report) {
        if report.consequence || !report.certain {
            return;
        }
        self.kinds.count(report.kind.name());
        self.blamed.count(report.blame.as_deref().unwrap_or("(not known)"));
        self.labels.count(report.got.as_deref().unwrap_or(match report.kind {
            _ if report.deadline.is_some() => "(nothing)",
            Kind::PrematureEnd => "(end)",
            _ => "(not known)",
        }));
        self.states.count(report.state.as_deref().unwrap_or("(not known)"));
    }
}

impl Summary {
    /// Adds what another part of the work came to.
    pub fn absorb(&mut self, other: Self) {
        self.counts.add(&other.counts);
        self.bytes += other.bytes;
        self.open += other.open;
        self.pending += other.pending;
        self.late += other.late;
        self.held += other.held;
        self.ties += other.ties;
        self.unseen.extend(other.unseen);
        self.is_blind |= other.is_blind;
        let rankings = [
            (&mut self.kinds, other.kinds),
            (&mut self.blamed, other.blamed),
            (&mut self.labels, other.labels),
            (&mut self.states, other.states),
            (&mut self.properties, other.properties),
        ];
        for (own, other) in rankings {
            own.others += other.others;
            other.counts.iter().for_each(|(name, count)| own.add(name, *count));
        }
    }

    pub(crate) fn note_property(&mut self, report: &PropertyReport) {
        if report.verdict == PropertyVerdict::Violation && report.certain {
            self.properties.count(report.property.name());
        }
    }

    /// Counts what was decided before any event.
    pub(crate) fn note_at_start(&mut self, report: &PropertyReport) {
        self.note_property(report);
        self.counts.count(&Notice::Property(Box::new(report.clone())));
    }
}

/// How many different names are counted: events can name anything, and memory is bounded.
const MOST: usize = 1024;
/// And how many characters of each are kept.
const LONGEST: usize = 128;

/// How often something was named.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    counts: FxHashMap<String, u64>,
    others: u64,
}

impl Ranking {
    fn count(&mut self, name: &str) {
        let end = name.char_indices().nth(LONGEST).map_or(name.len(), |(at, _)| at);
        self.add(name.get(..end).unwrap_or(name), 1);
    }

    fn add(&mut self, name: &str, times: u64) {
        if let Some(count) = self.counts.get_mut(name) {
            *count += times;
        } else if self.counts.len() < MOST {
            self.counts.insert(name.to_owned(), times);
        } else {
            self.others += times;
        }
    }

    /// The names, the most frequent first, and how often each was named. Beyond 1,024 different names only
    /// their sum is known.
    #[must_use]
    pub fn sorted(&self) -> Vec<(&str, u64)> {
        let mut all: Vec<(&str, u64)> =
            self.counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        all.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
        if self.others > 0 {
            all.push(("(others)", self.others));
        }
        all
    }
}
