use super::Vendored;
use crate::Digest;
use crate::key::Key;
use crate::lock_file::{LockedAnswer, TextState, is_text_name, open_texts};
use crate::subject::Subject;
use crate::{LockFile, LockFileError, Question};
use gitlab_api::Instance;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::Path;

impl Vendored {
    /// Compares the lock file with its texts, and with the pipeline's questions if they are given. No server
    /// is asked. `own` is the project's own GitLab for this user.
    ///
    /// A pipeline without questions needs no lock file.
    ///
    /// # Errors
    ///
    /// When there are questions but no lock file, or it cannot be read.
    pub fn check(
        top: &Path,
        questions: Option<&[Question]>,
        own: Option<&Instance>,
    ) -> Result<VendorReport, LockFileError> {
        let mut report = VendorReport::default();
        let Some(file) = LockFile::read(top)? else {
            if questions.is_none_or(<[_]>::is_empty) {
                return Ok(report);
            }
            let error = LockFileError::new(LockFile::NAME, "it does not exist");
            return Err(error.with_help("`runwright vendor` writes it"));
        };
        compare_texts(&mut report, top, &file)?;
        if let Some(questions) = questions {
            compare_questions(&mut report, &file, questions, own);
        }
        Ok(report)
    }
}

fn compare_texts(
    report: &mut VendorReport,
    top: &Path,
    file: &LockFile,
) -> Result<(), LockFileError> {
    let folder = open_texts(top)?;
    // Two questions may share a text.
    let mut texts = BTreeMap::new();
    for (_, answer) in file.entries() {
        if let LockedAnswer::Text(text) = answer {
            texts.insert((&text.name, text.digest, text.size), text);
        }
    }
    for text in texts.values() {
        match text.state(folder.as_ref())? {
            TextState::Same(_) => {}
            TextState::Missing => report.missing.push(text.path()),
            TextState::Changed(found) => report.changed.push(ChangedText {
                path: text.path(),
                locked: text.digest,
                found,
            }),
        }
    }
    let Some(folder) = folder else {
        return Ok(());
    };
    let required: HashSet<&String> = texts.keys().map(|(name, ..)| *name).collect();
    let names = folder.names();
    let names = names.map_err(|error| LockFileError::io(LockFile::TEXTS, &error))?;
    for name in names {
        if is_text_name(&name) && !required.contains(&name) {
            report
                .superfluous
                .push(format!("{}/{name}", LockFile::TEXTS));
        }
    }
    Ok(())
}

fn compare_questions(
    report: &mut VendorReport,
    file: &LockFile,
    questions: &[Question],
    own: Option<&Instance>,
) {
    let mut asked = HashSet::new();
    let mut unlocked = HashSet::new();
    for question in questions {
        match file.entry(question, own) {
            Some((subject, _)) => {
                asked.insert(subject);
            }
            None if unlocked.insert(Key::of(question)) => {
                report.unlocked.push(Subject::of(question).to_string());
            }
            None => {}
        }
    }
    for (subject, _) in file.entries() {
        if !asked.contains(subject) {
            report.unasked.push(subject.to_string());
        }
    }
}

/// The differences between the lock file, its texts, and the pipeline's questions.
///
/// Files are named by their path from the top of the project, questions without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VendorReport {
    /// Files that are required by the lock file, and missing.
    pub missing: Vec<String>,
    /// Files that differ from the lock file.
    pub changed: Vec<ChangedText>,
    /// Files that are not in the lock file.
    pub superfluous: Vec<String>,
    /// Questions of the pipeline that are not in the lock file.
    pub unlocked: Vec<String>,
    /// Entries of the lock file that the pipeline does not ask for any more.
    pub unasked: Vec<String>,
}

/// A file that differs from the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedText {
    /// The path from the top of the project.
    pub path: String,
    /// The locked digest.
    pub locked: Digest,
    /// The digest of the file; `None` if it is not a regular file, or too long.
    pub found: Option<Digest>,
}

impl VendorReport {
    /// Returns whether nothing differs.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for VendorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for path in &self.missing {
            writeln!(f, "missing: {path}")?;
        }
        for ChangedText {
            path,
            locked,
            found,
        } in &self.changed
        {
            match found {
                Some(found) => writeln!(f, "changed: {path} is {found}, locked is {locked}")?,
                None => writeln!(f, "changed: {path} is not a readable file")?,
            }
        }
        for path in &self.superfluous {
            writeln!(f, "superfluous: {path}")?;
        }
        for what in &self.unlocked {
            writeln!(f, "not locked: {what}")?;
        }
        for what in &self.unasked {
            writeln!(f, "not asked any more: {what}")?;
        }
        Ok(())
    }
}
