use super::dotenv::{SIZE, read_dotenv};
use super::junit::read_junit;
use super::text::{decode_xml, merge};
use crate::artifacts::ArtifactFiles;
use crate::build::Build;
use crate::panics::off_thread;
use crate::plain_file;
use executor_core::job::Artifact;
use executor_core::trace::JobTraceExt;
use executor_core::variable::JobVariable;
use executor_core::{BuildError, Cancellation, FailedTest, RetainedArtifact, TestTotals};
use std::path::Path;

/// The largest JUnit report that is read, in bytes.
const LARGEST_JUNIT: u64 = 64 << 20;
/// The largest size of a failed test's message, in bytes.
const LONGEST_MESSAGE: usize = 2 << 10;

impl Build<'_> {
    /// Reads a report from the files found for it.
    ///
    /// # Errors
    ///
    /// [`BuildError::Report`] when GitLab would refuse it. An unreadable JUnit report is only a warning in the log, as in
    /// GitLab.
    pub(crate) async fn read_report(
        &mut self,
        artifact: &Artifact,
        files: &ArtifactFiles,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        match artifact.artifact_type.as_str() {
            "dotenv" => {
                let files = files.clone();
                let read = off_thread(move || read_dotenv_files(&files)).await;
                let read = read.unwrap_or_else(|error| Err(refused("dotenv", &error, None)));
                self.products.dotenv = read?;
            }
            "junit" => {
                let files = files.clone();
                let stop = cancellation.clone();
                let read = off_thread(move || read_junit_files(&files, &stop)).await;
                let (totals, warnings) = read.unwrap_or_else(|error| {
                    let warning = format!("junit reports are ignored: {error}");
                    (None, vec![warning])
                });
                for warning in warnings {
                    self.log.warning_line(&warning);
                }
                self.products.tests = totals.map(|totals| self.masked(totals));
            }
            _ => {}
        }
        Ok(())
    }

    /// Records a saved artifact.
    pub(crate) fn note_kept(&mut self, kept: RetainedArtifact) {
        self.products.artifacts.push(kept);
    }

    /// Masks secrets in test messages, and shortens them afterwards, so that no secret is cut in two.
    fn masked(&self, mut totals: TestTotals) -> TestTotals {
        for test in &mut totals.failures {
            let FailedTest {
                suite,
                class,
                name,
                file,
                message,
            } = test;
            for text in [suite, class, name].into_iter().chain(file) {
                *text = self.log.masked(text);
            }
            *message = self.log.masked(message);
            message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        }
        totals
    }
}

fn read_dotenv_files(files: &ArtifactFiles) -> Result<Vec<JobVariable>, BuildError> {
    let mut texts = Vec::new();
    let mut room = SIZE;
    for path in &files.paths {
        // Above the limit, the exact size does not matter.
        let limit = u64::try_from(room).unwrap_or(u64::MAX);
        let bytes = plain_file::read(&files.project.join(path), limit)
            .map_err(|error| refused("dotenv", &format!("{}: {error}", path.display()), None))?;
        room = room.saturating_sub(bytes.len());
        texts.push((path.display().to_string(), bytes));
    }
    let texts = texts.iter().map(|(name, bytes)| (&**name, &**bytes));
    read_dotenv(texts).map_err(|error| refused("dotenv", &error, Some(error.problem.help())))
}

fn refused(kind: &str, why: &dyn std::fmt::Display, help: Option<&str>) -> BuildError {
    let help = help.map(|help| format!("; {help}")).unwrap_or_default();
    BuildError::Report {
        message: format!("the {kind} report is refused: {why}{help}"),
    }
}

/// Returns the totals of the readable files, if any, and warnings about the others.
fn read_junit_files(
    files: &ArtifactFiles,
    cancellation: &Cancellation,
) -> (Option<TestTotals>, Vec<String>) {
    let mut totals = None;
    let mut warnings = Vec::new();
    for path in &files.paths {
        if cancellation.is_canceled() {
            break;
        }
        match read_junit_file(&files.project.join(path)) {
            Ok(more) => merge(totals.get_or_insert_with(TestTotals::default), more),
            Err(why) => {
                warnings.push(format!("junit report {} is ignored: {why}", path.display()));
            }
        }
    }
    (totals, warnings)
}

fn read_junit_file(path: &Path) -> Result<TestTotals, String> {
    let bytes = plain_file::read(path, LARGEST_JUNIT + 1).map_err(|error| error.to_string())?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LARGEST_JUNIT) {
        return Err(format!("it is larger than {} MiB", LARGEST_JUNIT >> 20));
    }
    read_junit(&decode_xml(&bytes)).map_err(|error| error.to_string())
}
