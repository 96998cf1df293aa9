//! Ranks: how far down each node stands.

/// A rank for each node of an acyclic graph, from 0, such that every edge leads to a greater rank.
///
/// Longest paths from the sources keep every node as close to its predecessors as they allow; then nodes
/// with more successors than predecessors move down to their successors, which shortens edges.
pub(super) fn ranks(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut incoming: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for &(from, to) in edges {
        outgoing[from].push(to);
        incoming[to].push(from);
    }

    let mut waiting: Vec<usize> = incoming.iter().map(Vec::len).collect();
    let mut sorted: Vec<usize> = (0..nodes).filter(|&node| waiting[node] == 0).collect();
    let mut ranks = vec![0; nodes];
    let mut head = 0;
    while let Some(&node) = sorted.get(head) {
        head += 1;
        for &next in &outgoing[node] {
            ranks[next] = ranks[next].max(ranks[node] + 1);
            waiting[next] -= 1;
            if waiting[next] == 0 {
                sorted.push(next);
            }
        }
    }

    for &node in sorted.iter().rev() {
        if outgoing[node].len() > incoming[node].len()
            && let Some(nearest) = outgoing[node].iter().map(|&next| ranks[next]).min()
        {
            ranks[node] = nearest - 1;
        }
    }
    let least = ranks.iter().copied().min().unwrap_or(0);
    ranks.iter_mut().for_each(|rank| *rank -= least);
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_lead_down() {
        let edges = [(0, 1), (1, 2), (0, 2), (3, 2)];
        assert_eq!(ranks(4, &edges), [0, 1, 2, 1]);
    }
}
