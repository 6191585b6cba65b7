//! The directory of all state.

use super::error::{StateError, io_error};
use super::make_dir::make_dir;
use super::project_key::project_key;
use super::project_state::{PIPELINES, ProjectState};
use crate::history::Runs;
use crate::history::retained_files::RetainedFiles;
use crate::reuse::ReuseStore;
use includes::LockFile;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The directory of all state: `$RUNWRIGHT_HOME`, or `~/.runwright`.
///
/// ```text
/// config.toml                         what the user wants to be so
/// cache/                              answers of servers
/// caches/                             what jobs keep for later runs, of all projects
/// container-owners/                   which runs have containers
/// content/                            files that jobs left, each once
/// engines/                            what jobs brought into container engines, and who uses it
/// exports/                            what is being packed for somebody
/// functions/                          functions of repositories and registries
/// git/                                repositories of other projects, where they are read by Git
/// journal/                            what runs have made and must remove
/// reuse.key                           the number that makes keys of jobs unreadable
/// projects/<key>/last-pipeline        the id given last
/// projects/<key>/in-place.lock        held by a run in the working tree itself
/// projects/<key>/durations            how long jobs took
/// projects/<key>/reuse/               jobs that need not run again, and what the files of the project hold
/// projects/<key>/resources/           who is in the resource groups, and who waits for them
/// projects/<key>/snapshots/           the working tree as running pipelines see it
/// projects/<key>/pipelines/<id>/      what is known of one run: record, journal, logs, artifacts
/// ```
#[derive(Debug, Clone)]
pub struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// Returns the state of the user who runs this program.
    ///
    /// # Errors
    ///
    /// When neither `RUNWRIGHT_HOME` nor the home directory is known.
    pub fn of_user() -> Result<Self, StateError> {
        let named = std::env::var_os("RUNWRIGHT_HOME").filter(|value| !value.is_empty());
        let root = match named {
            Some(root) => std::path::absolute(&root).map_err(io_error("resolve", &root))?,
            None => std::env::home_dir()
                .ok_or(StateError::NoHome)?
                .join(".runwright"),
        };
        Ok(Self::at(root))
    }

    /// Returns the state in this directory, which is made when it is needed.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the directory itself.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Makes the directory, if it is not there, so that Git does not see it in the working tree
    /// `tree`: neither in `git status` nor among the files that jobs get. The texts of a lock file stay
    /// visible, if it is the directory that has those too.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(crate) fn make_unseen_in(&self, tree: &Path) -> Result<(), StateError> {
        let Ok(below) = self.root.strip_prefix(tree) else {
            return Ok(());
        };
        let has_texts = Path::new(LockFile::TEXTS).parent() == Some(below);
        // One that is there may hold files of the user's, which are not ours to hide.
        if !has_texts && self.root.exists() {
            return Ok(());
        }
        make_dir(&self.root)?;
        let hidden = if has_texts { "/*\n!/vendor/\n" } else { "*\n" };
        let file = self.root.join(".gitignore");
        // Neither over what is there, nor through a link.
        match OpenOptions::new().write(true).create_new(true).open(&file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            opened => opened
                .and_then(|mut opened| opened.write_all(hidden.as_bytes()))
                .map_err(io_error("write", &file)),
        }
    }

    /// Returns the part of the state that belongs to the project in `directory`.
    pub fn project(&self, directory: &Path) -> ProjectState {
        let own = self.root.join("projects").join(project_key(directory));
        ProjectState::at(own, directory, self.kept_files())
    }

    /// Returns what jobs left for others, of all projects.
    pub fn kept_files(&self) -> RetainedFiles {
        RetainedFiles::at(&self.root)
    }

    /// Returns where exports grow until they are whole.
    pub fn exports(&self) -> PathBuf {
        self.root.join("exports")
    }

    /// Returns the runs of all projects, a project each.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn all_runs(&self) -> Result<Vec<Runs>, StateError> {
        let projects = self.projects()?.into_iter();
        let runs = projects.map(|directory| Runs::at(directory.join(PIPELINES), None));
        Ok(runs.collect())
    }

    /// Returns the jobs of all projects that need not run again, a project each.
    pub(crate) fn all_reuse(&self) -> Result<Vec<ReuseStore>, StateError> {
        let projects = self.projects()?.into_iter();
        let content = self.kept_files().store();
        let stores = projects.map(|directory| ReuseStore::at(&directory, content.clone()));
        Ok(stores.collect())
    }

    /// Returns the directories of all projects.
    fn projects(&self) -> Result<Vec<PathBuf>, StateError> {
        let projects = self.root.join("projects");
        let entries = match fs::read_dir(&projects) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(io_error("read", &projects))?,
        };
        Ok(entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_directory_inside_the_tree_is_hidden() {
        let tree = tempfile::tempdir().unwrap();
        let hidden = |directory: &Path| {
            let state = StateDir::at(directory);
            state.make_unseen_in(tree.path()).unwrap();
            directory.join(".gitignore").exists()
        };
        assert!(hidden(&tree.path().join("below/state")));
        fs::create_dir(tree.path().join("mine")).unwrap();
        assert!(!hidden(&tree.path().join("mine")));
        assert!(!hidden(tree.path()));
        let elsewhere = tempfile::tempdir().unwrap();
        assert!(!hidden(&elsewhere.path().join("state")));
        // The lock file's texts may have made it, and are the project's.
        let own = tree.path().join(".runwright");
        fs::create_dir_all(own.join("vendor")).unwrap();
        assert!(hidden(&own));
        let text = fs::read_to_string(own.join(".gitignore")).unwrap();
        assert_eq!(text, "/*\n!/vendor/\n");
        fs::write(own.join(".gitignore"), "mine").unwrap();
        assert!(hidden(&own));
        assert_eq!(fs::read_to_string(own.join(".gitignore")).unwrap(), "mine");
    }
}
