//! Every way in which a killed writer can leave a journal, and every way in which it can be damaged.

use std::fs;

use super::*;
use crate::report::{EndRecord, Report};

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("referee-journal-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn report(session: u64) -> Report {
    Report::SessionEnd(Box::new(EndRecord { session: Some(session.to_string()), ..EndRecord::default() }))
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
    let summary = verify(folder, &mut |found| {
        if let Found::Record(content) = found {
            numbers.push(serde_json::from_slice::<Entry>(content).unwrap().number);
        }
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
fn a_changed_bit_is_found_and_costs_nothing_but_its_record() {
    let folder = folder("flip");
    fill(&folder, 0..3, 1 << 20, 4);
    let path = path_of(&folder, 1);
    let whole = fs::read(&path).unwrap();
    let size = (whole.len() - MAGIC.len()) / 3;
    for at in 0..whole.len() {
        let hit = at.checked_sub(MAGIC.len()).map(|at| (at / size) as u64 + 1);
        let intact: Vec<u64> = (1..=3).filter(|number| Some(*number) != hit).collect();
        // All of what frames the records, and of their content one of each byte.
        let is_frame = at < MAGIC.len() || (at - MAGIC.len()) % size < HEADER;
        for bit in (0..8).filter(|bit| is_frame || at % 8 == *bit).map(|bit| 1 << bit) {
            let mut changed = whole.clone();
            changed[at] ^= bit;
            fs::write(&path, &changed).unwrap();
            let (found, summary) = numbers(&folder);
            assert_eq!(found, intact, "bit {bit} of byte {at}");
            assert!(
                summary.damages.iter().any(|(_, damage)| !damage.torn),
                "bit {bit} of byte {at}: {summary:?}"
            );
            // Whoever goes on leaves it as it is, and says so.
            let writer = Writer::open(&folder, 1 << 20, 4).unwrap();
            assert!(!writer.damages().is_empty() && writer.repaired().is_none(), "bit {bit} of byte {at}");
            drop(writer);
            if !is_frame {
                continue;
            }
            fill(&folder, 9..10, 1 << 20, 4);
            assert_eq!(fs::read(&path).unwrap(), changed, "bit {bit} of byte {at}");
            assert_eq!(numbers(&folder).0.len(), intact.len() + 1, "bit {bit} of byte {at}");
            fs::remove_file(path_of(&folder, 2)).unwrap();
        }
    }
}

/// A record may be as long as it likes: what follows its damage is found all the same.
#[test]
fn records_after_long_damage_are_found() {
    let folder = folder("long");
    fill(&folder, 0..3, 1 << 20, 4);
    let path = path_of(&folder, 1);
    let whole = fs::read(&path).unwrap();
    let size = (whole.len() - MAGIC.len()) / 3;
    let (front, back) = whole.split_at(MAGIC.len() + 2 * size);
    let noise = vec![0x55; 2 * (MAX_RECORD + HEADER) + 12345];
    fs::write(&path, [front, &noise, back].concat()).unwrap();
    let (found, summary) = numbers(&folder);
    assert_eq!((found, summary.damages.len()), (vec![1, 2, 3], 1), "{:?}", summary.damages);
}

#[test]
fn a_record_that_was_never_written_whole_is_torn() {
    let folder = folder("unwritten");
    fill(&folder, 0..2, 1 << 20, 4);
    let path = path_of(&folder, 1);
    let whole = fs::read(&path).unwrap();
    let size = (whole.len() - MAGIC.len()) / 2;
    // The length of the file was on the disk before its content.
    for written in 0..size {
        for more in [0, 5000] {
            let mut torn = whole.clone();
            torn[MAGIC.len() + size + written..].fill(0);
            torn.extend(vec![0; more]);
            fs::write(&path, &torn).unwrap();
            let damages = numbers(&folder).1.damages;
            assert!(matches!(&damages[..], [(_, damage)] if damage.torn), "{written}, {more}: {damages:?}");
            fill(&folder, 2..3, 1 << 20, 4);
            let (found, summary) = numbers(&folder);
            assert_eq!((found, summary.damages.len()), (vec![1, 2], 0), "{written}, {more}");
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
