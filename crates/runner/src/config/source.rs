use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A place in a file, in bytes.
pub(super) type Span = Range<usize>;

/// The text of a file, for the positions of problems.
#[derive(Debug, Clone)]
pub(super) struct SourceText {
    pub(super) path: Arc<Path>,
    pub(super) text: Arc<str>,
    /// The first byte of each line.
    line_starts: Vec<usize>,
}

impl SourceText {
    pub(super) fn new(path: &Path, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(ends).collect();
        Self {
            path: path.into(),
            text,
            line_starts,
        }
    }

    /// Returns the line and the column of a byte, both from 1. Columns count characters.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let before = &self.text[self.line_starts[line - 1]..offset];
        (line, before.chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let source = SourceText::new(Path::new("a"), "äb\nc");
        let positions: Vec<_> = (0..7).map(|at| source.position(at)).collect();
        let expect = [(1, 1), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 2)];
        assert_eq!(positions, expect);
    }
}
