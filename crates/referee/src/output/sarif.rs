//! SARIF 2.1.0, for continuous integration.

use serde_json::{Value, json};

/// The document with these results, each of which has a `ruleId`.
pub(crate) fn document(results: Vec<Value>) -> Value {
    let mut rules: Vec<Value> = Vec::new();
    for result in &results {
        let rule = json!({"id": result["ruleId"]});
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "referee", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "results": results,
        }],
    })
}
