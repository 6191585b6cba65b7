use super::state::State;
use std::collections::HashMap;
use std::path::Path;

/// Knows which directories of a tree lie beyond a link, where Git sees nothing.
#[derive(Debug)]
pub(crate) struct Links<'p> {
    project: &'p Path,
    /// Whether it is so, for each directory that was asked for.
    known: HashMap<&'p Path, bool>,
}

impl<'p> Links<'p> {
    pub(crate) fn below(project: &'p Path) -> Self {
        Self {
            project,
            known: HashMap::new(),
        }
    }

    /// Returns what Git would see at a path; nothing when it lies beyond a link.
    pub(crate) fn state(&mut self, file: &'p Path) -> Option<State> {
        let is_beyond = file.parent().is_some_and(|above| self.are_above(above));
        (!is_beyond).then(|| State::of(&self.project.join(file)))?
    }

    /// Returns whether a directory or one above it is a link.
    fn are_above(&mut self, directory: &'p Path) -> bool {
        if let Some(&known) = self.known.get(directory) {
            return known;
        }
        let Some(above) = directory.parent() else {
            // The project itself may be one.
            return false;
        };
        let is_beyond = self.are_above(above) || self.project.join(directory).is_symlink();
        self.known.insert(directory, is_beyond);
        is_beyond
    }
}
