//! The runs of a project, living and past.

use super::error::RunsError;
use super::journal::Journal;
use super::killed::KilledRun;
use super::past_run::Run;
use super::record::RunRecord;
use super::retention::superfluous;
use super::run_lock::{Holder, RunLock};
use super::run_state::RunState;
use fail_point::fail_point;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The runs of a project, living and past.
#[derive(Debug, Clone)]
pub struct Runs {
    directory: PathBuf,
    /// The top of the project, where that is known.
    project: Option<PathBuf>,
}

/// The file that says that people know of a run that it was killed.
const TOLD: &str = "told";

impl Runs {
    /// Returns the runs whose directories are in this one, of the project in another.
    pub(crate) fn at(directory: PathBuf, project: Option<PathBuf>) -> Self {
        Self { directory, project }
    }

    /// Returns all runs of which something is kept, the newest first. One whose record cannot be read
    /// is passed over.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn list(&self) -> Result<Vec<Run>, RunsError> {
        let ids = self.ids()?.into_iter();
        Ok(ids.filter_map(|id| self.open(id).ok().flatten()).collect())
    }

    /// Returns all runs of which something is kept, the newest first, or why one cannot be read.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn each(&self) -> Result<Vec<Result<Run, RunsError>>, RunsError> {
        let ids = self.ids()?.into_iter();
        Ok(ids.filter_map(|id| self.open(id).transpose()).collect())
    }

    /// Returns the directories of all runs by their numbers, the highest first, whatever is in them.
    ///
    /// # Errors
    ///
    /// When the directory of the runs cannot be read.
    pub(crate) fn directories(&self) -> Result<Vec<(u64, PathBuf)>, RunsError> {
        let ids = self.ids()?.into_iter();
        Ok(ids.map(|id| (id, self.path(id))).collect())
    }

    /// Returns the top of the project, where that is known.
    pub(crate) fn known_project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Returns the run with this number.
    ///
    /// # Errors
    ///
    /// When there is none, or what is kept of it cannot be read.
    pub fn find(&self, id: u64) -> Result<Run, RunsError> {
        self.open(id)?.ok_or_else(|| RunsError::None {
            id,
            project: self.project(),
        })
    }

    /// Returns the run that was begun last, child pipelines left out.
    ///
    /// # Errors
    ///
    /// When there is none, or what is kept of it cannot be read.
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

    /// Returns the run that a job of another one started last in the same project, if it is still there.
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

    /// Returns the runs that were killed, as far as nobody was told of them yet, the oldest first. They
    /// count as told from now on.
    pub fn killed_since_last_look(&self) -> Vec<KilledRun> {
        let ids = self.ids().unwrap_or_default();
        let found = ids.into_iter().rev().filter_map(|id| self.killed(id));
        found.collect()
    }

    /// Returns the runs with lower numbers than this one that live, child pipelines left out.
    pub(crate) fn living_before(&self, id: u64) -> Vec<Run> {
        let ids = self.ids().unwrap_or_default().into_iter();
        let living = ids.filter(|&it| it < id && RunLock::holder(&self.path(it)) != Holder::Nobody);
        let runs = living.filter_map(|it| self.open(it).ok().flatten());
        runs.filter(|run| run.record().parent.is_none()).collect()
    }

    /// Returns the directories that go when so many runs are kept, and those of runs that were killed
    /// before anything of them was written down. Some of them may live.
    pub(crate) fn superfluous(&self, keep: usize) -> Vec<PathBuf> {
        let ids = self.ids().unwrap_or_default();
        let (begun, unborn): (Vec<u64>, Vec<u64>) = ids
            .into_iter()
            .partition(|&id| RunRecord::is_in(&self.path(id)));
        let mut going: Vec<u64> = Vec::new();
        if begun.len() > keep {
            // What a job of another project started belongs to that run, and is one of its own here.
            let parent = |id| {
                let run = self.open(id).ok()??;
                let parent = run.record().parent.as_ref()?;
                parent.project.is_none().then_some(parent.pipeline.0)
            };
            let runs: Vec<_> = begun.iter().map(|&id| (id, parent(id))).collect();
            let lives = |id| RunLock::holder(&self.path(id)) != Holder::Nobody;
            going = superfluous(&runs, keep, lives);
        }
        // One that is about to begin has not taken its lock yet.
        let killed = unborn.into_iter();
        going.extend(killed.filter(|&id| RunLock::was_taken(&self.path(id))));
        going.into_iter().map(|id| self.path(id)).collect()
    }

    fn killed(&self, id: u64) -> Option<KilledRun> {
        let directory = self.path(id);
        // In the order of what it costs: most runs have just ended.
        if Journal::says_done(&directory)
            || directory.join(TOLD).exists()
            || RunLock::holder(&directory) != Holder::Nobody
        {
            return None;
        }
        let run = self.open(id).ok()??;
        // Whoever goes on with the parent goes on with its children.
        if run.record().parent.is_some() {
            return None;
        }
        let history = run.history().ok()?;
        // It may have ended since.
        let RunState::Killed { finished, jobs } = run.state(&history) else {
            return None;
        };
        tell(&directory).ok()?;
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

    /// Returns the run in the directory of this number, if one began there.
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

    /// Returns the numbers there are, the highest first.
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

/// Notes that people know; fails when they did already.
fn tell(directory: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let path = directory.join(TOLD);
    fail_point!("runwright::runs::tell", options.open(path)).map(drop)
}

/// Forgets that people know of an earlier death: a run that goes on may be killed again.
pub(crate) fn forget_told(directory: &Path) {
    let path = directory.join(TOLD);
    // Without the file there is nothing to forget; otherwise nobody is told a second time.
    let _ = fail_point!("runwright::runs::forget_told", fs::remove_file(path));
}
