use crate::folder::{Folder, Found};
use crate::lock_file::{LockedAnswer, is_text_name};
use crate::{Answer, LockFile, LockFileError, Record};
use gitlab_api::Instance;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// How the names of files begin that are being written.
const TEMP: &str = ".new-";

/// Keeps Git from changing the ends of lines, which would change digests.
const ATTRIBUTES: (&str, &str) = (".gitattributes", "* -text linguist-vendored\n");

/// The lock file of a project with the texts beside it.
#[derive(Debug, Clone, Copy)]
pub struct Vendored;

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// How many answers are locked.
    pub answers: usize,
    /// How many texts were written, because they were not there before.
    pub added: usize,
    /// How many texts were removed, because nothing wants them any more.
    pub removed: usize,
    /// Whether the lock file is another than before.
    pub changed: bool,
}

impl Vendored {
    /// Writes the answers of a run: first the texts, then the lock file at once; what that does not
    /// want any more goes last. So a reader has the old answers or the new ones, and whoever is
    /// interrupted does it again. `own` is the project's own GitLab.
    ///
    /// # Errors
    ///
    /// When another process does the same, or a file cannot be written.
    pub fn write(
        top: &Path,
        records: &[Record],
        own: Option<&Instance>,
    ) -> Result<Written, LockFileError> {
        let file = LockFile::from_records(records, own);
        let texts = texts(&file, records, own);
        let in_texts = |error: io::Error| LockFileError::io(LockFile::TEXTS, &error);
        let (top, folder) = make_folder(top).map_err(in_texts)?;
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

/// Returns the texts by the names of their files.
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

fn make_folder(top: &Path) -> io::Result<(Folder, Folder)> {
    let top = Folder::open(top)?;
    let mut folder: Option<Folder> = None;
    for name in LockFile::TEXTS.split('/') {
        folder = Some(folder.as_ref().unwrap_or(&top).make_below(name)?);
    }
    let folder = folder.expect("the path has parts");
    Ok((top, folder))
}

/// Writes files, all under temporary names in one folder first.
#[derive(Debug)]
struct Writer<'a> {
    folder: &'a Folder,
    number: usize,
}

impl Writer<'_> {
    /// Removes what an interrupted writer left. There is none besides this one.
    fn sweep(&self) -> io::Result<()> {
        for name in self.folder.names()? {
            if name.starts_with(TEMP) {
                self.folder.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Writes a file unless it is there already; returns whether it was written.
    fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let folder = self.folder;
        self.put_in(folder, name, bytes)
    }

    /// Writes the lock file, unless it is there already, if only with the ends of lines that Git gave it.
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
