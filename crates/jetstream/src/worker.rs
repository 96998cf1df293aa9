//! One worker of a group: takes its share of the partitions, judges, gives away what others should have.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::Duration;

use futures_util::future::try_join_all;
use referee_watch::{Counts, Input, Notice, Observer, Options, Summary, WatchError};

use crate::balance::balance;
use crate::error::GroupError;
use crate::group::{Attempt, Group, Partition};
use crate::member::Member;
use crate::outlet::Told;
use crate::pipeline::{Common, End, Pipeline};
use crate::settings::Settings;

/// Watches an input.
pub type Judge<'a> = dyn Fn(Input, Options, &mut dyn Observer) -> Result<Summary, WatchError> + Sync + 'a;

/// What a worker asks of whoever runs it.
#[derive(Clone, Copy)]
pub struct Calls<'a> {
    /// Watches an input.
    pub judge: &'a Judge<'a>,
    /// A verdict as a line of JSON; `None` for what is no verdict.
    pub render: &'a (dyn Fn(&Notice) -> Option<String> + Sync),
    /// Tells the user of something that is not as it should be, and that the worker goes on with.
    pub remark: &'a (dyn Fn(&str) + Sync),
}

/// How long a worker waits at most before it looks again what is to be done.
const LOOK: Duration = Duration::from_millis(500);
/// How soon it sees that it should stop.
const STOP: Duration = Duration::from_millis(50);

/// Works until `options.stop` is set or the process is told to terminate; with [`Settings::until_end`], until the group has
/// judged all that was in the stream. What this worker told is counted.
///
/// # Errors
/// If the broker cannot be reached, or does not have what is needed.
pub fn run(
    settings: &Settings,
    options: &Options,
    calls: Calls<'_>,
    observer: &mut dyn Observer,
) -> Result<Summary, GroupError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(GroupError::System)?;
    let told = Mutex::new(Told { observer, counts: Counts::default() });
    let (summary, found) = std::thread::scope(|scope| {
        runtime.block_on(async {
            let group = Group::open(settings).await?;
            let goals = if settings.until_end { Some(group.last_events().await?) } else { None };
            let member = Member::join(&group).await?;
            let common = Common {
                group,
                owner: member.id.clone(),
                life: member.life(),
                options: options.clone(),
                calls,
                told: &told,
            };
            let mut worker =
                Worker { common, goals, member: &member, pipelines: Vec::new(), summary: Summary::default() };
            let worked = worker.work(scope).await;
            let finished = worker.finish().await;
            let summary = std::mem::take(&mut worker.summary);
            // Whoever waited for the end is told what the group found, not only this worker.
            let found = match settings.until_end && worked.is_ok() && finished.is_ok() {
                true => worker.common.group.found().await.map(Some),
                false => Ok(None),
            };
            drop(worker);
            member.leave().await;
            worked.and(finished).and(found).map(|found| (summary, found))
        })
    })?;
    let told = told.into_inner().unwrap_or_else(PoisonError::into_inner).counts;
    let mut summary = summary_of(summary, told);
    if let Some((violations, consequences)) = found {
        summary.counts.violated = violations - consequences;
        summary.counts.consequences = consequences;
    }
    Ok(summary)
}

/// What was read again was counted again; what was told is what counts.
fn summary_of(mut summary: Summary, told: Counts) -> Summary {
    let Counts { violated, consequences, satisfied, limited, unanswered, malformed, uncertain, .. } = told;
    summary.counts = Counts {
        violated,
        consequences,
        satisfied,
        limited,
        unanswered,
        malformed,
        uncertain,
        ..summary.counts
    };
    summary
}

struct Worker<'a, 'm> {
    common: Common<'a>,
    /// The last event of each partition that is to be judged, if there is one.
    goals: Option<Vec<u64>>,
    member: &'m Member,
    pipelines: Vec<Pipeline>,
    summary: Summary,
}

impl<'a> Worker<'a, '_> {
    async fn work<'scope>(&mut self, scope: &'scope Scope<'scope, '_>) -> Result<(), GroupError>
    where
        'a: 'scope,
    {
        let mut terminated = terminations()?;
        let look = LOOK.min(self.common.group.charter.lease() / 5);
        loop {
            match self.look(scope).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                // The broker may come back. Meanwhile no verdict is given, because no sign of life is.
                Err(error @ GroupError::Broker { .. }) => (self.common.calls.remark)(&error.to_string()),
                Err(error) => return Err(error),
            }
            let stop = &self.common.options.stop;
            let mut waited = Duration::ZERO;
            while waited < look {
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                tokio::select! {
                    () = tokio::time::sleep(STOP) => waited += STOP,
                    _ = terminated.recv() => stop.store(true, Ordering::Relaxed),
                }
            }
        }
    }

    /// Does what is to be done; whether all is.
    async fn look<'scope>(&mut self, scope: &'scope Scope<'scope, '_>) -> Result<bool, GroupError>
    where
        'a: 'scope,
    {
        self.reap().await?;
        let entries = self.entries().await?;
        let from = self.common.group.charter.from;
        let is_done = |((partition, _), goal): (&(Partition, u64), &u64)| {
            *goal < from || partition.position >= Some(*goal)
        };
        if self.goals.as_ref().is_some_and(|goals| entries.iter().zip(goals).all(is_done)) {
            return Ok(true);
        }
        self.balance(scope, entries).await?;
        Ok(false)
    }

    async fn entries(&self) -> Result<Vec<(Partition, u64)>, GroupError> {
        let group = &self.common.group;
        try_join_all((0..group.charter.partitions).map(|number| group.partition(number))).await
    }

    /// Takes and gives partitions.
    async fn balance<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        mut entries: Vec<(Partition, u64)>,
    ) -> Result<(), GroupError>
    where
        'a: 'scope,
    {
        // Those that are taken together are read together: it is worth waiting a little for the others.
        const PATIENCE: u32 = 4;
        let group = self.common.group.clone();
        let mut taken = self.orphans(&entries).await?;
        for attempt in 0..PATIENCE {
            let living = self.member.living().await?;
            let owners: Vec<_> = entries.iter().map(|(partition, _)| partition.owner.clone()).collect();
            let moves = balance(&self.common.owner, &living, &owners);
            for number in moves.give {
                for pipeline in &self.pipelines {
                    pipeline.give(&group, number).await?;
                }
            }
            for number in moves.take {
                let Some((partition, revision)) = entries.get(usize::from(number)).cloned() else { continue };
                let own = Partition { owner: Some(self.common.owner.clone()), ..partition };
                if let Attempt::Done(revision) = group.record(number, &own, revision).await? {
                    taken.push((number, own, revision));
                }
            }
            if moves.missing == 0 || taken.is_empty() || attempt + 1 == PATIENCE {
                break;
            }
            tokio::time::sleep(LOOK / PATIENCE).await;
            entries = self.entries().await?;
        }
        if group.charter.subjects.is_some() {
            for one in taken {
                self.pipelines.push(Pipeline::start(scope, self.common.clone(), vec![one]).await?);
            }
        } else if !taken.is_empty() {
            self.pipelines.push(Pipeline::start(scope, self.common.clone(), taken).await?);
        }
        Ok(())
    }

    /// Partitions of this worker that no pipeline judges, because the one that did was lost.
    async fn orphans(&self, entries: &[(Partition, u64)]) -> Result<Vec<(u16, Partition, u64)>, GroupError> {
        let owner = Some(&self.common.owner);
        let mut judged = Vec::new();
        for pipeline in &self.pipelines {
            judged.extend(pipeline.numbers().await);
        }
        let mut orphans = Vec::new();
        for (number, (partition, _)) in (0_u16..).zip(entries) {
            if partition.owner.as_ref() == owner && !judged.contains(&number) {
                // It may have been given away since.
                let (partition, revision) = self.common.group.partition(number).await?;
                if partition.owner.as_ref() == owner {
                    orphans.push((number, partition, revision));
                }
            }
        }
        Ok(orphans)
    }

    /// Records how far pipelines are, and looks after those that have ended or have nothing to do.
    async fn reap(&mut self) -> Result<(), GroupError> {
        let mut result = Ok(());
        for mut pipeline in std::mem::take(&mut self.pipelines) {
            if let Some(end) = pipeline.ended() {
                result = result.and(self.note(end));
                continue;
            }
            let recorded = pipeline.record(&self.common.group, &self.common.owner).await;
            if recorded.is_err() || pipeline.numbers().await.is_empty() {
                let (end, _) = pipeline.stop().await;
                result = result.and(self.note(end));
            } else {
                self.pipelines.push(pipeline);
            }
        }
        result
    }

    fn note(&mut self, end: End) -> Result<(), GroupError> {
        match end {
            End::Done(summary) => {
                self.summary.absorb(*summary);
                Ok(())
            }
            End::Lost(why) => {
                (self.common.calls.remark)(&why);
                Ok(())
            }
            End::Failed(error) => Err(error),
        }
    }

    /// Ends all pipelines and gives their partitions away.
    async fn finish(&mut self) -> Result<(), GroupError> {
        let mut result = Ok(());
        for pipeline in std::mem::take(&mut self.pipelines) {
            let (end, shares) = pipeline.stop().await;
            let is_done = matches!(end, End::Done(_));
            result = result.and(self.note(end));
            if !is_done {
                continue;
            }
            let mut shares = shares.lock().await;
            let through = shares.through;
            for (number, share) in std::mem::take(&mut shares.each) {
                let partition = Partition { owner: None, position: share.position.max(through) };
                // If it fails, others take over when the lease ends.
                let _ = self.common.group.record(number, &partition, share.revision).await;
            }
        }
        result
    }
}

/// The signal by which a process is asked to end.
#[cfg(unix)]
fn terminations() -> Result<tokio::signal::unix::Signal, GroupError> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::terminate()).map_err(GroupError::System)
}
