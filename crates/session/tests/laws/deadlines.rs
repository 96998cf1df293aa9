//! `docs/time.md`, laws T2 and T3, on a [simulated network](crate::network): peers that keep their times are not blamed, whatever is slow. A server
//! that falls silent is. Each mistake that a driver can make blames an innocent.

use crate::network::{Choose, Mistake, Rounds, random, run, with_few};

/// Who is blamed in a session with `requests`, of which all but `silent` are answered, while a side may leave `room` bytes unread.
fn blamed(
    rounds: &Rounds,
    mistake: Mistake,
    exchanges: (usize, usize),
    room: usize,
    choose: Choose<'_>,
) -> Vec<Option<String>> {
    let reports = run(rounds, mistake, exchanges, room, choose).reports;
    let blamed = |verdict: referee_session::SessionVerdict| {
        assert_eq!(verdict.record.certain, verdict.record.blame.is_some(), "{:?}", verdict.record);
        assert!(["deadline", "early"].contains(&&*verdict.record.kind), "{:?}", verdict.record);
        verdict.record.blame
    };
    reports.into_iter().map(blamed).collect()
}

const NOBODY: &[Option<String>] = &[];

fn is_innocent(blamed: &[Option<String>]) -> bool {
    blamed.iter().all(Option::is_none)
}

#[test]
fn nobody_is_blamed_whatever_is_slow() {
    let mut runs = 0;
    for (after, within, tolerance) in [(0, 4, 1), (2, 3, 0)] {
        let rounds = Rounds::new(after, within, tolerance, Mistake::None);
        runs += with_few(1, |choose| {
            assert!(is_innocent(&blamed(&rounds, Mistake::None, (2, 0), 2, choose)));
        });
    }
    assert!(runs > 1_000, "{runs}");
    for seed in 0..6_000 {
        let rounds = [(0, 1, 0), (0, 3, 1), (1, 2, 2), (2, 2, 0), (0, 6, 3)][seed as usize % 5];
        let rounds = Rounds::new(rounds.0, rounds.1, rounds.2, Mistake::None);
        let room = 1 + seed as usize % 4;
        let found = blamed(&rounds, Mistake::None, (4, 0), room, &mut random(seed));
        assert!(is_innocent(&found), "seed {seed}: {found:?}");
    }
}

#[test]
fn a_server_that_falls_silent_is_blamed() {
    let mut runs = 0;
    let rounds = Rounds::new(0, 4, 1, Mistake::None);
    let is_found = |found: &[Option<String>]| found.iter().flatten().eq(["server"].iter());
    runs += with_few(1, |choose| {
        let found = blamed(&rounds, Mistake::None, (2, 1), 8, choose);
        assert!(is_found(&found), "{found:?}");
    });
    assert!(runs > 500, "{runs}");
    for seed in 0..2_000 {
        let found = blamed(&rounds, Mistake::None, (3, 1), 8, &mut random(seed));
        assert!(is_found(&found), "seed {seed}: {found:?}");
    }
    // Without a stall nothing is in doubt.
    assert_eq!(blamed(&rounds, Mistake::None, (3, 0), 8, &mut |_| 0), NOBODY);
}

#[test]
fn each_mistake_of_a_driver_blames_an_innocent() {
    for mistake in [
        Mistake::SmallTolerance,
        Mistake::HandingAfterTheWrite,
        Mistake::EmptyAfterTheLook,
        Mistake::ArrivedWhenRead,
        Mistake::UnsentIsHanded,
    ] {
        let rounds = match mistake {
            Mistake::HandingAfterTheWrite => Rounds::new(3, 4, 0, mistake),
            Mistake::SmallTolerance => Rounds::new(0, 2, 2, mistake),
            _ => Rounds::new(0, 2, 0, mistake),
        };
        let is_found = (0..20_000).any(|seed| {
            !is_innocent(&blamed(&rounds, mistake, (4, 0), 1 + seed as usize % 4, &mut random(seed)))
        });
        assert!(is_found, "{mistake:?}");
    }
}
