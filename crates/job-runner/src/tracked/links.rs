use super::state::State;
use std::collections::HashMap;
use std::path::Path;

/// Knows which directories are below a symbolic link, where Git sees no files.
#[derive(Debug)]
pub(crate) struct Links<'p> {
    project: &'p Path,
    /// The directories checked so far, and whether they are below a link.
    known: HashMap<&'p Path, bool>,
}

impl<'p> Links<'p> {
    pub(crate) fn below(project: &'p Path) -> Self {
        Self {
            project,
            known: HashMap::new(),
        }
    }

    /// Returns the state of a path as Git sees it; `None` when it is below a link.
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
            // The project itself may be a link.
            return false;
        };
        let is_beyond = self.are_above(above) || self.project.join(directory).is_symlink();
        self.known.insert(directory, is_beyond);
        is_beyond
    }
}
