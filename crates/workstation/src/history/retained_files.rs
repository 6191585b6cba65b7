//! What jobs left for others: whose it is, and how long it stays.

use crate::history::RunLock;
use crate::reuse::ReuseStore;
use content_store::{ContentStore, Digest, StoreError, Swept};
use fail_point::fail_point;
use jiff::Timestamp;
use job_runner::{ArtifactError, StoredArtifacts};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What jobs of all projects left for others, as files.
///
/// Contents are kept once, whoever left them. What a job left is named in the directory of its run, and
/// stays until the run is removed or its time is up (`artifacts:expire_in`).
#[derive(Debug, Clone)]
pub struct RetainedFiles {
    root: PathBuf,
}

/// How often it is looked for artifacts whose time is up, when nothing else asks for it.
const OFTEN_ENOUGH: Duration = Duration::from_hours(1);

impl RetainedFiles {
    /// Where, in the directory of a run, the lists of its jobs are.
    pub(crate) const DIRECTORY: &str = "artifacts";

    /// Returns those in the state below `root`.
    pub(crate) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Returns where the contents are.
    pub fn store(&self) -> ContentStore {
        ContentStore::at(self.root.join("content"))
    }

    /// Returns what the jobs of the run in this directory left.
    pub fn of_run(&self, directory: &Path) -> StoredArtifacts {
        StoredArtifacts::new(self.store(), directory.join(Self::DIRECTORY))
    }

    /// Returns whether a run that is going to be removed left anything.
    pub(crate) fn has_any(directory: &Path) -> bool {
        directory.join(Self::DIRECTORY).is_dir()
    }

    /// Forgets the artifacts of ended runs whose time is up, and removes the contents that nobody needs.
    /// Blocks.
    ///
    /// Returns `None`, and has done nothing, where another run keeps something just now.
    ///
    /// # Errors
    ///
    /// When something cannot be read or removed. What is needed stays.
    pub fn sweep(&self) -> Result<Option<Swept>, StoreError> {
        let swept = self.store().sweep(|| self.needed(Timestamp::now()))?;
        if swept.is_some() {
            // Should this fail, there is one more sweep than needed.
            let _ = fail_point!(
                "runwright::kept_files::mark",
                File::create(self.sweep_mark())
            );
        }
        Ok(swept)
    }

    /// Sweeps when there may be something to remove. What cannot be removed now is left for another time.
    pub(crate) fn sweep_if_due(&self, runs_were_removed: bool) {
        if !runs_were_removed && !self.is_due() {
            return;
        }
        match self.sweep() {
            Ok(swept) => tracing::debug!(?swept, "Kept files were swept."),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "Files that nobody needs stay.");
            }
        }
    }

    /// Removes what a killed process left half written.
    pub(crate) fn recover(&self) {
        if let Err(error) = self.store().recover() {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "Half written files stay.");
        }
    }

    fn sweep_mark(&self) -> PathBuf {
        self.root.join("content").join("swept")
    }

    fn is_due(&self) -> bool {
        if !self.root.join("content").is_dir() {
            return false;
        }
        let last = fs::metadata(self.sweep_mark()).and_then(|it| it.modified());
        let age = last.map(|last| SystemTime::now().duration_since(last));
        // A clock that was set back says nothing.
        age.map_or(true, |age| age.is_ok_and(|age| age > OFTEN_ENOUGH))
    }

    /// Returns the trees that are needed, after forgetting those of ended runs whose time is up.
    fn needed(&self, now: Timestamp) -> io::Result<HashSet<Digest>> {
        let mut needed = HashSet::new();
        for project in directories_in(&self.root.join("projects"))? {
            for run in directories_in(&project.join("pipelines"))? {
                needed.extend(self.needed_by(&run, now).map_err(io::Error::other)?);
            }
            needed.extend(ReuseStore::at(&project, self.store()).trees()?);
        }
        Ok(needed)
    }

    fn needed_by(&self, run: &Path, now: Timestamp) -> Result<Vec<Digest>, ArtifactError> {
        if !Self::has_any(run) {
            return Ok(Vec::new());
        }
        let artifacts = self.of_run(run);
        // A later job of a living run may need what its author gave a minute only.
        if artifacts.has_expired(now)?
            && let Some(_ended) = RunLock::take_dead(run)
        {
            return artifacts.expire(now);
        }
        artifacts.trees()
    }
}

fn directories_in(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let entries: io::Result<Vec<fs::DirEntry>> = entries.collect();
    let directories = entries?.into_iter().map(|entry| entry.path());
    Ok(directories.filter(|path| path.is_dir()).collect())
}
