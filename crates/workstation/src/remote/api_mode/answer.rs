use executor_core::job::Need;
use gitlab_api::{LintAnswer, LintJob, LintNeed};
use pipeline::merged::{MergedJob, ServerReading};

/// A pipeline file as a GitLab merged it.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    server: String,
    text: Option<String>,
    jobs: Vec<MergedJob>,
    errors: Vec<String>,
    warnings: Vec<String>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

impl Merged {
    /// Returns the result of the lint; messages call the GitLab `server`.
    pub(super) fn new(server: &str, answer: LintAnswer, notes: Vec<String>) -> Self {
        let mut errors = answer.errors;
        if !answer.valid && errors.is_empty() {
            errors.push("the file is invalid, and the server gives no reason".to_owned());
        }
        Self {
            server: server.to_owned(),
            text: answer.merged_yaml,
            jobs: answer.jobs.into_iter().map(job).collect(),
            errors,
            warnings: answer.warnings,
            notes,
        }
    }

    /// Returns it in the form that the reader takes.
    pub(crate) fn reading(&self) -> ServerReading<'_> {
        ServerReading {
            server: &self.server,
            merged: self.text.as_deref(),
            jobs: &self.jobs,
            errors: &self.errors,
            warnings: &self.warnings,
        }
    }
}

fn job(job: LintJob) -> MergedJob {
    let need = |need: LintNeed| Need {
        job: need.name,
        artifacts: need.artifacts,
        optional: need.optional,
    };
    let needs = job.needs.map(|needs| needs.into_iter().map(need).collect());
    MergedJob {
        name: job.name,
        needs,
    }
}
