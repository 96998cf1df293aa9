//! Following definitions and calls to what they stand for.

/// For each of `count` nodes, where following `next` from it ends. Each chain is walked once; chains end, because
/// recursion is guarded.
pub(crate) fn ends(count: usize, next: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut ends: Vec<Option<usize>> = vec![None; count];
    let mut chain = Vec::new();
    for start in 0..count {
        let mut at = start;
        let end = loop {
            if let Some(known) = ends[at] {
                break known;
            }
            chain.push(at);
            match next(at) {
                Some(other) => at = other,
                None => break at,
            }
        };
        for node in chain.drain(..) {
            ends[node] = Some(end);
        }
    }
    ends.into_iter().flatten().collect()
}
