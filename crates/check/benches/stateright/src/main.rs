//! The pipeline of `referee generate pipeline`, two kinds of items, one message per channel, in Stateright: as plain a
//! model as it allows. Prints states, transitions, the most bytes resident, and CPU-seconds.

use stateright::{Checker, Model, Property};

/// What each stage holds and each channel holds: 0 for nothing, or the kind of an item.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Configuration {
    stages: Box<[u8]>,
    channels: Box<[u8]>,
}

struct Pipeline {
    stages: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Produce(u8),
    Take(usize),
    Pass(usize),
    Consume,
}

impl Model for Pipeline {
    type State = Configuration;
    type Action = Step;

    fn init_states(&self) -> Vec<Configuration> {
        vec![Configuration { stages: vec![0; self.stages].into(), channels: vec![0; self.stages + 1].into() }]
    }

    fn actions(&self, state: &Configuration, actions: &mut Vec<Step>) {
        if state.channels[0] == 0 {
            actions.extend([Step::Produce(1), Step::Produce(2)]);
        }
        for stage in 0..self.stages {
            if state.stages[stage] == 0 && state.channels[stage] != 0 {
                actions.push(Step::Take(stage));
            } else if state.stages[stage] != 0 && state.channels[stage + 1] == 0 {
                actions.push(Step::Pass(stage));
            }
        }
        if state.channels[self.stages] != 0 {
            actions.push(Step::Consume);
        }
    }

    fn next_state(&self, state: &Configuration, step: Step) -> Option<Configuration> {
        let mut next = state.clone();
        match step {
            Step::Produce(kind) => next.channels[0] = kind,
            Step::Take(stage) => next.stages[stage] = std::mem::take(&mut next.channels[stage]),
            Step::Pass(stage) => next.channels[stage + 1] = std::mem::take(&mut next.stages[stage]),
            Step::Consume => next.channels[self.stages] = 0,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("nothing is asked", |_, _| true)]
    }
}

fn main() {
    let stages = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(7);
    let checker = Pipeline { stages }.checker().threads(1).spawn_bfs().join();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    let peak = line.split_whitespace().nth(1).and_then(|word| word.parse::<usize>().ok()).unwrap_or(0) * 1024;
    // Threads that have ended count: hundredths of a second of the whole process.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
    println!(
        "{} {} {peak} {}",
        checker.unique_state_count(),
        checker.state_count(),
        (ticks(11) + ticks(12)) / 100.0
    );
}
