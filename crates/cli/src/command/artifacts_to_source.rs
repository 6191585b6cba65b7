//! Copies the artifacts of a run's jobs into the working tree.

use super::execute::FinishedRun;
use crate::failure::Failure;
use console::{error_line, shown_name};
use executor_core::Cancellation;
use workstation::{Export, ExportError, LocalError, LocalPipeline, Overwrite, StoredArtifact};

/// Copies the archives of all jobs, in their order, except those that a comment `# @NoArtifactsToSource` excludes.
pub(super) fn copy(run: &FinishedRun, pipeline: &LocalPipeline) -> Result<(), Failure> {
    let mut names = Vec::new();
    for job in run.plan.jobs() {
        let decoration = pipeline.decorations().of(job.name());
        if decoration.is_some_and(|it| it.keeps_artifacts) {
            continue;
        }
        let stored = run.artifacts.of_job(job.id).map_err(ExportError::from);
        let stored = stored.map_err(LocalError::from)?.into_iter();
        let archives = stored.filter(|it| it.artifact.artifact_type == StoredArtifact::ARCHIVE);
        for artifact in archives {
            let export = Export {
                artifacts: &run.artifacts,
                artifact: &artifact,
                overwrite: Overwrite::Files,
            };
            let root = pipeline.project().root();
            let written = export.into_directory(root, &Cancellation::new());
            written.map_err(LocalError::from)?;
            names.push(shown_name(job.name()));
        }
    }
    if !names.is_empty() {
        let names = names.join(", ");
        error_line(&format!(
            "copied to the working tree: the artifacts of {names}"
        ));
    }
    Ok(())
}
