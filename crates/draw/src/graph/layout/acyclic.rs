//! Cycle removal: which edges are drawn against the direction of the picture.

/// For each edge, whether it must be reversed so that no cycle remains: the back edges of a depth-first
/// search from `roots`, in order, then from whatever they do not reach. The first root is never below
/// anything: edges into it are reversed as well.
pub(super) fn reversed(nodes: usize, edges: &[(usize, usize)], roots: &[usize]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        Not,
        Open,
        Done,
    }

    let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (index, &(from, _)) in edges.iter().enumerate() {
        outgoing[from].push(index);
    }
    let mut reversed = vec![false; edges.len()];
    let mut visits = vec![Visit::Not; nodes];
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in roots.iter().copied().chain(0..nodes) {
        if visits[start] != Visit::Not {
            continue;
        }
        visits[start] = Visit::Open;
        path.push((start, 0));
        while let Some((node, next)) = path.last_mut() {
            let Some(&edge) = outgoing[*node].get(*next) else {
                visits[*node] = Visit::Done;
                path.pop();
                continue;
            };
            *next += 1;
            let target = edges[edge].1;
            match visits[target] {
                Visit::Not => {
                    visits[target] = Visit::Open;
                    path.push((target, 0));
                }
                Visit::Open => reversed[edge] = true,
                Visit::Done => {}
            }
        }
    }
    // A node without incoming edges is on no cycle, so this cannot undo what the search achieved.
    if let Some(&first) = roots.first() {
        for (index, &(_, to)) in edges.iter().enumerate() {
            if to == first {
                reversed[index] = true;
            }
        }
    }
    reversed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_edge_that_closes_a_cycle_is_reversed() {
        let edges = [(0, 1), (1, 2), (2, 0), (0, 2)];
        assert_eq!(reversed(3, &edges, &[0]), [false, false, true, false]);
    }

    #[test]
    fn nothing_is_above_the_first_root() {
        assert_eq!(reversed(2, &[(0, 1)], &[1]), [true]);
    }
}
