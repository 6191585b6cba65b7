use super::note::JobNote;
use executor_core::JobId;
use executor_core::job::Job;
use fail_point::fail_point;
use parking_lot::{Mutex, MutexGuard};
use process::{NewFile, make_private_dir_all};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The notes of the jobs of one run, one file for each. Clones share them.
#[derive(Debug, Clone)]
pub struct JobNotes(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    keeps: Keeps,
    /// The number of jobs that need a builds directory to survive a crash.
    needed: Mutex<HashMap<PathBuf, usize>>,
    /// Of notes of one job, whose log is sent to others meanwhile.
    followed: Option<Followed>,
}

/// A job whose log is sent as far as its note has it.
#[derive(Debug)]
struct Followed {
    /// The job, as JSON.
    job: Vec<u8>,
    state: Mutex<FollowedState>,
}

#[derive(Debug, Default)]
struct FollowedState {
    /// The part of the log that another process would keep; `None` while there is no note.
    log_end: Option<u64>,
    /// A note that is not written yet.
    waiting: Option<JobNote>,
}

/// What the notes of a run are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// Another process takes over running jobs, and the results of ended ones.
    Jobs,
    /// Another process takes over the results alone.
    Results,
}

impl JobNotes {
    /// Returns the notes in a directory, which need not exist.
    pub fn at(directory: PathBuf) -> Self {
        Self::new(directory, Keeps::Jobs, None)
    }

    /// Returns the notes of one job, for another process that knows nothing else of it: the first note comes with the
    /// job itself, secrets included, in a file for its owner alone.
    pub fn of_job(directory: PathBuf, job: &Job) -> Self {
        let followed = Followed {
            // Always succeeds, since a job has only texts as keys. An empty one would not be taken over.
            job: serde_json::to_vec(job).unwrap_or_default(),
            state: Mutex::default(),
        };
        Self::new(directory, Keeps::Jobs, Some(followed))
    }

    /// Reads the job that an earlier process left in a directory of [`of_job`](Self::of_job), with its note.
    pub fn left_job(directory: &Path) -> Option<(Job, JobNote)> {
        let job = fs::read(directory.join(JOB)).ok()?;
        let job = serde_json::from_slice(&job).ok()?;
        Some((job, Self::at(directory.to_owned()).read().pop()?))
    }

    /// Returns the notes in a directory for jobs that cannot be resumed: only their results are recorded.
    pub fn of_results(directory: PathBuf) -> Self {
        Self::new(directory, Keeps::Results, None)
    }

    fn new(directory: PathBuf, keeps: Keeps, followed: Option<Followed>) -> Self {
        Self(Arc::new(Shared {
            directory,
            keeps,
            needed: Mutex::default(),
            followed,
        }))
    }

    /// Returns whether jobs can be resumed from these notes.
    pub(super) fn keep_jobs(&self) -> bool {
        self.0.keeps == Keeps::Jobs
    }

    /// Reads the notes of an earlier process, one for each job. Unreadable notes are ignored.
    pub fn read(&self) -> Vec<JobNote> {
        let entries = fs::read_dir(&self.0.directory).into_iter().flatten();
        let paths = entries.flatten().map(|it| it.path());
        let published = paths.filter(|path| path.extension().is_some_and(|it| it != PARTIAL));
        let texts = published.filter_map(|path| fs::read(path).ok());
        let notes = texts.filter_map(|text| serde_json::from_slice::<JobNote>(&text).ok());
        notes.collect()
    }

    /// Removes the notes of all jobs that are not in `wanted`.
    ///
    /// # Errors
    ///
    /// When a note cannot be removed.
    pub fn retain(&self, wanted: &[JobNote]) -> io::Result<()> {
        let entries = fs::read_dir(&self.0.directory).into_iter().flatten();
        let wanted: Vec<PathBuf> = wanted.iter().map(|it| self.file(it.job)).collect();
        for entry in entries.flatten() {
            if !wanted.contains(&entry.path()) {
                remove_file(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Removes notes that a killed process had not written completely.
    ///
    /// # Errors
    ///
    /// When one cannot be removed.
    pub fn remove_unpublished(&self) -> io::Result<()> {
        let entries = fs::read_dir(&self.0.directory).into_iter().flatten();
        let paths = entries.flatten().map(|it| it.path());
        let mut unpublished = paths.filter(|path| path.extension().is_some_and(|it| it == PARTIAL));
        unpublished.try_for_each(|path| remove_file(&path))
    }

    /// Returns how much of the log of the job may be sent: more could be written again, and differently, by another process.
    /// `None` if that cannot happen.
    ///
    /// Writes a note that waited for its turn. Only notes [of one job](Self::of_job) are asked.
    pub fn log_end(&self) -> Option<u64> {
        let mut state = self.0.followed.as_ref()?.state.lock();
        if let Some(note) = state.waiting.take()
            && self.publish(&note).is_ok()
        {
            state.log_end = Some(note.log_bytes);
        }
        state.log_end
    }

    /// Continues the note of an earlier process.
    pub fn continued(self, note: &JobNote) -> Self {
        if let Some(followed) = &self.0.followed {
            followed.state.lock().log_end = Some(note.log_bytes);
        }
        self
    }

    /// Keeps a note that will be written by [`log_end`](Self::log_end), if the log is sent to others.
    pub(super) fn defer(&self, note: &JobNote) {
        if let Some(followed) = &self.0.followed {
            followed.state.lock().waiting = Some(note.clone());
        }
    }

    /// Writes the note of a job, in place of its previous one.
    pub(super) fn write(&self, note: &JobNote) -> io::Result<()> {
        let Some(followed) = &self.0.followed else {
            return self.publish(note);
        };
        let mut state = followed.state.lock();
        state.waiting = None;
        if state.log_end.is_none() {
            // Before the note is there, so that no more is sent than it has.
            state.log_end = Some(note.log_bytes);
            make_private_dir_all(&self.0.directory)?;
            let file = self.0.directory.join(JOB);
            NewFile::write(file.with_extension(PARTIAL), &followed.job, 0o600)?.replace(&file)?;
        }
        self.publish(note)?;
        state.log_end = Some(note.log_bytes);
        Ok(())
    }

    fn publish(&self, note: &JobNote) -> io::Result<()> {
        let text = serde_json::to_vec(note)?;
        let file = self.file(note.job);
        let partial = file.with_extension(PARTIAL);
        let write = || {
            make_private_dir_all(&self.0.directory)?;
            NewFile::write(partial, &text, 0o600)
        };
        let new = fail_point!("job_runner::notes::write", write())?;
        fail_point!("job_runner::notes::publish", new.replace(&file))
    }

    /// Removes the note of a job, whose result is recorded elsewhere.
    ///
    /// # Errors
    ///
    /// When a note exists and cannot be removed.
    pub fn remove(&self, job: JobId) -> io::Result<()> {
        let removed = remove_file(&self.file(job));
        if let Some(followed) = &self.0.followed {
            *followed.state.lock() = FollowedState::default();
            remove_file(&self.0.directory.join(JOB))?;
        }
        removed
    }

    fn file(&self, job: JobId) -> PathBuf {
        self.0.directory.join(format!("job-{job}.json"))
    }

    /// Counts a job that needs this directory, and calls `first` for the first one.
    pub(super) fn need<E>(
        &self,
        builds: &Path,
        first: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut needed = self.needed();
        let count = needed.entry(builds.to_owned()).or_default();
        if *count == 0 {
            first()?;
        }
        *count += 1;
        Ok(())
    }

    /// Counts a job that no longer needs this directory, and calls `last` for the last one.
    pub(super) fn release<E>(
        &self,
        builds: &Path,
        last: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut needed = self.needed();
        let count = needed.entry(builds.to_owned()).or_default();
        *count = count.saturating_sub(1);
        if *count == 0 { last() } else { Ok(()) }
    }

    fn needed(&self) -> MutexGuard<'_, HashMap<PathBuf, usize>> {
        self.0.needed.lock()
    }
}

/// The file with the job itself, of notes [of one job](JobNotes::of_job).
const JOB: &str = "job";

/// The extension of a note that is being written.
const PARTIAL: &str = "partial";

fn remove_file(file: &Path) -> io::Result<()> {
    match fail_point!("job_runner::notes::remove", fs::remove_file(file)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resume::note::{Slot, Stream};
    use executor_core::ability::ResumeHandle;
    use executor_core::{JobSlot, TraceStream};

    fn note(job: u64, bytes: u64) -> JobNote {
        JobNote {
            job: JobId(job),
            attempt: 1,
            handle: ResumeHandle::default(),
            log: "log".into(),
            log_bytes: bytes,
            open: vec![Stream::from(TraceStream::STDERR)],
            headed: vec!["step_script".to_owned()],
            slot: Slot::from(JobSlot::default()),
            builds: None,
            script_exit: None,
            outcome: None,
            started_at: None,
            counts_from_start: false,
        }
    }

    #[test]
    fn last_note_is_read_until_it_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let notes = JobNotes::at(directory.path().join("notes"));
        assert_eq!(notes.read(), []);
        for bytes in [1, 2] {
            notes.write(&note(7, bytes)).expect("written");
        }
        notes.write(&note(8, 3)).expect("written");
        let torn = directory.path().join("notes/job-9.json");
        fs::write(torn, b"{\"job\": 9").expect("written");
        let unpublished = directory.path().join("notes/job-7.partial");
        fs::copy(directory.path().join("notes/job-8.json"), unpublished).expect("written");
        let again = JobNotes::at(directory.path().join("notes"));
        let mut found = again.read();
        found.sort_by_key(|it| it.job.0);
        assert_eq!(found, [note(7, 2), note(8, 3)]);
        let mut unpublished = directory.path().join("notes/job-7.partial");
        again.remove_unpublished().expect("removed");
        assert!(!unpublished.exists());
        unpublished.set_extension("json");
        assert!(unpublished.exists());
        again.retain(&[note(8, 3)]).expect("removed");
        assert_eq!(notes.read(), [note(8, 3)]);
        notes.remove(JobId(8)).expect("removed");
        notes.remove(JobId(8)).expect("already removed");
        assert_eq!(
            fs::read_dir(directory.path().join("notes"))
                .expect("there")
                .count(),
            0
        );
    }

    #[test]
    fn directory_is_recorded_from_the_first_job_to_the_last() {
        let notes = JobNotes::at("notes".into());
        let calls = Mutex::new(Vec::new());
        let call = |what| {
            calls.lock().push(what);
            Ok::<_, ()>(())
        };
        let builds = Path::new("builds");
        notes.need(builds, || call("first")).expect("noted");
        notes.need(builds, || call("again")).expect("noted");
        notes.release(builds, || call("not yet")).expect("noted");
        notes.release(builds, || call("last")).expect("noted");
        assert_eq!(*calls.lock(), ["first", "last"]);
    }
}
