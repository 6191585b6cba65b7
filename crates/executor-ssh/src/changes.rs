//! Sends only what changed since an earlier job of the project sent its files.
//!
//! The host keeps the archive of a transfer with an index, a digest for each entry. A later transfer reads the index, sends the
//! names that are gone or changed and an archive of what is new, and the host unpacks both. See `docs/design/ssh.md`.

use crate::agent::UPLOAD;
use crate::error::SshError;
use crate::host::{ANSWER, Host};
use crate::link::{Link, collect};
use crate::spooled::{
    DIRECTORY, END, Entry, LARGEST, LONGEST_INDEX, Spooled, digest, index, parse_index,
};
use executor_core::ability::{ByteStream, FileTransfer};
use executor_core::{BuildError, Cancellation, JobTrace, JobTraceExt, Retryability};
use fail_point::fail_point;
use std::collections::HashMap;
use std::io::{self, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio::time::timeout;

/// Runs the script `$5` with all arguments and a mark in its environment, by which [`END_TRANSFER`] finds its processes.
const MARK_TRANSFER: &str =
    r#"RUNWRIGHT_TRANSFER=${4##*/}; export RUNWRIGHT_TRANSFER; exec sh -c "$5" sh "$@""#;

/// Prints the index of the kept archive, then unpacks the files that are sent. Arguments: the directory to unpack in, the
/// directory of the kept archives, the prefix of their names, and a path in the job's directory for files of this transfer.
///
/// An archive that is sent whole is also written to `$4.tar`. With a pattern of a directory, `--no-recursion` keeps the files in it.
const RECEIVE_CHANGES: &str = r#"mkdir -p -- "$1" || exit 1
umask 077
mkdir -p -- "$2" && cd -- "$2" || exit 1
tar --version 2>/dev/null | grep -q GNU || exit 1
last=$(ls -t -- "$3".*.index 2>/dev/null | head -n 1)
last=${last%.index}
[ "$last" ] && [ -r "$last.tar" ] || last=
size=
if [ "$last" ]; then
  exec 3<"$last.tar"
  touch -c -- "$last.tar" "$last.index"
  cat -- "$last.index"
  size=$(wc -c <"$last.tar")
fi
printf '\n= end %s\n' "$size"
read -r how
case $how in
whole)
  { tee -- "$4.tar" || rm -f -- "$4.tar"; } | tar -xpf - -C "$1" || { rm -f -- "$4.tar"; exit 1; }
  ;;
changes)
  while IFS= read -r name || exit 1; [ "$name" ]; do printf '%s\n' "$name"; done >"$4.gone"
  tar -xpf - -C "$1" --anchored --no-wildcards --no-recursion -X "$4.gone" <&3
  code=$?
  rm -f -- "$4.gone"
  [ $code = 0 ] || { rm -f -- "$last.tar" "$last.index"; exit 1; }
  tar -xpf - -C "$1" || exit 1
  ;;
*) exit 1 ;;
esac
echo '= done'
"#;

/// Stores the archive that was sent whole, with its index, which is the input. At most 2 GiB of archives are kept.
///
/// Arguments as those of [`RECEIVE_CHANGES`], and the size of the index: the end of the input may be that of the connection.
const STORE_ARCHIVE: &str = r#"umask 077
cd -- "$2" && [ -f "$4.tar" ] || exit 0
cat >"$4.index" && [ "$(wc -c <"$4.index")" -eq "$5" ] || exit 1
stored=$3.${4##*/}
mv -f -- "$4.tar" "$stored.tar" && mv -f -- "$4.index" "$stored.index" || exit 1
for old in "$3".*.index; do
  [ "$old" = "$stored.index" ] || rm -f -- "$old" "${old%.index}.tar"
done
total=0
ls -t -- *.tar | while IFS= read -r kept; do
  total=$((total + $(wc -c <"$kept")))
  [ $total -le 2147483648 ] || rm -f -- "$kept" "${kept%.tar}.index"
done
"#;

/// Ends the processes of the transfer `$transfer`: they run on when their connection breaks.
const END_TRANSFER: &str = r#"for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  found=
  for file in $(grep -lsF "RUNWRIGHT_TRANSFER=$transfer" /proc/[0-9]*/environ); do
    process=${file#/proc/}
    kill -KILL "${process%/environ}" 2>/dev/null && found=1
  done
  [ "$found" ] || exit 0
  sleep 0.05 2>/dev/null || sleep 1
done
echo 'its processes do not end' >&2
exit 1
"#;

/// A file transfer that sends changes where it can, and all files by another transfer where it cannot.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) inner: Arc<dyn FileTransfer>,
    pub(crate) link: Arc<Link>,
    pub(crate) host: Host,
    /// Where the host keeps archives.
    pub(crate) kept: String,
    /// Names the project.
    pub(crate) project: String,
    /// Names the job in the project.
    pub(crate) name: String,
    /// How many transfers were begun: each of a job is compared with the same one of an earlier job.
    pub(crate) count: AtomicU32,
    pub(crate) trace: Arc<dyn JobTrace>,
    /// Whether the log says why all files are sent.
    pub(crate) said: AtomicBool,
}

#[async_trait::async_trait]
impl FileTransfer for Changes {
    async fn put(
        &self,
        directory: &str,
        archive: ByteStream,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let failed = |error| BuildError::system("ssh", "read the files to send", error);
        let Ok(file) = tempfile::tempfile() else {
            return self.inner.put(directory, archive, cancellation).await;
        };
        let mut spooled = tokio::select! {
            spooled = Spooled::read(file, archive, LARGEST) => spooled.map_err(failed)?,
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        if let Some(name) = &spooled.odd_name
            && !self.said.swap(true, Ordering::Relaxed)
        {
            self.trace.warning_line(&format!(
                "all files are sent to the host, also those that it has from an earlier job: {name:?} cannot be compared"
            ));
        }
        if !spooled.entries.is_empty() {
            // Sources are the same in all jobs; caches and artifacts are not.
            let job = if number == 0 { "" } else { &self.name };
            let key = digest(format!("{}\n{job}\n{number}", self.project).as_bytes());
            // No such name begins with another one, which is searched in environments.
            let transfer = format!("{number}-{}", self.host.id());
            let path = format!("{}/{transfer}", self.host.job_dir);
            let words = [directory, &self.kept, &key, &path];
            let sent = tokio::select! {
                sent = self.send(words, &mut spooled, cancellation) => sent,
                cause = cancellation.canceled() => return Err(cause.into()),
            };
            match sent {
                Ok(()) => return Ok(()),
                Err(SshError::Canceled(cause)) => return Err(cause.into()),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::debug!(error, "All files are sent, not only those that changed.");
                }
            }
            self.end(&transfer, cancellation).await?;
        }
        let whole = spooled.into_stream().await.map_err(failed)?;
        self.inner.put(directory, whole, cancellation).await
    }

    async fn get(
        &self,
        directory: &str,
        paths: &[String],
        cancellation: &Cancellation,
    ) -> Result<ByteStream, BuildError> {
        self.inner.get(directory, paths, cancellation).await
    }
}

impl Changes {
    /// Sends the entries of an archive that the host lacks, or all of them.
    async fn send(
        &self,
        words: [&str; 4],
        spooled: &mut Spooled,
        cancellation: &Cancellation,
    ) -> Result<(), SshError> {
        let broken = |source| self.broken(source);
        let [directory, kept, key, path] = words;
        let words = [directory, kept, key, path, RECEIVE_CHANGES];
        let send = self.host.command(MARK_TRANSFER, &words)?;
        let mut channel = fail_point!(
            "executor_ssh::changes::send",
            self.link.exec(&send, cancellation).await
        )?;
        channel.output.drop_until(&self.host.start_mark());
        let (output, mut input) = tokio::io::split(channel);
        let mut output = tokio::io::BufReader::new(output);
        let known = self.read_index(&mut output).await?;
        let Spooled { file, entries, .. } = spooled;
        let plan = Plan::new(entries, &known);
        let first = match &plan {
            Plan::Whole => "whole\n".to_owned(),
            Plan::Changes { gone, .. } => format!("changes\n{gone}\n"),
        };
        input.write_all(first.as_bytes()).await.map_err(broken)?;
        for range in plan.ranges(entries) {
            let start = SeekFrom::Start(range.start);
            file.seek(start).await.map_err(broken)?;
            let mut part = (&mut *file).take(range.end - range.start);
            tokio::io::copy(&mut part, &mut input)
                .await
                .map_err(broken)?;
        }
        input.write_all(&[0; END]).await.map_err(broken)?;
        input.shutdown().await.map_err(broken)?;
        let mut line = String::new();
        let mut last = output.take(64);
        match timeout(UPLOAD, last.read_line(&mut line)).await {
            Ok(read) => read.map_err(broken)?,
            Err(_) => return Err(self.silent("unpacking files", UPLOAD)),
        };
        if line != "= done\n" {
            return Err(broken(io::ErrorKind::UnexpectedEof.into()));
        }
        if !matches!(plan, Plan::Whole) {
            return Ok(());
        }
        let index = index(entries);
        let words = [directory, kept, key, path, &index.len().to_string()];
        match self.store(words, &index, cancellation).await {
            Err(error @ SshError::Canceled(_)) => return Err(error),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "The host does not keep the files for the next job.");
            }
            Ok(()) => {}
        }
        Ok(())
    }

    /// Reads the index of the kept archive: the digests by name. There are none if it is incomplete.
    async fn read_index(
        &self,
        output: &mut (impl AsyncBufRead + Unpin),
    ) -> Result<HashMap<String, String>, SshError> {
        let mut output = output.take(2 * LONGEST_INDEX as u64);
        let mut text = Vec::new();
        loop {
            let start = text.len();
            let line = output.read_until(b'\n', &mut text);
            let count = match timeout(ANSWER, line).await {
                Ok(read) => read.map_err(|error| self.broken(error))?,
                Err(_) => return Err(self.silent("printing its index of files", ANSWER)),
            };
            if let Some(size) = text[start..].strip_prefix(b"= end ") {
                let size = String::from_utf8_lossy(size).trim().to_owned();
                text.truncate(start);
                let text = String::from_utf8(text).unwrap_or_default();
                return Ok(parse_index(&text, &size).unwrap_or_default());
            }
            if count == 0 {
                return Err(self.broken(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    /// Lets the host keep the archive that was sent.
    async fn store(
        &self,
        words: [&str; 5],
        index: &str,
        cancellation: &Cancellation,
    ) -> Result<(), SshError> {
        let store = self.host.command(STORE_ARCHIVE, &words)?;
        let storing = async {
            let mut channel = fail_point!(
                "executor_ssh::changes::store",
                self.link.exec(&store, cancellation).await
            )?;
            // When the host reads no more, its exit code tells why.
            let _ = channel.write_all(index.as_bytes()).await;
            let _ = channel.shutdown().await;
            let answer = collect(&mut channel.output).await;
            answer.ok_or_else(|| self.broken(io::ErrorKind::ConnectionAborted.into()))
        };
        let answer = match timeout(UPLOAD, storing).await {
            Ok(answer) => answer?,
            Err(_) => return Err(self.silent("storing an index of files", UPLOAD)),
        };
        match answer.exit.code {
            0 => Ok(()),
            _ => Err(self
                .link
                .host_error("store files", &answer, Retryability::Temporary)),
        }
    }

    /// Ends what is left of a transfer on the host, so that it changes no file later.
    async fn end(&self, transfer: &str, cancellation: &Cancellation) -> Result<(), SshError> {
        let script = format!("transfer={transfer}\n{END_TRANSFER}");
        let answer = self.link.run(&script, ANSWER, cancellation).await?;
        match answer.exit.code {
            0 => Ok(()),
            _ => Err(self.link.host_error(
                "end an earlier transfer",
                &answer,
                Retryability::Temporary,
            )),
        }
    }

    fn broken(&self, source: io::Error) -> SshError {
        SshError::Broken {
            host: self.link.target.address(),
            source: Some(source.into()),
        }
    }

    fn silent(&self, doing: &'static str, within: Duration) -> SshError {
        SshError::Silent {
            host: self.link.target.address(),
            doing,
            within,
        }
    }
}

/// What is sent.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Whole,
    Changes {
        /// The names in the kept archive that are not unpacked, a line each.
        gone: String,
        /// The numbers of the entries that are sent.
        sent: Vec<usize>,
    },
}

impl Plan {
    /// Returns what to send to a host that has these digests by name.
    fn new(entries: &[Entry], known: &HashMap<String, String>) -> Self {
        let size = |entry: &Entry| entry.bytes.end - entry.bytes.start;
        let mut gone = String::new();
        let mut sent = Vec::new();
        let (mut all, mut unchanged) = (0, 0);
        let mut kept: HashMap<&str, &str> = known
            .iter()
            .map(|(name, digest)| (&**name, &**digest))
            .collect();
        for (number, entry) in entries.iter().enumerate() {
            all += size(entry);
            let digest = kept.remove(&*entry.name);
            if digest == Some(&*entry.digest) && !entry.is_directory() {
                unchanged += size(entry);
                continue;
            }
            sent.push(number);
            // A directory is always sent, for its attributes, which the files in it would change.
            let stays = entry.is_directory() && digest.is_some_and(|it| it.starts_with(DIRECTORY));
            if digest.is_some() && !stays {
                gone.push_str(&entry.name);
                gone.push('\n');
            }
        }
        for name in kept.keys() {
            gone.push_str(name);
            gone.push('\n');
        }
        if unchanged * 2 < all {
            return Self::Whole;
        }
        Self::Changes { gone, sent }
    }

    /// Returns the parts of the archive that are sent.
    fn ranges(&self, entries: &[Entry]) -> Vec<std::ops::Range<u64>> {
        match self {
            Self::Whole => {
                let end = entries.last().map_or(0, |last| last.bytes.end);
                std::iter::once(0..end).collect()
            }
            Self::Changes { sent, .. } => {
                let ranges = sent.iter().map(|&number| entries[number].bytes.clone());
                ranges.collect()
            }
        }
    }
}
