//! Topological order of a directed graph, iteratively: a long chain cannot exhaust the thread's
//! stack.

/// Returns the nodes in an order in which each comes after its targets.
///
/// `edges` lists the targets of each node.
///
/// # Errors
///
/// Returns the nodes of one cycle, each pointing to the next and the last to the first.
pub(crate) fn order(edges: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut states = vec![State::Unseen; edges.len()];
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
                    let cycle = path.iter().map(|&(node, _)| node);
                    return Err(cycle.skip_while(|&node| node != next).collect());
                }
            }
        }
    }
    Ok(order)
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
        let edges = [vec![1], vec![2], vec![3], vec![1], vec![4]];
        assert_eq!(order(&edges), Err(vec![1, 2, 3]));
        assert_eq!(order(&[vec![0]]), Err(vec![0]));
    }

    #[test]
    fn a_chain_of_a_million_nodes_is_ordered() {
        let edges: Vec<Vec<usize>> = (1..1_000_000).map(|next| vec![next]).collect();
        let edges = [edges, vec![vec![]]].concat();
        assert_eq!(order(&edges).unwrap()[0], 999_999);
    }
}
