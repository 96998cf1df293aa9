//! "Did you mean …?"

/// The candidate closest to `wrong`, if it is close enough to be a misspelling of it.
#[must_use]
pub fn closest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (wrong.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != wrong)
        .map(|candidate| (distance(wrong, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many insertions, deletions, substitutions and swaps of neighbours lead from `a` to `b` (ignoring
/// case). Names longer than 64 characters are never misspellings.
fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<char>>();
    let (a, b) = (fold(a), fold(b));
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substitution = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substitution.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
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
