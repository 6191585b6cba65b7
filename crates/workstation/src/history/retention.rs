//! Which runs are kept.

use std::collections::{HashMap, HashSet};

/// Returns the oldest of these runs, so that `keep` remain. Each run is given with the number of its parent; a
/// child stays and counts with the run above it. A running run stays with its children.
pub(super) fn superfluous(
    runs: &[(u64, Option<u64>)],
    keep: usize,
    is_running: impl Fn(u64) -> bool,
) -> Vec<u64> {
    let parents: HashMap<u64, Option<u64>> = runs.iter().copied().collect();
    let top = |mut id: u64| {
        // A child's number is higher than its parent's, so this ends.
        while let Some(Some(parent)) = parents.get(&id).copied()
            && parent < id
            && parents.contains_key(&parent)
        {
            id = parent;
        }
        id
    };
    let mut tops: Vec<u64> = runs.iter().map(|&(id, _)| top(id)).collect();
    tops.sort_unstable_by(|a, b| b.cmp(a));
    tops.dedup();
    let (first, rest) = tops.split_at(keep.min(tops.len()));
    let running = rest.iter().copied().filter(|&top| is_running(top));
    let kept: HashSet<u64> = first.iter().copied().chain(running).collect();
    let ids = runs.iter().map(|&(id, _)| id);
    ids.filter(|&id| !kept.contains(&top(id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_runs_and_their_children_are_superfluous() {
        let check = |runs: &[(u64, Option<u64>)], keep, expect: &[u64]| {
            assert_eq!(superfluous(runs, keep, |id| id == 11), expect, "{runs:?}");
        };
        check(&[(1, None), (2, None), (3, None)], 2, &[1]);
        check(&[(1, None), (2, None)], 2, &[]);
        // Run 1 has two children, and was continued after run 4 started.
        let tree = [
            (1, None),
            (2, Some(1)),
            (3, Some(2)),
            (4, None),
            (5, Some(1)),
        ];
        check(&tree, 2, &[]);
        check(&tree, 1, &[1, 2, 3, 5]);
        // It runs, and one of its children has ended.
        check(&[(11, None), (12, Some(11)), (13, None)], 1, &[]);
        // Its parent is removed already.
        check(&[(7, Some(3)), (8, None)], 1, &[7]);
        check(&[(7, Some(7)), (8, Some(9)), (9, Some(8))], 1, &[7]);
    }
}
