//! The table of the automaton's forks.

/// An edge to a child that is not the next node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Branch {
    pub(crate) parent: u32,
    pub(crate) label: u8,
    /// Never 0, which is the root.
    pub(crate) child: u32,
}

/// An empty slot of the table.
const VACANT: Branch = Branch {
    parent: 0,
    label: 0,
    child: 0,
};

/// Branches by parent and label.
///
/// A hash table with at least as many empty slots as branches: most lookups find nothing, and end at the first slot
/// or the second.
pub(crate) struct Branches {
    /// The number of slots is a power of two.
    slots: Vec<Branch>,
}

impl Branches {
    /// Builds the table; no two branches may have the same parent and label.
    pub(crate) fn new(branches: &[Branch]) -> Self {
        let count = (2 * branches.len()).next_power_of_two();
        let mut table = Self {
            slots: vec![VACANT; count],
        };
        for branch in branches {
            let slot = table.slot(branch.parent, branch.label);
            table.slots[slot] = *branch;
        }
        table
    }

    /// Returns the child of `parent` by `label`.
    #[inline]
    pub(crate) fn child(&self, parent: u32, label: u8) -> Option<u32> {
        let branch = self.slots[self.slot(parent, label)];
        (branch.child != VACANT.child).then_some(branch.child)
    }

    /// Returns the slot of a branch, or the empty one where it would be.
    #[inline]
    fn slot(&self, parent: u32, label: u8) -> usize {
        let last = self.slots.len() - 1;
        let key = u64::from(parent) << 8 | u64::from(label);
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let mut slot = usize::try_from(hash).unwrap_or(0) & last;
        loop {
            let branch = &self.slots[slot];
            let same = branch.parent == parent && branch.label == label;
            if same || branch.child == VACANT.child {
                return slot;
            }
            slot = (slot + 1) & last;
        }
    }

    /// Returns the memory use of the table in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Branch>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_branch_is_found_and_no_other() {
        let all = (1..40_u32).flat_map(|parent| {
            (0..=255_u8).map(move |label| Branch {
                parent,
                label,
                child: parent << 8 | u32::from(label),
            })
        });
        let (put, left): (Vec<_>, Vec<_>) = all.partition(|branch| branch.child % 3 == 0);
        let table = Branches::new(&put);
        for branch in put {
            let child = table.child(branch.parent, branch.label);
            assert_eq!(child, Some(branch.child));
        }
        for branch in left {
            assert_eq!(table.child(branch.parent, branch.label), None);
        }
        assert_eq!(Branches::new(&[]).child(1, b'a'), None);
    }
}
