//! Maps each value of a composed pipeline to the file and key it was written in.
//!
//! Nodes keep their spans through includes, inputs, `extends` and references, so a span is enough:
//! each file has its top-level keys sorted by offset, and the include that added it.

use std::collections::HashMap;
use std::sync::Arc;
use yaml::Node;
use yaml::source::{FileId, SourceMap, Span};

/// The files of a pipeline with their top-level keys, to find the [`Origin`] of a [`Span`].
#[derive(Debug, Clone, Default)]
pub struct Origins {
    files: HashMap<FileId, File>,
}

#[derive(Debug, Clone)]
struct File {
    name: Arc<str>,
    /// The include that added the file; absent for the pipeline's own file.
    included_at: Option<Span>,
    /// The top-level keys with their offsets, in text order.
    keys: Vec<(u32, Arc<str>)>,
}

/// Where a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'o> {
    /// The file's name.
    pub file: &'o str,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters from 1.
    pub column: u32,
    /// The top-level key above it: a job, a hidden job, `default`, `variables` and so on; absent
    /// for the file as a whole.
    pub key: Option<&'o str>,
}

impl Origins {
    /// Adds a file with its content before anything is merged into it.
    pub(crate) fn add(&mut self, id: FileId, content: &Node, sources: &SourceMap) {
        let source = sources.file(id);
        let entries = content.as_mapping().into_iter().flatten();
        let written_here = entries.filter(|(_, entry)| entry.key_span.file == id && !entry.merged);
        let mut keys: Vec<(u32, Arc<str>)> = written_here
            .map(|(key, entry)| (entry.key_span.start, Arc::clone(key)))
            .collect();
        keys.sort_unstable_by_key(|&(start, _)| start);
        let file = File {
            name: source.name().into(),
            included_at: source.included_at(),
            keys,
        };
        self.files.insert(id, file);
    }

    /// Adds the files of a tree that is merged into this one.
    pub(crate) fn extend(&mut self, others: Self) {
        self.files.extend(others.files);
    }

    /// Returns the origin of a span; nothing for a span of another pipeline.
    pub fn of(&self, span: Span) -> Option<Origin<'_>> {
        let file = self.files.get(&span.file)?;
        let behind = file.keys.partition_point(|&(start, _)| start <= span.start);
        let key = behind.checked_sub(1).map(|at| &*file.keys[at].1);
        Some(Origin {
            file: &file.name,
            line: span.line,
            column: span.column,
            key,
        })
    }

    /// Returns the chain of includes that added a span's file, the nearest first; none for the
    /// pipeline's own file.
    pub fn includes(&self, span: Span) -> impl Iterator<Item = Span> + '_ {
        let of = |file: FileId| self.files.get(&file).and_then(|file| file.included_at);
        std::iter::successors(of(span.file), move |at| of(at.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the span of the first occurrence of `text` in the file.
    fn span(id: FileId, sources: &SourceMap, text: &str) -> Span {
        let whole = sources.file(id).text();
        let start = whole.find(text).unwrap();
        Span::of_offset(id, whole, start)
    }

    #[test]
    fn the_origin_names_the_last_key_before_a_span() {
        let mut diagnostics = crate::Diagnostics::default();
        let text = "# first\n.a:\n  image: x\njob: {script: [b, c]}\n";
        let id = diagnostics.sources_mut().add("ci.yml", text);
        let limits = yaml::Limits::default();
        let root = yaml::load(id, &limits, &mut diagnostics).unwrap();
        let mut origins = Origins::default();
        origins.add(id, &root.content, diagnostics.sources());

        let of = |text| {
            let origin = origins.of(span(id, diagnostics.sources(), text)).unwrap();
            (origin.line, origin.column, origin.key)
        };
        assert_eq!(of("first"), (1, 3, None));
        assert_eq!(of("x\n"), (3, 10, Some(".a")));
        assert_eq!(of("c]"), (4, 19, Some("job")));
    }
}
