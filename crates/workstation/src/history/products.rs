//! What jobs of an earlier life left, from what is kept of it.

use super::run_history::JobHistory;
use executor_core::JobProducts;
use executor_core::variable::JobVariable;
use job_runner::{ArtifactError, StoredArtifact, StoredArtifacts, read_dotenv};
use pipeline::Plan;
use std::io::Read as _;

/// The kind of the reports that hold variables.
const DOTENV: &str = "dotenv";

/// No report is longer that was taken once.
const LONGEST_REPORT: u64 = 1 << 20;

/// Returns what a job left in an earlier life of its run. What has expired since is no longer there.
/// Most jobs leave nothing, and are not asked.
pub(crate) fn products(plan: &Plan, artifacts: &StoredArtifacts, job: &JobHistory) -> JobProducts {
    let mut products = job.products();
    let planned = plan.position(&job.name).map(|at| &plan.jobs()[at]);
    if planned.is_none_or(|planned| planned.definition.artifacts.is_none()) {
        return products;
    }
    let kept = artifacts.of_job(job.id);
    let read = kept.and_then(|kept| {
        products.dotenv = dotenv_of(artifacts, &kept)?;
        products.artifacts = kept.into_iter().map(|it| it.artifact).collect();
        Ok(())
    });
    if let Err(error) = read {
        tracing::warn!(
            job = &*job.name,
            error = &error as &dyn std::error::Error,
            "What the job left cannot be read any more."
        );
    }
    products
}

/// Returns the variables that a job reported, from what is kept of its artifacts.
///
/// # Errors
///
/// When they cannot be read any more.
pub(crate) fn dotenv_of(
    artifacts: &StoredArtifacts,
    kept: &[StoredArtifact],
) -> Result<Vec<JobVariable>, ArtifactError> {
    let report = kept.iter().find(|it| it.artifact.artifact_type == DOTENV);
    report.map_or(Ok(Vec::new()), |report| variables(artifacts, report))
}

/// Reads the variables of a report once more. They were fit to be taken when the job ended.
fn variables(
    artifacts: &StoredArtifacts,
    report: &StoredArtifact,
) -> Result<Vec<JobVariable>, ArtifactError> {
    let mut files = Vec::new();
    for entry in artifacts.tree_of(report)?.entries() {
        if let Some(file) = artifacts.open(report, &entry.path)? {
            let mut bytes = Vec::new();
            let read = file.take(LONGEST_REPORT).read_to_end(&mut bytes);
            read.map_err(|source| ArtifactError::File {
                action: "read",
                path: entry.path.clone(),
                source,
            })?;
            files.push((entry.path.display().to_string(), bytes));
        }
    }
    let files = files.iter().map(|(name, bytes)| (&**name, &**bytes));
    read_dotenv(files).map_err(|error| ArtifactError::Other {
        message: "read the dotenv report once more".to_owned(),
        source: Some(Box::new(error)),
    })
}
