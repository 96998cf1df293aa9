//! Why a worker ends.

use std::fmt;

use referee_watch::WatchError;

/// Why a worker ends before it is told to.
#[derive(Debug)]
pub enum GroupError {
    /// The broker does not do what it was asked for.
    Broker {
        /// What was asked.
        doing: String,
        /// Why not.
        why: String,
    },
    /// The call is wrong: names, or a group that is there already with other settings.
    Settings(String),
    /// Events that are still needed have been discarded.
    Discarded {
        /// The stream.
        stream: String,
        /// The first event that is needed.
        needed: u64,
        /// The first event that is there.
        first: u64,
    },
    /// Watching failed.
    Watch(WatchError),
    /// There are no threads or no runtime to be had.
    System(std::io::Error),
}

impl GroupError {
    pub(crate) fn broker(doing: impl Into<String>) -> impl FnOnce(async_nats::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Broker { doing, why: error.to_string() }
    }
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broker { doing, why } => write!(f, "NATS: cannot {doing}: {why}"),
            Self::Settings(why) => f.write_str(why),
            Self::Discarded { stream, needed, first } => write!(
                f,
                "stream `{stream}` begins with message {first}, but the group needs message {needed} and what follows to \
                 know the state of its monitors; let the stream keep more, or start a new group with another --durable"
            ),
            Self::Watch(error) => error.fmt(f),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GroupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Watch(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

/// A partition is, or may be, another worker's by now: what was done with it is given up and begun again.
#[derive(Debug)]
pub(crate) struct Lost(pub(crate) String);

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the partition was lost: {}", self.0)
    }
}

impl std::error::Error for Lost {}
