//! Scripts that a batch system runs: they are submitted, and their output is in a file.

use crate::failure::Failure;
use crate::remote::{Ended, Output, Stream, Target, quote};
use crate::stop::Stage;
use crate::wait::NotReady;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A batch system.
pub trait Batch {
    /// Submits an executable script, whose standard output and error go to `log`, and returns the id of the batch job.
    ///
    /// # Errors
    ///
    /// When it is not accepted.
    fn submit(&self, script: &Path, log: &Path) -> Result<String, Failure>;

    /// Returns the state of a batch job.
    ///
    /// # Errors
    ///
    /// [`NotReady::NotYet`] when the batch system does not answer for now.
    fn state(&self, id: &str) -> Result<BatchState, NotReady>;

    /// Cancels a batch job; one that has ended is not an error.
    ///
    /// # Errors
    ///
    /// When the batch system refuses.
    fn cancel(&self, id: &str) -> Result<(), Failure>;
}

/// The state of a batch job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchState {
    /// It waits, for this reason.
    Queued(String),
    /// It runs.
    Running,
    /// It has ended, in this state.
    Ended(String),
}

/// Runs commands as jobs of a batch system.
#[derive(Debug)]
pub struct BatchTarget<B> {
    /// The batch system.
    pub batch: B,
    /// A directory that this machine and the nodes share, which is created; files of each command are created in it and removed. A driver
    /// that is killed leaves them, so it should be one for each job, which the cleanup removes.
    pub directory: PathBuf,
    /// The pause between two looks at the output.
    pub pause: Duration,
    /// How long files may take to appear here after the batch job has ended, as over NFS.
    pub grace: Duration,
}

impl<B: Batch> BatchTarget<B> {
    /// Returns a target that looks each second and waits up to half a minute for files.
    pub fn new(batch: B, directory: impl Into<PathBuf>) -> Self {
        Self {
            batch,
            directory: directory.into(),
            pause: Duration::from_secs(1),
            grace: Duration::from_secs(30),
        }
    }
}

impl<B: Batch> Target for BatchTarget<B> {
    fn exec(
        &self,
        command: &str,
        input: &mut (dyn Read + Send),
        output: &dyn Output,
        stage: &Stage<'_>,
    ) -> Result<Ended, Failure> {
        let failed = |error: io::Error| {
            Failure::system(format!(
                "write the batch job in {}: {error}",
                self.directory.display()
            ))
        };
        fs::create_dir_all(&self.directory).map_err(failed)?;
        let directory = tempfile::Builder::new()
            .prefix("batch-")
            .tempdir_in(&self.directory)
            .map_err(failed)?;
        let at = |name: &str| directory.path().join(name);
        let quoted = |name: &str| quote(&at(name).display().to_string());
        let mut stored = File::create(at("input")).map_err(failed)?;
        io::copy(input, &mut stored).map_err(failed)?;
        let script = at("script");
        // The node knows how long the log is.
        let text = format!(
            "#!/bin/sh\n{command} <{input}\ncode=$?\n\
             echo \"$code\" $({{ wc -c <{log}; }} 2>/dev/null) >{new} && mv {new} {code}\nexit \"$code\"\n",
            input = quoted("input"),
            new = quoted("code.new"),
            code = quoted("code"),
            log = quoted("log"),
        );
        let mut options = File::options();
        let created = options
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(&script);
        created
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(failed)?;
        let log = at("log");
        let id = self.batch.submit(&script, &log)?;
        let mut tail = Tail {
            file: log,
            offset: 0,
        };
        let followed = self.follow(&id, &at("code"), &mut tail, output, stage);
        if followed.is_err() {
            // It may still run, without its files.
            self.batch.cancel(&id)?;
        }
        followed
    }
}

impl<B: Batch> BatchTarget<B> {
    fn follow(
        &self,
        id: &str,
        code: &Path,
        tail: &mut Tail,
        output: &dyn Output,
        stage: &Stage<'_>,
    ) -> Result<Ended, Failure> {
        let mut shown = None;
        let mut ended: Option<(Instant, String)> = None;
        let mut exited = None;
        loop {
            // The code first: the log is complete when it is there, and only the rest of it may be late here.
            let exit = exit_code(code)?;
            tail.pass(output)?;
            if let Some((code, length)) = exit {
                let since: &mut Instant = exited.get_or_insert_with(Instant::now);
                let is_late = since.elapsed() >= self.grace;
                if is_late && tail.offset < length {
                    let missing = length - tail.offset;
                    stage.log(format!(
                        "the last {missing} bytes of its output do not arrive"
                    ));
                }
                if is_late || tail.offset >= length {
                    return Ok(Ended::Exited(code));
                }
                stage.stop.sleep(self.pause)?;
                continue;
            }
            if let Some((since, how)) = &ended
                && since.elapsed() >= self.grace
            {
                return Err(Failure::system(format!(
                    "the batch job {id} ended without an exit code: {how}"
                )));
            }
            let news = match self.batch.state(id) {
                Ok(BatchState::Queued(reason)) => format!("the batch job {id} is queued: {reason}"),
                Ok(BatchState::Running) => format!("the batch job {id} runs"),
                Ok(BatchState::Ended(how)) => {
                    let text = format!("the batch job {id} has ended: {how}");
                    ended.get_or_insert((Instant::now(), how));
                    text
                }
                Err(NotReady::NotYet { reason, .. }) => {
                    format!("the batch system does not answer: {reason}")
                }
                Err(NotReady::Never(failure)) => return Err(failure),
            };
            if shown.as_ref() != Some(&news) {
                stage.log(&news);
                shown = Some(news);
            }
            if Instant::now() >= stage.deadline {
                return Err(Failure::Stopped);
            }
            stage.stop.sleep(self.pause)?;
        }
    }
}

/// Reads the exit code that the script of a batch job has written, and the length of its log; 0 if the script did not know that.
fn exit_code(file: &Path) -> Result<Option<(i32, u64)>, Failure> {
    match fs::read_to_string(file) {
        Ok(text) => {
            let mut words = text.split_whitespace();
            let code = words.next().and_then(|it| it.parse().ok());
            let length = words.next().and_then(|it| it.parse().ok());
            let invalid = || Failure::system(format!("invalid exit code {text:?} of a batch job"));
            Ok(Some((code.ok_or_else(invalid)?, length.unwrap_or(0))))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // A server of files that is away for a moment.
        Err(error) if error.kind() == ErrorKind::StaleNetworkFileHandle => Ok(None),
        Err(error) => Err(Failure::system(format!("read {}: {error}", file.display()))),
    }
}

/// The end of a growing file.
struct Tail {
    file: PathBuf,
    offset: u64,
}

impl Tail {
    /// Passes on what was added.
    fn pass(&mut self, output: &dyn Output) -> Result<(), Failure> {
        match self.pass_on(output) {
            // A job that has not started, or a server of files that is away for a moment.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(Failure::system(format!(
                "read {}: {error}",
                self.file.display()
            ))),
            Ok(()) => Ok(()),
        }
    }

    fn pass_on(&mut self, output: &dyn Output) -> io::Result<()> {
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            // A reader that has gone does not end the script.
            let _ = output.write(Stream::Stdout, &buffer[..count]);
            self.offset += count as u64;
        }
    }
}
