//! Keys that are shared out among several processes: each key belongs to one partition, each partition to one process at
//! a time. Which process that is, is decided elsewhere.

use std::sync::atomic::{AtomicBool, Ordering};

/// The most partitions that there can be.
pub const MOST_PARTITIONS: u16 = 1024;

/// Which partitions are looked at here.
#[derive(Debug)]
pub struct Partitions {
    taken: Box<[AtomicBool]>,
    /// The partition that all events are in, if whoever sends them knows that.
    only: Option<u16>,
}

impl Partitions {
    /// `count` partitions by key, of which none is looked at yet.
    #[must_use]
    pub fn by_key(count: u16) -> Self {
        let count = count.clamp(1, MOST_PARTITIONS);
        Self { taken: (0..count).map(|_| AtomicBool::new(false)).collect(), only: None }
    }

    /// `count` partitions, and all events belong to `only`, which is looked at.
    #[must_use]
    pub fn only(count: u16, only: u16) -> Self {
        let partitions = Self { only: Some(only), ..Self::by_key(count) };
        partitions.set(only, true);
        partitions
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u16 {
        self.taken.len() as u16
    }

    /// The partition of `key`: the remainder of its FNV-1a hash of 32 bits, which is how NATS partitions subjects.
    #[must_use]
    pub fn of(&self, key: &[u8]) -> u16 {
        if let Some(only) = self.only {
            return only;
        }
        let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        (key.iter().fold(0x811c_9dc5, step) % self.taken.len() as u32) as u16
    }

    /// Whether `partition` is looked at.
    #[must_use]
    pub fn takes(&self, partition: u16) -> bool {
        self.taken.get(usize::from(partition)).is_some_and(|taken| taken.load(Ordering::Relaxed))
    }

    /// From now on `partition` is looked at, or no longer: what was kept of it is then forgotten.
    pub fn set(&self, partition: u16, takes: bool) {
        if let Some(taken) = self.taken.get(usize::from(partition)) {
            taken.store(takes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_partitioned_as_nats_does() {
        // What `partition(n, 1)` of nats-server gives for these tokens.
        let partitions = Partitions::by_key(10);
        assert_eq!(partitions.of(b"foo"), 3);
        assert_eq!(partitions.of(b"baz"), 0);
        assert_eq!(partitions.of(b"qux"), 9);
        assert!(!partitions.takes(3));
        partitions.set(3, true);
        assert!(partitions.takes(3) && !partitions.takes(10));
        assert_eq!(Partitions::only(10, 7).of(b"foo"), 7);
    }
}
