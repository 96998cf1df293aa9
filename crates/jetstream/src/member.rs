//! Being alive: an entry in a bucket whose entries expire, renewed well before that.
//!
//! A worker that could not renew its entry stops by its own clock before the entry expires by the broker's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use tokio::task::JoinHandle;

use crate::error::GroupError;
use crate::group::Group;

/// This worker among the others.
pub(crate) struct Member {
    pub(crate) id: String,
    group: Group,
    life: Life,
    renewal: JoinHandle<()>,
}

/// Whether a worker may still act as the owner of its partitions.
#[derive(Clone)]
pub(crate) struct Life {
    renewed: Arc<Mutex<Instant>>,
    lease: Duration,
}

impl Life {
    /// Whether nobody can have taken over yet.
    pub(crate) fn goes_on(&self) -> bool {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < self.lease * 3 / 4
    }

    fn renew(&self, at: Instant) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }
}

impl Member {
    /// Joins `group`.
    pub(crate) async fn join(group: &Group) -> Result<Self, GroupError> {
        let inbox = group.client.new_inbox();
        let id = inbox.rsplit('.').next().unwrap_or(&inbox).to_owned();
        let life = Life { renewed: Arc::new(Mutex::new(Instant::now())), lease: group.charter.lease() };
        let before = Instant::now();
        let put = group.members.put(&id, "".into()).await;
        put.map_err(|error| GroupError::broker("join the group")(error.into()))?;
        life.renew(before);
        let (members, own, name) = (group.members.clone(), life.clone(), id.clone());
        let renewal = tokio::spawn(async move {
            loop {
                tokio::time::sleep(own.lease / 5).await;
                let before = Instant::now();
                // If it fails the life ends by itself.
                if members.put(&name, "".into()).await.is_ok() {
                    own.renew(before);
                }
            }
        });
        Ok(Self { id, group: group.clone(), life, renewal })
    }

    pub(crate) fn life(&self) -> Life {
        self.life.clone()
    }

    /// All that are alive, in order.
    pub(crate) async fn living(&self) -> Result<Vec<String>, GroupError> {
        let failed = |error: async_nats::Error| GroupError::broker("see who is in the group")(error);
        let members = &self.group.members;
        // Not by a consumer: it would wait for entries that expire before it has seen them.
        let prefix = members.prefix.clone();
        let subjects = members.stream.info_with_subjects(format!("{prefix}>")).await;
        let subjects = subjects.map_err(|error| failed(error.into()))?;
        let subjects: Vec<(String, usize)> =
            subjects.try_collect().await.map_err(|error| failed(error.into()))?;
        let mut living = Vec::new();
        for id in subjects.iter().filter_map(|(subject, _)| subject.strip_prefix(&prefix)) {
            if members.get(id).await.map_err(|error| failed(error.into()))?.is_some() {
                living.push(id.to_owned());
            }
        }
        living.sort();
        Ok(living)
    }

    /// Leaves, so that others need not wait.
    pub(crate) async fn leave(self) {
        self.renewal.abort();
        let _ = self.group.members.delete(&self.id).await;
    }
}
