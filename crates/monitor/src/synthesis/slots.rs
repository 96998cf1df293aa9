//! Where variables are kept: those never kept in one state share a slot.

use referee_theory::Machine;
use rustc_hash::FxHashSet;

use super::scope::Kept;
use crate::layout::{Class, Layout, Variable};

/// Greedy colouring of the graph of variables that are kept together.
pub(super) fn assign(machine: &Machine, kept: &Kept) -> Layout {
    let count = kept.variables.len();
    let mut together: Vec<FxHashSet<u32>> = vec![FxHashSet::default(); count];
    let mut seen = FxHashSet::default();
    for state in machine.states() {
        let here: Vec<u32> = kept.after(state).collect();
        if here.len() > 1 && seen.insert(here.clone()) {
            for &variable in &here {
                together[variable as usize].extend(here.iter().filter(|&&other| other != variable));
            }
        }
    }
    let mut layout = Layout { offsets: kept.offsets.clone(), live: kept.kept.clone(), ..Layout::default() };
    let mut places: Vec<u32> = Vec::with_capacity(count);
    for (index, (name, ty)) in kept.variables.iter().enumerate() {
        let class = Class::of(ty);
        let taken: FxHashSet<u32> = together[index]
            .iter()
            .map(|&other| other as usize)
            .filter(|&other| other < index && Class::of(&kept.variables[other].1) == class)
            .map(|other| places[other])
            .collect();
        let place = (0..).find(|place| !taken.contains(place)).unwrap_or(0);
        places.push(place);
        let size = match class {
            Class::Scalar => &mut layout.scalars,
            Class::Text => &mut layout.texts,
            Class::Octets => &mut layout.octets,
            Class::Tree => &mut layout.trees,
        };
        // The first scalar is in the session itself.
        *size = (*size).max(place as usize + usize::from(class != Class::Scalar));
        layout.variables.push(Variable { name: name.clone(), ty: ty.clone(), slot: class.slot(place) });
    }
    layout
}
