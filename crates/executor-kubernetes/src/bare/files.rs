//! Transfers files without the agent, with `tar` in the pod.

use crate::config::NAME;
use crate::exec::{Exec, PodExec, Streams};
use executor_core::ability::{ByteStream, FileTransfer};
use executor_core::{BuildError, Cancellation};
use futures_util::stream::unfold;
use process::Stream;
use shells::quote_sh;
use std::io;
use std::time::Duration;
use tokio::fs::File;
use tokio::io::{AsyncSeekExt, BufReader};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Bytes;
use tokio_util::io::StreamReader;

/// How long the pod may neither take nor send a byte of a transfer.
const LONGEST_STALL: Duration = Duration::from_mins(5);

/// The size of the pieces that are read.
const PIECE: usize = 256 * 1024;

/// The slowest transfer, in bytes a second.
const SLOWEST: u64 = 32 * 1024;

/// Unpacks an archive of `$1` bytes in a directory. Some versions of busybox skip links that lead out of the directory.
/// `cat` takes the rest after a failure: the status of a command does not come as long as input waits.
const PUT: &str = r#"mkdir -p -- "$0" && cd -- "$0" || exit 1
head -c "$1" | {
  EXTRACT_UNSAFE_SYMLINKS=1 tar -x -o -f -
  code=$?
  cat >/dev/null
  exit "$code"
}"#;

/// Packs the paths that exist. `tar` refuses an empty list.
const GET: &str = r#"for path do
  shift
  if [ -e "$path" ] || [ -L "$path" ]; then set -- "$@" "./$path"; fi
done
[ $# -gt 0 ] && exec tar -c -f - "$@"
head -c 1024 /dev/zero
"#;

/// Runs `tar` in a pod.
#[derive(Debug)]
pub(super) struct TarFiles(pub(super) PodExec);

impl TarFiles {
    async fn send(&self, directory: &str, archive: ByteStream) -> Result<(), BuildError> {
        let spooled = spool(archive).await;
        let (file, size) =
            spooled.map_err(|error| BuildError::system(NAME, "spool the archive", error))?;
        let within = LONGEST_STALL + Duration::from_secs(size / SLOWEST);
        let words = ["sh", "-c", PUT, directory, &size.to_string()];
        self.0
            .run_command(&words, BufReader::with_capacity(PIECE, file), within)
            .await?;
        Ok(())
    }

    async fn pack(&self, directory: &str, paths: &[String]) -> Result<ByteStream, BuildError> {
        // On standard input, as the paths may be too many for a request.
        let mut text = "set --".to_owned();
        for path in paths {
            text.extend([" ", &quoted(path)?]);
        }
        text.extend(["\ncd -- ", &quoted(directory)?, " || exit 1\n", GET]);
        let script = format!("head -c {} | sh", text.len());
        let process = self.0.start(&["sh", "-c", &script], Streams::Pipes).await?;
        let packing = Packing {
            exec: self.0.clone(),
            process,
            input: Bytes::from(text),
        };
        let pieces = unfold(Some(packing), |packing| async {
            let mut packing = packing?;
            let piece = packing.next().await.transpose()?;
            let rest = piece.is_ok().then_some(packing);
            Some((piece, rest))
        });
        Ok(Box::new(StreamReader::new(Box::pin(pieces))))
    }
}

/// Writes an archive to a file without a name, and returns its size: the end of the input cannot be sent to every API server.
async fn spool(mut archive: ByteStream) -> io::Result<(File, u64)> {
    let mut file = File::from_std(tempfile::tempfile()?);
    let size = tokio::io::copy(&mut archive, &mut file).await?;
    file.rewind().await?;
    Ok((file, size))
}

fn quoted(text: &str) -> Result<String, BuildError> {
    quote_sh(text).map_err(|error| BuildError::config(error.to_string()))
}

/// An archive that is read from a pod.
struct Packing {
    exec: PodExec,
    process: Exec,
    /// The script, as far as it is not sent.
    input: Bytes,
}

impl Packing {
    /// Returns the next bytes of the archive; `None` at the end of a complete one.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let next = timeout(LONGEST_STALL, self.process.next(&mut self.input));
            match next.await?? {
                Some((Stream::Stdout, piece)) => return Ok(Some(piece)),
                Some((Stream::Stderr, _)) => {}
                None if self.process.has_succeeded() => return Ok(None),
                None => return Err(io::Error::other(self.exec.failed(&self.process))),
            }
        }
    }
}

#[async_trait::async_trait]
impl FileTransfer for TarFiles {
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
        tokio::select! {
            packed = self.pack(directory, paths) => packed,
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }
}
