//! From the lines of a chunk to records: which instances each event is for. Terms are built only where keys are in
//! them; the lane that steps builds the rest.

use bumpalo::Bump;
use referee_monitor::property::Indifference;
use referee_theory::property::{EventView, Term};
use referee_theory::time;

use super::event::key_text;
use super::plain;
use super::plan::{KeyedBy, PropertyPlan};
use crate::decode::csv::Columns;
use crate::decode::event::unusual_key;
use crate::decode::fields::{Fields, Scanner, Span, line_end, scalar};
use crate::decode::salvage::{NOT_UTF8, Reads, Salvaged, Session, salvage};
use crate::decode::{Decoded, MAX_KEY, too_long};
use crate::input::{Chunk, line_ends};
use crate::options::EventsFormat;
use crate::scan::{Flaw, number};
use crate::shape::Part;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Event,
    /// An event of this key that could not be read.
    Lost,
    /// An event that could not be read, of any key.
    LostAnywhere,
}

/// An event, for the instances of one family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Of the key, keyed at random.
    pub(super) hash: u64,
    /// In `text`, or in `keys`.
    key: Span,
    key_is_apart: bool,
    pub(super) what: What,
    /// Whether this is the first record of its line.
    pub(super) is_first: bool,
    /// Which of the texts that patterns ask for it has, from 1; 0 if none, [`NO_LETTER`] if that is not all there is to say.
    pub(super) letter: u8,
    pub(super) family: u16,
    pub(super) shard: u16,
    pub(super) line: u32,
    pub(super) place: Span,
    /// Where the parts of a JSON event are in the text.
    pub(super) spans: Fields,
    /// Where, among those of all lines, the places of its members begin.
    members: u32,
    /// When it was, where a property speaks of time; [`NO_TIME`] if that cannot be read.
    pub(super) time: i64,
}

/// Lines that are not JSON are not scanned.
const NO_FIELDS: Fields = Fields::NONE;

/// No time is so early.
pub(super) const NO_TIME: i64 = i64::MIN;

impl Decoded<Record> {
    pub(super) fn key_of(&self, record: &Record) -> &str {
        record.key.of(if record.key_is_apart { &self.keys } else { &self.text })
    }

    /// Where the line of `record` has the `count` members that are asked for by number.
    #[inline]
    pub(super) fn members_of(&self, record: &Record, count: usize) -> Option<&[Span]> {
        self.members.get(record.members as usize..)?.get(..count)
    }
}

/// Decodes `chunk` into `decoded`, which is empty.
pub(super) fn decode(plan: &PropertyPlan, chunk: Chunk, decoded: &mut Decoded<Record>) {
    let is_gap = chunk.is_gap();
    let body = decoded.take(chunk, plan.lanes, plan.options.max_line);
    if is_gap {
        lose(plan, &Session::Unknown, decoded.lines - 1, decoded);
    }
    let mut text = std::mem::take(&mut decoded.text);
    plan.wanted.look(&text);
    let columns = decoded.chunk.columns.clone();
    let csv = plan.options.format == EventsFormat::Csv;
    let json = plan.options.format == EventsFormat::JsonLines;
    let mut scanner = Scanner::new(&plan.tree);
    let mut bump = Bump::new();
    let mut at = body;
    while at < text.len() {
        let line = decoded.lines;
        decoded.lines += 1;
        let mut scanned = if json { Some(scanner.line(text.as_bytes(), at)) } else { None };
        if let Some(Err(flaw)) = scanned {
            let end = line_end(text.as_bytes(), at);
            let clean = plan.salvage(text.get(at..end).unwrap_or_default()).line;
            text.replace_range(at..end, &clean);
            scanned = Some(scanner.line(text.as_bytes(), at).map_err(|_| flaw));
        }
        let bytes = text.as_bytes();
        let end = match &scanned {
            Some(Ok((_, end))) => *end,
            _ if csv => at + line_ends::first(bytes.get(at..).unwrap_or_default(), true),
            _ => line_end(bytes, at),
        };
        let content = text.get(at..end).unwrap_or_default();
        let content = content.strip_suffix('\n').unwrap_or(content);
        let place = Span::new(at, at + content.len());
        let start = at;
        at = if csv { end } else { end + 1 };
        let blank = match plan.options.format {
            EventsFormat::Actions | EventsFormat::Detecter => plain::is_blank(content),
            _ => content.trim_ascii().is_empty(),
        };
        if blank {
            continue;
        }
        let spans = match &scanned {
            _ if content.len() > plan.options.max_line => Err(too_long(plan.options.max_line)),
            _ if !json && content.as_bytes().contains(&NOT_UTF8) => Err("not UTF-8".to_owned()),
            Some(Err(_)) if content.as_bytes().contains(&NOT_UTF8) => {
                Err("not UTF-8 where it is read".to_owned())
            }
            Some(Ok((fields, _))) => Ok(fields),
            Some(Err(flaw)) => Err(at_column(*flaw, start)),
            None => Ok(&NO_FIELDS),
        };
        let members = scanner.members();
        let of = |spans| Line { text: &text, spans, members, place, line, columns: columns.as_deref() };
        let result = spans.and_then(|spans| push(plan, of(spans), &bump, decoded));
        if let Err(why) = result {
            decoded.malformed.push((line, why));
            let session = match (plan.options.format, columns.as_deref()) {
                _ if content.len() > plan.options.max_line => Some(Session::Unknown),
                (EventsFormat::JsonLines, _) => {
                    Some(plan.salvage(content)).filter(|it| it.has_parts).map(|it| it.session)
                }
                (EventsFormat::Csv, Some(columns)) => Some(match columns.parts(content) {
                    Ok(parts) => crate::decode::session_of(&parts),
                    Err(_) => Session::Unknown,
                }),
                _ => Some(Session::Key(String::new())),
            };
            if let Some(session) = session {
                lose(plan, &session, line, decoded);
            }
        }
        bump.reset();
    }
    decoded.text = text;
}

impl PropertyPlan {
    fn salvage(&self, line: &str) -> Salvaged {
        let reads =
            Reads { members: &self.reader.wanted, time: self.timed || self.options.reorder.is_some() };
        salvage(line, &self.reader.tree, reads)
    }
}

/// An event of `session` could not be read: which instances it was for is known only of those that sessions have.
#[cold]
fn lose(plan: &PropertyPlan, session: &Session, line: u32, decoded: &mut Decoded<Record>) {
    let lost = |family: usize, what, hash, key, shard| Record {
        hash,
        key,
        key_is_apart: true,
        what,
        is_first: false,
        letter: NO_LETTER,
        family: family as u16,
        shard,
        line,
        place: Span::default(),
        spans: Fields::default(),
        members: 0,
        time: NO_TIME,
    };
    for (family, keyed) in plan.families.iter().enumerate() {
        match session {
            Session::Key(key) if keyed.keyed_by == KeyedBy::Session && key.len() <= MAX_KEY => {
                let Some(shard) = plan.options.shard(plan.shards, key.as_bytes()) else { continue };
                let start = decoded.keys.len();
                decoded.keys.push_str(key);
                let span = Span::new(start, decoded.keys.len());
                let record = lost(family, What::Lost, plan.hasher.hash_one(key.as_bytes()), span, shard);
                if let Some(lane) = decoded.lanes.get_mut(usize::from(shard) & plan.lanes.wrapping_sub(1)) {
                    lane.push(record);
                }
            }
            _ => {
                for (shard, lane) in (0..).zip(&mut decoded.lanes) {
                    lane.push(lost(family, What::LostAnywhere, 0, Span::default(), shard));
                }
            }
        }
    }
}

/// A flaw and where it is in the line that starts at `start`.
fn at_column(flaw: Flaw, start: usize) -> String {
    format!("{} at column {}", flaw.what, flaw.at.saturating_sub(start) + 1)
}

#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    spans: &'a Fields,
    members: &'a [Span],
    place: Span,
    line: u32,
    columns: Option<&'a Columns>,
}

/// Where a key was found.
enum Found {
    At(Span),
    Apart(String),
}

/// Adds a record for each family that the event concerns.
fn push(
    plan: &PropertyPlan,
    event: Line<'_>,
    bump: &Bump,
    decoded: &mut Decoded<Record>,
) -> Result<(), String> {
    let content = event.place.of(event.text);
    let read = || {
        let event = plan.reader.event(event.text, event.spans, None, content, event.columns, bump);
        event.map_err(|flaw| at_column(flaw, 0))
    };
    // A line that is no event must be found to be none before it is given to anybody, or several would say so.
    let mut view = if plan.families.len() > 1 { Some(read()?) } else { None };
    let time = if plan.timed { time_of(plan, &event).unwrap_or(NO_TIME) } else { NO_TIME };
    if decoded.times.last().map_or(NO_TIME, |(_, latest)| *latest) < time {
        decoded.times.push((event.line, time));
    }
    // INVARIANT: at most eight for each line of the chunk.
    let members = decoded.members.len() as u32;
    decoded.members.extend_from_slice(event.members);
    let (mut is_first, mut concerns) = (true, false);
    for (family, keyed) in plan.families.iter().enumerate() {
        let found = match &keyed.keyed_by {
            KeyedBy::Session => session(plan.options.format, &event)?,
            KeyedBy::Process if plan.options.format == EventsFormat::Detecter => {
                Found::Apart(plain::subject(content, bump).map_err(|flaw| at_column(flaw, 0))?.to_string())
            }
            keyed_by => match plain_key(&event) {
                Some(span) => Found::At(span),
                None => {
                    let view = match &view {
                        Some(view) => view,
                        None => &*view.insert(read()?),
                    };
                    match key(keyed_by, view) {
                        Some(key) => Found::Apart(key),
                        None => continue,
                    }
                }
            },
        };
        concerns = true;
        let (key, key_is_apart) = match found {
            Found::At(span) => (span, false),
            Found::Apart(key) => {
                let start = decoded.keys.len();
                decoded.keys.push_str(&key);
                (Span::new(start, decoded.keys.len()), true)
            }
        };
        let bytes = key.of(if key_is_apart { &decoded.keys } else { event.text }).as_bytes();
        if bytes.len() > MAX_KEY {
            return Err(format!("its key is longer than {MAX_KEY} bytes"));
        }
        let Some(shard) = plan.options.shard(plan.shards, bytes) else { continue };
        let record = Record {
            hash: plan.hasher.hash_one(bytes),
            key,
            key_is_apart,
            what: What::Event,
            is_first,
            letter: keyed.indifference.as_ref().map_or(NO_LETTER, |asked| letter(asked, &event)),
            family: family as u16,
            shard,
            line: event.line,
            place: event.place,
            spans: *event.spans,
            members,
            time,
        };
        is_first = false;
        if let Some(lane) = decoded.lanes.get_mut(usize::from(shard) & plan.lanes.wrapping_sub(1)) {
            lane.push(record);
        }
    }
    decoded.ignored += u64::from(!concerns);
    Ok(())
}

/// An event is more than its letter.
pub(super) const NO_LETTER: u8 = u8::MAX;

/// Which of the texts that patterns ask for `event` has, if it has nothing but members that are texts or integers as they stand.
#[inline]
fn letter((place, indifference): &(usize, Indifference), event: &Line<'_>) -> u8 {
    let asked = event.members.get(*place).filter(|span| !span.is_empty() && span.twice().is_none());
    let mut letter = 0;
    if let Some([b'"', inner @ .., b'"']) = asked.map(|span| span.of(event.text).as_bytes()) {
        let found = indifference.texts.iter().position(|text| text.as_bytes() == inner);
        letter = found.map_or(0, |place| u8::try_from(place + 1).unwrap_or(NO_LETTER));
    }
    if letter > 0 && !indifference.decides
        || !event.spans.has_no(&[Part::From, Part::To, Part::Label, Part::Payload])
    {
        return NO_LETTER;
    }
    for span in event.members.iter().filter(|span| !span.is_empty()) {
        match span.of(event.text).as_bytes() {
            _ if span.twice().is_some() => return NO_LETTER,
            [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {}
            [b'1'..=b'9', digits @ ..] if digits.len() < 18 && digits.iter().all(u8::is_ascii_digit) => {}
            _ => return NO_LETTER,
        }
    }
    letter
}

/// Where the key of the only family is, if it is a text or an integer as it stands.
#[inline]
fn plain_key(event: &Line<'_>) -> Option<Span> {
    let span = event.spans.get(Part::Key);
    match span.of(event.text).as_bytes() {
        [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
            Some(Span { start: span.start + 1, end: span.end - 1 })
        }
        digits @ [b'1'..=b'9', ..] if digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit) => {
            Some(span)
        }
        _ => None,
    }
}

/// When the event was, if that can be read.
fn time_of(plan: &PropertyPlan, event: &Line<'_>) -> Option<i64> {
    match (plan.options.format, event.columns) {
        (EventsFormat::JsonLines, _) => {
            let raw = event.spans.get(Part::Time).of(event.text);
            if let Some(whole) = number::whole(raw.as_bytes()) {
                return time::of_integer(whole);
            }
            let mut scratch = String::new();
            time::read(scalar(raw, &mut scratch).ok()??)
        }
        (EventsFormat::Csv, Some(columns)) => {
            columns.time(event.place.of(event.text).as_bytes(), time::read)?
        }
        _ => None,
    }
}

/// The key of the session that the event belongs to; without one, the empty key.
fn session(format: EventsFormat, event: &Line<'_>) -> Result<Found, String> {
    match (format, event.columns) {
        (EventsFormat::JsonLines, _) => {
            let span = event.spans.get(Part::Session);
            let raw = span.of(event.text);
            match raw.as_bytes() {
                [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
                    Ok(Found::At(Span { start: span.start + 1, end: span.end - 1 }))
                }
                [b'0'..=b'9' | b'-', ..] => Ok(Found::At(span)),
                _ => unusual_key(raw).map(|key| Found::Apart(key.unwrap_or_default())),
            }
        }
        (EventsFormat::Csv, Some(columns)) => {
            let parts = columns.parts(event.place.of(event.text)).map_err(str::to_owned)?;
            Ok(Found::Apart(parts[Part::Session as usize].as_deref().unwrap_or_default().to_owned()))
        }
        _ => Ok(Found::At(Span::default())),
    }
}

/// The key of the instance that the event in `line` belongs to, if it belongs to one: its parts are at `spans`, and
/// read it is `view`.
pub(super) fn instance(
    keyed_by: &KeyedBy,
    format: EventsFormat,
    line: &str,
    spans: Fields,
    view: &EventView<'_>,
) -> Result<Option<String>, String> {
    if *keyed_by != KeyedBy::Session {
        return Ok(key(keyed_by, view));
    }
    let place = Span::new(0, line.len());
    let found =
        session(format, &Line { text: line, spans: &spans, members: &[], place, line: 0, columns: None })?;
    Ok(Some(match found {
        Found::At(span) => span.of(line).to_owned(),
        Found::Apart(key) => key,
    }))
}

/// The key of the instance that `event` belongs to, if it belongs to one.
fn key(keyed_by: &KeyedBy, event: &EventView<'_>) -> Option<String> {
    match keyed_by {
        KeyedBy::Process => (!matches!(event.subject, Term::Absent)).then(|| event.subject.to_string()),
        KeyedBy::Keys(keys) => {
            let terms: Vec<Term<'_>> = keys.iter().map(|key| event.key(key)).collect::<Option<_>>()?;
            Some(key_text(&terms))
        }
        KeyedBy::Session => None,
    }
}
