//! Rows against every order of the steps, for random executions.

use referee_theory::{Message, Origin, Role, State};

use super::*;

fn step(role: u16, action: Action, peer: u16, fault: Option<Fault>) -> Step {
    Step {
        role: Role(role),
        action,
        peer: Role(peer),
        message: Message(0),
        source: State(0),
        target: State(0),
        origin: Origin::NONE,
        fault,
    }
}

/// Numbers that look random (Knuth's constants).
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// An execution of three roles, of `length` steps; without faults, everything is received in the end.
fn random(rng: &mut Rng, length: usize, faults: bool) -> Vec<Step> {
    let mut held = [[0_usize; 3]; 3];
    let mut crashed = [false; 3];
    let mut steps = Vec::new();
    while steps.len() < length {
        let role = rng.below(3);
        let peer = (role + 1 + rng.below(2)) % 3;
        let (own, other) = (role as u16, peer as u16);
        if crashed[role] {
            if crashed == [true; 3] {
                break;
            }
            continue;
        }
        match rng.below(if faults { 8 } else { 6 }) {
            0..3 if held[peer][role] > 0 => {
                held[peer][role] -= 1;
                steps.push(step(own, Action::Receive, other, None));
            }
            3..6 => {
                held[role][peer] += usize::from(!crashed[peer]);
                let fault = crashed[peer].then_some(Fault::Undeliverable);
                steps.push(step(own, Action::Send, other, fault));
            }
            6 if held[peer][role] > 0 => {
                steps.push(step(own, Action::Receive, other, Some(Fault::Duplicate)))
            }
            7 if rng.below(3) == 0 => {
                crashed[role] = true;
                held.iter_mut().for_each(|held| held[role] = 0);
                steps.push(step(own, Action::Send, own, Some(Fault::Crash)));
            }
            _ => {}
        }
    }
    while !faults && held != [[0; 3]; 3] {
        let (from, to) = (rng.below(3), rng.below(3));
        if held[from][to] > 0 {
            held[from][to] -= 1;
            steps.push(step(to as u16, Action::Receive, from as u16, None));
        }
    }
    steps
}

/// Whether some order of `rest` (each role's steps in their order) makes a row of each message.
fn all_whole(steps: &[Step], receptions: &[Option<usize>], done: &mut Vec<bool>) -> bool {
    if done.iter().all(|done| *done) {
        return true;
    }
    let next = |done: &[bool], role: Role| (0..steps.len()).find(|&at| !done[at] && steps[at].role == role);
    for role in 0..3 {
        let Some(at) = next(done, Role(role)) else { continue };
        if steps[at].action == Action::Receive {
            continue;
        }
        let reception = receptions[at];
        if reception.is_some_and(|reception| next(done, steps[at].peer) != Some(reception)) {
            continue;
        }
        for index in [Some(at), reception].into_iter().flatten() {
            done[index] = true;
        }
        if all_whole(steps, receptions, done) {
            return true;
        }
        for index in [Some(at), reception].into_iter().flatten() {
            done[index] = false;
        }
    }
    false
}

#[test]
fn rows_are_the_execution() {
    let mut rng = Rng(7);
    let (mut crossing, mut straight) = (0, 0);
    for case in 0..20_000 {
        let steps = random(&mut rng, 2 + case % 7, case % 2 == 0);
        let split = if case % 3 == 0 { rng.below(steps.len() + 1) } else { steps.len() };
        let deliveries = Deliveries::of(&steps);
        let events = [Events::None, Events::Sends, Events::SendsAndReceptions][case % 5 % 3];
        let rows = deliveries.rows(&steps, split, events);
        let order: Vec<usize> = rows.iter().flat_map(|row| row.steps()).collect();
        let told: Vec<usize> = order.iter().copied().filter(|&index| events.has(&steps[index])).collect();
        assert!(told.is_sorted(), "{steps:?}");
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..steps.len()).collect::<Vec<_>>(), "{steps:?}");
        let at = |step: usize| order.iter().position(|&other| other == step).unwrap_or_default();
        for (index, step) in steps.iter().enumerate() {
            assert_eq!(index < split, at(index) < split, "{steps:?}");
            if let Some(send) = deliveries.sources[index] {
                assert!(at(send) < at(index), "{steps:?}");
            }
            for before in 0..index {
                let same_role = steps[before].role == step.role;
                // Who crashed gets nothing more, and who is sent something before did not crash yet.
                let to = |step: &Step| if step.fault == Some(Fault::Crash) { step.role } else { step.peer };
                let left = |step: usize| {
                    steps[step].action == Action::Send && !deliveries.sources.contains(&Some(step))
                };
                let inbound = left(index) && left(before) && to(&steps[before]) == to(step);
                assert!(!(same_role || inbound) || at(before) < at(index), "{steps:?}");
            }
        }
        let is_whole = |row: &Row| matches!(row, Row::Whole { .. });
        if steps.iter().all(|step| step.fault.is_none()) && split == steps.len() && events == Events::None {
            let mut receptions = vec![None; steps.len()];
            for (index, source) in deliveries.sources.iter().enumerate() {
                if let Some(send) = source {
                    receptions[*send] = Some(index);
                }
            }
            let possible = all_whole(&steps, &receptions, &mut vec![false; steps.len()]);
            // Messages that stay keep their order besides, which can make others cross.
            if deliveries.unreceived.is_empty() {
                assert_eq!(rows.iter().all(is_whole), possible, "{steps:?}");
                *(if possible { &mut straight } else { &mut crossing }) += 1;
            }
        }
    }
    assert!(crossing > 100 && straight > 100, "{crossing} {straight}");
}
