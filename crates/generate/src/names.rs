//! Identifiers from the names of a protocol.

use std::collections::BTreeSet;

/// Names that are in use in one scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope(BTreeSet<String>);

impl Scope {
    /// With names that are reserved.
    pub(crate) fn with(reserved: &[&str]) -> Self {
        Self(reserved.iter().map(|name| (*name).to_owned()).collect())
    }

    /// `wanted`, with a number if it is taken.
    pub(crate) fn claim(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 2;
        while !self.0.insert(name.clone()) {
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
            if wanted.iter().all(|name| !self.0.contains(name)) {
                self.0.extend(wanted.iter().cloned());
                return wanted;
            }
            number += 1;
        }
    }
}

/// The words of a name: `reqTok`, `req_tok` and `req-tok` are `req` and `tok`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let characters: Vec<char> = name.chars().collect();
    let mut fresh = true;
    for (at, &character) in characters.iter().enumerate() {
        if !character.is_alphanumeric() {
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
    }
}
