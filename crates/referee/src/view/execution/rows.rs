//! In which order the messages of an execution are drawn.
//!
//! A row of a chart stands on the lifelines of its sender and of its receiver. A message is one row where some order of the
//! same steps has its first reception right behind its send. Where messages cross there is none: send and reception are rows
//! of their own. Along each lifeline rows have the order of the role's steps, and so have the messages to one role that
//! stay in its channels, as they would in a mailbox. What a property is about stands in the order in which it happened, whatever
//! lifelines it is on: another order may be none that violates the property.

use std::collections::BTreeSet;

use referee_check::{Fault, Step};
use referee_theory::Action;

/// A row, by the numbers of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// A send, and its reception if there is one.
    Whole { send: usize, reception: Option<usize> },
    /// A send whose message is received later.
    Sent(usize),
    /// A reception of a message that was sent before.
    Received { send: usize, reception: usize },
    /// A crash.
    Crash(usize),
}

/// What happened to the messages of an execution.
pub(super) struct Deliveries {
    /// Of each reception, the send of its message.
    sources: Vec<Option<usize>>,
    /// The sends whose message is still in its channel at the end, in the order of the channels.
    pub(super) unreceived: Vec<usize>,
}

impl Deliveries {
    pub(super) fn of(steps: &[Step]) -> Self {
        let mut open: Vec<usize> = Vec::new();
        let mut sources = vec![None; steps.len()];
        for (index, step) in steps.iter().enumerate() {
            let is_to = |&send: &usize| steps[send].role == step.peer && steps[send].peer == step.role;
            match (step.action, step.fault) {
                (_, Some(Fault::Crash)) => open.retain(|&send| steps[send].peer != step.role),
                (Action::Send, None) => open.push(index),
                (Action::Send, Some(Fault::Reorder)) => {
                    let before =
                        |&send: &usize| steps[send].role == step.role && steps[send].peer == step.peer;
                    open.insert(open.iter().rposition(before).unwrap_or(open.len()), index);
                }
                (Action::Send, _) => {}
                (Action::Receive, fault) => {
                    if let Some(at) = open.iter().position(is_to) {
                        sources[index] = Some(open[at]);
                        if fault != Some(Fault::Duplicate) {
                            open.remove(at);
                        }
                    }
                }
            }
        }
        Self { sources, unreceived: open }
    }

    /// Of each send the last reception of its message, if it was received; otherwise the send itself.
    pub(super) fn last(&self) -> Vec<usize> {
        let mut last: Vec<usize> = (0..self.sources.len()).collect();
        for (reception, send) in self.sources.iter().enumerate() {
            if let Some(send) = send {
                last[*send] = reception;
            }
        }
        last
    }

    /// The rows of `steps`. Those before `split` come first, and those that are `events` of a property have their order.
    pub(super) fn rows(&self, steps: &[Step], split: usize, events: Events) -> Vec<Row> {
        let roles = steps.iter().map(|step| step.role.index().max(step.peer.index()) + 1).max().unwrap_or(0);
        let mut drawing = Drawing {
            steps,
            sources: &self.sources,
            receptions: vec![None; steps.len()],
            inbound: vec![BTreeSet::new(); roles],
            own: vec![Vec::new(); roles],
            drawn: vec![false; steps.len()],
            events: (0..steps.len()).filter(|&index| events.has(&steps[index])).collect(),
            rows: Vec::new(),
        };
        for (index, step) in steps.iter().enumerate() {
            if let Some(send) = self.sources[index] {
                drawing.receptions[send].get_or_insert(index);
            }
            if step.fault == Some(Fault::Crash) {
                drawing.inbound[step.role.index()].insert(index);
            } else if step.action == Action::Send {
                drawing.inbound[step.peer.index()].insert(index);
            }
            drawing.own[step.role.index()].push(index);
        }
        drawing.own.iter_mut().for_each(|own| own.reverse());
        drawing.draw(split);
        drawing.draw(steps.len());
        drawing.rows
    }
}

/// The steps that a property speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Events {
    None,
    Sends,
    SendsAndReceptions,
}

impl Events {
    fn has(self, step: &Step) -> bool {
        match self {
            Self::None => false,
            Self::Sends => step.action == Action::Send,
            Self::SendsAndReceptions => step.fault != Some(Fault::Crash),
        }
    }
}

struct Drawing<'a> {
    steps: &'a [Step],
    sources: &'a [Option<usize>],
    /// Of each send, the first reception of its message.
    receptions: Vec<Option<usize>>,
    /// The sends to each role that are not drawn, and its crash.
    inbound: Vec<BTreeSet<usize>>,
    /// The steps of each role that are not drawn, the next one last.
    own: Vec<Vec<usize>>,
    drawn: Vec<bool>,
    /// The events that are not drawn.
    events: BTreeSet<usize>,
    rows: Vec<Row>,
}

impl Drawing<'_> {
    /// Draws all steps before `end`.
    fn draw(&mut self, end: usize) {
        loop {
            let next = self.own.iter().filter_map(|own| own.last().copied()).filter(|&step| step < end);
            let Some(first) = next.clone().min() else { return };
            // The first step that is left follows nothing that is left. If it is no row yet, it is a send whose reception waits for others.
            let rows = next.filter_map(|step| self.row(step, end));
            let row = rows.filter(|row| self.is_in_order(row)).min_by_key(|row| row.first());
            self.add(row.unwrap_or(Row::Sent(first)));
        }
    }

    /// The row that begins with the next step of a role, if it can be drawn now.
    fn row(&self, index: usize, end: usize) -> Option<Row> {
        let step = &self.steps[index];
        let is_first_at = |role: usize| self.inbound[role].first() == Some(&index);
        if step.fault == Some(Fault::Crash) {
            return is_first_at(step.role.index()).then_some(Row::Crash(index));
        }
        if step.action == Action::Receive {
            let send = self.sources[index]?;
            return self.drawn[send].then_some(Row::Received { send, reception: index });
        }
        match self.receptions[index] {
            None => is_first_at(step.peer.index()).then_some(Row::Whole { send: index, reception: None }),
            Some(reception) => {
                let is_next = self.own[step.peer.index()].last() == Some(&reception);
                let whole = Row::Whole { send: index, reception: Some(reception) };
                (reception < end && is_next).then_some(whole)
            }
        }
    }

    /// Whether the events of `row` are the next ones.
    fn is_in_order(&self, row: &Row) -> bool {
        let of_row = row.steps().filter(|step| self.events.contains(step));
        of_row.zip(&self.events).all(|(step, next)| step == *next)
    }

    fn add(&mut self, row: Row) {
        for index in row.steps() {
            let step = &self.steps[index];
            self.own[step.role.index()].pop();
            self.drawn[index] = true;
            self.events.remove(&index);
            let to = if step.fault == Some(Fault::Crash) { step.role } else { step.peer };
            self.inbound[to.index()].remove(&index);
        }
        self.rows.push(row);
    }
}

impl Row {
    /// Its one or two steps.
    fn steps(self) -> impl Iterator<Item = usize> {
        let second = match self {
            Self::Whole { reception, .. } => reception,
            Self::Sent(_) | Self::Received { .. } | Self::Crash(_) => None,
        };
        [Some(self.first()), second].into_iter().flatten()
    }

    /// The step by which rows are ordered where several could be next.
    fn first(self) -> usize {
        match self {
            Self::Whole { send, .. } => send,
            Self::Sent(step) | Self::Received { reception: step, .. } | Self::Crash(step) => step,
        }
    }
}

#[cfg(test)]
mod tests;
