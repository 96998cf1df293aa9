//! SARIF 2.1.0, for continuous integration.
//!
//! By hand: the types that `serde-sarif` generates from the whole standard cost more to build than the dozen keys below.

use std::fmt::Write as _;

use referee::syntax::diagnostics;
use serde_json::{Value, json};

use crate::command::explain;

/// The document with these results, each of which has a `ruleId`. Columns are counted in characters.
pub(crate) fn document(results: Vec<Value>) -> Value {
    let mut rules: Vec<&str> = Vec::new();
    for id in results.iter().filter_map(|result| result["ruleId"].as_str()) {
        if !rules.contains(&id) {
            rules.push(id);
        }
    }
    let rules: Vec<Value> = rules.into_iter().map(rule).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "referee", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// Where the file called `name` is, as a URI (RFC 3986): what is not a letter, a digit or one of few signs is written by its bytes. A
/// colon is, too: before the first slash it would end a scheme.
pub(crate) fn artifact_location(name: &str) -> Value {
    let mut uri = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    json!({"uri": uri})
}

/// What `referee explain` says of the rule `id` in a line.
fn rule(id: &str) -> Value {
    let title = diagnostics::find(id).map(|code| code.title).or_else(|| explain::title(id));
    json!({"id": id, "shortDescription": {"text": title.unwrap_or(id)}})
}
