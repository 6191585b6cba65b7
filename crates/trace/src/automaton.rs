//! The automaton that finds many byte strings at once.

/// The state before any byte of a pattern has been seen.
pub(crate) const ROOT: u32 = 0;

/// Below this many children a linear look beats a binary search.
const LINEAR_CHILDREN: usize = 8;

/// What finding a pattern means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PatternKind {
    /// The pattern itself is hidden.
    Secret,
    /// The pattern stays visible, what follows it is hidden.
    Marker,
}

/// One byte string to look for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pattern {
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: PatternKind,
}

/// What is known when a state is reached. A state is the longest suffix of the
/// text that some pattern begins with.
#[derive(Clone, Copy, Default)]
pub(crate) struct Node {
    /// The children of a node are numbered one after the other; this is the first.
    /// The next node's first child ends the range.
    first_child: u32,
    /// The state of the longest proper suffix.
    fail: u32,
    /// Length of the suffix that this state stands for.
    pub(crate) depth: u32,
    /// Length of the longest suffix that can still grow into a secret.
    pub(crate) hold: u32,
    /// Length of the longest secret that ends here, 0 for none.
    pub(crate) secret: u32,
    /// Whether a marker ends here.
    pub(crate) marker: bool,
}

/// An Aho-Corasick automaton over secrets and markers.
///
/// It keeps the failure links instead of a full table: the table of a thousand
/// secrets with their variants would take a hundred megabytes, and the
/// [`Prefilter`](crate::prefilter::Prefilter) leaves little text to walk over.
/// Nodes are numbered breadth first, so a node's children are neighbours and an
/// edge needs one byte.
pub(crate) struct Automaton {
    nodes: Vec<Node>,
    /// The byte on the edge that leads to each node.
    labels: Vec<u8>,
    root: Box<[u32; 256]>,
}

impl Automaton {
    /// Builds the automaton; empty patterns are left out.
    ///
    /// Time and memory are linear in the summed length of the patterns.
    pub(crate) fn new(mut patterns: Vec<Pattern>) -> Self {
        patterns.retain(|pattern| !pattern.bytes.is_empty());
        patterns.sort_unstable();
        patterns.dedup();
        let mut builder = Builder::new(&patterns);
        let mut node = 0;
        while node < builder.ranges.len() {
            builder.expand(node);
            node += 1;
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
            if let Some(next) = child(&self.nodes, &self.labels, state, byte) {
                return next;
            }
            state = self.nodes[state as usize].fail;
        }
    }

    #[inline]
    pub(crate) fn node(&self, state: u32) -> &Node {
        &self.nodes[state as usize]
    }
}

fn child(nodes: &[Node], labels: &[u8], state: u32, byte: u8) -> Option<u32> {
    let first = nodes[state as usize].first_child;
    let end = nodes[state as usize + 1].first_child;
    let edges = &labels[first as usize..end as usize];
    let index = if edges.len() <= LINEAR_CHILDREN {
        edges.iter().position(|label| *label == byte)?
    } else {
        edges.binary_search(&byte).ok()?
    };
    Some(first + number(index))
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("patterns hold fewer than 4 Gi bytes")
}

/// Grows the tree level by level over the sorted patterns.
struct Builder<'a> {
    patterns: &'a [Pattern],
    /// For each node the patterns that begin with its string.
    ranges: Vec<(usize, usize)>,
    nodes: Vec<Node>,
    labels: Vec<u8>,
    root: Box<[u32; 256]>,
}

impl<'a> Builder<'a> {
    fn new(patterns: &'a [Pattern]) -> Self {
        Self {
            patterns,
            ranges: vec![(0, patterns.len())],
            nodes: vec![Node::default()],
            labels: vec![0],
            root: Box::new([ROOT; 256]),
        }
    }

    fn expand(&mut self, node: usize) {
        self.nodes[node].first_child = number(self.nodes.len());
        let depth = self.nodes[node].depth as usize;
        let (mut low, high) = self.ranges[node];
        // Shorter strings sort first, so those that end here lead the range.
        while low < high && self.patterns[low].bytes.len() == depth {
            low += 1;
        }
        while low < high {
            let label = self.patterns[low].bytes[depth];
            let group =
                self.patterns[low..high].partition_point(|pattern| pattern.bytes[depth] == label);
            self.add_child(node, label, (low, low + group));
            low += group;
        }
    }

    fn add_child(&mut self, parent: usize, label: u8, range: (usize, usize)) {
        let id = number(self.nodes.len());
        let fail = if parent == ROOT as usize {
            self.root[usize::from(label)] = id;
            ROOT
        } else {
            self.step(self.nodes[parent].fail, label)
        };
        let inherited = self.nodes[fail as usize];
        let depth = self.nodes[parent].depth + 1;
        let mut node = Node {
            first_child: 0,
            fail,
            depth,
            hold: inherited.hold,
            secret: inherited.secret,
            marker: inherited.marker,
        };
        for pattern in &self.patterns[range.0..range.1] {
            match (pattern.kind, pattern.bytes.len() == depth as usize) {
                (PatternKind::Secret, true) => node.secret = depth,
                (PatternKind::Secret, false) => node.hold = depth,
                (PatternKind::Marker, true) => node.marker = true,
                (PatternKind::Marker, false) => {}
            }
        }
        self.nodes.push(node);
        self.labels.push(label);
        self.ranges.push(range);
    }

    /// Steps over what is built so far. A failure link leads to a lower level, and
    /// the nodes there, their successors too, have their children already.
    fn step(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            if state == ROOT {
                return self.root[usize::from(byte)];
            }
            if let Some(next) = child(&self.nodes, &self.labels, state, byte) {
                return next;
            }
            state = self.nodes[state as usize].fail;
        }
    }

    fn build(mut self) -> Automaton {
        // A last node that is never reached ends the child range of the one before.
        self.nodes.push(Node {
            first_child: number(self.nodes.len()),
            ..Node::default()
        });
        Automaton {
            nodes: self.nodes,
            labels: self.labels,
            root: self.root,
        }
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

    fn walk<'a>(automaton: &'a Automaton, text: &str) -> &'a Node {
        let state = text
            .bytes()
            .fold(ROOT, |state, byte| automaton.step(state, byte));
        automaton.node(state)
    }

    #[test]
    fn self_overlapping_secret_is_found_after_a_false_start() {
        let automaton = automaton(&["aab"], &[]);
        assert_eq!(walk(&automaton, "aaab").secret, 3);
        assert_eq!(walk(&automaton, "xaa").hold, 2);
    }

    #[test]
    fn longest_secret_that_ends_at_a_place_is_reported() {
        let automaton = automaton(&["b", "ab", "xyz"], &[]);
        assert_eq!(walk(&automaton, "ab").secret, 2);
        assert_eq!(walk(&automaton, "cb").secret, 1);
    }

    #[test]
    fn markers_are_never_held() {
        let automaton = automaton(&["pat"], &["glpat-"]);
        assert_eq!(walk(&automaton, "gl").hold, 0);
        assert_eq!(walk(&automaton, "glp").hold, 1);
        assert!(walk(&automaton, "glpat-").marker);
    }

    #[test]
    fn nothing_to_find_finds_nothing() {
        let automaton = automaton(&[""], &[]);
        assert_eq!(walk(&automaton, "abc").depth, 0);
    }
}
