//! Some partitions that are read, judged and told of together: those that were taken at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

use referee_watch::{Input, Options, Partitions, Summary, WatchError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::error::{GroupError, Lost};
use crate::group::{Attempt, Group, Partition};
use crate::member::Life;
use crate::outlet::{Outlet, Share, Shares, Tell, record};
use crate::source;
use crate::worker::Calls;

/// What pipelines of a worker have in common.
#[derive(Clone)]
pub(crate) struct Common<'a> {
    pub(crate) group: Group,
    pub(crate) owner: String,
    pub(crate) life: Life,
    pub(crate) options: Options,
    pub(crate) calls: Calls<'a>,
    pub(crate) told: &'a dyn Tell,
}

/// A thread that judges, and what feeds it.
pub(crate) struct Pipeline {
    shares: Arc<tokio::sync::Mutex<Shares>>,
    partitions: Arc<Partitions>,
    stop: Arc<AtomicBool>,
    reader: JoinHandle<()>,
    end: oneshot::Receiver<Result<Summary, WatchError>>,
}

/// How a pipeline ended.
pub(crate) enum End {
    /// With what it came to.
    Done(Box<Summary>),
    /// Its partitions are to be taken anew.
    Lost(String),
    Failed(GroupError),
}

impl Pipeline {
    /// Starts to judge `taken`: partitions and the revisions of their entries.
    pub(crate) async fn start<'scope, 'a: 'scope>(
        scope: &'scope Scope<'scope, '_>,
        common: Common<'a>,
        taken: Vec<(u16, Partition, u64)>,
    ) -> Result<Self, GroupError> {
        let charter = &common.group.charter;
        let subject = taken.first().and_then(|(number, ..)| charter.subject(*number));
        let partitions = match (&subject, taken.first()) {
            (Some(_), Some((number, ..))) => Partitions::only(charter.partitions, *number),
            _ => Partitions::by_key(charter.partitions),
        };
        let mut shares = Shares::default();
        for (number, partition, revision) in taken {
            partitions.set(number, true);
            let verdicts = common.group.last_verdicts(number).await?;
            shares.each.insert(number, Share { revision, position: partition.position, verdicts });
        }
        let shares = Arc::new(tokio::sync::Mutex::new(shares));
        let partitions = Arc::new(partitions);
        let (source, reader) = source::read(&common.group, subject).await?;
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, end) = oneshot::channel();
        let mut outlet = Outlet {
            group: common.group.clone(),
            owner: common.owner,
            life: common.life,
            shares: Arc::clone(&shares),
            partitions: Arc::clone(&partitions),
            told: common.told,
            calls: common.calls,
            runtime: Handle::current(),
            pending: Vec::new(),
            reached: 0,
        };
        let options =
            Options { stop: Arc::clone(&stop), partitions: Some(Arc::clone(&partitions)), ..common.options };
        let name = common.group.events.cached_info().config.name.clone();
        let judge = common.calls.judge;
        scope.spawn(move || {
            let result = judge(Input::messages(&name, source), options, &mut outlet);
            // Nobody waits for it if the worker is at its end.
            let _ = sender.send(result);
        });
        Ok(Self { shares, partitions, stop, reader, end })
    }

    /// The partitions that it judges.
    pub(crate) async fn numbers(&self) -> Vec<u16> {
        self.shares.lock().await.each.keys().copied().collect()
    }

    /// Records how far it is.
    pub(crate) async fn record(&self, group: &Group, owner: &str) -> Result<(), Lost> {
        record(group, owner, &mut *self.shares.lock().await).await
    }

    /// Gives `number` away, if it is one of these. Its verdicts so far are out, and no more will be given.
    pub(crate) async fn give(&self, group: &Group, number: u16) -> Result<(), GroupError> {
        let mut shares = self.shares.lock().await;
        let through = shares.through;
        let Some(share) = shares.each.remove(&number) else { return Ok(()) };
        self.partitions.set(number, false);
        let partition = Partition { owner: None, position: share.position.max(through) };
        match group.record(number, &partition, share.revision).await? {
            Attempt::Done(_) | Attempt::Beaten => Ok(()),
        }
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<End> {
        match self.end.try_recv() {
            Ok(result) => Some(end(result)),
            Err(oneshot::error::TryRecvError::Empty) => None,
            Err(oneshot::error::TryRecvError::Closed) => {
                Some(End::Failed(GroupError::Watch(WatchError::Defect)))
            }
        }
    }

    /// Ends it; what it has read is still told of.
    pub(crate) async fn stop(self) -> (End, Arc<tokio::sync::Mutex<Shares>>) {
        self.stop.store(true, Ordering::Relaxed);
        self.reader.abort();
        let result = self.end.await.unwrap_or(Err(WatchError::Defect));
        (end(result), self.shares)
    }
}

fn end(result: Result<Summary, WatchError>) -> End {
    let error = match result {
        Ok(summary) => return End::Done(Box::new(summary)),
        Err(error) => error,
    };
    let lost = match &error {
        WatchError::Report(error) | WatchError::Read { error, .. } => {
            error.get_ref().and_then(|error| error.downcast_ref::<Lost>()).map(ToString::to_string)
        }
        WatchError::Defect | WatchError::NoTime(_) | WatchError::Checkpoint(_) => None,
    };
    match lost {
        Some(lost) => End::Lost(lost),
        None => End::Failed(GroupError::Watch(error)),
    }
}
