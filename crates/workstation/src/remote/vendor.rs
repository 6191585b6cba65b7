//! Creating and checking the lock file of a project.

use crate::error::LocalError;
use crate::project::local_pipeline::LocalPipeline;
use crate::project::local_project::LocalProject;
use crate::project::pipeline_options::PipelineOptions;
use gitlab_api::Instance;
use includes::{FetchPolicy, LockFileError, Question, Record, VendorReport, Vendored, Written};
use pipeline::IncludeRules;
use pipeline::config::RulesKeyword;
use pipeline::repository::Repository as _;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use thiserror::Error;
use yaml::diagnostic::{Checked, DiagnosticRecord, Diagnostics};

/// The remote files of a project's pipeline, in the situation of the options and, by the rules of includes, in all
/// others.
#[derive(Debug)]
pub struct Vendor {
    root: PathBuf,
    /// The project's own GitLab.
    own: Option<Instance>,
    records: Vec<Record>,
    left_out: Vec<String>,
    notes: Vec<String>,
}

/// Why the lock file cannot be created or checked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VendorError {
    /// The pipeline could not be read.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The lock file or a vendored file has an error.
    #[error("{0}")]
    LockFile(#[from] LockFileError),
}

impl Vendor {
    /// Requests all remote files of the pipeline, ignoring an existing lock file. The pipeline file is read by this
    /// program, since nothing of a GitLab's own reading can be locked.
    ///
    /// # Errors
    ///
    /// When the options contradict each other, or a file cannot be read. Errors of the
    /// pipeline are in the [`Checked`] value: an invalid one is not locked.
    pub fn ask(
        project: &LocalProject,
        options: &PipelineOptions,
    ) -> Result<Checked<Self>, VendorError> {
        let mut options = options.clone();
        options.remote.unlocked = true;
        options.remote.prefer_api = false;
        if options.remote.fetching != FetchPolicy::Offline {
            options.remote.fetching = FetchPolicy::Refresh;
        }
        let (checked, outside) = LocalPipeline::read_by(project, &options, IncludeRules::Evaluate)?;
        let (pipeline, diagnostics) = match checked.into_result() {
            Ok(read) => read,
            Err(diagnostics) => {
                return Ok(Checked {
                    value: None,
                    diagnostics: *diagnostics,
                });
            }
        };
        // Created, since rules of jobs may need files of other projects.
        pipeline.create()?;
        let mut records = pipeline.remote_records();
        records.extend(asked_by_rules(&pipeline)?);
        let mut notes: Vec<String> = pipeline.notes()?.into_iter().map(str::to_owned).collect();
        if options.remote.fetching == FetchPolicy::Refresh {
            options.remote.fetching = FetchPolicy::Usual;
        }
        let (all, others) = LocalPipeline::read_by(project, &options, IncludeRules::Ignore)?;
        records.extend(others.records().into_iter().filter(Record::is_answered));
        if let Some(all) = &all.value {
            let more = all.notes()?.into_iter();
            let more: Vec<_> = more
                .filter(|note| notes.iter().all(|it| it != note))
                .collect();
            notes.extend(more.into_iter().map(str::to_owned).collect::<Vec<_>>());
        }
        let vendor = Self {
            root: project.root().to_owned(),
            own: outside.own(),
            records: distinct(records),
            left_out: of_includes(&all.diagnostics),
            notes,
        };
        Ok(Checked {
            value: Some(vendor),
            diagnostics,
        })
    }

    /// Compares the lock file with the vendored files and with the needs of the pipeline, without a server.
    ///
    /// # Errors
    ///
    /// As for [`Self::ask`], and when there is no lock file or it cannot be read. Errors of the
    /// pipeline are in the [`Checked`] value: the needs of an invalid one are unknown.
    pub fn check(
        project: &LocalProject,
        options: &PipelineOptions,
    ) -> Result<Checked<VendorReport>, VendorError> {
        // First, since the pipeline cannot be read with damaged files.
        let texts = Vendored::check(project.root(), None, None)?;
        if !texts.is_clean() {
            return Ok(Checked {
                value: Some(texts),
                diagnostics: Diagnostics::default(),
            });
        }
        let mut options = options.clone();
        options.remote.unlocked = false;
        options.remote.prefer_api = false;
        options.remote.fetching = FetchPolicy::Offline;
        let (checked, outside) = LocalPipeline::read_by(project, &options, IncludeRules::Evaluate)?;
        let read = checked.into_result();
        let mut records = outside.records();
        if let Ok((pipeline, _)) = &read {
            pipeline.create()?;
            records = pipeline.remote_records();
            records.extend(asked_by_rules(pipeline)?);
        }
        let (_, others) = LocalPipeline::read_by(project, &options, IncludeRules::Ignore)?;
        // Only answered ones: unavailable files of other situations were not locked either.
        records.extend(others.records().into_iter().filter(Record::is_answered));
        let questions: Vec<Question> = records.into_iter().map(|it| it.question).collect();
        let own = outside.own();
        let mut report = Vendored::check(project.root(), Some(&questions), own.as_ref())?;
        let diagnostics = match read {
            Ok((_, diagnostics)) => diagnostics,
            // Unlocked files cause errors of the pipeline too, and are reported.
            Err(_) if !report.unlocked.is_empty() => Diagnostics::default(),
            Err(diagnostics) => {
                return Ok(Checked {
                    value: None,
                    diagnostics: *diagnostics,
                });
            }
        };
        if !report.unlocked.is_empty() {
            // The includes of a missing file are unknown.
            report.unasked.clear();
        }
        Ok(Checked {
            value: Some(report),
            diagnostics,
        })
    }

    /// Returns the top of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns what was asked, and what was answered.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns why files are left out that only other situations include, a line for each.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns what the user should know: that a server was silent, and its old answer was taken.
    pub fn notes(&self) -> Vec<&str> {
        self.notes.iter().map(String::as_str).collect()
    }

    /// Writes the lock file and the texts beside it.
    ///
    /// # Errors
    ///
    /// When another process does the same, or a file cannot be written.
    pub fn write(&self) -> Result<Written, VendorError> {
        Ok(Vendored::write(
            &self.root,
            &self.records,
            self.own.as_ref(),
        )?)
    }
}

/// Asks for the files of other projects that rules of jobs look into in any situation, and returns
/// what was answered. What rules name with variables is known in its situation alone.
fn asked_by_rules(pipeline: &LocalPipeline) -> Result<Vec<Record>, LocalError> {
    let repository = pipeline.repository()?;
    let resolved = pipeline.resolved();
    let jobs = resolved.jobs.iter().map(|job| &job.rules);
    let rules = jobs.chain([&resolved.workflow.rules]);
    let looks = rules.flat_map(RulesKeyword::entries).filter_map(|rule| {
        let exists = rule.exists.as_deref()?;
        Some((exists.project.as_deref()?, exists.reference.as_deref()))
    });
    let is_plain = |text: &str| !text.contains('$');
    let looks: HashSet<_> = looks
        .filter(|(project, reference)| is_plain(project) && reference.is_none_or(is_plain))
        .collect();
    for (project, reference) in looks {
        // Errors are reported in the situation that needs it.
        let _ = repository.files_of(project, reference);
    }
    let asked = pipeline.remote_records().into_iter();
    Ok(asked.filter(Record::is_answered).collect())
}

/// Returns each request once, with its first response.
fn distinct(records: Vec<Record>) -> Vec<Record> {
    let mut asked = HashSet::new();
    let records = records.into_iter();
    records
        .filter(|record| asked.insert(record.question.clone()))
        .collect()
}

/// Returns the errors about included files.
fn of_includes(diagnostics: &Diagnostics) -> Vec<String> {
    let errors = diagnostics.errors();
    let errors = errors.filter(|error| error.code.starts_with("include-"));
    let words = |error| {
        let record = DiagnosticRecord::new(error, diagnostics.sources());
        match (record.file, record.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: {}", record.message),
            _ => record.message,
        }
    };
    errors.map(words).collect()
}
