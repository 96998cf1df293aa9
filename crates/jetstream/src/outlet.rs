//! Where verdicts go: to the observer first, then to the group's stream of verdicts. Positions are recorded now and then.
//!
//! Whoever dies in between has told the observer of verdicts that nobody knows to be out, and they are told again; the
//! stream of verdicts has each once.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::try_join_all;
use referee_watch::{Counts, Notice, Observer, Partitions, Progress};
use tokio::runtime::Handle;

use crate::error::{GroupError, Lost};
use crate::group::{Attempt, Group, LastVerdicts, Partition, VerdictNumber};
use crate::member::Life;
use crate::worker::Calls;

/// The partitions of a pipeline, and how far they are.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    pub(crate) each: BTreeMap<u16, Share>,
    /// The last event that is done with.
    pub(crate) through: Option<u64>,
}

/// A partition of this worker.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// Of its entry.
    pub(crate) revision: u64,
    pub(crate) position: Option<u64>,
    pub(crate) verdicts: LastVerdicts,
}

impl Share {
    /// The verdict before which all are out.
    fn told(&self) -> VerdictNumber {
        self.verdicts.out.max(VerdictNumber::after(self.position))
    }
}

/// What a worker told, and the lock that makes it tell one thing after the other.
pub(crate) struct Told<'a> {
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) counts: Counts,
}

/// Tells what was found.
pub(crate) trait Tell: Sync {
    fn tell(&self, notices: Vec<Notice>, progress: &Progress) -> io::Result<()>;
}

impl Tell for Mutex<Told<'_>> {
    fn tell(&self, notices: Vec<Notice>, progress: &Progress) -> io::Result<()> {
        let mut told = self.lock().unwrap_or_else(PoisonError::into_inner);
        for notice in notices {
            told.counts.count(&notice);
            told.observer.notice(notice)?;
        }
        told.observer.progress(progress)
    }
}

/// The observer of one pipeline.
pub(crate) struct Outlet<'a> {
    pub(crate) group: Group,
    pub(crate) owner: String,
    pub(crate) life: Life,
    pub(crate) shares: Arc<tokio::sync::Mutex<Shares>>,
    pub(crate) partitions: Arc<Partitions>,
    pub(crate) told: &'a dyn Tell,
    pub(crate) calls: Calls<'a>,
    pub(crate) runtime: Handle,
    /// Of the chunk that is being told of.
    pub(crate) pending: Vec<Pending>,
    /// The message with which what is told was found: not always that of the event, as where a deadline has passed.
    pub(crate) reached: u64,
}

/// A verdict that is not out.
pub(crate) struct Pending {
    partition: u16,
    /// The message with which it was found, or 0.
    number: u64,
    notice: Notice,
}

/// What has not been told, with the line that is published of it, if it is a verdict.
struct News {
    partition: u16,
    number: VerdictNumber,
    notice: Notice,
    line: Option<String>,
}

impl Observer for Outlet<'_> {
    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        let (key, place) = match &notice {
            Notice::Violation(report) => (&report.session, Some(&report.place)),
            Notice::Property(report) => {
                (report.session.as_ref().map_or(&report.key, |_| &report.session), report.place.as_ref())
            }
            // What is no event is nobody's.
            Notice::Malformed(place, _) => (&None, Some(place)),
            Notice::Unanswered(unanswered) => (&unanswered.session, Some(&unanswered.place)),
        };
        let key = key.as_deref().unwrap_or_default().as_bytes();
        let partition = match place {
            Some(_) => self.partitions.of(key),
            // Said before any event.
            None => 0,
        };
        let number = place.map_or(0, |_| self.reached);
        self.pending.push(Pending { partition, number, notice });
        Ok(())
    }

    fn reached(&mut self, message: u64) {
        self.reached = message;
    }

    fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let shares = Arc::clone(&self.shares);
        let through = progress.through;
        self.runtime.clone().block_on(async {
            let mut shares = shares.lock().await;
            let news = self.news(&shares, pending);
            if !news.is_empty() {
                self.tell(&mut shares, news, progress).await?;
            }
            // Only now: positions are recorded from it.
            shares.through = shares.through.max(through);
            Ok(())
        })
    }
}

impl Outlet<'_> {
    /// What of `pending` is not out, with the numbers of its verdicts.
    fn news(&self, shares: &Shares, pending: Vec<Pending>) -> Vec<News> {
        let mut next: BTreeMap<u16, VerdictNumber> = BTreeMap::new();
        let mut news = Vec::new();
        for Pending { partition, number: message, notice } in pending {
            let Some(told) = shares.each.get(&partition).map(Share::told) else { continue };
            if message < told.message {
                continue;
            }
            let line = (self.calls.render)(&notice);
            let next = next.entry(partition).or_default();
            if next.message != message {
                *next = VerdictNumber { message, place: 0 };
            }
            let number = *next;
            if line.is_some() {
                next.place += 1;
                if number < told {
                    continue;
                }
            }
            news.push(News { partition, number, notice, line });
        }
        news
    }

    async fn tell(&self, shares: &mut Shares, mut news: Vec<News>, progress: &Progress) -> io::Result<()> {
        if !self.life.goes_on() {
            return Err(io::Error::other(Lost("no sign of life reached the broker".to_owned())));
        }
        let mut lines: BTreeMap<u16, Vec<(VerdictNumber, String)>> = BTreeMap::new();
        for news in &mut news {
            if let Some(line) = news.line.take() {
                lines.entry(news.partition).or_default().push((news.number, line));
            }
        }
        self.told.tell(news.into_iter().map(|news| news.notice).collect(), progress)?;
        let through = shares.through.max(progress.through).unwrap_or(0);
        let publications = shares.each.iter_mut().filter_map(|(number, share)| {
            lines
                .remove(number)
                .map(|lines| publish(&self.group, &self.owner, *number, share, lines, through))
        });
        try_join_all(publications).await.map_err(io::Error::other)?;
        Ok(())
    }
}

/// Publishes the verdicts of a partition, of events up to `through`.
async fn publish(
    group: &Group,
    owner: &str,
    number: u16,
    share: &mut Share,
    mut lines: Vec<(VerdictNumber, String)>,
    through: u64,
) -> Result<(), Lost> {
    loop {
        lines.retain(|(number, _)| *number >= share.verdicts.out);
        let Some((text, out)) = message(&lines, group.room(), through) else { return Ok(()) };
        match group.publish(number, text, out, share.verdicts).await.map_err(lost)? {
            Attempt::Done(last) => share.verdicts = last,
            Attempt::Beaten => {
                // An owner before this one had a message under way. What it says is what would be said here.
                let (partition, revision) = group.partition(number).await.map_err(lost)?;
                let last = group.last_verdicts(number).await.map_err(lost)?;
                let is_mine = revision == share.revision && partition.owner.as_deref() == Some(owner);
                if !is_mine || last.sequence <= share.verdicts.sequence {
                    return Err(Lost("another worker has taken over".to_owned()));
                }
                share.verdicts = last;
            }
        }
    }
}

/// As many of the verdicts as fit into a message of `room` bytes, and the verdict before which all are out with it: if these are all, the
/// first behind the event `through`.
fn message(lines: &[(VerdictNumber, String)], room: usize, through: u64) -> Option<(String, VerdictNumber)> {
    let mut text = String::new();
    for (number, line) in lines {
        let more = shortened(line, room) + "\n";
        if !text.is_empty() && text.len() + more.len() > room {
            return Some((text, *number));
        }
        text += &more;
    }
    let last = lines.last()?.0.message.max(through);
    Some((text, VerdictNumber::after(Some(last))))
}

/// A verdict that is too long for a message loses the events that led to it.
fn shortened(line: &str, room: usize) -> String {
    const SHARE: usize = 8;
    if line.len() <= room / SHARE {
        return line.to_owned();
    }
    match serde_json::from_str::<serde_json::Value>(line) {
        Ok(serde_json::Value::Object(mut object)) => {
            object.remove("events");
            object.remove("derivation");
            object.insert("shortened".to_owned(), true.into());
            serde_json::Value::Object(object).to_string()
        }
        _ => line.to_owned(),
    }
}

fn lost(error: GroupError) -> Lost {
    Lost(error.to_string())
}

/// Records how far the partitions of a pipeline are.
pub(crate) async fn record(group: &Group, owner: &str, shares: &mut Shares) -> Result<(), Lost> {
    let through = shares.through;
    let records = shares.each.iter_mut().filter(|(_, share)| share.position < through).map(
        |(number, share)| async move {
            let partition = Partition { owner: Some(owner.to_owned()), position: through };
            match group.record(*number, &partition, share.revision).await.map_err(lost)? {
                Attempt::Done(revision) => {
                    share.revision = revision;
                    share.position = through;
                    Ok(())
                }
                Attempt::Beaten => Err(Lost("another worker has taken over".to_owned())),
            }
        },
    );
    try_join_all(records).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_verdicts_as_fit_are_one_message() {
        let number = |message, place| VerdictNumber { message, place };
        let line = |message, place, text: &str| (number(message, place), text.to_owned());
        let lines = vec![line(3, 0, "aaaa"), line(3, 1, "bbbb"), line(5, 0, "cccc"), line(9, 0, "dddd")];
        assert_eq!(message(&lines, 15, 20), Some(("aaaa\nbbbb\ncccc\n".to_owned(), number(9, 0))));
        assert_eq!(message(&lines[3..], 15, 20), Some(("dddd\n".to_owned(), number(21, 0))));
        assert_eq!(message(&lines, 1000, 20).map(|(_, out)| out), Some(number(21, 0)));
        // With one event the deadlines of any number of sessions may pass.
        assert_eq!(message(&lines, 3, 20), Some(("aaaa\n".to_owned(), number(3, 1))));
        assert_eq!(message(&[], 1000, 20), None);
    }

    #[test]
    fn a_long_verdict_loses_its_history() {
        let line = format!(r#"{{"verdict":"violation","events":["{}"]}}"#, "x".repeat(100));
        assert_eq!(shortened(&line, 80), r#"{"verdict":"violation","shortened":true}"#);
        assert_eq!(shortened(&line, 8000), line);
    }
}
