//! The order of last use, against a list that is searched.

use std::sync::Arc;

use referee_monitor::{Monitor, Registry};
use referee_theory::{Action, MachineBuilder, Origin, Transition, Vocabulary};

use super::{NOBODY, Sessions, Status};

fn monitor() -> Monitor {
    let mut vocabulary = Vocabulary::new();
    let (a, b) = (vocabulary.add_role("a"), vocabulary.add_role("b"));
    let message = vocabulary.add_plain_message("M");
    let mut machine = MachineBuilder::new(a);
    let (start, end) = (machine.add_state(), machine.add_state());
    let origin = Origin::NONE;
    machine.add_transition(start, Transition { action: Action::Send, peer: b, message, target: end, origin });
    Monitor::synthesise(&machine.finish(), &Arc::new(vocabulary), &Registry::new()).unwrap()
}

#[test]
fn the_longest_idle_goes_first() {
    let monitor = monitor();
    let (limit, remembered) = (5, 3);
    let mut sessions = Sessions::new(monitor.session(), false, Some(limit), remembered);
    // The last used is last; then those that are gone, in the order in which they went.
    let (mut live, mut gone): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut seed = 88_172_645_463_325_252_u64;
    let mut random = |bound: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % bound
    };
    for _ in 0..20_000 {
        let key = random(12);
        // Few hashes, so that keys collide.
        let index = sessions.locate(key % 3, &key.to_le_bytes(), NOBODY);
        if let Some(at) = live.iter().position(|known| *known == key) {
            live.remove(at);
            live.push(key);
        } else if !gone.contains(&key) {
            if live.len() == limit {
                gone.push(live.remove(0));
            }
            live.push(key);
        }
        if random(4) == 0 && live.contains(&key) {
            sessions.retire(index, Status::Ended);
            live.retain(|known| *known != key);
            gone.push(key);
        }
        while gone.len() > remembered {
            gone.remove(0);
        }
        assert_eq!(sessions.live(), live.len());
        for key in 0..12_u64 {
            let found = sessions.find(key % 3, &key.to_le_bytes());
            let status = sessions.entry(found).map(|entry| entry.status);
            assert_eq!(status == Some(Status::Live), live.contains(&key));
            assert_eq!(status.is_some(), live.contains(&key) || gone.contains(&key));
        }
    }
    assert!(sessions.evicted > 100);
}
