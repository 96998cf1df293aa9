//! What can be said about a property at a glance.

use referee_theory::property::{Formula, FormulaId, Growth, Polarity, Property, Scope};
use serde_json::{Value, json};

/// One line: the verdict it gives, its instances, its size.
#[must_use]
pub fn summary(property: &Property) -> String {
    let verdict = match property.polarity() {
        Some(Polarity::Violation) => "reports violations",
        Some(Polarity::Satisfaction) => "reports satisfactions",
        None => "can report nothing",
    };
    let instances = match property.scope() {
        Scope::Stream => String::new(),
        Scope::PerKey(keys) => {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            format!(", one instance for each {}", keys.join(", "))
        }
        Scope::PerProcess(process) => format!(", one instance for each process {}", process.function),
    };
    let modalities = modalities(property);
    let plural = if modalities == 1 { "y" } else { "ies" };
    format!("{verdict}{instances}; {modalities} modalit{plural}")
}

/// As JSON.
#[must_use]
pub fn to_json(property: &Property) -> Value {
    let for_each: Vec<String> = match property.scope() {
        Scope::PerKey(keys) => keys.iter().map(ToString::to_string).collect(),
        Scope::Stream | Scope::PerProcess(_) => Vec::new(),
    };
    let process = match property.scope() {
        Scope::PerProcess(process) => Some(&*process.function),
        _ => None,
    };
    json!({
        "name": &**property.name(),
        "documentation": &**property.documentation(),
        "verdict": property.polarity().map(|polarity| match polarity {
            Polarity::Violation => "violation",
            Polarity::Satisfaction => "satisfaction",
        }),
        "for_each": for_each,
        "process": process,
        "modalities": modalities(property),
        "may_grow": Growth::of(property).is_some(),
    })
}

fn modalities(property: &Property) -> usize {
    let nodes = (0u32..).map(FormulaId).take(property.node_count());
    nodes.filter(|node| matches!(property.node(*node), Formula::Modal { .. })).count()
}
