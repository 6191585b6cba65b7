//! Topological order of a directed graph, iteratively: a long chain cannot exhaust the thread's
//! stack.

/// Returns the nodes in an order in which each comes after its targets.
///
/// `edges` lists the targets of each node.
///
/// # Errors
///
/// Returns cycles without a common node, at least one of those that are connected. Each node points to the next, and the
/// last to the first.
pub(crate) fn order(edges: &[Vec<usize>]) -> Result<Vec<usize>, Vec<Vec<usize>>> {
    let mut states = vec![State::Unseen; edges.len()];
    let mut cycles = Vec::new();
    let mut order = Vec::with_capacity(edges.len());
    for start in 0..edges.len() {
        if states[start] != State::Unseen {
            continue;
        }
        // Each entry is a node and the number of its edges that were followed.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        states[start] = State::OnPath;
        while let Some((node, followed)) = path.last_mut() {
            let Some(&next) = edges[*node].get(*followed) else {
                states[*node] = State::Done;
                order.push(*node);
                path.pop();
                continue;
            };
            *followed += 1;
            match states[next] {
                State::Done => {}
                State::Unseen => {
                    states[next] = State::OnPath;
                    path.push((next, 0));
                }
                State::OnPath => {
                    let start = path.iter().rposition(|&(node, _)| node == next);
                    let cycle = path.drain(start.unwrap_or_default()..);
                    let cycle: Vec<usize> = cycle.map(|(node, _)| node).collect();
                    // The search goes on before the cycle, so that its time stays linear.
                    for &node in &cycle {
                        states[node] = State::Done;
                    }
                    cycles.push(cycle);
                }
            }
        }
    }
    if cycles.is_empty() {
        Ok(order)
    } else {
        Err(cycles)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Unseen,
    OnPath,
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_come_before_their_sources() {
        let edges = [vec![1, 2], vec![2], vec![], vec![0]];
        assert_eq!(order(&edges), Ok(vec![2, 1, 0, 3]));
    }

    #[test]
    fn a_cycle_is_returned_without_the_path_to_it() {
        let edges = [vec![1], vec![2], vec![3], vec![1]];
        assert_eq!(order(&edges), Err(vec![vec![1, 2, 3]]));
        assert_eq!(order(&[vec![0]]), Err(vec![vec![0]]));
    }

    #[test]
    fn cycles_without_a_common_node_are_all_returned() {
        let edges = [vec![1, 3], vec![0], vec![2, 0], vec![4], vec![5, 3], vec![]];
        assert_eq!(order(&edges), Err(vec![vec![0, 1], vec![2], vec![3, 4]]));
    }

    #[test]
    fn a_chain_of_a_million_nodes_is_ordered() {
        let edges: Vec<Vec<usize>> = (1..1_000_000).map(|next| vec![next]).collect();
        let edges = [edges, vec![vec![]]].concat();
        assert_eq!(order(&edges).unwrap()[0], 999_999);
    }
}
