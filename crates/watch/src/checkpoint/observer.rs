//! Who is told when a follower goes on: nobody hears twice what was told before.

use std::io;

use super::{Checkpoint, Told};
use crate::error::WatchError;
use crate::options::Options;
use crate::report::{Notice, Observer, Progress, Summary};

/// Watches, and tells `observer` what was not told before, if there is a checkpoint.
pub(crate) fn resuming(
    options: &Options,
    observer: &mut dyn Observer,
    watch: impl FnOnce(&mut dyn Observer) -> Result<Summary, WatchError>,
) -> Result<Summary, WatchError> {
    match &options.checkpoint {
        None => watch(observer),
        Some(checkpoint) => {
            let told = checkpoint.told().notices;
            watch(&mut Resuming { checkpoint, observer, heard: 0, told })
        }
    }
}

struct Resuming<'a> {
    checkpoint: &'a Checkpoint,
    observer: &'a mut dyn Observer,
    /// How many notices there were so far.
    heard: u64,
    /// How many of them are recorded as told.
    told: u64,
}

impl Observer for Resuming<'_> {
    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        self.heard += 1;
        if self.heard <= self.told {
            self.observer.told_before(&notice);
            return Ok(());
        }
        self.observer.notice(notice)
    }

    fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        self.observer.progress(progress)?;
        if self.heard > self.told {
            self.told = self.heard;
            self.checkpoint.record(Told { notices: self.told, output: self.observer.written()? })?;
        }
        Ok(())
    }

    fn written(&mut self) -> io::Result<u64> {
        self.observer.written()
    }
}
