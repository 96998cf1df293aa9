//! Where sub-sessions are open: rules K4 to K7 of `docs/concurrency.md`, section 2.
//!
//! `open` and `close` stand in the graph as choices between one branch. Here the stages of all sub-protocols are carried from place to
//! place, written down beside the messages, and the marks are taken out: whoever comes next sees a graph of messages. `rules` has the rules about labels.

use std::sync::Arc;

use referee_theory::calls::{Calls, Spot, Stages, SubProtocol};
use referee_theory::{Origin, Role, Stage};
use rustc_hash::{FxHashMap, FxHashSet};

use super::graph::{Raw, RawId, RawMessage};
use super::lower::Mark;
use super::names::ProtocolId;
use crate::diagnostics::Diagnostic;
use crate::diagnostics::calls::{
    close_waits, closed_while_closed, closes_without_opener, mark_begins_branch, mark_in_block,
    open_on_some_ways, opened_twice, opener_absent,
};
use crate::source::Span;

mod rules;

pub(super) use rules::{keyed, labels, opener, without_monitors};

/// So many sub-protocols a protocol may open.
pub(super) const MAX_SUBS: usize = 256;

/// A protocol that is opened, before it was read itself.
pub(super) struct Opened {
    pub(super) protocol: ProtocolId,
    pub(super) players: Vec<Role>,
    /// The first `open`.
    pub(super) span: Span,
}

/// A protocol that is opened.
pub(super) struct Sub {
    pub(super) opened: Opened,
    pub(super) protocol: SubProtocol,
    /// Who begins its calls.
    pub(super) opener: Role,
    /// From where a call does not end.
    pub(super) endless: Option<Span>,
}

/// What is opened, each once, in the order of the text.
pub(super) fn opened(marks: &[(RawId, Mark)]) -> Vec<Opened> {
    let mut opens: Vec<&Mark> = marks.iter().map(|(_, mark)| mark).filter(|mark| mark.opens).collect();
    opens.sort_by_key(|mark| mark.span);
    let mut all: Vec<Opened> = Vec::new();
    for Mark { protocol, players, span, .. } in opens {
        let Some(players) = players else { continue };
        if !all.iter().any(|known| known.protocol == *protocol && known.players == *players) {
            all.push(Opened { protocol: *protocol, players: players.clone(), span: *span });
        }
    }
    all
}

/// What is open at the places of a protocol.
pub(super) struct Places {
    subs: Vec<Sub>,
    spots: Vec<Spot>,
    start: Stages,
}

impl Places {
    /// The same by places in the text: `found` says where the spots with these numbers are.
    pub(super) fn calls(self, found: &[(Origin, u32)]) -> Calls {
        let spot = |number: &u32| self.spots.get(*number as usize - 1).cloned();
        let spots = found.iter().filter_map(|(origin, number)| Some((*origin, spot(number)?))).collect();
        Calls { subs: self.subs.into_iter().map(|sub| sub.protocol).collect(), spots, start: self.start }
    }
}

/// Finds out what is open where, and takes the marks out of the graph. Behind its end the protocol may go on, if it is a part of others.
pub(super) fn place(
    (nodes, root, goes_on): (&mut [Raw], &mut RawId, bool),
    marks: &[(RawId, Mark)],
    subs: Vec<Sub>,
    role_name: impl Fn(Role) -> String,
) -> (Places, Vec<Diagnostic>) {
    let by_node: FxHashMap<RawId, &Mark> = marks.iter().map(|(id, mark)| (*id, mark)).collect();
    let count = nodes.len();
    let mut walk = Walk {
        nodes,
        marks: &by_node,
        subs: &subs,
        role_name: &role_name,
        stages: vec![None; count],
        around: vec![None; count],
        pars: Vec::new(),
        reported: FxHashSet::default(),
        goes_on,
        diagnostics: Vec::new(),
    };
    let closed: Stages = vec![Stage::Closed; subs.len()].into();
    walk.go(*root, &closed);
    walk.openers();
    walk.branches();
    let start = walk.behind(*root, &closed);
    let (spots, numbers) = walk.spots();
    let diagnostics = walk.diagnostics;
    remove(nodes, root, marks);
    for (node, number) in nodes.iter_mut().zip(numbers) {
        match node {
            Raw::Message(RawMessage { spot, .. }) | Raw::Par { spot, .. } => *spot = number,
            _ => {}
        }
    }
    (Places { subs, spots, start: start.end.unwrap_or(start.after) }, diagnostics)
}

/// Takes `marks` out of the graph.
pub(super) fn remove(nodes: &mut [Raw], root: &mut RawId, marks: &[(RawId, Mark)]) {
    let marked: FxHashSet<RawId> = marks.iter().map(|(id, _)| *id).collect();
    // Statements are written out from the last to the first: what follows a mark has been gone through when it comes.
    let mut behind: FxHashMap<RawId, RawId> = FxHashMap::default();
    for (id, _) in marks {
        let next = nodes_next(nodes, *id).unwrap_or(*id);
        behind.insert(*id, behind.get(&next).copied().unwrap_or(next));
    }
    debug_assert!(behind.values().all(|next| !marked.contains(next)));
    let through = |id: &mut RawId| *id = behind.get(id).copied().unwrap_or(*id);
    through(root);
    nodes.iter_mut().flat_map(Raw::children_mut).for_each(through);
}

fn nodes_next(nodes: &[Raw], mark: RawId) -> Option<RawId> {
    nodes[mark.index()].children().first().copied()
}

/// What comes behind a message, or at the start: marks, then something else.
struct Behind {
    /// What is open then.
    after: Stages,
    /// The same, if that is the end of the whole.
    end: Option<Stages>,
}

struct Walk<'a> {
    nodes: &'a [Raw],
    marks: &'a FxHashMap<RawId, &'a Mark>,
    subs: &'a [Sub],
    role_name: &'a dyn Fn(Role) -> String,
    /// By node. At the end the protocol may be with different ones.
    stages: Vec<Option<Stages>>,
    /// The innermost `par` around each node, in `pars`.
    around: Vec<Option<usize>>,
    /// Each `par`, and the one around it.
    pars: Vec<(RawId, Option<usize>)>,
    /// The sub-protocols that are open on some ways only: each is told once.
    reported: FxHashSet<usize>,
    /// Whether the end is not that of the whole.
    goes_on: bool,
    diagnostics: Vec<Diagnostic>,
}

impl Walk<'_> {
    fn go(&mut self, root: RawId, closed: &Stages) {
        let mut pending = vec![(root, Arc::clone(closed), None)];
        while let Some((id, stages, around)) = pending.pop() {
            if let Raw::End = self.nodes[id.index()] {
                continue;
            }
            if let Some(known) = self.stages[id.index()].clone() {
                self.compare(id, &known, &stages);
                continue;
            }
            self.stages[id.index()] = Some(Arc::clone(&stages));
            self.around[id.index()] = around;
            if let Some(&mark) = self.marks.get(&id) {
                if around.is_some() {
                    self.diagnostics.push(mark_in_block(mark.span));
                }
                let stages = self.mark(id, mark, &stages);
                pending.extend(nodes_next(self.nodes, id).map(|next| (next, stages, around)));
                continue;
            }
            match &self.nodes[id.index()] {
                Raw::End | Raw::Join => {}
                Raw::Message(message) => pending.push((message.next, sent(&stages), around)),
                Raw::Call { target, .. } => pending.push((*target, stages, around)),
                Raw::Choice { branches: children, .. } => {
                    pending.extend(children.iter().map(|child| (*child, Arc::clone(&stages), around)));
                }
                Raw::Rec { body, .. } => pending.push((*body, stages, around)),
                Raw::Par { parts, .. } => {
                    let inside = Some(self.pars.len());
                    self.pars.push((id, around));
                    let (last, blocks) = (parts.len() - 1, parts.iter().enumerate());
                    pending.extend(blocks.map(|(index, part)| {
                        (*part, Arc::clone(&stages), if index == last { around } else { inside })
                    }));
                }
            }
        }
    }

    /// What `mark` makes of `stages`: rules K6 and K7.
    fn mark(&mut self, id: RawId, mark: &Mark, stages: &Stages) -> Stages {
        let mut changed: Vec<Stage> = stages.to_vec();
        let mut any = false;
        for (index, sub) in self.subs.iter().enumerate() {
            let is_meant = mark.protocol == sub.opened.protocol
                && mark.players.as_ref().is_none_or(|players| *players == sub.opened.players);
            let now = stages[index];
            if !is_meant || (mark.players.is_none() && now != Stage::Open) {
                continue;
            }
            any = true;
            let signature = || sub.protocol.signature();
            if mark.opens {
                if now != Stage::Closed {
                    let closing = now == Stage::Closing;
                    self.diagnostics.push(opened_twice(mark.span, sub.opened.span, &signature(), closing));
                }
                changed[index] = Stage::Open;
                continue;
            }
            if now != Stage::Open {
                self.diagnostics.push(closed_while_closed(mark.span, &signature()));
            }
            if let Some(place) = sub.endless {
                self.diagnostics.push(close_waits(mark.span, place, &signature()));
            }
            changed[index] = Stage::Closing;
            self.followed(id, mark, sub);
        }
        if !any {
            let name = self.subs.iter().find(|sub| sub.opened.protocol == mark.protocol);
            let name = name.map_or_else(|| "this".to_owned(), |sub| sub.protocol.name.to_string());
            self.diagnostics.push(closed_while_closed(mark.span, &name));
        }
        changed.into()
    }

    /// Rule K5: the opener sends what comes behind `close`.
    fn followed(&mut self, id: RawId, mark: &Mark, sub: &Sub) {
        let mut seen = FxHashSet::default();
        let mut pending = vec![id];
        while let Some(at) = pending.pop() {
            if !seen.insert(at) {
                continue;
            }
            let next = match &self.nodes[at.index()] {
                Raw::End if self.goes_on => Ok(()),
                Raw::End | Raw::Join => Err(None),
                Raw::Par { span, .. } => Err(Some(*span)),
                Raw::Message(message) if message.sender != sub.opener => Err(Some(message.span)),
                Raw::Message(_) => Ok(()),
                Raw::Call { target, .. } => {
                    pending.push(*target);
                    Ok(())
                }
                node => {
                    pending.extend(node.children());
                    Ok(())
                }
            };
            if let Err(next) = next {
                let (opener, signature) = ((self.role_name)(sub.opener), sub.protocol.signature());
                self.diagnostics.push(closes_without_opener(mark.span, next, &opener, &signature));
                return;
            }
        }
    }

    /// Rule K4: what is open at a place is open on every way.
    fn compare(&mut self, id: RawId, known: &Stages, found: &Stages) {
        for (index, sub) in self.subs.iter().enumerate() {
            if known[index] != found[index] && self.reported.insert(index) {
                // Round a loop it is closed and opened again, without a message in between.
                let mut opens = None;
                self.along(id, |mark| {
                    let is_meant = mark.opens && mark.protocol == sub.opened.protocol;
                    opens = opens.or(is_meant.then_some(mark.span));
                });
                if let (Some(span), true) = (opens, found[index] == Stage::Closing) {
                    let signature = sub.protocol.signature();
                    self.diagnostics.push(opened_twice(span, sub.opened.span, &signature, true));
                    continue;
                }
                let span = self.first_span(id).unwrap_or(sub.opened.span);
                let signature = sub.protocol.signature();
                self.diagnostics.push(open_on_some_ways(span, sub.opened.span, &signature));
            }
        }
    }

    /// Something that stands in the text at `id`.
    fn first_span(&self, mut id: RawId) -> Option<Span> {
        loop {
            match &self.nodes[id.index()] {
                Raw::Message(RawMessage { span, .. })
                | Raw::Choice { span, .. }
                | Raw::Par { span, .. }
                | Raw::Call { span, .. } => return Some(*span),
                Raw::Rec { body, .. } => id = *body,
                Raw::End | Raw::Join => return None,
            }
        }
    }

    /// Calls `visit` with the marks on the way from `start` to the next message, and returns what is there. `None` if there is no end of it.
    fn along(&self, start: RawId, mut visit: impl FnMut(&Mark)) -> Option<RawId> {
        let mut seen = FxHashSet::default();
        let mut at = start;
        while seen.insert(at) {
            if let Some(mark) = self.marks.get(&at) {
                visit(mark);
                at = nodes_next(self.nodes, at)?;
                continue;
            }
            match &self.nodes[at.index()] {
                Raw::Rec { body, .. } => at = *body,
                Raw::Call { target, .. } => at = *target,
                _ => return Some(at),
            }
        }
        None
    }

    /// What follows the `par` whose block ends at `join`, what is open there, and whether that is the end of another block.
    fn outside(&self, join: RawId) -> Option<(RawId, Stages)> {
        let (par, _) = self.pars.get(self.around[join.index()]?)?;
        let next = *self.nodes[par.index()].children().last()?;
        Some((next, self.stages[par.index()].clone()?))
    }

    /// Rule K5: who begins calls takes part in the message before `open`.
    fn openers(&mut self) {
        let mut found = Vec::new();
        for node in self.nodes.iter().enumerate().filter(|(index, _)| self.stages[*index].is_some()) {
            let Raw::Message(message) = node.1 else { continue };
            let mut at = message.next;
            let absent = |mark: &Mark| {
                let is_absent = |sub: &&Sub| {
                    sub.opened.protocol == mark.protocol
                        && Some(&sub.opened.players) == mark.players.as_ref()
                        && ![message.sender, message.receiver].contains(&sub.opener)
                };
                let sub = self.subs.iter().find(is_absent).filter(|_| mark.opens)?;
                let (opener, signature) = ((self.role_name)(sub.opener), sub.protocol.signature());
                Some(opener_absent(mark.span, message.span, &opener, &signature))
            };
            while let Some(end) = self.along(at, |mark| found.extend(absent(mark)))
                && let Raw::Join = self.nodes[end.index()]
                && let Some((next, _)) = self.outside(end)
            {
                at = next;
            }
        }
        self.diagnostics.append(&mut found);
    }

    /// Rule K4: no branch begins with a mark.
    fn branches(&mut self) {
        for (index, node) in self.nodes.iter().enumerate() {
            let Raw::Choice { branches, span, .. } = node else { continue };
            if self.stages[index].is_none() || self.marks.contains_key(&raw_id(index)) {
                continue;
            }
            let mut found = Vec::new();
            for branch in branches {
                self.along(*branch, |mark| found.push(mark_begins_branch(mark.span, *span)));
            }
            self.diagnostics.append(&mut found);
        }
    }

    /// What is open at `start` and behind the marks there, where `stages` were before.
    fn behind(&self, start: RawId, stages: &Stages) -> Behind {
        let mut now = stages.to_vec();
        let mut rests = false;
        let change = |mark: &Mark, now: &mut Vec<Stage>, rests: &mut bool| {
            for (stage, sub) in now.iter_mut().zip(self.subs) {
                let is_meant = mark.protocol == sub.opened.protocol
                    && mark.players.as_ref().is_none_or(|players| *players == sub.opened.players);
                match (is_meant, mark.opens) {
                    (true, true) => (*stage, *rests) = (Stage::Open, true),
                    (true, false) if *stage == Stage::Open => *stage = Stage::Closing,
                    _ => {}
                }
            }
        };
        let mut last = self.along(start, |mark| change(mark, &mut now, &mut rests));
        let after: Stages = now.as_slice().into();
        // Behind the block that is over may stand the end of the whole, or more marks.
        while let Some(join) = last.filter(|last| matches!(self.nodes[last.index()], Raw::Join))
            && let Some((next, outside)) = self.outside(join)
        {
            now = outside.to_vec();
            last = self.along(next, |mark| change(mark, &mut now, &mut rests));
        }
        let is_end = last.is_some_and(|last| matches!(self.nodes[last.index()], Raw::End));
        let over = |stage: &Stage| if *stage == Stage::Open && !rests { Stage::Ended } else { *stage };
        Behind { after, end: is_end.then(|| now.iter().map(over).collect()) }
    }

    /// What is open around each message and each `par`, and for each node the number of that, 0 where there is none.
    fn spots(&self) -> (Vec<Spot>, Vec<u32>) {
        let mut spots = Vec::new();
        let mut number = |(node, before): (&Raw, &Option<Stages>)| {
            let (next, stages) = match (node, before) {
                (Raw::Message(message), Some(before)) => (message.next, sent(before)),
                (Raw::Par { parts, .. }, Some(before)) => (*parts.last()?, Arc::clone(before)),
                _ => return None,
            };
            let Behind { after, end } = self.behind(next, &stages);
            let before = Arc::clone(before.as_ref()?);
            spots.push(Spot { before, after, end });
            u32::try_from(spots.len()).ok()
        };
        let all = self.nodes.iter().zip(&self.stages);
        let numbers = all.map(|found| number(found).unwrap_or(0)).collect();
        (spots, numbers)
    }
}

fn raw_id(index: usize) -> RawId {
    RawId(u32::try_from(index).unwrap_or(u32::MAX))
}

/// What is open once a message was sent: what was being closed is closed.
fn sent(stages: &Stages) -> Stages {
    if !stages.contains(&Stage::Closing) {
        return Arc::clone(stages);
    }
    let closed = |stage: &Stage| if *stage == Stage::Closing { Stage::Closed } else { *stage };
    stages.iter().map(closed).collect()
}
