//! Sends only what changed since an earlier job of the project sent its files.
//!
//! The host keeps the archive of a transfer with an index, a digest for each entry. A later transfer reads the index, sends the
//! names that are gone or changed and an archive of what is new, and the host unpacks both. See `docs/design/ssh.md`.

use crate::error::SshError;
use crate::host::Host;
use crate::link::Link;
use executor_core::ability::{ByteStream, FileTransfer};
use executor_core::{BuildError, Cancellation};
use fail_point::fail_point;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tar::{Archive, EntryType};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};

/// Smaller archives are sent whole, since the index costs a round trip.
const SMALLEST: u64 = 64 << 10;
/// Larger archives are not kept on the host.
const LARGEST: u64 = 1 << 30;
/// The largest size of an index, and of the names that are gone.
const LONGEST_LIST: u64 = 16 << 20;
/// The unit of archives.
const BLOCK: u64 = 512;
/// Marks directories in an index.
const DIRECTORY: &str = "/";

/// The part of the host. Arguments: the directory to unpack in, that of the kept archives, what names those of this transfer,
/// and a unique name. At most 2 GiB of archives are kept.
const HOST: &str = r#"umask 077
mkdir -p -- "$1" "$2" && cd -- "$2" || exit 1
tar --version 2>/dev/null | grep -q GNU || exit 1
last=$(ls -t -- "$3".*.index 2>/dev/null | head -n 1)
last=${last%.index}
[ "$last" ] && [ -r "$last.tar" ] || last=
if [ "$last" ]; then
  exec 3<"$last.tar"
  touch -c -- "$last.tar" "$last.index"
  cat -- "$last.index"
fi
echo '= end'
read -r how
case $how in
whole)
  { tee -- "$4.part" || rm -f -- "$4.part"; } | tar -xpf - -C "$1" || { rm -f -- "$4.part"; exit 1; }
  ;;
changes)
  while IFS= read -r name && [ "$name" ]; do printf '%s\n' "$name"; done >"$4.gone"
  tar -xpf - -C "$1" --anchored --no-wildcards -X "$4.gone" <&3
  code=$?
  rm -f -- "$4.gone"
  [ $code = 0 ] || { rm -f -- "$last.tar" "$last.index"; exit 1; }
  tar -xpf - -C "$1" || exit 1
  ;;
*) exit 1 ;;
esac
echo '= done'
"#;

/// Keeps an archive that was sent whole with its index, which is the input. Arguments as those of [`HOST`].
const KEEP: &str = r#"umask 077
cd -- "$2" && [ -f "$4.part" ] || exit 0
cat >"$3.$4.new" && mv -f -- "$4.part" "$3.$4.tar" && mv -f -- "$3.$4.new" "$3.$4.index" || exit 1
for old in "$3".*.index; do
  [ "$old" = "$3.$4.index" ] || rm -f -- "$old" "${old%.index}.tar"
done
total=0
ls -t -- *.tar | while IFS= read -r kept; do
  total=$((total + $(wc -c <"$kept")))
  [ $total -le 2147483648 ] || rm -f -- "$kept" "${kept%.tar}.index"
done
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
        let spooled = tokio::select! {
            spooled = Spooled::read(archive) => spooled.map_err(failed)?,
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        if let Some(entries) = &spooled.entries {
            let sending = self.send(number, directory, &spooled.file, entries, cancellation);
            let sent = tokio::select! {
                sent = sending => sent,
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
        }
        let mut file = spooled.file;
        file.rewind().map_err(failed)?;
        let whole = Box::new(tokio::fs::File::from_std(file));
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
    /// Sends an archive, or what of it the host lacks.
    async fn send(
        &self,
        number: u32,
        directory: &str,
        archive: &File,
        entries: &[Entry],
        cancellation: &Cancellation,
    ) -> Result<(), SshError> {
        // Sources are the same in all jobs; caches and artifacts are not.
        let of = if number == 0 { "" } else { &self.name };
        let key = digest(format!("{}\n{of}\n{number}", self.project).as_bytes());
        let new = format!("{}-{number}", self.host.id());
        let words = [directory, &self.kept, &key, &new];
        let broken = |source: io::Error| SshError::Broken {
            host: self.link.target.address(),
            source: Some(source.into()),
        };
        let send = self.host.command(HOST, &words)?;
        let channel = fail_point!(
            "executor_ssh::changes::send",
            self.link.exec(&send, cancellation).await
        )?;
        let (output, mut input) = tokio::io::split(channel);
        let mut output = tokio::io::BufReader::new(output.take(LONGEST_LIST));
        let mut known = HashMap::new();
        let mut line = String::new();
        while output.read_line(&mut line).await.map_err(broken)? > 0 && line != "= end\n" {
            if let Some((digest, name)) = line.trim_end_matches('\n').split_once(' ') {
                known.insert(name.to_owned(), digest.to_owned());
            }
            line.clear();
        }
        let plan = Plan::new(entries, &known);
        let first = match &plan {
            Plan::Whole => "whole\n".to_owned(),
            Plan::Changes { gone, .. } => format!("changes\n{gone}\n"),
        };
        input.write_all(first.as_bytes()).await.map_err(broken)?;
        let archive = archive.try_clone().map_err(broken)?;
        let mut archive = tokio::fs::File::from_std(archive);
        for range in plan.ranges(entries) {
            let start = SeekFrom::Start(range.start);
            tokio::io::AsyncSeekExt::seek(&mut archive, start)
                .await
                .map_err(broken)?;
            let mut part = (&mut archive).take(range.end - range.start);
            tokio::io::copy(&mut part, &mut input)
                .await
                .map_err(broken)?;
        }
        // The end of an archive.
        let end = [0; 1024];
        input.write_all(&end).await.map_err(broken)?;
        input.shutdown().await.map_err(broken)?;
        line.clear();
        output.read_line(&mut line).await.map_err(broken)?;
        if line != "= done\n" {
            return Err(broken(io::ErrorKind::UnexpectedEof.into()));
        }
        if matches!(plan, Plan::Whole) {
            // If this fails, the next transfer sends all files again.
            let keep = self.host.command(KEEP, &words)?;
            let mut channel = fail_point!(
                "executor_ssh::changes::keep",
                self.link.exec(&keep, cancellation).await
            )?;
            let _ = channel.write_all(index(entries).as_bytes()).await;
            let _ = channel.shutdown().await;
            let _ = channel.read_to_end(&mut Vec::new()).await;
        }
        Ok(())
    }
}

/// An archive in a file without a name.
#[derive(Debug)]
struct Spooled {
    file: File,
    /// `None` when changes cannot be told from it.
    entries: Option<Vec<Entry>>,
}

/// An entry of an archive.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    /// Of all its bytes in the archive, headers included; begins with [`DIRECTORY`] for a directory.
    digest: String,
    bytes: std::ops::Range<u64>,
}

impl Entry {
    fn is_directory(&self) -> bool {
        self.digest.starts_with(DIRECTORY)
    }
}

impl Spooled {
    async fn read(mut archive: ByteStream) -> io::Result<Self> {
        let file = tempfile::tempfile()?;
        let mut spool = tokio::fs::File::from_std(file.try_clone()?);
        let size = tokio::io::copy(&mut archive, &mut spool).await?;
        spool.flush().await?;
        if !(SMALLEST..LARGEST).contains(&size) {
            return Ok(Self {
                file,
                entries: None,
            });
        }
        let reading = tokio::task::spawn_blocking(move || {
            // An archive that cannot be read is refused by the other transfer.
            let entries = entries(&file).ok().flatten();
            Self { file, entries }
        });
        reading.await.map_err(io::Error::other)
    }
}

/// Returns the entries of an archive; `None` if it has others than files, directories and links with ordinary names.
fn entries(mut file: &File) -> io::Result<Option<Vec<Entry>>> {
    file.rewind()?;
    let mut archive = Archive::new(BufReader::new(file));
    let mut found = Vec::new();
    let mut start = 0;
    for entry in archive.entries_with_seek()? {
        let entry = entry?;
        let kind = entry.header().entry_type();
        let is_known = matches!(
            kind,
            EntryType::Regular | EntryType::Directory | EntryType::Symlink
        );
        let name = String::from_utf8(entry.path_bytes().into_owned()).ok();
        let name = name.filter(|name| !name.chars().any(|it| it.is_control() || it == '\\'));
        let (Some(name), true) = (name, is_known) else {
            return Ok(None);
        };
        let end = entry.raw_file_position() + entry.size().next_multiple_of(BLOCK);
        found.push(Entry {
            name: name.trim_end_matches('/').to_owned(),
            digest: String::from(if kind == EntryType::Directory {
                DIRECTORY
            } else {
                ""
            }),
            bytes: start..end,
        });
        start = end;
    }
    file.rewind()?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    for entry in &mut found {
        let mut digest = Sha256::new();
        let size = entry.bytes.end - entry.bytes.start;
        let copied = io::copy(&mut (&mut reader).take(size), &mut digest)?;
        if copied != size {
            return Ok(None);
        }
        entry.digest.push_str(&hex(&digest.finalize()));
    }
    Ok(Some(found))
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
        if unchanged * 2 < all || gone.len() as u64 > LONGEST_LIST {
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

/// Returns the index of an archive, a line for each entry.
fn index(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {}", entry.digest, entry.name);
    }
    text
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(32);
    for byte in &bytes[..16] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
