//! Why watching stops before the end of the input.

use std::fmt;
use std::io;

/// Why watching stopped.
#[derive(Debug)]
pub enum WatchError {
    /// An input cannot be read.
    Read {
        /// Which one.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// Inputs are to be put in the order of their times, and the first event of this one has none that can be read.
    NoTime(String),
    /// The checkpoint cannot be read or written.
    Checkpoint(io::Error),
    /// Whoever was told of a violation does not want to hear more.
    Report(io::Error),
    /// A thread stopped without an answer: a defect of Referee.
    Defect,
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { name, .. } => write!(f, "cannot read `{name}`"),
            Self::NoTime(name) => write!(
                f,
                "the first event of `{name}` has no time that can be read, so that it cannot be put in order; times are {}, \
                 and --time says where they are",
                referee_theory::time::FORMATS
            ),
            Self::Checkpoint(_) => f.write_str("cannot go on with the checkpoint"),
            Self::Report(_) => f.write_str("cannot report what was found"),
            Self::Defect => f.write_str("a thread stopped without an answer; this is a defect of Referee"),
        }
    }
}

impl std::error::Error for WatchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { error, .. } | Self::Report(error) | Self::Checkpoint(error) => Some(error),
            Self::Defect | Self::NoTime(_) => None,
        }
    }
}
