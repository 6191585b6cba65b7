use super::past_times::PastTimes;
use super::times_line::{Head, RunTimes};
use crate::project::read_file::open_file;
use fail_point::fail_point;
use process::{FileLock, LockKind, NewFile, make_private_dir_all};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The file in the state of a project.
const FILE: &str = "durations";

/// The name of the file while it is written.
const TEMP: &str = ".durations.new";

/// The longest file that is read; a longer one counts as damaged.
const MAX_LENGTH: u64 = 64 << 20;

/// A shorter file is not compacted.
const SHORT: u64 = 32 << 10;

/// How many lines a compacted file gains, besides doubling, before it is compacted again.
const MORE_LINES: usize = 40;

/// How long to wait for another run that writes its times.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The durations of a project's successful jobs: one file with a line for each run.
///
/// Writers lock the file. Readers need no lock: a line is one write, a compacted file replaces the old one, and an
/// incomplete last line is ignored.
#[derive(Debug, Clone)]
pub struct Durations {
    directory: PathBuf,
}

impl Durations {
    /// Returns the times in the state of a project.
    pub(crate) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// Returns the file.
    pub fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    /// Reads all durations; none without a file. Damaged lines are counted and then removed, so that they are
    /// reported once.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn read(&self) -> io::Result<PastTimes> {
        let past = match self.text() {
            Ok(Some(text)) => PastTimes::parse(&text),
            Ok(None) => PastTimes::all_damaged(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(PastTimes::default());
            }
            Err(error) => return Err(error),
        };
        if past.damaged > 0
            && let Err(error) = self.lock().and_then(|_lock| self.compact())
        {
            tracing::debug!(%error, "Damaged times of jobs stay.");
        }
        Ok(past)
    }

    /// Adds the times of a run.
    ///
    /// # Errors
    ///
    /// When they cannot be written; the file stays as it was.
    pub fn note(&self, times: &RunTimes) -> io::Result<()> {
        let lock = self.lock()?;
        let mut file = lock.file();
        let length = cut_incomplete_line(file)?;
        let line = times.to_line();
        fail_point!("workstation::durations::append", file.write_all(&line))?;
        if length > SHORT && self.needs_compaction() {
            self.compact()?;
        }
        Ok(())
    }

    /// Returns the whole file; `None` if it is too long.
    fn text(&self) -> io::Result<Option<Vec<u8>>> {
        let file = open_file(&self.path())?;
        if file.metadata()?.len() > MAX_LENGTH {
            return Ok(None);
        }
        let mut text = Vec::new();
        file.take(MAX_LENGTH).read_to_end(&mut text)?;
        Ok(Some(text))
    }

    /// Opens the file and locks it for writing.
    fn lock(&self) -> io::Result<FileLock> {
        let path = self.path();
        let mut options = OpenOptions::new();
        // Also for reading: opening a pipe for writing alone would wait for a reader.
        options.read(true).append(true).create(true).mode(0o600);
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            let open = || match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    make_private_dir_all(&self.directory)?;
                    options.open(&path)
                }
                opened => opened,
            };
            let file = fail_point!("workstation::durations::open", open())?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("not a file"));
            }
            match FileLock::if_free(file, LockKind::Exclusive)? {
                // Another process may have replaced the file meanwhile.
                Some(lock) if lock.is_file(fs::metadata(&path))? => return Ok(lock),
                Some(_) => {}
                None => thread::sleep(Duration::from_millis(5)),
            }
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Returns whether the file has gained many lines since it was compacted.
    fn needs_compaction(&self) -> bool {
        let Ok(Some(text)) = self.text() else {
            return true;
        };
        let lines = text.split(|&byte| byte == b'\n').count().saturating_sub(1);
        let first = text.split(|&byte| byte == b'\n').next();
        let head = first.and_then(|line| serde_json::from_slice::<Head>(line).ok());
        lines > head.map_or(0, |head| head.lines.saturating_mul(2)) + MORE_LINES
    }

    /// Replaces the file by one with the last durations only. The caller holds the lock.
    fn compact(&self) -> io::Result<()> {
        let past = self
            .text()?
            .map_or_else(PastTimes::default, |text| PastTimes::parse(&text));
        let temp = self.directory.join(TEMP);
        let write = || NewFile::write(temp, &past.into_text(), 0o600);
        let new = fail_point!("workstation::durations::write", write())?;
        fail_point!("workstation::durations::publish", new.replace(&self.path()))
    }
}

/// Cuts off an incomplete last line, and returns the length of the file.
fn cut_incomplete_line(mut file: &File) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    if length == 0 {
        return Ok(0);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last == *b"\n" {
        return Ok(length);
    }
    let mut text = Vec::new();
    file.rewind()?;
    file.take(MAX_LENGTH).read_to_end(&mut text)?;
    let whole = text.iter().rposition(|&byte| byte == b'\n');
    let whole = whole.map_or(0, |end| end as u64 + 1);
    fail_point!("workstation::durations::repair", file.set_len(whole))?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::durations::JobPlace;
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;

    fn place() -> JobPlace {
        JobPlace {
            executor: "shell".to_owned(),
            in_place: false,
            file: None,
        }
    }

    fn times(run: u64, jobs: usize) -> RunTimes {
        let jobs = (0..jobs).map(|job| (format!("job number {job} of many"), run));
        RunTimes::new(run, place(), jobs.collect())
    }

    #[test]
    fn incomplete_line_is_cut_off() {
        let home = tempfile::tempdir().unwrap();
        let durations = Durations::at(&home.path().join("projects/a"));
        assert!(durations.read().unwrap().is_empty());
        durations.note(&times(1, 1)).unwrap();
        let mut file = OpenOptions::new()
            .append(true)
            .open(durations.path())
            .unwrap();
        file.write_all(b"{\"v\":1,\"run\":2,\"at").unwrap();
        durations.note(&times(3, 1)).unwrap();
        let past = durations.read().unwrap();
        assert_eq!(past.damaged, 0);
        let times = past.of_place(&place());
        let runs: Vec<u64> = times.values().flatten().map(|time| time.run).collect();
        assert_eq!(runs, [1, 3]);
        let mode = fs::metadata(durations.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn file_is_compacted() {
        let home = tempfile::tempdir().unwrap();
        let durations = Durations::at(home.path());
        for run in 0..300 {
            durations.note(&times(run, 30)).unwrap();
        }
        let text = fs::read_to_string(durations.path()).unwrap();
        assert!(
            text.lines().count() <= 21 + 20 + MORE_LINES + 1,
            "{}",
            text.lines().count()
        );
        let past = durations.read().unwrap();
        let times = past.of_place(&place());
        assert!(
            times
                .values()
                .all(|times| times.len() == 20 && times[19].run == 299)
        );
        assert!(!home.path().join(TEMP).exists());
    }

    #[test]
    fn damaged_lines_are_reported_once_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let durations = Durations::at(home.path());
        durations.note(&times(1, 1)).unwrap();
        let mut file = OpenOptions::new()
            .append(true)
            .open(durations.path())
            .unwrap();
        file.write_all(b"what is this?\n").unwrap();
        durations.note(&times(2, 1)).unwrap();
        assert_eq!(durations.read().unwrap().damaged, 1);
        let past = durations.read().unwrap();
        assert_eq!((past.damaged, past.is_empty()), (0, false));
    }

    #[test]
    fn pipes_and_directories_are_errors() {
        let home = tempfile::tempdir().unwrap();
        let durations = Durations::at(home.path());
        let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, durations.path(), fifo, mode, 0).unwrap();
        assert!(durations.read().is_err());
        assert!(durations.note(&times(1, 1)).is_err());
        fs::remove_file(durations.path()).unwrap();
        fs::create_dir(durations.path()).unwrap();
        assert!(durations.note(&times(1, 1)).is_err());
    }

    #[test]
    fn concurrent_runs_all_record_their_times() {
        let home = tempfile::tempdir().unwrap();
        let durations = Durations::at(home.path());
        thread::scope(|scope| {
            for writer in 0..8 {
                let durations = &durations;
                scope.spawn(move || {
                    for run in 0..10 {
                        let job =
                            BTreeMap::from([(format!("{writer} {run} {}", "x".repeat(900)), 1)]);
                        durations.note(&RunTimes::new(run, place(), job)).unwrap();
                    }
                });
            }
        });
        let past = durations.read().unwrap();
        assert_eq!((past.damaged, past.of_place(&place()).len()), (0, 80));
    }
}
