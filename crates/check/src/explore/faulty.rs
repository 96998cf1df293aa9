//! TS_k with faults: everything that is possible, and everything that may go wrong as long as there were not too many faults.

use super::full::Full;
use super::{Selection, SoFar, View};
use crate::edges::Edges;
use crate::faults::{Fault, FaultTable};

/// Expands everything, in order of discovery, faults included.
#[derive(Debug, Default)]
pub(crate) struct Faulty {
    order: Full,
}

impl Selection for Faulty {
    const BATCH: usize = Full::BATCH;

    fn next(&mut self, so_far: &SoFar<'_>) -> Option<u32> {
        self.order.next(so_far)
    }

    fn choose(&mut self, _: u32, view: &View<'_>, chosen: &mut Vec<u32>) {
        let Some(faults) = &view.model.faults else { return };
        let more = view.layout.faults(view.words) < faults.at_most;
        for role in 0..view.model.role_count() {
            choose(view, faults, role, more, chosen);
        }
    }

    fn expanded(&mut self, _: u32, _: &Edges) {}
}

/// The moves of `role`, those with a fault among them if there may be one `more`.
fn choose(view: &View<'_>, faults: &FaultTable, role: usize, more: bool, chosen: &mut Vec<u32>) {
    let (model, layout, words) = (view.model, view.layout, view.words);
    let local = layout.local(words, role);
    let with = |steps: &[u32], fault: Fault| -> Vec<u32> {
        steps.iter().filter_map(|&step| faults.variant(step, fault)).collect()
    };
    for group in model.groups_of(role, local) {
        let enabled = layout.enabled(words, model, group);
        if group.sends {
            let receiver = model.channels[group.channel as usize].to.index();
            if faults.is_crashed(receiver, layout.local(words, receiver)) {
                chosen.extend(with(model.groups.moves(group), Fault::Undeliverable));
                continue;
            }
            chosen.extend_from_slice(enabled);
            if more {
                // Whether there is room or not.
                chosen.extend(with(model.groups.moves(group), Fault::Loss));
                chosen.extend(with(&overtaking(view, group.channel as usize, enabled), Fault::Reorder));
            }
            continue;
        }
        chosen.extend_from_slice(enabled);
        if more {
            chosen.extend(with(enabled, Fault::Duplicate));
        }
    }
    if more {
        chosen.extend(faults.crash((model.offsets[role] + local) as usize));
    }
}

/// Those of `sends`, all of them on `channel`, whose message differs from the last one there.
fn overtaking(view: &View<'_>, channel: usize, sends: &[u32]) -> Vec<u32> {
    let Some(last) = view.layout.length(view.words, channel).checked_sub(1) else { return Vec::new() };
    let overtaken = view.layout.symbol(view.words, channel, last);
    sends.iter().copied().filter(|&step| view.model.moves[step as usize].symbol != overtaken).collect()
}
