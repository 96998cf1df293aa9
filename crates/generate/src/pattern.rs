//! Regular expressions as tables, so that endpoints need no library and match in every language as the monitor does.

use std::collections::{BTreeMap, HashMap};

use regex_automata::Anchored;
use regex_automata::dfa::Automaton as _;
use regex_automata::dfa::dense;
use regex_automata::util::start;

/// A table has at most this many entries: it is part of a source file that people look at.
const MAX_ENTRIES: usize = 1 << 16;

/// A pattern as a deterministic automaton over bytes that is left as soon as a match is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// For each byte its class.
    pub(crate) classes: Vec<u8>,
    /// Entries of a state: one for each class, and the last for the end of the text.
    pub(crate) width: usize,
    /// For each state and class the next state. State 0 is the first.
    pub(crate) next: Vec<u16>,
    /// For each state whether the pattern has occurred.
    pub(crate) accepts: Vec<bool>,
}

impl Table {
    /// The table of `pattern`; nothing if it would be too large, or a table cannot say it (Unicode word boundaries).
    pub(crate) fn new(pattern: &str) -> Option<Self> {
        let limits = dense::Config::new()
            .minimize(true)
            .dfa_size_limit(Some(16 << 20))
            .determinize_size_limit(Some(16 << 20));
        let automaton = dense::Builder::new().configure(limits).build(pattern).ok()?;
        let first = automaton.start_state(&start::Config::new().anchored(Anchored::No)).ok()?;
        let mut numbers = HashMap::from([(first, 0_u16)]);
        let mut order = vec![first];
        let (mut rows, mut accepts): (Vec<Vec<u16>>, Vec<bool>) = (Vec::new(), Vec::new());
        while let Some(&state) = order.get(rows.len()) {
            let accepting = automaton.is_match_state(state);
            if automaton.is_quit_state(state) {
                return None;
            }
            let mut row = Vec::with_capacity(257);
            for symbol in 0..=256_usize {
                // Nobody goes on from a match.
                let next = match u8::try_from(symbol) {
                    _ if accepting => state,
                    Ok(byte) => automaton.next_state(state, byte),
                    Err(_) => automaton.next_eoi_state(state),
                };
                let fresh = u16::try_from(order.len()).ok()?;
                let number = *numbers.entry(next).or_insert_with(|| {
                    order.push(next);
                    fresh
                });
                row.push(number);
            }
            rows.push(row);
            accepts.push(accepting);
            if rows.len() > MAX_ENTRIES / 2 {
                return None;
            }
        }
        let mut columns: BTreeMap<Vec<u16>, u8> = BTreeMap::new();
        let mut representatives = Vec::new();
        let mut classes = Vec::with_capacity(256);
        for byte in 0..256 {
            let column: Vec<u16> = rows.iter().map(|row| row[byte]).collect();
            let fresh = u8::try_from(columns.len()).ok()?;
            classes.push(*columns.entry(column).or_insert_with(|| {
                representatives.push(byte);
                fresh
            }));
        }
        representatives.push(256);
        let width = representatives.len();
        let next: Vec<u16> =
            rows.iter().flat_map(|row| representatives.iter().map(|&symbol| row[symbol])).collect();
        (next.len() <= MAX_ENTRIES).then_some(Self { classes, width, next, accepts })
    }

    /// Whether the pattern occurs in `text`: the meaning of the table, for tests.
    #[cfg(test)]
    fn is_match(&self, text: &str) -> bool {
        let mut state = 0_u16;
        for byte in text.bytes() {
            if self.accepts[usize::from(state)] {
                return true;
            }
            let class = usize::from(self.classes[usize::from(byte)]);
            state = self.next[usize::from(state) * self.width + class];
        }
        let last = self.next[usize::from(state) * self.width + self.width - 1];
        self.accepts[usize::from(state)] || self.accepts[usize::from(last)]
    }
}

#[cfg(test)]
mod tests {
    use referee_theory::expr::Pattern;

    use super::*;

    /// All texts of at most four of these characters.
    fn texts() -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..4 {
            let longer: Vec<String> = all[from..]
                .iter()
                .flat_map(|text| ["a", "b", "7", "é", "\n"].map(|next| format!("{text}{next}")))
                .collect();
            from = all.len();
            all.extend(longer);
        }
        all
    }

    #[test]
    fn tables_match_as_the_monitor_does() {
        let patterns = [
            "",
            "a",
            "^a",
            "a$",
            "^a$",
            "^$",
            "a|b7",
            "[a-z]+",
            "^[a-z]+$",
            "a{2,3}",
            "(?i)B",
            "é",
            "^\\w+$",
            "\\d",
            "(?m)^b",
            ".",
            "^.b",
            "a*b",
            "(ab)+$",
            "[^a]",
            "(?-u:\\b)a",
        ];
        let texts = texts();
        let mut matched = 0;
        for text in patterns {
            let (pattern, table) = (Pattern::new(text).unwrap(), Table::new(text).unwrap());
            for text in &texts {
                assert_eq!(table.is_match(text), pattern.is_match(text), "{pattern:?} {text:?}");
                matched += usize::from(pattern.is_match(text));
            }
        }
        assert!(matched > 1_000 && matched < patterns.len() * texts.len() / 2 + 4_000, "{matched}");
    }

    #[test]
    fn what_no_table_can_say_has_none() {
        assert_eq!(Table::new("\\ba"), None);
        assert_eq!(Table::new("(\\w|x){300}"), None);
    }
}
