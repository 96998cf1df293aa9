//! "Did you mean …?"

/// The candidate closest to `wrong`, if it is close enough to be a misspelling of it.
#[must_use]
pub fn closest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (wrong.chars().count() / 3).max(1);
    // Most names differ too much in length already.
    let may_be_close = |candidate: &str| {
        !candidate.is_ascii() || !wrong.is_ascii() || candidate.len().abs_diff(wrong.len()) <= limit
    };
    let lower = wrong.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| *candidate != wrong && may_be_close(candidate))
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many insertions, deletions, substitutions and swaps of neighbours lead from `a` to `b`. Names longer than 64 characters are never
/// misspellings.
fn distance(a: &str, b: &str) -> usize {
    let is_long = |text: &str| text.chars().nth(64).is_some();
    if is_long(a) || is_long(b) { usize::MAX } else { strsim::osa_distance(a, b) }
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn finds_misspellings_and_nothing_else() {
        assert_eq!(closest("cliemt", ["server", "client"]), Some("client"));
        assert_eq!(closest("sevrer", ["server", "client"]), Some("server"));
        assert_eq!(closest("X", ["Y", "Loop"]), None);
        assert_eq!(closest("worker", ["client", "server"]), None);
    }
}
