//! Texts that match a regular expression: the shortest ones, of characters that any peer can read.

use std::collections::{HashSet, VecDeque};

use regex_automata::Anchored;
use regex_automata::dfa::{Automaton as _, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;

/// How many states of an automaton are looked at.
const MAX_STATES: usize = 4096;

/// Letters and digits first, and the rest of ASCII that can be printed.
fn alphabet() -> impl Iterator<Item = u8> {
    let first = (b'a'..=b'z').chain(b'0'..=b'9').chain(b'A'..=b'Z');
    first.chain((b' '..=b'~').filter(|byte| !byte.is_ascii_alphanumeric()))
}

/// Up to `count` texts in which `pattern` occurs, as short as can be; none if it is too large, or needs other characters.
pub(crate) fn texts(pattern: &str, count: usize) -> Vec<String> {
    let limits = dense::Config::new().dfa_size_limit(Some(4 << 20)).determinize_size_limit(Some(4 << 20));
    let Ok(automaton) = dense::Builder::new().configure(limits).build(pattern) else { return Vec::new() };
    let Ok(first) = automaton.start_state(&start::Config::new().anchored(Anchored::No)) else {
        return Vec::new();
    };
    let ends = |state: StateID| {
        automaton.is_match_state(state) || automaton.is_match_state(automaton.next_eoi_state(state))
    };
    let (mut found, mut seen) = (Vec::new(), HashSet::from([first]));
    let mut open = VecDeque::from([(first, String::new())]);
    while let Some((state, text)) = open.pop_front() {
        if ends(state) {
            found.push(text);
            if found.len() >= count {
                break;
            }
            continue;
        }
        if automaton.is_dead_state(state) || automaton.is_quit_state(state) || seen.len() > MAX_STATES {
            continue;
        }
        for byte in alphabet() {
            let next = automaton.next_state(state, byte);
            // Several texts may end: what leads to an end is not entered in `seen`.
            if ends(next) || seen.insert(next) {
                open.push_back((next, format!("{text}{}", char::from(byte))));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_match_and_are_short() {
        for (pattern, shortest) in [
            ("^[a-z]+$", 1),
            ("^<[^>]+@[a-z.]+>$", 5),
            ("x{3}", 3),
            ("^(GET|PUT) /$", 5),
            ("", 0),
            ("^[0-9]{4}-[0-9]{2}$", 7),
        ] {
            let regex = regex_automata::meta::Regex::new(pattern).unwrap();
            let found = texts(pattern, 3);
            assert_eq!(found.first().map(String::len), Some(shortest), "{pattern}: {found:?}");
            assert!(found.iter().all(|text| regex.is_match(text)), "{pattern}: {found:?}");
        }
        assert_eq!(texts("^[^\\x00-\\x7f]+$", 3), Vec::<String>::new(), "no printable ASCII");
        assert_eq!(texts("a{1000}{1000}", 1), Vec::<String>::new(), "too large");
    }
}
