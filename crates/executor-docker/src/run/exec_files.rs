//! Moving files without the agent: `tar` of the image, as an exec.

use crate::container::execs::{ExecPlan, Execs, Output, Running};
use crate::error::DockerError;
use async_trait::async_trait;
use bollard::container::LogOutput;
use bollard::errors::Error;
use executor_core::ability::{ByteStream, FileTransfer};
use executor_core::{BuildError, CancelCause, Cancellation};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use std::io;
use std::pin::Pin;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::io::StreamReader;

/// Unpacks what it reads in the directory it is given. Files belong to the container's user.
const PUT: &str = r#"mkdir -p -- "$1" && cd -- "$1" && exec tar -x -o -f -"#;

/// Packs those of the paths that are there, below the directory it is given.
///
/// No program packs nothing, so the end of an archive is written by the shell then.
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

/// Some versions of busybox leave out links that lead out of the directory. The archive is the runner's own, and what is
/// in a container can be reached by the job anyway.
const ALL_LINKS: &str = "EXTRACT_UNSAFE_SYMLINKS=1";

/// So much is shown of what a program complains of.
const COMPLAINTS: usize = 2048;

/// The size of the buffer for an archive on its way in.
const BUFFER: usize = 64 * 1024;

/// Moves files in and out of a container that runs and has `tar`.
#[derive(Debug)]
pub(crate) struct ExecFiles {
    pub(crate) execs: Execs,
    pub(crate) shell: String,
}

/// What a program has to say.
#[derive(Debug, Default)]
struct Complaints(Vec<u8>);

/// An archive that comes out of a container.
struct Packing {
    execs: Execs,
    exec: String,
    output: Output,
    complaints: Complaints,
    doing: String,
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
        let Running {
            id,
            mut output,
            input,
        } = self.execs.start(plan).await?;
        let mut feeding = std::pin::pin!(feed(archive, input));
        let mut complaints = Complaints::default();
        let mut fed = None;
        loop {
            tokio::select! {
                ended = &mut feeding, if fed.is_none() => fed = Some(ended),
                piece = output.next() => match piece {
                    Some(piece) => {
                        let piece = piece.map_err(|error| DockerError::from_api(&*doing, error))?;
                        complaints.take(&piece);
                    }
                    None => break,
                },
            }
        }
        if let Some(Err(unread)) = fed {
            return Err(BuildError::system("docker", "read the archive", unread));
        }
        let code = self.execs.exit_code(&id).await?;
        complaints
            .judge(code)
            .map_err(|error| DockerError::Broken {
                doing,
                source: error.into(),
            })?;
        Ok(())
    }
}

/// Passes an archive on to its end; fails where it cannot be read. Whoever takes no more of it says why itself.
async fn feed(
    mut archive: ByteStream,
    mut input: Pin<Box<dyn AsyncWrite + Send>>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = match archive.read(&mut buffer).await {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if input.write_all(&buffer[..count]).await.is_err() {
            return Ok(());
        }
    }
    let _ = input.shutdown().await;
    Ok(())
}

impl Complaints {
    fn take(&mut self, piece: &LogOutput) {
        let room = COMPLAINTS.saturating_sub(self.0.len());
        let bytes: &[u8] = piece.as_ref();
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns why a program failed, if it did.
    fn judge(&self, code: Option<i64>) -> io::Result<()> {
        let said = String::from_utf8_lossy(&self.0);
        let said = said.trim().replace('\n', "; ");
        match code {
            Some(0) => Ok(()),
            Some(code) if said.is_empty() => {
                Err(io::Error::other(format!("tar ended with code {code}")))
            }
            Some(_) => Err(io::Error::other(said)),
            None => Err(io::Error::other("it goes on though its output has ended")),
        }
    }
}

impl Packing {
    /// Returns the next bytes of the archive; `None` at the end of one that is whole.
    async fn next(&mut self) -> Option<io::Result<Box<[u8]>>> {
        loop {
            match self.output.next().await {
                Some(Ok(LogOutput::StdOut { message })) => return Some(Ok(message[..].into())),
                Some(Ok(other)) => self.complaints.take(&other),
                Some(Err(error)) => return Some(Err(self.failed(error))),
                None => break,
            }
        }
        let code = match self.execs.exit_code(&self.exec).await {
            Ok(code) => code,
            Err(error) => return Some(Err(io::Error::other(error))),
        };
        let judged = self.complaints.judge(code).err()?;
        Some(Err(io::Error::other(format!("{}: {judged}", self.doing))))
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
            () = cancellation.canceled() => Err(canceled(cancellation)),
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
            () = cancellation.canceled() => return Err(canceled(cancellation)),
        };
        let Running { id, output, .. } = started?;
        let packing = Packing {
            execs: self.execs.clone(),
            exec: id,
            output,
            complaints: Complaints::default(),
            doing: format!("copy files from {directory}"),
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

fn canceled(cancellation: &Cancellation) -> BuildError {
    BuildError::Canceled(cancellation.cause().unwrap_or(CancelCause::User))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_told_by_its_own_words() {
        let check = |said: &str, code, expect: Option<&str>| {
            let mut complaints = Complaints::default();
            complaints.take(&LogOutput::StdErr {
                message: said.to_owned().into(),
            });
            let told = complaints.judge(code).err().map(|error| error.to_string());
            assert_eq!(told.as_deref(), expect);
        };
        check("", Some(0), None);
        check("tar: a warning\n", Some(0), None);
        check("", Some(2), Some("tar ended with code 2"));
        check("tar: a\ntar: b\n", Some(1), Some("tar: a; tar: b"));
        check("", None, Some("it goes on though its output has ended"));
        let long = "x".repeat(COMPLAINTS + 1);
        check(&long, Some(1), Some(&long[1..]));
    }
}
