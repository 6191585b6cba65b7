//! Files of jobs that outlive their run: artifacts and reusable results.

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

/// Artifacts and reusable results of the jobs of all projects.
///
/// Equal files are stored once. The artifacts of a job are listed in the directory of its run, and stay until the
/// run is removed or they expire (`artifacts:expire_in`).
#[derive(Debug, Clone)]
pub struct RetainedFiles {
    root: PathBuf,
}

/// How often to look for expired artifacts if no run was removed.
const SWEEP_INTERVAL: Duration = Duration::from_hours(1);

impl RetainedFiles {
    /// The directory of the lists in that of a run.
    pub(crate) const DIRECTORY: &str = "artifacts";

    /// Returns the files in the state below `root`.
    pub(crate) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Returns the store of their contents.
    pub fn store(&self) -> ContentStore {
        ContentStore::at(self.root.join("content"))
    }

    /// Returns the artifacts of the run in this directory.
    pub fn of_run(&self, directory: &Path) -> StoredArtifacts {
        StoredArtifacts::new(self.store(), directory.join(Self::DIRECTORY))
    }

    /// Returns whether a run has lists of artifacts.
    pub(crate) fn has_any(directory: &Path) -> bool {
        directory.join(Self::DIRECTORY).is_dir()
    }

    /// Removes expired artifacts of ended runs and all unused contents. Blocks.
    ///
    /// Does nothing and returns `None` while another run stores something.
    ///
    /// # Errors
    ///
    /// When something cannot be read or removed. Used contents stay.
    pub fn sweep(&self) -> Result<Option<Swept>, StoreError> {
        let swept = self.store().sweep(|| self.used_trees(Timestamp::now()))?;
        if swept.is_some() {
            // If this fails, one more sweep than needed follows.
            let _ = fail_point!(
                "workstation::retained_files::mark",
                File::create(self.sweep_mark())
            );
        }
        Ok(swept)
    }

    /// Sweeps if there may be something to remove. What cannot be removed now is left for later.
    pub(crate) fn sweep_if_due(&self, runs_were_removed: bool) {
        if !runs_were_removed && !self.is_due() {
            return;
        }
        match self.sweep() {
            Ok(swept) => tracing::debug!(?swept, "Unused files were removed."),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "Unused files stay.");
            }
        }
    }

    /// Removes incomplete files of killed processes.
    pub(crate) fn recover(&self) {
        if let Err(error) = self.store().recover() {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "Incomplete files stay.");
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
        // A mark in the future means that the clock was set back.
        age.map_or(true, |age| age.is_ok_and(|age| age > SWEEP_INTERVAL))
    }

    /// Removes the expired artifacts of ended runs from their lists, and returns the trees still in use.
    fn used_trees(&self, now: Timestamp) -> io::Result<HashSet<Digest>> {
        let mut used = HashSet::new();
        for project in directories_in(&self.root.join("projects"))? {
            for run in directories_in(&project.join("pipelines"))? {
                used.extend(self.used_by(&run, now).map_err(io::Error::other)?);
            }
            used.extend(ReuseStore::at(&project, self.store()).trees()?);
        }
        Ok(used)
    }

    fn used_by(&self, run: &Path, now: Timestamp) -> Result<Vec<Digest>, ArtifactError> {
        if !Self::has_any(run) {
            return Ok(Vec::new());
        }
        let artifacts = self.of_run(run);
        // A later job of a running pipeline may need artifacts that expire within a minute.
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
