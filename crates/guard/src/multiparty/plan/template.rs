//! Templates of texts to components, with `{placeholders}`. Braces around anything else are left alone: JSON has many.

/// The placeholders of `dependency`.
pub(super) const DEPENDENCY: &[&str] = &["from", "label"];
/// The placeholders of `violation`.
pub(super) const VIOLATION: &[&str] = &["blame", "kind", "message", "json"];

/// `template` with each placeholder replaced, in one pass.
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

/// The first placeholder in `template` that is none of `known`.
pub(super) fn unknown<'a>(template: &'a str, known: &[&str]) -> Option<&'a str> {
    template.split('{').skip(1).find_map(|rest| {
        let (word, _) = rest.split_once('}')?;
        let is_word = word.starts_with(|c: char| c.is_alphabetic())
            && word.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
        (is_word && !known.contains(&word)).then_some(word)
    })
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
