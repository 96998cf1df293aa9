//! Identifiers from the names of a protocol.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Names that are in use in one scope. Two that differ only in case or in what is between their words are alike: targets change both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope(BTreeSet<String>);

/// What tells names apart however a target writes them.
fn folded(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).filter(|character| is_part(*character)).collect()
}

/// Whether every target has identifiers with this character: not all that Unicode calls numeric, or alphabetic (`²`, `Ⓐ`), may be there.
fn is_part(character: char) -> bool {
    let is_enclosed = matches!(character, '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f189}');
    character.is_ascii_digit() || (character.is_alphabetic() && !is_enclosed)
}

impl Scope {
    /// With names that are reserved.
    pub(crate) fn with(reserved: &[&str]) -> Self {
        Self(reserved.iter().map(|name| folded(name)).collect())
    }

    /// Takes `name`, whoever has it.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.0.insert(folded(name));
    }

    /// `wanted`, with a number if it is taken.
    pub(crate) fn claim(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 2;
        while !self.0.insert(folded(&name)) {
            name = format!("{wanted}{number}");
            number += 1;
        }
        name
    }

    /// Takes all names that `names` gives for a number, the first for which they are free; the number is 1 at first.
    pub(crate) fn claim_all(&mut self, names: impl Fn(usize) -> Vec<String>) -> Vec<String> {
        let mut number = 1;
        loop {
            let wanted = names(number);
            if wanted.iter().all(|name| !self.0.contains(&folded(name))) {
                self.0.extend(wanted.iter().map(|name| folded(name)));
                return wanted;
            }
            number += 1;
        }
    }
}

/// What `names` are called in one place, each `written` as a target writes it.
pub(crate) fn distinct<'a>(
    names: impl IntoIterator<Item = &'a Arc<str>>,
    written: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut scope = Scope::default();
    names.into_iter().map(|name| scope.claim(&written(name))).collect()
}

/// What the one of `names` that is `wanted` is called there.
pub(crate) fn among<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a Arc<str>> + Clone,
    written: impl Fn(&str) -> String,
) -> String {
    let at = names.clone().into_iter().position(|name| **name == *wanted);
    debug_assert!(at.is_some(), "`{wanted}` is one of them");
    at.map_or_else(|| written(wanted), |at| distinct(names, &written).swap_remove(at))
}

/// `wanted`, with as many `_` as it takes to be none of `taken`.
pub(crate) fn free(wanted: &str, taken: &[String]) -> String {
    let mut name = wanted.to_owned();
    while taken.contains(&name) {
        name.push('_');
    }
    name
}

/// The words of a name: `reqTok`, `req_tok` and `req-tok` are `req` and `tok`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let characters: Vec<char> = name.chars().collect();
    let mut fresh = true;
    for (at, &character) in characters.iter().enumerate() {
        if !is_part(character) {
            fresh = true;
            continue;
        }
        let before = at.checked_sub(1).map(|at| characters[at]);
        let humps = character.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || (before.is_some_and(char::is_uppercase)
                    && characters.get(at + 1).is_some_and(|next| next.is_lowercase())));
        match words.last_mut() {
            Some(word) if !fresh && !humps => word.push(character),
            _ => words.push(character.to_string()),
        }
        fresh = false;
    }
    words
}

/// `ReqTok`; what would begin with a digit begins with `M`.
pub(crate) fn upper_camel(name: &str) -> String {
    let text = capitalised(name);
    if text.chars().next().is_none_or(char::is_numeric) { format!("M{text}") } else { text }
}

/// `ReqTok`, `250`: as a part of a name.
pub(crate) fn capitalised(name: &str) -> String {
    let mut text = String::new();
    for word in words(name) {
        let mut characters = word.chars();
        text.extend(characters.next().into_iter().flat_map(char::to_uppercase));
        text.push_str(characters.as_str());
    }
    text
}

/// `reqTok`; what would begin with a digit begins with `m`.
pub(crate) fn camel(name: &str) -> String {
    let words = words(name);
    let first = words.first().map(|word| word.to_lowercase()).unwrap_or_default();
    let rest: String = words.iter().skip(1).map(|word| capitalised(word)).collect();
    let text = first + &rest;
    if text.chars().next().is_none_or(char::is_numeric) { format!("m{text}") } else { text }
}

/// `req_tok`; what would begin with a digit begins with `m`.
pub(crate) fn snake(name: &str) -> String {
    let text = words(name).join("_").to_lowercase();
    if text.chars().next().is_none_or(char::is_numeric) { format!("m{text}") } else { text }
}

/// `REQ_TOK`.
pub(crate) fn screaming(name: &str) -> String {
    snake(name).to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_protocols_become_identifiers() {
        for (name, camel, snaked) in [
            ("Auth", "Auth", "auth"),
            ("reqTok", "ReqTok", "req_tok"),
            ("req_tok", "ReqTok", "req_tok"),
            ("250", "M250", "m250"),
            ("HTTPServer", "HTTPServer", "http_server"),
            ("RCPT TO", "RCPTTO", "rcpt_to"),
            ("a-b", "AB", "a_b"),
            ("größe", "Größe", "größe"),
            ("", "M", "m"),
            ("x²", "X", "x"),
        ] {
            assert_eq!((upper_camel(name).as_str(), snake(name).as_str()), (camel, snaked), "{name}");
        }
        for (name, lower) in
            [("reqTok", "reqTok"), ("HTTPServer", "httpServer"), ("250", "m250"), ("a-b", "aB"), ("", "m")]
        {
            assert_eq!(camel(name), lower);
        }
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let mut scope = Scope::with(&["link"]);
        assert_eq!([scope.claim("link"), scope.claim("a"), scope.claim("a")], ["link2", "a", "a2"]);
        assert_eq!(
            [scope.claim("userName"), scope.claim("user_name"), scope.claim("a_2")],
            ["userName", "user_name2", "a_22"]
        );
    }
}
