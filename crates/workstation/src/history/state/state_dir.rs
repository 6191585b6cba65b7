use super::error::{StateError, io_error};
use super::project_state::{PIPELINES, ProjectState, make_dir};
use crate::history::Runs;
use crate::history::retained_files::RetainedFiles;
use crate::reuse::ReuseStore;
use crate::reuse::fingerprint::Fnv;
use includes::LockFile;
use std::fs::{self, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The state directory: `$RUNWRIGHT_HOME`, or `~/.runwright`.
///
/// ```text
/// config.toml                         the user's settings
/// cache/                              responses of servers
/// caches/                             caches of jobs, of all projects
/// container-owners/                   which runs have containers
/// content/                            files of artifacts and reusable results, each once
/// engines/                            objects in container engines, and their users
/// exports/                            archives while they are packed
/// functions/                          functions of repositories and registries
/// git/                                repositories of other projects, where they are read by Git
/// journal/                            what runs created and must remove
/// reuse.key                           the secret of the keys for reuse
/// projects/<key>/last-pipeline        the last id
/// projects/<key>/in-place.lock        locked by a run in the working tree itself
/// projects/<key>/durations            how long jobs took
/// projects/<key>/reuse/               reusable results, and digests of the project's files
/// projects/<key>/resources/           the queues of the resource groups
/// projects/<key>/snapshots/           snapshots of the working tree for running pipelines
/// projects/<key>/pipelines/<id>/      one run: record, journal, logs, artifacts
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

    /// Returns the state in this directory, which is created when needed.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the directory itself.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Creates the directory if it is new and inside the working tree `tree`, with a `.gitignore` that hides it from
    /// `git status` and from snapshots. Vendored files in it stay visible.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(crate) fn create_ignored_in(&self, tree: &Path) -> Result<(), StateError> {
        let Ok(below) = self.root.strip_prefix(tree) else {
            return Ok(());
        };
        let has_vendored = Path::new(LockFile::TEXTS).parent() == Some(below);
        // An existing directory may contain files of the user, which must not be hidden.
        if !has_vendored && self.root.exists() {
            return Ok(());
        }
        make_dir(&self.root)?;
        let hidden = if has_vendored {
            "/*\n!/vendor/\n"
        } else {
            "*\n"
        };
        let file = self.root.join(".gitignore");
        // Overwrites nothing and follows no link.
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

    /// Returns the artifacts and reusable results of all projects.
    pub fn kept_files(&self) -> RetainedFiles {
        RetainedFiles::at(&self.root)
    }

    /// Returns the directory of archives while they are packed.
    pub fn exports(&self) -> PathBuf {
        self.root.join("exports")
    }

    /// Returns the runs of all projects, one value for each project.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn all_runs(&self) -> Result<Vec<Runs>, StateError> {
        let projects = self.projects()?.into_iter();
        let runs = projects.map(|directory| Runs::at(directory.join(PIPELINES), None));
        Ok(runs.collect())
    }

    /// Returns the reusable results of all projects, one value for each project.
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

/// Returns a readable and unique name for a project.
fn project_key(directory: &Path) -> String {
    let name = directory
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let readable: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    let mut hash = Fnv::default();
    Hasher::write(&mut hash, directory.as_os_str().as_encoded_bytes());
    format!("{readable}-{:016x}", hash.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_directories_in_the_tree_are_ignored() {
        let tree = tempfile::tempdir().unwrap();
        let is_ignored = |directory: &Path| {
            let state = StateDir::at(directory);
            state.create_ignored_in(tree.path()).unwrap();
            directory.join(".gitignore").exists()
        };
        assert!(is_ignored(&tree.path().join("below/state")));
        fs::create_dir(tree.path().join("mine")).unwrap();
        assert!(!is_ignored(&tree.path().join("mine")));
        assert!(!is_ignored(tree.path()));
        let outside = tempfile::tempdir().unwrap();
        assert!(!is_ignored(&outside.path().join("state")));
        // A directory with vendored files of the project.
        let own = tree.path().join(".runwright");
        fs::create_dir_all(own.join("vendor")).unwrap();
        assert!(is_ignored(&own));
        let text = fs::read_to_string(own.join(".gitignore")).unwrap();
        assert_eq!(text, "/*\n!/vendor/\n");
        fs::write(own.join(".gitignore"), "mine").unwrap();
        assert!(is_ignored(&own));
        assert_eq!(fs::read_to_string(own.join(".gitignore")).unwrap(), "mine");
    }

    #[test]
    fn projects_of_the_same_name_have_different_keys() {
        assert_ne!(
            project_key(Path::new("/a/app")),
            project_key(Path::new("/b/app"))
        );
        assert!(project_key(Path::new("/a/my app")).starts_with("my-app-"));
    }
}
