//! Figure 8: monitored processes ⟨P; M⟩.

use std::collections::BTreeSet;

use super::Label;
use super::monitor::Monitor;
use super::process::Process;
use super::value::Value;

/// ⟨P; M⟩.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Composite {
    /// P.
    pub process: Process,
    /// M.
    pub monitor: Monitor,
}

/// What ⟨P; M⟩ does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// τ.
    Silent,
    /// ▲l(v).
    Out(Label, Value),
    /// ▼l(v).
    In(Label, Value),
}

impl Composite {
    /// ⟨P; M⟩.
    #[must_use]
    pub fn new(process: Process, monitor: Monitor) -> Self {
        Self { process, monitor }
    }

    /// Every ⟨P; M⟩ −μ→ ⟨P′; M′⟩, where the environment sends `messages`.
    #[must_use]
    pub fn steps(&self, messages: &[(Label, Value)]) -> Vec<(Action, Self)> {
        let Self { process, monitor } = self;
        let mut steps = Vec::new();
        // iSnd
        if let Some((label, value, process)) = process.send()
            && let Some(monitor) = monitor.receive(label, value)
        {
            steps.push((Action::Silent, Self::new(process, monitor)));
        }
        // iRcv
        if let Some((label, value, monitor)) = monitor.send()
            && let Some(process) = process.receive(label, value)
        {
            steps.push((Action::Silent, Self::new(process, monitor)));
        }
        // iOut
        if let Some((label, value, monitor)) = monitor.out() {
            steps.push((Action::Out(label, value), Self::new(process.clone(), monitor)));
        }
        // iIn
        for (label, value) in messages {
            if let Some(monitor) = monitor.input(label, *value) {
                steps.push((Action::In(label, *value), Self::new(process.clone(), monitor)));
            }
        }
        // iProc
        if let Some(process) = process.silent() {
            steps.push((Action::Silent, Self::new(process, monitor.clone())));
        }
        // iMon
        if let Some(monitor) = monitor.silent() {
            steps.push((Action::Silent, Self::new(process.clone(), monitor)));
        }
        steps
    }

    /// Everything that ⟨P; M⟩ can become, each with the trace of a shortest way to it. Finite, because terms
    /// are regular and `messages` are.
    #[must_use]
    pub fn reachable(&self, messages: &[(Label, Value)]) -> Vec<(Vec<Action>, Self)> {
        let mut seen = BTreeSet::from([self.clone()]);
        let mut found = vec![(Vec::new(), self.clone())];
        let mut next = 0;
        while next < found.len() {
            let (trace, composite) = found[next].clone();
            next += 1;
            for (action, after) in composite.steps(messages) {
                if seen.insert(after.clone()) {
                    let mut trace = trace.clone();
                    if action != Action::Silent {
                        trace.push(action);
                    }
                    found.push((trace, after));
                }
            }
        }
        found
    }
}
