//! Writes and checks the lock file together with its texts.

mod check;

pub use check::{ChangedText, VendorReport};

use crate::folder::{Folder, Found};
use crate::lock_file::{LockedAnswer, is_text_name};
use crate::{Answer, LockFile, LockFileError, Record};
use gitlab_api::Instance;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The prefix of temporary files.
const TEMP: &str = ".new-";

/// Keeps Git from converting line ends, which would change digests.
const ATTRIBUTES: (&str, &str) = (".gitattributes", "* -text linguist-vendored\n");

/// The lock file of a project, with its texts.
#[derive(Debug, Clone, Copy)]
pub struct Vendored;

/// What a write did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The number of locked answers.
    pub answers: usize,
    /// The number of texts that were written because they were new.
    pub added: usize,
    /// The number of texts that were removed because they are not required any more.
    pub removed: usize,
    /// Whether the lock file changed.
    pub changed: bool,
}

impl Vendored {
    /// Writes the answers of a run: first the texts, then the lock file in one step, and last it removes
    /// texts that are not required any more. So a reader has the old or the new answers, and an interrupted
    /// write can be repeated. `own` is the project's own GitLab.
    ///
    /// # Errors
    ///
    /// When another process writes at the same time, or a file cannot be written.
    pub fn write(
        top: &Path,
        records: &[Record],
        own: Option<&Instance>,
    ) -> Result<Written, LockFileError> {
        let file = LockFile::from_records(records, own);
        let texts = texts(&file, records, own);
        let in_texts = |error: io::Error| LockFileError::io(LockFile::TEXTS, &error);
        let (top, folder) = create_folder(top).map_err(in_texts)?;
        let Some(_lock) = folder.try_lock().map_err(in_texts)? else {
            let reason = "another `runwright vendor` writes here";
            return Err(LockFileError::new(LockFile::TEXTS, reason).of_machine());
        };
        let mut writer = Writer {
            folder: &folder,
            number: 0,
        };
        writer.sweep().map_err(in_texts)?;
        let (name, text) = ATTRIBUTES;
        writer.put(name, text.as_bytes()).map_err(in_texts)?;
        let mut written = Written {
            answers: file.len(),
            ..Written::default()
        };
        for (name, bytes) in &texts {
            let put = writer.put(name, bytes);
            let path = || format!("{}/{name}", LockFile::TEXTS);
            let is_new = put.map_err(|error| LockFileError::io(path(), &error))?;
            written.added += usize::from(is_new);
        }
        let lock = writer.put_lock(&top, file.to_string().as_bytes());
        written.changed = lock.map_err(|error| LockFileError::io(LockFile::NAME, &error))?;
        for name in folder.names().map_err(in_texts)? {
            if is_text_name(&name) && !texts.contains_key(&name) {
                folder.remove(&name).map_err(in_texts)?;
                written.removed += 1;
            }
        }
        Ok(written)
    }
}

/// Returns the texts by file name.
fn texts(
    file: &LockFile,
    records: &[Record],
    own: Option<&Instance>,
) -> BTreeMap<String, std::sync::Arc<[u8]>> {
    let mut texts = BTreeMap::new();
    for record in records {
        if let (Some(LockedAnswer::Text(text)), Some(Ok(Answer::Body { bytes, .. }))) =
            (file.find(&record.question, own), &record.answer)
        {
            texts.insert(text.name.clone(), bytes.clone());
        }
    }
    texts
}

fn create_folder(top: &Path) -> io::Result<(Folder, Folder)> {
    let top = Folder::open(top)?;
    let mut folder: Option<Folder> = None;
    for name in LockFile::TEXTS.split('/') {
        folder = Some(folder.as_ref().unwrap_or(&top).create_below(name)?);
    }
    let folder = folder.expect("the path has parts");
    Ok((top, folder))
}

/// Writes files through temporary names in one folder.
#[derive(Debug)]
struct Writer<'a> {
    folder: &'a Folder,
    number: usize,
}

impl Writer<'_> {
    /// Removes the temporary files of an interrupted writer; the lock excludes any other.
    fn sweep(&self) -> io::Result<()> {
        for name in self.folder.names()? {
            if name.starts_with(TEMP) {
                self.folder.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Writes a file if it differs; returns whether it was written.
    fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let folder = self.folder;
        self.put_in(folder, name, bytes)
    }

    /// Writes the lock file if it differs in more than the line ends that Git chose.
    fn put_lock(&mut self, top: &Folder, bytes: &[u8]) -> io::Result<bool> {
        let limit = bytes.len() as u64 * 2;
        if let Found::Bytes(mut there) = top.read(LockFile::NAME, limit)? {
            there.retain(|byte| *byte != b'\r');
            if there == bytes {
                return Ok(false);
            }
        }
        self.put_in(top, LockFile::NAME, bytes)
    }

    fn put_in(&mut self, target: &Folder, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let limit = bytes.len() as u64;
        if target.read(name, limit)? == Found::Bytes(bytes.to_vec()) {
            return Ok(false);
        }
        self.number += 1;
        let temp = format!("{TEMP}{}", self.number);
        self.folder.write(&temp, bytes, target, name)?;
        Ok(true)
    }
}
