use super::report::{ChangedText, VendorReport};
use super::write::Vendored;
use crate::key::Key;
use crate::lock_file::{LockedAnswer, TextState, is_text_name, open_texts};
use crate::subject::Subject;
use crate::{LockFile, LockFileError, Question};
use gitlab_api::Instance;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

impl Vendored {
    /// Compares the lock file with the texts beside it, and with the questions that the pipeline asks
    /// if they are given. No server is asked. `own` is the project's own GitLab for who asks.
    ///
    /// # Errors
    ///
    /// When there is no lock file, or it cannot be read.
    pub fn check(
        top: &Path,
        questions: Option<&[Question]>,
        own: Option<&Instance>,
    ) -> Result<VendorReport, LockFileError> {
        let none = || {
            LockFileError::new(LockFile::NAME, "there is none")
                .with_help("`runwright vendor` writes it")
        };
        let file = LockFile::read(top)?.ok_or_else(none)?;
        let mut report = VendorReport::default();
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
    // Two questions may have one text.
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
    let wanted: HashSet<&String> = texts.keys().map(|(name, ..)| *name).collect();
    let names = folder.names();
    let names = names.map_err(|error| LockFileError::io(LockFile::TEXTS, &error))?;
    for name in names {
        if is_text_name(&name) && !wanted.contains(&name) {
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
