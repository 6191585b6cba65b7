//! Copies the artifacts of a run's jobs into the working tree.

use super::execute::FinishedRun;
use console::{error_line, shown_name, strip_controls};
use executor_core::{Cancellation, chain};
use std::path::PathBuf;
use workstation::{Export, ExportError, LocalPipeline, Overwrite, StoredArtifact, StoredArtifacts};

/// Archives to copy, each with the name of its job.
pub(super) struct Copies {
    artifacts: StoredArtifacts,
    archives: Vec<(String, StoredArtifact)>,
    root: PathBuf,
    pipeline_files: Vec<String>,
}

impl Copies {
    /// Returns the archives of all jobs, in their order, except those that a comment `# @NoArtifactsToSource` excludes.
    pub(super) fn of(run: &FinishedRun, pipeline: &LocalPipeline) -> Self {
        let mut archives = Vec::new();
        for job in run.plan.jobs() {
            let decoration = pipeline.decorations().of(job.name());
            if decoration.is_some_and(|it| it.keeps_artifacts) {
                continue;
            }
            let name = shown_name(job.name());
            match run.artifacts.of_job(job.id) {
                Ok(stored) => archives.extend(
                    stored
                        .into_iter()
                        .filter(|it| it.artifact.artifact_type == StoredArtifact::ARCHIVE)
                        .map(|it| (name.clone(), it)),
                ),
                Err(error) => warn(&name, &error.into()),
            }
        }
        Self {
            artifacts: run.artifacts.clone(),
            archives,
            root: pipeline.project().root().to_owned(),
            pipeline_files: pipeline.files().map(ToOwned::to_owned).collect(),
        }
    }

    /// Copies them, with a warning for each that cannot be copied. Blocks.
    pub(super) fn write(&self, cancellation: &Cancellation) {
        let mut names = Vec::new();
        let pipeline_files: Vec<_> = self.pipeline_files.iter().map(String::as_str).collect();
        for (name, artifact) in &self.archives {
            if cancellation.is_canceled() {
                break;
            }
            let export = Export {
                artifacts: &self.artifacts,
                artifact,
                overwrite: Overwrite::Files,
                pipeline_files: &pipeline_files,
            };
            match export.into_directory(&self.root, cancellation) {
                Ok(()) => names.push(&**name),
                Err(error) => warn(name, &error),
            }
        }
        if !names.is_empty() {
            let names = names.join(", ");
            error_line(&format!(
                "copied to the working tree: the artifacts of {names}"
            ));
        }
    }
}

fn warn(name: &str, error: &ExportError) {
    let why = strip_controls(&chain(error));
    error_line(&format!(
        "warning: the artifacts of {name} are not copied to the working tree: {why}"
    ));
}
