//! A state log that is cut anywhere tells of whole entries only; one that is damaged elsewhere is refused.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::body::Bytes;

use super::{Change, Snapshot, StateLog, read};
use crate::multiparty::peer_message::SessionId;

const NAME: &str = "protocol-1";

/// A folder that is gone when it is no longer needed.
pub(in crate::multiparty) struct Folder(pub(in crate::multiparty) PathBuf);

impl Folder {
    pub(in crate::multiparty) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("referee-state log-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn entry(number: u64) -> Vec<Change> {
    let at = (1, SessionId(u128::from(number % 3)));
    let text = |what: &str| Bytes::from(format!("{what} {number}"));
    let mut entry = vec![
        Change::Received { link: (0, 1), expected: number + 1, sequence: number + 10 },
        Change::Delivered { at, bytes: text("given") },
        Change::Sent { link: (1, 2), content: text("sent") },
    ];
    entry.push(if number % 7 == 6 {
        Change::Ended(at)
    } else {
        Change::Session { at, kept: number / 3, bytes: text("session") }
    });
    entry
}

/// Everything that matters, to be compared.
fn told(snapshot: &Snapshot) -> String {
    format!("{:?}", snapshot.changes())
}

#[test]
fn a_diary_that_is_cut_anywhere_ends_with_a_whole_entry() {
    let folder = Folder::new();
    let path = folder.0.join(format!("{NAME}.rfd"));
    let state_log = StateLog::open(&folder.0, NAME, false).unwrap();
    let mut after = vec![told(&Snapshot::default())];
    for number in 0..12 {
        entry(number).into_iter().for_each(|change| state_log.append(change));
        state_log.commit();
        after.push(state_log.read(told));
    }
    let whole = fs::read(&path).unwrap();
    let mut seen = 0;
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let told = told(&read(&path).unwrap());
        // Entries are never lost again once they are there.
        seen += after[seen..].iter().position(|state| *state == told).expect("a state that never was");
    }
    assert_eq!(seen, 12);
}

#[test]
fn a_diary_that_is_damaged_is_not_believed() {
    let folder = Folder::new();
    let path = folder.0.join(format!("{NAME}.rfd"));
    let state_log = StateLog::open(&folder.0, NAME, true).unwrap();
    for number in 0..5 {
        entry(number).into_iter().for_each(|change| state_log.append(change));
        state_log.commit();
    }
    drop(state_log);
    let mut bytes = fs::read(&path).unwrap();
    bytes[30] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = StateLog::open(&folder.0, NAME, false).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
}

#[test]
fn one_process_has_it_and_what_is_done_with_is_not_kept() {
    let folder = Folder::new();
    let state_log = StateLog::open(&folder.0, NAME, false).unwrap();
    assert!(StateLog::open(&folder.0, NAME, false).is_err());
    let big = Bytes::from(vec![b'x'; 100_000]);
    for number in 0..2_000 {
        state_log.append(Change::Sent { link: (0, 1), content: big.clone() });
        state_log.commit();
        state_log.acknowledged((0, 1), number);
    }
    let length = fs::metadata(folder.0.join(format!("{NAME}.rfd"))).unwrap().len();
    assert!(length < 20 << 20, "{length} bytes for what has been acknowledged");
    drop(state_log);
    // What is acknowledged is not worth an entry: it may be known again, but nothing is missing.
    let again = StateLog::open(&folder.0, NAME, false).unwrap();
    let (first, count) = again.read(|snapshot| {
        let queue = &snapshot.queues[&(0, 1)];
        (queue.first(), queue.len() as u64)
    });
    assert!(first <= 1_999 && first + count == 2_000, "{first}, {count}");
}

/// An entry that needs several records is taken whole or not at all.
#[test]
fn long_entries_are_whole_too() {
    let folder = Folder::new();
    let path = folder.0.join(format!("{NAME}.rfd"));
    let state_log = StateLog::open(&folder.0, NAME, false).unwrap();
    let big = Bytes::from(vec![b'x'; 1 << 20]);
    for _ in 0..10 {
        state_log.append(Change::Sent { link: (0, 1), content: big.clone() });
    }
    state_log.commit();
    let whole = fs::read(&path).unwrap();
    for cut in [1, 3 << 20, 6 << 20] {
        fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        assert!(read(&path).unwrap().queues.is_empty(), "{cut}");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(read(&path).unwrap().queues[&(0, 1)].len(), 10);
}
