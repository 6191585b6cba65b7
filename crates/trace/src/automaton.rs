//! An automaton that finds many byte strings at once.

use std::collections::BTreeMap;

use crate::branches::{Branch, Branches};

/// The state before the first byte of a pattern.
pub(crate) const ROOT: u32 = 0;

/// The effect of a found pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PatternKind {
    /// The pattern is masked.
    Secret,
    /// The pattern is shown and the text after it is masked.
    Marker,
}

/// A byte string to find.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pattern {
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: PatternKind,
}

/// A state: the longest suffix of the text that is a prefix of a pattern.
#[derive(Clone, Copy)]
struct Node {
    /// The state of the longest proper suffix.
    fail: u32,
    /// The length of the suffix of this state.
    depth: u32,
}

/// The edge to a node, and its lookups.
#[derive(Clone, Copy)]
struct Tag {
    /// The byte on the edge that leads to the node.
    label: u8,
    flags: u8,
}

/// The next node is the first child.
const CONTINUES: u8 = 1;
/// There are children besides the next node.
const BRANCHES: u8 = 2;
/// The state can still grow into a secret.
const GROWS: u8 = 4;
/// A pattern ends here.
const FINDS: u8 = 8;

/// The patterns that end at a position of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The length of the longest secret that ends here, 0 for none.
    pub(crate) secret: u32,
    /// Whether a marker ends here.
    pub(crate) marker: bool,
}

/// An Aho-Corasick automaton over secrets and markers.
///
/// It keeps failure links instead of a full table: the table of a thousand secrets with their variants would take a
/// hundred megabytes, and the [`Prefilter`](crate::prefilter::Prefilter) leaves little text to search.
///
/// Nodes are numbered depth first, so a node's first child is the next node, and the rest of a pattern after its last
/// fork is a run of nodes. That takes ten bytes for each byte of a pattern. The few forks and ends are stored apart.
pub(crate) struct Automaton {
    nodes: Vec<Node>,
    tags: Vec<Tag>,
    branches: Branches,
    /// The ends at the nodes that have [`FINDS`], by node.
    finds: Vec<(u32, Found)>,
    root: Box<[u32; 256]>,
}

impl Automaton {
    /// Builds the automaton without empty patterns.
    ///
    /// Time and memory are linear in the total length of the patterns.
    pub(crate) fn new(mut patterns: Vec<Pattern>) -> Self {
        patterns.retain(|pattern| !pattern.bytes.is_empty());
        patterns.sort_unstable();
        patterns.dedup();
        let mut builder = Builder::new(&patterns);
        let mut previous: &[u8] = &[];
        for pattern in &patterns {
            builder.grow(pattern, common_prefix(previous, &pattern.bytes));
            previous = &pattern.bytes;
        }
        builder.build()
    }

    /// Returns the state after `byte`.
    #[inline]
    pub(crate) fn step(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            if state == ROOT {
                return self.root[usize::from(byte)];
            }
            if let Some(next) = self.child(state, byte) {
                return next;
            }
            state = self.nodes[state as usize].fail;
        }
    }

    #[inline]
    fn child(&self, state: u32, byte: u8) -> Option<u32> {
        let next = state + 1;
        let flags = self.tags[state as usize].flags;
        if flags & CONTINUES != 0 && self.tags[next as usize].label == byte {
            return Some(next);
        }
        if flags & BRANCHES == 0 {
            return None;
        }
        self.branches.child(state, byte)
    }

    /// Returns the length of the longest suffix of the text that is a prefix of a pattern.
    #[inline]
    pub(crate) fn depth(&self, state: u32) -> u32 {
        self.nodes[state as usize].depth
    }

    /// Returns the length of the longest suffix that can still grow into a secret.
    pub(crate) fn hold(&self, mut state: u32) -> u32 {
        // Few states cannot grow: those of markers, and the last ones of secrets.
        while self.tags[state as usize].flags & GROWS == 0 && state != ROOT {
            state = self.nodes[state as usize].fail;
        }
        self.depth(state)
    }

    /// Returns the patterns that end in this state.
    #[inline]
    pub(crate) fn found(&self, state: u32) -> Option<Found> {
        if self.tags[state as usize].flags & FINDS == 0 {
            return None;
        }
        let found = self.finds.binary_search_by_key(&state, |(node, _)| *node);
        found.ok().map(|index| self.finds[index].1)
    }

    /// Returns the memory use of the automaton in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.tags.capacity() * size_of::<Tag>()
            + self.branches.bytes()
            + self.finds.capacity() * size_of::<(u32, Found)>()
            + size_of_val(&*self.root)
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("patterns hold fewer than 4 Gi bytes")
}

fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.iter().zip(other);
    pairs.take_while(|(one, other)| one == other).count()
}

/// Adds patterns to the tree in order, and then links the tree level by level.
struct Builder {
    automaton: Automaton,
    /// The nodes of the last pattern, from the root.
    path: Vec<u32>,
    branches: Vec<Branch>,
    finds: BTreeMap<u32, Found>,
}

impl Builder {
    fn new(patterns: &[Pattern]) -> Self {
        let pairs = patterns.windows(2);
        let shared = pairs.map(|pair| common_prefix(&pair[0].bytes, &pair[1].bytes));
        let all: usize = patterns.iter().map(|pattern| pattern.bytes.len()).sum();
        let count = 1 + all - shared.sum::<usize>();
        let mut nodes = Vec::with_capacity(count);
        nodes.push(Node {
            fail: ROOT,
            depth: 0,
        });
        let mut tags = Vec::with_capacity(count);
        tags.push(Tag { label: 0, flags: 0 });
        Self {
            automaton: Automaton {
                nodes,
                tags,
                branches: Branches::new(&[]),
                finds: Vec::new(),
                root: Box::new([ROOT; 256]),
            },
            path: vec![ROOT],
            branches: Vec::new(),
            finds: BTreeMap::new(),
        }
    }

    /// Adds the nodes of a pattern that shares its first `shared` bytes with the last one.
    fn grow(&mut self, pattern: &Pattern, shared: usize) {
        self.path.truncate(shared + 1);
        for label in &pattern.bytes[shared..] {
            self.add_child(*label);
        }
        let (last, before) = self.path.split_last().expect("the root is always there");
        let found = self.finds.entry(*last).or_default();
        self.automaton.tags[*last as usize].flags |= FINDS;
        match pattern.kind {
            PatternKind::Marker => found.marker = true,
            PatternKind::Secret => {
                found.secret = number(pattern.bytes.len());
                for node in before {
                    self.automaton.tags[*node as usize].flags |= GROWS;
                }
            }
        }
    }

    fn add_child(&mut self, label: u8) {
        let automaton = &mut self.automaton;
        let child = number(automaton.nodes.len());
        let parent = *self.path.last().expect("the root is always there");
        if parent == ROOT {
            automaton.root[usize::from(label)] = child;
        } else if parent + 1 == child {
            automaton.tags[parent as usize].flags |= CONTINUES;
        } else {
            automaton.tags[parent as usize].flags |= BRANCHES;
            self.branches.push(Branch {
                parent,
                label,
                child,
            });
        }
        automaton.nodes.push(Node {
            fail: ROOT,
            depth: number(self.path.len()),
        });
        automaton.tags.push(Tag { label, flags: 0 });
        self.path.push(child);
    }

    /// Failure links lead to lower levels, so the levels are linked one by one.
    fn build(mut self) -> Automaton {
        self.branches.sort_unstable();
        self.automaton.branches = Branches::new(&self.branches);
        let children = self.automaton.root.iter().copied();
        let mut level: Vec<u32> = children.filter(|child| *child != ROOT).collect();
        let mut below = Vec::new();
        while !level.is_empty() {
            for node in level.drain(..) {
                self.inherit(node);
                self.link_children(node, &mut below);
            }
            std::mem::swap(&mut level, &mut below);
        }
        self.automaton.finds = self.finds.into_iter().collect();
        self.automaton
    }

    /// Patterns that end at the longest proper suffix end here too.
    fn inherit(&mut self, node: u32) {
        let fail = self.automaton.nodes[node as usize].fail;
        if self.automaton.tags[fail as usize].flags & FINDS != 0 {
            let inherited = self.finds[&fail];
            let found = self.finds.entry(node).or_default();
            found.secret = found.secret.max(inherited.secret);
            found.marker |= inherited.marker;
            self.automaton.tags[node as usize].flags |= FINDS;
        }
    }

    fn link_children(&mut self, parent: u32, linked: &mut Vec<u32>) {
        let flags = self.automaton.tags[parent as usize].flags;
        if flags & CONTINUES != 0 {
            self.link(parent, parent + 1);
            linked.push(parent + 1);
        }
        if flags & BRANCHES != 0 {
            let branches = &self.branches;
            let first = branches.partition_point(|branch| branch.parent < parent);
            let count = branches[first..].partition_point(|branch| branch.parent == parent);
            for index in first..first + count {
                let child = self.branches[index].child;
                self.link(parent, child);
                linked.push(child);
            }
        }
    }

    fn link(&mut self, parent: u32, child: u32) {
        let fail = self.automaton.nodes[parent as usize].fail;
        let label = self.automaton.tags[child as usize].label;
        self.automaton.nodes[child as usize].fail = self.automaton.step(fail, label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn automaton(secrets: &[&str], markers: &[&str]) -> Automaton {
        let pattern = |kind| {
            move |text: &&str| Pattern {
                bytes: text.as_bytes().to_vec(),
                kind,
            }
        };
        let secrets = secrets.iter().map(pattern(PatternKind::Secret));
        let markers = markers.iter().map(pattern(PatternKind::Marker));
        Automaton::new(secrets.chain(markers).collect())
    }

    fn walk(automaton: &Automaton, text: &str) -> u32 {
        text.bytes()
            .fold(ROOT, |state, byte| automaton.step(state, byte))
    }

    fn secret(automaton: &Automaton, text: &str) -> u32 {
        automaton.found(walk(automaton, text)).unwrap().secret
    }

    #[test]
    fn self_overlapping_secret_is_found_after_a_false_start() {
        let automaton = automaton(&["aab"], &[]);
        assert_eq!(secret(&automaton, "aaab"), 3);
        assert_eq!(automaton.hold(walk(&automaton, "xaa")), 2);
    }

    #[test]
    fn longest_secret_at_an_end_is_reported() {
        let automaton = automaton(&["b", "ab", "xyz"], &[]);
        assert_eq!(secret(&automaton, "ab"), 2);
        assert_eq!(secret(&automaton, "cb"), 1);
    }

    #[test]
    fn secret_inside_the_prefix_of_another_is_found() {
        let automaton = automaton(&["abcx", "abdy", "abez", "d"], &[]);
        assert_eq!(secret(&automaton, "abd"), 1);
        assert_eq!(automaton.hold(walk(&automaton, "abd")), 3);
        assert_eq!(secret(&automaton, "abdy"), 4);
        assert_eq!(secret(&automaton, "ababez"), 4);
    }

    #[test]
    fn markers_are_never_held_back() {
        let automaton = automaton(&["pat"], &["glpat-"]);
        assert_eq!(automaton.hold(walk(&automaton, "gl")), 0);
        assert_eq!(automaton.hold(walk(&automaton, "glp")), 1);
        let found = automaton.found(walk(&automaton, "glpat-"));
        assert!(found.unwrap().marker);
    }

    #[test]
    fn nothing_to_find_finds_nothing() {
        let automaton = automaton(&[""], &[]);
        assert_eq!(automaton.depth(walk(&automaton, "abc")), 0);
    }

    #[test]
    fn memory_is_ten_bytes_for_a_byte() {
        let fixed = automaton(&[], &[]).bytes();
        // Ordinary text, and what makes a table of failures as bad as it can be.
        for long in ["0123456789abcdef".repeat(1 << 12), "a".repeat(1 << 16)] {
            let grown = automaton(&[&long, "secret", "second"], &[]).bytes();
            assert!(grown - fixed < 10 * long.len() + 512, "{grown}");
        }
    }
}
