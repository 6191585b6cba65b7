//! The results of jobs of an earlier attempt of a run, read from its state.

use super::run_history::JobHistory;
use executor_core::JobProducts;
use executor_core::variable::JobVariable;
use job_runner::{ArtifactError, StoredArtifact, StoredArtifacts, read_dotenv};
use pipeline::Plan;
use std::io::Read as _;

/// The artifact type of dotenv reports.
const DOTENV: &str = "dotenv";

/// The longest report that was accepted when the job ended.
const MAX_REPORT: u64 = 1 << 20;

/// Returns the results of a job of an earlier attempt. Expired artifacts are not among them.
pub(crate) fn products(plan: &Plan, artifacts: &StoredArtifacts, job: &JobHistory) -> JobProducts {
    let mut products = job.products();
    // Most jobs have no artifacts, and need no reading.
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
            "The artifacts of the job cannot be read."
        );
    }
    products
}

/// Returns the variables of a job's dotenv report, from its stored artifacts.
///
/// # Errors
///
/// When they cannot be read.
pub(crate) fn dotenv_of(
    artifacts: &StoredArtifacts,
    kept: &[StoredArtifact],
) -> Result<Vec<JobVariable>, ArtifactError> {
    let report = kept.iter().find(|it| it.artifact.artifact_type == DOTENV);
    report.map_or(Ok(Vec::new()), |report| variables(artifacts, report))
}

/// Reads the variables of a report, which were valid when the job ended.
fn variables(
    artifacts: &StoredArtifacts,
    report: &StoredArtifact,
) -> Result<Vec<JobVariable>, ArtifactError> {
    let mut files = Vec::new();
    for entry in artifacts.tree_of(report)?.entries() {
        if let Some(file) = artifacts.open(report, &entry.path)? {
            let mut bytes = Vec::new();
            let read = file.take(MAX_REPORT).read_to_end(&mut bytes);
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
        message: "read the dotenv report again".to_owned(),
        source: Some(Box::new(error)),
    })
}
