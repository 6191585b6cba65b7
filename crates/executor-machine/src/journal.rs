//! What the machines of a pool have done, for the next process.

use crate::machine::Machine;
use process::{FileLock, LockKind, make_private_dir_all, replace_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file is written anew when it has this many lines more than twice the machines.
const SPARE_LINES: usize = 1000;

/// The journal of a pool, which belongs to one process at a time.
///
/// It is a file with a line of JSON for each change of a machine; the last line of a machine holds. Machines are found by their
/// names, with or without a journal. It tells how many jobs they have had and which have one, so it is not synced to the disk: after a
/// power cut a machine may count as used once.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Those of the process before.
    earlier: BTreeMap<Arc<str>, Machine>,
    lines: usize,
    /// Whether a change could not be written.
    is_broken: bool,
    has_warned: bool,
    _lock: FileLock,
}

/// Why there is no journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It belongs to another process.
    #[error("another process has these machines: it holds {}", .0.display())]
    Busy(PathBuf),
    /// It cannot be read or written.
    #[error("{}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What failed.
        #[source]
        error: io::Error,
    },
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line<N, M> {
    name: N,
    /// `None` when it is gone.
    machine: Option<M>,
}

impl Journal {
    /// Opens the journal in this directory, which is created if it is missing.
    ///
    /// # Errors
    ///
    /// When another process has it, or it cannot be read or written.
    pub fn open(directory: &Path) -> Result<Self, JournalError> {
        let path = directory.join("lock");
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| JournalError::Io { path, error }
        };
        make_private_dir_all(directory).map_err(at(directory))?;
        let lock = FileLock::open_file(&path)
            .and_then(|file| FileLock::if_free(file, LockKind::Exclusive))
            .map_err(at(&path))?;
        let Some(lock) = lock else {
            return Err(JournalError::Busy(path));
        };
        let earlier = Self::read(directory)?;
        let path = journal_of(directory);
        let all = earlier.iter().map(|(name, machine)| (&**name, machine));
        let (file, lines) = rewrite(&path, all).map_err(at(&path))?;
        Ok(Self {
            path,
            file,
            earlier,
            lines,
            is_broken: false,
            has_warned: false,
            _lock: lock,
        })
    }

    /// Returns the machines that the journal in this directory has, while another process may be writing it.
    ///
    /// # Errors
    ///
    /// When there is a file that cannot be read.
    pub fn read(directory: &Path) -> Result<BTreeMap<Arc<str>, Machine>, JournalError> {
        let path = journal_of(directory);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(JournalError::Io { path, error }),
        };
        let mut machines = BTreeMap::new();
        for line in text.lines() {
            // A killed process may leave half a line.
            let Ok(Line::<Arc<str>, Machine> { name, machine }) = serde_json::from_str(line) else {
                continue;
            };
            match machine {
                Some(machine) => drop(machines.insert(name, machine)),
                None => drop(machines.remove(&name)),
            }
        }
        Ok(machines)
    }

    /// Returns the machines of the earlier process, once.
    pub(crate) fn take_earlier(&mut self) -> BTreeMap<Arc<str>, Machine> {
        std::mem::take(&mut self.earlier)
    }

    /// Writes how a machine is now; `None` when it is gone.
    pub(crate) fn note(&mut self, name: &str, machine: Option<&Machine>) {
        self.lines += 1;
        let written = line(name, machine).and_then(|line| self.file.write_all(&line));
        self.is_broken |= written.is_err();
    }

    /// Returns whether the file is to be written anew, for this number of machines.
    pub(crate) fn is_due(&self, machines: usize) -> bool {
        self.is_broken || self.lines > 2 * machines + SPARE_LINES
    }

    /// Writes the file anew.
    pub(crate) fn rewrite<'m>(&mut self, machines: impl Iterator<Item = (&'m str, &'m Machine)>) {
        match rewrite(&self.path, machines) {
            Ok((file, lines)) => {
                (self.file, self.lines) = (file, lines);
                (self.is_broken, self.has_warned) = (false, false);
            }
            Err(error) => {
                self.is_broken = true;
                if !std::mem::replace(&mut self.has_warned, true) {
                    tracing::warn!(
                        path = %self.path.display(), %error,
                        "The journal of the machines cannot be written; after a restart they count as used once."
                    );
                }
            }
        }
    }
}

fn journal_of(directory: &Path) -> PathBuf {
    directory.join("machines.jsonl")
}

fn line(name: &str, machine: Option<&Machine>) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Line { name, machine })?;
    line.push(b'\n');
    Ok(line)
}

/// Writes the file anew. Returns it open at its end, and its number of lines.
fn rewrite<'m>(
    path: &Path,
    machines: impl Iterator<Item = (&'m str, &'m Machine)>,
) -> io::Result<(File, usize)> {
    let (mut text, mut lines) = (Vec::new(), 0);
    for (name, machine) in machines {
        text.append(&mut line(name, Some(machine))?);
        lines += 1;
    }
    replace_file(path, &text)?;
    Ok((OpenOptions::new().append(true).open(path)?, lines))
}
