//! Every way in which a killed writer can leave a journal, and every way in which it can be damaged.

use std::fs;

use super::*;
use crate::report::{EndReport, Report};

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("referee-journal-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn report(session: u64) -> Report {
    Report::SessionEnd(Box::new(EndReport { session, why: "over".to_owned(), ..EndReport::default() }))
}

fn fill(folder: &Path, sessions: std::ops::Range<u64>, rotate_at: usize, keep: u32) {
    let mut writer = Writer::open(folder, rotate_at, keep).unwrap();
    for session in sessions {
        writer.append(&report(session)).unwrap();
        writer.commit(false).unwrap();
    }
}

fn numbers(folder: &Path) -> (Vec<u64>, Summary) {
    let mut numbers = Vec::new();
    let summary = verify(folder, &mut |content| {
        numbers.push(serde_json::from_slice::<Entry>(content).unwrap().number);
        Ok(())
    });
    (numbers, summary.unwrap())
}

#[test]
fn cut_at_any_byte_only_the_torn_record_is_lost() {
    let folder = folder("cut");
    fill(&folder, 0..3, 1 << 20, 4);
    let path = path_of(&folder, 1);
    let whole = fs::read(&path).unwrap();
    let mut ends = vec![MAGIC.len()];
    while let Some(length) = whole.get(ends[ends.len() - 1]..).and_then(|rest| rest.first_chunk()) {
        ends.push(ends[ends.len() - 1] + HEADER + u32::from_le_bytes(*length) as usize);
    }
    assert_eq!((ends.len(), ends[3]), (4, whole.len()));
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let kept = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1) as u64;
        fill(&folder, 9..10, 1 << 20, 4);
        let (found, summary) = numbers(&folder);
        assert_eq!(found, (1..=kept + 1).collect::<Vec<_>>(), "cut at {cut}");
        assert!(summary.damages.is_empty(), "cut at {cut}: {summary:?}");
    }
}

#[test]
fn a_changed_byte_is_found_and_never_repaired() {
    let folder = folder("flip");
    fill(&folder, 0..3, 1 << 20, 4);
    let path = path_of(&folder, 1);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x20;
        fs::write(&path, &changed).unwrap();
        assert!(!numbers(&folder).1.damages.is_empty(), "byte {at}");
        let first = HEADER + u32::from_le_bytes(*whole[MAGIC.len()..].first_chunk().unwrap()) as usize;
        if (MAGIC.len() + 4..MAGIC.len() + first).contains(&at) {
            fill(&folder, 9..10, 1 << 20, 4);
            assert_eq!(fs::read(&path).unwrap(), changed, "byte {at}");
            fs::remove_file(path_of(&folder, 2)).unwrap();
        }
    }
}

#[test]
fn zeroes_after_the_last_record_are_a_torn_tail() {
    let folder = folder("zeroes");
    fill(&folder, 0..2, 1 << 20, 4);
    let path = path_of(&folder, 1);
    let mut whole = fs::read(&path).unwrap();
    whole.extend([0; 5000]);
    fs::write(&path, &whole).unwrap();
    fill(&folder, 2..3, 1 << 20, 4);
    assert_eq!(numbers(&folder).0, [1, 2, 3]);
}

#[test]
fn rotation_keeps_the_newest_and_numbers_run_on() {
    let folder = folder("rotate");
    fill(&folder, 0..50, 1000, 3);
    let (found, summary) = numbers(&folder);
    assert_eq!(files(&folder).unwrap().len(), 4);
    assert_eq!(found.last(), Some(&50));
    assert!(found[0] > 1 && summary.damages.is_empty(), "{summary:?}");
    fill(&folder, 50..51, 1000, 3);
    assert_eq!(numbers(&folder).0.last(), Some(&51));
}
