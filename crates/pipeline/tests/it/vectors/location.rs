use pipeline::Diagnostics;
use std::ops::Range;
use std::sync::Arc;
use yaml::source::Span;
use yaml::{Limits, LoadedFile, Node};

/// Words of GitLab's locations that are not keys: items of lists, or checks within a value.
const STEPS_WITHOUT_KEY: [&str; 7] = [
    "rule",
    "need",
    "service",
    "include",
    "variables",
    "caches",
    "matrix",
];

/// A value with its key that GitLab's location may mean.
#[derive(Debug, Clone)]
pub(super) struct Located {
    file: usize,
    bytes: Range<usize>,
    node: Arc<Node>,
}

impl Located {
    /// Returns the values that a location such as `jobs:build:artifacts` may mean, in all files.
    pub(super) fn of(location: &str, found: &Diagnostics) -> Vec<Self> {
        let mut located = Vec::new();
        for (number, source) in found.sources().iter().enumerate() {
            let Some(file) =
                LoadedFile::from_text(source.name(), source.text(), &Limits::default()).value
            else {
                continue;
            };
            located.extend(Self::in_file(location, number, file));
        }
        located
    }

    fn in_file(location: &str, number: usize, file: LoadedFile) -> Vec<Self> {
        let whole = |node: Arc<Node>| Self {
            file: number,
            bytes: node.span.bytes(),
            node,
        };
        let mut steps: Vec<&str> = location.split(':').collect();
        let root = match steps.first() {
            Some(&"header") => {
                steps.remove(0);
                file.header
            }
            _ => Some(file.content),
        };
        let Some(root) = root.map(whole) else {
            return Vec::new();
        };
        if steps.first() == Some(&"jobs") && root.node.get("jobs").is_none() {
            steps.remove(0);
        }
        // GitLab omits the job of `retry`.
        let mut starts = vec![root.clone()];
        if steps == ["retry"] {
            starts = root.children();
        }
        steps.iter().fold(starts, |nodes, step| {
            nodes.iter().flat_map(|node| node.step(step)).collect()
        })
    }

    /// Returns the values that one word of a location leads to.
    fn step(&self, word: &str) -> Vec<Self> {
        let mut reached = Vec::new();
        if let Some(entries) = self.node.as_mapping() {
            for (key, entry) in entries {
                // A job without a name is called `job`.
                if key.to_lowercase() == word || key.is_empty() && word == "job" {
                    reached.push(Self {
                        file: self.file,
                        bytes: entry.key_span.bytes().start..entry.value.span.bytes().end,
                        node: Arc::clone(&entry.value),
                    });
                }
            }
        }
        if reached.is_empty() && self.node.as_sequence().is_some() {
            let items = self.children();
            reached = items.iter().flat_map(|item| item.step(word)).collect();
            if reached.is_empty() && STEPS_WITHOUT_KEY.contains(&word) {
                return items;
            }
        }
        if reached.is_empty() && STEPS_WITHOUT_KEY.contains(&word) {
            return vec![self.clone()];
        }
        reached
    }

    fn children(&self) -> Vec<Self> {
        let items = self.node.as_sequence().unwrap_or_default().iter().cloned();
        let values = self.node.as_mapping().into_iter().flatten();
        let values = values.map(|(_, entry)| Arc::clone(&entry.value));
        let child = |node: Arc<Node>| Self {
            file: self.file,
            bytes: node.span.bytes(),
            node,
        };
        items.chain(values).map(child).collect()
    }

    /// Returns whether a span is inside.
    pub(super) fn holds(&self, span: Span) -> bool {
        let bytes = span.bytes();
        span.file.index() == self.file
            && self.bytes.start <= bytes.start
            && bytes.end <= self.bytes.end.max(self.bytes.start + 1)
    }
}
