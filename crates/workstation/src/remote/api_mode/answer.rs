use executor_core::job::Need;
use gitlab_api::{LintAnswer, LintJob, LintNeed};
use pipeline::merged::{MergedJob, ServerReading};

/// What a GitLab made of a pipeline file.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    server: String,
    text: Option<String>,
    jobs: Vec<MergedJob>,
    errors: Vec<String>,
    warnings: Vec<String>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl Merged {
    /// Returns what an answer of the lint says; `server` is what messages call it.
    pub(super) fn new(server: &str, answer: LintAnswer, notes: Vec<String>) -> Self {
        let mut errors = answer.errors;
        if !answer.valid && errors.is_empty() {
            errors.push("the file is not valid, and nothing says why".to_owned());
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

    /// Returns it as it is read.
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
