//! `${NAME}` in strings: the value of an environment variable. `$${` stands for `${`.
//!
//! Strings are expanded after parsing, so a value cannot change the structure of the file, and every place in
//! the text stays where it is.

use std::borrow::Cow;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::Problem;

/// Expands every string of `table` in place.
pub(super) fn variables(
    table: &mut DeTable<'_>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    // The parser bounds the depth of nesting.
    let mut waiting: Vec<_> = table.iter_mut().map(|(_, value)| value).collect();
    while let Some(value) = waiting.pop() {
        let span = value.span();
        match value.get_mut() {
            DeValue::String(text) => match expand(text, span, environment) {
                Ok(Some(expanded)) => *text = Cow::Owned(expanded),
                Ok(None) => {}
                Err(problem) => problems.push(problem),
            },
            DeValue::Array(values) => waiting.extend(values.iter_mut()),
            DeValue::Table(table) => waiting.extend(table.iter_mut().map(|(_, value)| value)),
            _ => {}
        }
    }
    problems.sort_by_key(|problem| problem.span.start);
    problems
}

fn expand(
    text: &str,
    span: Range<usize>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, Problem> {
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            out.push_str(&rest[..at]);
            out.push('{');
            rest = &rest[at + 2..];
            continue;
        }
        out.push_str(&rest[..at]);
        let Some(end) = rest[at..].find('}') else {
            return Err(Problem::new("`${` without `}`", span).with_help("write `$${` for a literal `${`"));
        };
        let name = &rest[at + 2..at + end];
        let Some(value) = environment(name) else {
            let message = format!("the environment variable `{name}` is not set");
            return Err(Problem::new(message, span));
        };
        out.push_str(&value);
        rest = &rest[at + end + 1..];
    }
    if rest.len() == text.len() {
        return Ok(None);
    }
    out.push_str(rest);
    Ok(Some(out))
}
