//! The state of one project.

use super::error::{StateError, io_error};
use crate::error::LocalError;
use crate::history::durations::Durations;
use crate::history::retained_files::RetainedFiles;
use crate::history::{Continuation, ContinuedRun, RunLock, Runs};
use crate::reuse::ReuseStore;
use crate::run::environments::Environments;
use crate::run::resource_groups;
use crate::settings::Settings;
use fail_point::fail_point;
use process::{FileLock, LockKind, make_private_dir_all};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many runs of a project are kept without a setting.
const KEPT_PIPELINES: usize = 10;

/// How long another process may keep the number of the last run locked.
const ID_LOCK: Duration = Duration::from_secs(10);

/// The directory of a project's runs in its state.
pub(super) const PIPELINES: &str = "pipelines";

/// The state of one project.
#[derive(Debug, Clone)]
pub struct ProjectState {
    dir: PathBuf,
    project: PathBuf,
    kept: RetainedFiles,
}

impl ProjectState {
    pub(super) fn at(dir: PathBuf, project: &Path, kept: RetainedFiles) -> Self {
        Self {
            dir,
            project: project.to_owned(),
            kept,
        }
    }

    /// Returns the directory of the state.
    pub(super) fn directory(&self) -> &Path {
        &self.dir
    }

    /// Returns the number of the runner of the project's runs, which other projects do not have.
    ///
    /// Drivers name what they create by the numbers of the runner and the job, and the latter are unique in a project
    /// only.
    pub(crate) fn runner_id(&self) -> u32 {
        let hash = blake3::hash(self.dir.as_os_str().as_encoded_bytes());
        let [a, b, c, d, ..] = *hash.as_bytes();
        // Some programs keep it as a signed number.
        (u32::from_le_bytes([a, b, c, d]) >> 1).max(1)
    }

    /// Creates the directory of a new pipeline, with an id that is unique in the project.
    ///
    /// # Errors
    ///
    /// When the state cannot be written.
    pub fn new_pipeline(&self) -> Result<PipelineDir, StateError> {
        self.new_pipeline_above(0)
    }

    /// Creates the directory of a new pipeline, with a unique id above `floor`.
    ///
    /// # Errors
    ///
    /// When the state cannot be written.
    pub(crate) fn new_pipeline_above(&self, floor: u64) -> Result<PipelineDir, StateError> {
        let pipelines = self.dir.join(PIPELINES);
        make_dir(&pipelines)?;
        let last_file = self.dir.join("last-pipeline");
        let _lock = self.lock_ids(&last_file)?;
        let last = fs::read_to_string(&last_file).ok();
        let last = last.and_then(|text| text.trim().parse().ok());
        // A full disk may have left the file empty.
        let last = last.or_else(|| Some(self.runs().directories().ok()?.first()?.0));
        let mut id: u64 = last.unwrap_or(0).max(floor);
        loop {
            id = id.saturating_add(1);
            let path = pipelines.join(id.to_string());
            let mut builder = DirBuilder::new();
            builder.mode(0o700);
            let made = fail_point!("workstation::state::make_pipeline", builder.create(&path));
            match made {
                Ok(()) => {
                    let written = fail_point!(
                        "workstation::state::write_last",
                        fs::write(&last_file, id.to_string())
                    );
                    written.map_err(io_error("write", &last_file))?;
                    return Self::locked(id, path);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error("create", &path)(error)),
            }
        }
    }

    /// Releases the id of a pipeline whose directory is removed, unless a later one is taken.
    pub(crate) fn release_id(&self, id: u64) {
        let last_file = self.dir.join("last-pipeline");
        let Ok(_lock) = self.lock_ids(&last_file) else {
            return;
        };
        let last = fs::read_to_string(&last_file);
        if last.is_ok_and(|last| last.trim() == id.to_string()) {
            // If this fails, the next run leaves out a number.
            let _ = fs::write(&last_file, id.saturating_sub(1).to_string());
        }
    }

    /// Locks the number of the last pipeline; the directory stands for its file.
    fn lock_ids(&self, last_file: &Path) -> Result<FileLock, StateError> {
        let lock = File::open(&self.dir);
        let lock = lock.and_then(|it| FileLock::within(it, LockKind::Exclusive, ID_LOCK));
        lock.map_err(io_error("lock", last_file))
    }

    /// Locks the directory of an earlier run, and reads its history.
    ///
    /// # Errors
    ///
    /// When there is no such run, it is running, or it cannot be read.
    pub(crate) fn reopen(
        &self,
        continuation: &Continuation,
    ) -> Result<(PipelineDir, ContinuedRun), LocalError> {
        let runs = self.runs();
        // Found before it is locked, since locking creates the directory's lock file.
        let run = runs.find(continuation.run)?;
        let directory = Self::locked(run.id(), run.directory().to_owned())?;
        // Read again, since the last holder of the lock may have changed it.
        let run = runs.find(continuation.run)?;
        let mut earlier = ContinuedRun::read(&run, &continuation.kind)?;
        earlier.variables.clone_from(&continuation.variables);
        Ok((directory, earlier))
    }

    fn locked(id: u64, path: PathBuf) -> Result<PipelineDir, StateError> {
        let lock = RunLock::take(&path).map_err(io_error("lock", &path))?;
        let lock = lock.map_err(|pid| StateError::Running { id, pid })?;
        Ok(PipelineDir {
            id,
            path,
            _lock: lock,
        })
    }

    /// Returns the runs of the project.
    pub fn runs(&self) -> Runs {
        Runs::at(self.dir.join(PIPELINES), Some(self.project.clone()))
    }

    /// Removes the oldest ended runs beyond the kept ones, and expired artifacts.
    ///
    /// Running pipelines stay. What cannot be removed now is left for later.
    pub fn prune(&self) {
        let mut freed = false;
        for path in self.runs().superfluous(self.kept_runs()) {
            // Held until all is removed, so that no command continues the run meanwhile.
            let Some(_lock) = RunLock::take_dead(&path) else {
                continue;
            };
            freed |= RetainedFiles::has_any(&path);
            let remove = || fail_point!("workstation::state::prune", process::remove_tree(&path));
            if let Err(error) = remove() {
                tracing::debug!(path = %path.display(), %error, "An old pipeline stays.");
            }
        }
        freed |= self.reuse().prune();
        self.kept.sweep_if_due(freed);
        resource_groups::remove_unused(&self.resources());
    }

    /// Returns the root of the project.
    pub(crate) fn root(&self) -> &Path {
        &self.project
    }

    /// Returns the durations of the project's jobs.
    pub fn durations(&self) -> Durations {
        Durations::at(&self.dir)
    }

    /// Returns the deployment environments of the project.
    pub fn environments(&self) -> Environments {
        Environments::at(&self.dir)
    }

    /// Returns the artifacts and reusable results of all projects.
    pub fn kept_files(&self) -> &RetainedFiles {
        &self.kept
    }

    /// Returns the reusable results of the project's jobs.
    pub(crate) fn reuse(&self) -> ReuseStore {
        ReuseStore::at(&self.dir, self.kept.store())
    }

    /// Returns the directory of the project's resource groups.
    pub(crate) fn resources(&self) -> PathBuf {
        self.dir.join("resources")
    }

    /// Returns how many runs are kept. Invalid settings were reported when the run started.
    fn kept_runs(&self) -> usize {
        let root = self.dir.ancestors().nth(2);
        let settings = root.map(|root| Settings::read(root, std::env::home_dir().as_deref()));
        let keep = settings.and_then(|settings| settings.ok()?.kept_runs);
        keep.map_or(KEPT_PIPELINES, NonZeroUsize::get)
    }

    /// Returns the directory of the snapshots.
    pub(crate) fn snapshots(&self) -> PathBuf {
        self.dir.join("snapshots")
    }
}

/// The directory of one pipeline. The pipeline counts as running until it is dropped.
#[derive(Debug)]
pub struct PipelineDir {
    /// The pipeline's id in its project, from 1.
    pub id: u64,
    /// The directory.
    pub path: PathBuf,
    _lock: RunLock,
}

/// Creates a directory that only the user can enter, with its parents.
pub(crate) fn make_dir(path: &Path) -> Result<(), StateError> {
    fail_point!("workstation::state::make_dir", make_private_dir_all(path))
        .map_err(io_error("create", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::state::StateDir;

    #[test]
    fn pipelines_of_a_project_have_different_ids() {
        let home = tempfile::tempdir().unwrap();
        let project = StateDir::at(home.path()).project(Path::new("/srv/a project"));
        let first = project.new_pipeline().unwrap();
        let second = project.new_pipeline().unwrap();
        assert_eq!((first.id, second.id), (1, 2));
        fs::remove_file(project.dir.join("last-pipeline")).unwrap();
        assert_eq!(
            project.new_pipeline().unwrap().id,
            3,
            "an id in use is not used again"
        );
        fs::remove_dir_all(&first.path).unwrap();
        fs::write(project.dir.join("last-pipeline"), "").unwrap();
        assert_eq!(project.new_pipeline().unwrap().id, 4);
    }

    #[test]
    fn old_pipelines_are_removed_except_running_ones() {
        let home = tempfile::tempdir().unwrap();
        let project = StateDir::at(home.path()).project(Path::new("/srv/p"));
        let recorded = || {
            let pipeline = project.new_pipeline().unwrap();
            fs::write(pipeline.path.join("run.json"), "{}").unwrap();
            pipeline
        };
        let running = recorded();
        let ended = recorded().path;
        let mut kept = Vec::new();
        for _ in 0..KEPT_PIPELINES {
            kept.push(recorded().path);
        }
        project.prune();
        assert!(running.path.exists());
        assert!(!ended.exists());
        assert_eq!(kept.iter().find(|it| !it.exists()), None);
    }

    #[test]
    fn pipelines_without_a_record_are_removed_and_not_counted() {
        let home = tempfile::tempdir().unwrap();
        let project = StateDir::at(home.path()).project(Path::new("/srv/p"));
        let ended = project.new_pipeline().unwrap().path;
        fs::write(ended.join("run.json"), "{}").unwrap();
        let starting = project.new_pipeline().unwrap();
        // It has no lock yet.
        let unlocked = ended.with_file_name("3");
        fs::create_dir(&unlocked).unwrap();
        let killed: Vec<PathBuf> = (0..2 * KEPT_PIPELINES)
            .map(|_| project.new_pipeline().unwrap().path)
            .collect();
        fs::write(killed[0].join(".run.json.new"), "{\"v\":").unwrap();
        project.prune();
        assert_eq!(killed.iter().find(|it| it.exists()), None);
        for path in [&ended, &starting.path, &unlocked] {
            assert!(path.exists(), "{}", path.display());
        }
    }
}
