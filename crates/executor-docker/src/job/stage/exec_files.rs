//! Transfers files without the agent, by an exec of the image's `tar`.

use crate::error::DockerError;
use crate::job::container::execs::{ExecPlan, Execs, Output, Running};
use async_trait::async_trait;
use bollard::container::LogOutput;
use bollard::errors::Error;
use executor_core::ability::{ByteStream, FileTransfer};
use executor_core::{BuildError, Cancellation};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use std::io;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use tokio_util::io::StreamReader;

/// How long the engine may neither take nor give a byte of a transfer: as long as the agent waits.
pub(crate) const LONGEST_STALL: Duration = Duration::from_mins(5);

/// Unpacks its input in a directory. Files belong to the container's user.
const PUT: &str = r#"mkdir -p -- "$1" && cd -- "$1" && exec tar -x -o -f -"#;

/// Packs the existing paths below a directory.
///
/// `tar` refuses an empty list, so the shell writes an empty archive.
const GET: &str = r#"cd -- "$1" || exit 1
shift
for path do
  shift
  if [ -e "$path" ] || [ -L "$path" ]; then set -- "$@" "$path"; fi
done
[ $# -gt 0 ] && exec tar -c -f - -- "$@"
i=0
while [ $i -lt 1024 ]; do printf '\000'; i=$((i+1)); done
"#;

/// Some versions of busybox skip links that lead out of the directory. The archive is the runner's own, and the job can
/// reach everything in its container anyway.
const ALL_LINKS: &str = "EXTRACT_UNSAFE_SYMLINKS=1";

/// The limit of error output in a message.
const ERROR_OUTPUT_LIMIT: usize = 2048;

/// The size of the buffer for an archive on its way in.
const BUFFER: usize = 64 * 1024;

/// Transfers files to and from a running container with `tar`.
#[derive(Debug)]
pub(crate) struct ExecFiles {
    pub(crate) execs: Execs,
    pub(crate) shell: String,
    /// How long a transfer may make no progress.
    pub(crate) longest_stall: Duration,
}

/// The beginning of the error output of a program.
#[derive(Debug, Default)]
struct ErrorOutput(Vec<u8>);

/// An archive read from a container.
struct Packing {
    execs: Execs,
    exec: String,
    packed: Packed,
}

/// The output of a program that packs.
struct Packed {
    output: Output,
    error_output: ErrorOutput,
    doing: String,
    longest_stall: Duration,
}

/// Why an archive was not written completely.
#[derive(Debug)]
enum FeedError {
    /// The archive cannot be read.
    Unread(io::Error),
    /// The container does not take it.
    Stalled(io::Error),
}

impl ExecFiles {
    fn plan(&self, script: &str, directory: &str, paths: &[String]) -> ExecPlan {
        let words = [&self.shell, "-c", script, "sh", directory];
        let words = words.into_iter().chain(paths.iter().map(String::as_str));
        ExecPlan {
            command: words.map(str::to_owned).collect(),
            directory: Some("/".to_owned()),
            environment: vec![ALL_LINKS.to_owned()],
            ..ExecPlan::default()
        }
    }

    async fn send(&self, directory: &str, archive: ByteStream) -> Result<(), BuildError> {
        let doing = format!("copy files to {directory}");
        let plan = ExecPlan {
            with_input: true,
            ..self.plan(PUT, directory, &[])
        };
        let Running { id, output, input } = self.execs.start(plan).await?;
        let error_output =
            write_archive(archive, input, output, &doing, self.longest_stall).await?;
        let code = self.execs.exit_code(&id).await?;
        error_output
            .check(code)
            .map_err(|error| DockerError::Broken {
                doing,
                source: error.into(),
            })?;
        Ok(())
    }
}

/// Writes an archive and waits for the end of its reader. Returns the reader's error output.
async fn write_archive(
    archive: ByteStream,
    input: Pin<Box<dyn AsyncWrite + Send>>,
    mut output: Output,
    doing: &str,
    longest_stall: Duration,
) -> Result<ErrorOutput, BuildError> {
    let stalled = |source: io::Error| DockerError::Broken {
        doing: doing.to_owned(),
        source: source.into(),
    };
    let mut feeding = std::pin::pin!(feed(archive, input, longest_stall));
    let mut error_output = ErrorOutput::default();
    let mut is_fed = false;
    loop {
        // The source of the archive may be slow, so the reader's limit applies only after the archive is written.
        let next = async {
            if is_fed {
                unless_stalled(longest_stall, output.next()).await
            } else {
                Ok(output.next().await)
            }
        };
        tokio::select! {
            ended = &mut feeding, if !is_fed => match ended {
                Err(FeedError::Stalled(source)) => return Err(stalled(source).into()),
                // The result of half an archive does not matter.
                Err(FeedError::Unread(unread)) => {
                    return Err(BuildError::system("docker", "read the archive", unread));
                }
                Ok(()) => is_fed = true,
            },
            piece = next => match piece.map_err(stalled)? {
                Some(piece) => {
                    let piece = piece.map_err(|error| DockerError::from_api(doing, error))?;
                    error_output.take(&piece);
                }
                None => return Ok(error_output),
            },
        }
    }
}

/// Writes an archive to its end. A reader that ended early reports its own reason.
async fn feed(
    mut archive: ByteStream,
    mut input: Pin<Box<dyn AsyncWrite + Send>>,
    longest_stall: Duration,
) -> Result<(), FeedError> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = match archive.read(&mut buffer).await {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(FeedError::Unread(error)),
        };
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            let taken = unless_stalled(longest_stall, input.write(rest)).await;
            match taken.map_err(FeedError::Stalled)? {
                Ok(taken @ 1..) => rest = &rest[taken..],
                Ok(0) | Err(_) => return Ok(()),
            }
        }
    }
    let ended = unless_stalled(longest_stall, input.shutdown()).await;
    ended.map(drop).map_err(FeedError::Stalled)
}

impl ErrorOutput {
    fn take(&mut self, piece: &LogOutput) {
        let room = ERROR_OUTPUT_LIMIT.saturating_sub(self.0.len());
        let bytes: &[u8] = piece.as_ref();
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns why a program failed, if it did.
    fn check(&self, code: Option<i64>) -> io::Result<()> {
        let text = String::from_utf8_lossy(&self.0);
        let text = text.trim().replace('\n', "; ");
        match code {
            Some(0) => Ok(()),
            Some(code) if text.is_empty() => {
                Err(io::Error::other(format!("tar ended with code {code}")))
            }
            Some(_) => Err(io::Error::other(text)),
            None => Err(io::Error::other("it runs on after the end of its output")),
        }
    }
}

impl Packing {
    /// Returns the next bytes of the archive; `None` at the end of a complete one.
    async fn next(&mut self) -> Option<io::Result<Box<[u8]>>> {
        if let Some(piece) = self.packed.next().await {
            return Some(piece);
        }
        let code = match self.execs.exit_code(&self.exec).await {
            Ok(code) => code,
            Err(error) => return Some(Err(io::Error::other(error))),
        };
        let Packed {
            error_output,
            doing,
            ..
        } = &self.packed;
        let failure = error_output.check(code).err()?;
        Some(Err(io::Error::other(format!("{doing}: {failure}"))))
    }
}

impl Packed {
    /// Returns the next bytes; `None` at the end.
    async fn next(&mut self) -> Option<io::Result<Box<[u8]>>> {
        loop {
            match unless_stalled(self.longest_stall, self.output.next()).await {
                Ok(Some(Ok(LogOutput::StdOut { message }))) => return Some(Ok(message[..].into())),
                Ok(Some(Ok(other))) => self.error_output.take(&other),
                Ok(Some(Err(error))) => return Some(Err(self.failed(error))),
                Ok(None) => return None,
                Err(stalled) => {
                    let words = format!("{}: {stalled}", self.doing);
                    return Some(Err(io::Error::new(stalled.kind(), words)));
                }
            }
        }
    }

    fn failed(&self, error: Error) -> io::Error {
        io::Error::other(DockerError::from_api(&*self.doing, error))
    }
}

#[async_trait]
impl FileTransfer for ExecFiles {
    async fn put(
        &self,
        directory: &str,
        archive: ByteStream,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        tokio::select! {
            sent = self.send(directory, archive) => sent,
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }

    async fn get(
        &self,
        directory: &str,
        paths: &[String],
        cancellation: &Cancellation,
    ) -> Result<ByteStream, BuildError> {
        let started = tokio::select! {
            started = self.execs.start(self.plan(GET, directory, paths)) => started,
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        let Running { id, output, .. } = started?;
        let packing = Packing {
            execs: self.execs.clone(),
            exec: id,
            packed: Packed {
                output,
                error_output: ErrorOutput::default(),
                doing: format!("copy files from {directory}"),
                longest_stall: self.longest_stall,
            },
        };
        let pieces = unfold(Some(packing), |packing| async {
            let mut packing = packing?;
            let piece = packing.next().await?;
            let rest = piece.is_ok().then_some(packing);
            Some((piece.map(io::Cursor::new), rest))
        });
        Ok(Box::new(StreamReader::new(Box::pin(pieces))))
    }
}

/// Waits for the next step of a transfer, at most `longest`.
async fn unless_stalled<T>(longest: Duration, step: impl Future<Output = T>) -> io::Result<T> {
    timeout(longest, step).await.map_err(|_| {
        let text = "the transfer made no progress for too long";
        io::Error::new(io::ErrorKind::TimedOut, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_program_is_reported_with_its_error_output() {
        let check = |said: &str, code, expect: Option<&str>| {
            let mut error_output = ErrorOutput::default();
            error_output.take(&LogOutput::StdErr {
                message: said.to_owned().into(),
            });
            let told = error_output
                .check(code)
                .err()
                .map(|error| error.to_string());
            assert_eq!(told.as_deref(), expect);
        };
        check("", Some(0), None);
        check("tar: a warning\n", Some(0), None);
        check("", Some(2), Some("tar ended with code 2"));
        check("tar: a\ntar: b\n", Some(1), Some("tar: a; tar: b"));
        check("", None, Some("it runs on after the end of its output"));
        let long = "x".repeat(ERROR_OUTPUT_LIMIT + 1);
        check(&long, Some(1), Some(&long[1..]));
    }

    const STALL: Duration = Duration::from_secs(10);
    /// Shorter than a stall; two of it are longer.
    const SLOW: Duration = Duration::from_secs(9);

    fn archive(bytes: usize) -> ByteStream {
        Box::new(io::Cursor::new(vec![7; bytes]))
    }

    /// Writes an archive to a reader that takes `steps` pieces slowly and ends after `end`.
    async fn passed(bytes: usize, steps: usize, end: Duration) -> Result<ErrorOutput, String> {
        let (input, mut taker) = tokio::io::duplex(bytes / 4);
        let taking = async move {
            let mut piece = vec![0; bytes / 4];
            for _ in 0..steps {
                tokio::time::sleep(SLOW).await;
                taker.read_exact(&mut piece).await.unwrap();
            }
            tokio::time::sleep(end).await;
            None::<(Result<LogOutput, Error>, ())>
        };
        let output = futures_util::stream::once(taking).filter_map(async |_| None);
        let passing = write_archive(
            archive(bytes),
            Box::pin(input),
            Box::pin(output),
            "copy files to /b",
            STALL,
        );
        passing.await.map_err(|error| error.chain())
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_stalled_reader_times_out() {
        // The last piece is then in flight.
        passed(4096, 3, SLOW).await.unwrap();
        let told = "docker: copy files to /b: the transfer made no progress for too long";
        for (steps, end) in [(0, STALL * 9), (2, STALL * 9), (3, STALL * 2)] {
            let begun = tokio::time::Instant::now();
            let error = passed(4096, steps, end).await.unwrap_err();
            assert_eq!(error, told, "{steps}");
            let waited = SLOW * u32::try_from(steps).unwrap() + STALL;
            assert!(begun.elapsed() <= waited, "{steps}: {:?}", begun.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_unreadable_archive_fails_at_once() {
        let gone = futures_util::stream::iter([Err::<&[u8], _>(io::Error::other("gone"))]);
        let (archive, input) = (archive(1).chain(StreamReader::new(gone)), tokio::io::sink());
        let output = Box::pin(futures_util::stream::pending());
        let passing = write_archive(Box::new(archive), Box::pin(input), output, "copy", STALL);
        let begun = tokio::time::Instant::now();
        let error = passing.await.unwrap_err().chain();
        assert_eq!(error, "docker: read the archive: gone");
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_writer_times_out() {
        let slow = futures_util::stream::iter([&b"a"[..], b"b"]).then(async |bytes| {
            tokio::time::sleep(SLOW).await;
            Ok(LogOutput::StdOut {
                message: bytes.into(),
            })
        });
        let mut packed = Packed {
            output: Box::pin(slow.chain(futures_util::stream::pending())),
            error_output: ErrorOutput::default(),
            doing: "copy files from /b".to_owned(),
            longest_stall: STALL,
        };
        for expect in [b"a", b"b"] {
            assert_eq!(&packed.next().await.unwrap().unwrap()[..], expect);
        }
        let error = packed.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let told = "copy files from /b: the transfer made no progress for too long";
        assert_eq!(error.to_string(), told);
    }
}
