//! The runs of a project, running and ended.

use super::error::RunsError;
use super::journal::Journal;
use super::killed_run::KilledRun;
use super::record::RunRecord;
use super::retention::superfluous;
use super::run::Run;
use super::run_lock::RunLock;
use super::run_state::RunState;
use crate::run::RUNNING;
use fail_point::fail_point;
use job_runner::JobNotes;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The runs of a project, running and ended.
#[derive(Debug, Clone)]
pub struct Runs {
    directory: PathBuf,
    /// The root of the project, if known.
    project: Option<PathBuf>,
}

/// The file that says that a command reported the death of the run.
const REPORTED: &str = "told";

impl Runs {
    /// Returns the runs with directories in `directory`.
    pub(crate) fn at(directory: PathBuf, project: Option<PathBuf>) -> Self {
        Self { directory, project }
    }

    /// Returns all runs, the newest first, without those whose record cannot be read.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn list(&self) -> Result<Vec<Run>, RunsError> {
        let ids = self.ids()?.into_iter();
        Ok(ids.filter_map(|id| self.open(id).ok().flatten()).collect())
    }

    /// Returns all runs, the newest first, or why one cannot be read.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn each(&self) -> Result<Vec<Result<Run, RunsError>>, RunsError> {
        let ids = self.ids()?.into_iter();
        Ok(ids.filter_map(|id| self.open(id).transpose()).collect())
    }

    /// Returns the directories of all runs with their numbers, the highest first.
    ///
    /// # Errors
    ///
    /// When the directory of the runs cannot be read.
    pub(crate) fn directories(&self) -> Result<Vec<(u64, PathBuf)>, RunsError> {
        let ids = self.ids()?.into_iter();
        Ok(ids.map(|id| (id, self.path(id))).collect())
    }

    /// Returns the root of the project, if known.
    pub(crate) fn known_project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Returns the run with this number.
    ///
    /// # Errors
    ///
    /// When there is none, or it cannot be read.
    pub fn find(&self, id: u64) -> Result<Run, RunsError> {
        self.open(id)?.ok_or_else(|| RunsError::None {
            id,
            project: self.project(),
        })
    }

    /// Returns the run that started last, without child pipelines.
    ///
    /// # Errors
    ///
    /// When there is none, or it cannot be read.
    pub fn latest(&self) -> Result<Run, RunsError> {
        for id in self.ids()? {
            if let Some(run) = self.open(id)?
                && run.record().parent.is_none()
            {
                return Ok(run);
            }
        }
        Err(RunsError::NoneYet {
            project: self.project(),
        })
    }

    /// Returns the run that a job of `run` started last in the same project, if it still exists.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn child_of(&self, run: &Run, job: &str) -> Result<Option<Run>, RunsError> {
        let younger = self.ids()?.into_iter().take_while(|&id| id > run.id());
        let mut younger = younger.filter_map(|id| self.open(id).ok().flatten());
        Ok(younger.find(|child| {
            let parent = child.record().parent.as_ref();
            parent.is_some_and(|it| {
                it.project.is_none() && it.pipeline.0 == run.id() && &*it.job == job
            })
        }))
    }

    /// Returns the killed runs that were not reported yet, the oldest first. They count as reported from now on.
    pub fn take_killed(&self) -> Vec<KilledRun> {
        let ids = self.ids().unwrap_or_default();
        let found = ids.into_iter().rev().filter_map(|id| self.killed(id));
        found.collect()
    }

    /// Returns the running runs with lower numbers, without child pipelines.
    pub(crate) fn running_before(&self, id: u64) -> Vec<Run> {
        let ids = self.ids().unwrap_or_default().into_iter();
        let running = ids.filter(|&it| it < id && RunLock::is_held(&self.path(it)));
        let runs = running.filter_map(|it| self.open(it).ok().flatten());
        runs.filter(|run| run.record().parent.is_none()).collect()
    }

    /// Returns the directories to remove if `keep` runs are kept, and those of runs that were killed before
    /// their record was written. Some of them may still run.
    pub(crate) fn superfluous(&self, keep: usize) -> Vec<PathBuf> {
        let ids = self.ids().unwrap_or_default();
        let (recorded, unrecorded): (Vec<u64>, Vec<u64>) = ids
            .into_iter()
            .partition(|&id| RunRecord::is_in(&self.path(id)));
        let mut superfluous_ids: Vec<u64> = Vec::new();
        if recorded.len() > keep {
            // A run that a job of another project started counts as a run of its own here.
            let parent = |id| {
                let run = self.open(id).ok()??;
                let parent = run.record().parent.as_ref()?;
                parent.project.is_none().then_some(parent.pipeline.0)
            };
            let runs: Vec<_> = recorded.iter().map(|&id| (id, parent(id))).collect();
            superfluous_ids = superfluous(&runs, keep, |id| RunLock::is_held(&self.path(id)));
        }
        // A run that is about to start has not taken its lock yet.
        let killed = unrecorded.into_iter();
        superfluous_ids.extend(killed.filter(|&id| RunLock::was_taken(&self.path(id))));
        superfluous_ids
            .into_iter()
            .map(|id| self.path(id))
            .collect()
    }

    fn killed(&self, id: u64) -> Option<KilledRun> {
        let directory = self.path(id);
        // The cheapest check first: most runs have simply ended.
        if Journal::says_done(&directory)
            || directory.join(REPORTED).exists()
            || RunLock::is_held(&directory)
        {
            return None;
        }
        // What stays is removed with the run.
        let _ = JobNotes::at(directory.join(RUNNING)).remove_unpublished();
        let run = self.open(id).ok()??;
        // A child is continued with its parent.
        if run.record().parent.is_some() {
            return None;
        }
        let history = run.history().ok()?;
        // It may have ended since.
        let RunState::Killed { finished, jobs } = run.state(&history) else {
            return None;
        };
        mark_reported(&directory).ok()?;
        Some(KilledRun { id, finished, jobs })
    }

    /// Returns the project, or else the directory of its runs.
    fn project(&self) -> PathBuf {
        self.project
            .clone()
            .unwrap_or_else(|| self.directory.clone())
    }

    fn path(&self, id: u64) -> PathBuf {
        self.directory.join(id.to_string())
    }

    /// Returns the run in the directory of this number, if it was recorded.
    fn open(&self, id: u64) -> Result<Option<Run>, RunsError> {
        let directory = self.path(id);
        match RunRecord::read(&directory)? {
            Some(record) if record.id.0 != id => Err(RunsError::Foreign {
                path: directory,
                id: record.id.0,
            }),
            record => Ok(record.map(|record| Run::new(directory, record))),
        }
    }

    /// Returns all numbers, the highest first.
    fn ids(&self) -> Result<Vec<u64>, RunsError> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(RunsError::io("read", &self.directory))?,
        };
        let mut ids: Vec<u64> = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids)
    }
}

/// Records that the death of a run was reported; fails if it was already.
fn mark_reported(directory: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let path = directory.join(REPORTED);
    fail_point!("workstation::runs::report", options.open(path)).map(drop)
}

/// Forgets that the death of a run was reported: a continued run may be killed again.
pub(crate) fn forget_reported(directory: &Path) {
    let path = directory.join(REPORTED);
    // If it stays, a second death is not reported.
    let _ = fail_point!("workstation::runs::forget_reported", fs::remove_file(path));
}
