//! Templates: what monitors write to components in the words of the configuration, with `{words}` to put in. Braces
//! around anything else are the component's own: JSON has many.

use referee_wire::{Framing, Kind, Table};

/// What tells a component that a label was chosen.
pub(super) const DEPENDENCY: &[&str] = &["from", "label"];
/// What tells it of a violation.
pub(super) const VIOLATION: &[&str] = &["blame", "kind", "message", "json"];

/// `template` with each of `words` replaced by its value. What is put in is not looked at again.
pub(super) fn fill(template: &str, words: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        let word = words.iter().find_map(|(word, value)| {
            let left = after.strip_prefix(word)?.strip_prefix('}')?;
            Some((*value, left))
        });
        let (value, left) = word.unwrap_or(("{", after));
        text += value;
        rest = left;
    }
    text + rest
}

/// The first word in `template` that is none of `known`.
pub(super) fn unknown<'a>(template: &'a str, known: &[&str]) -> Option<&'a str> {
    template.split('{').skip(1).find_map(|rest| {
        let (word, _) = rest.split_once('}')?;
        let is_word = word.starts_with(|c: char| c.is_alphabetic())
            && word.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
        (is_word && !known.contains(&word)).then_some(word)
    })
}

/// `text` as a message of its own: where one ends with its line, so does this.
pub(super) fn whole(text: &str, codec: &Table) -> String {
    let lines = match codec.kind {
        Kind::Text => true,
        Kind::Json => matches!(codec.framing, None | Some(Framing::Lines)),
        _ => false,
    };
    let end = if lines && !text.ends_with('\n') { "\n" } else { "" };
    format!("{text}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_json() {
        let template = r#"{"a":{},"b":{"who":"{from}"},"c":{label}}{"#;
        assert_eq!(unknown(template, DEPENDENCY), None);
        assert_eq!(unknown(template, &["from"]), Some("label"));
        assert_eq!(unknown("{nonsense} {", VIOLATION), Some("nonsense"));
        let filled = fill(template, &[("from", "{label}"), ("label", "go")]);
        assert_eq!(filled, r#"{"a":{},"b":{"who":"{label}"},"c":go}{"#);
    }
}
