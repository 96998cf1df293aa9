//! What there is to say about properties that could be read.

use std::sync::Arc;

use referee_theory::property::{EventPattern, Formula, FormulaId, Growth, Property, Scope, Slot};

use crate::diagnostics::Diagnostic;
use crate::diagnostics::properties::{
    different_field_counts, guard_without_value, idle_part, may_grow, no_verdict,
};
use crate::source::{Origins, Span};

/// Guards that cannot be right, verdicts that cannot be given, parts that do nothing, residuals that may grow.
pub(super) fn property(property: &Property, origins: &Origins, diagnostics: &mut Vec<Diagnostic>) {
    let start = match property.scope() {
        Scope::PerProcess(process) => Some(&process.start),
        _ => None,
    };
    let timed = property.patterns().iter().chain(start).flat_map(EventPattern::with_inner);
    let times: Vec<Slot> = timed.filter_map(|pattern| pattern.at).collect();
    for pattern in property.patterns().iter().chain(start).flat_map(EventPattern::with_inner) {
        let mistakes = pattern.guard.iter().flat_map(|guard| guard.mistakes(&times));
        diagnostics.extend(mistakes.map(|mistake| guard_without_value(&mistake)));
    }
    let Some(polarity) = property.polarity() else {
        let whole = origins.span(property.node_origin(property.root()));
        diagnostics.push(no_verdict(whole, property.name()));
        return;
    };
    for node in idle_parts(property) {
        diagnostics.push(idle_part(origins.span(property.node_origin(node)), polarity));
    }
    if let Some(growth) = Growth::of(property) {
        let kept = origins.span(property.node_origin(growth.kept));
        let variable = &property.slots()[growth.slot.index()];
        diagnostics.push(may_grow(kept, origins.span(variable.origin), &variable.name));
    }
}

/// The outermost parts that never lead to the verdict of the whole, constants apart.
fn idle_parts(property: &Property) -> Vec<FormulaId> {
    let Some(polarity) = property.polarity() else { return Vec::new() };
    let mut idle = Vec::new();
    let mut pending = vec![property.root()];
    while let Some(node) = pending.pop() {
        let formula = property.node(node);
        if property.can(node, polarity) {
            pending.extend(formula.children());
        } else if !matches!(formula, Formula::True | Formula::False) {
            idle.push(node);
        }
    }
    idle
}

/// Labels whose fields are counted differently in different places: one of the counts never matches.
pub(super) fn field_counts(fields: &mut [(Arc<str>, usize, Span)]) -> Vec<Diagnostic> {
    fields.sort_by(|left, right| (&left.0, left.2).cmp(&(&right.0, right.2)));
    let mut diagnostics = Vec::new();
    for pair in fields.windows(2) {
        let [(first_label, first, first_span), (label, count, span)] = pair else { continue };
        if first_label == label && first != count {
            diagnostics.push(different_field_counts(*span, *first_span, label, *count, *first));
        }
    }
    diagnostics
}
