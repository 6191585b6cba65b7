use crate::artifacts::{
    ArtifactError, ArtifactFiles, ArtifactStore, CollectError, CollectedLine, SavedArtifact,
    collect,
};
use crate::limit::within;
use crate::panics::off_thread;
use crate::stages::Stages;
use executor_core::job::{Artifact, ArtifactWhen};
use executor_core::trace::JobTraceExt;
use executor_core::{
    BuildError, BuildStage, Cancellation, RetainedArtifact, Retryability, counted,
};
use fail_point::fail_point;
use git::{Git, GitDir, GitError, paths_in};
use process::ProcessTree;
use std::path::{Path, PathBuf};

/// The largest number of removed files that are listed one by one.
const MAX_LISTED: usize = 10;

impl Stages<'_, '_> {
    /// Saves the artifacts that are due after this result of the scripts.
    pub(crate) async fn upload_artifacts(&mut self, succeeded: bool) -> Result<(), BuildError> {
        if !self.build.options.keeps_artifacts() {
            return Ok(());
        }
        let due = |when| match when {
            ArtifactWhen::OnSuccess => succeeded,
            ArtifactWhen::OnFailure => !succeeded,
            ArtifactWhen::Always => true,
        };
        let artifacts = self.build.job.artifacts.iter();
        let wanted: Vec<Artifact> = artifacts.filter(|it| due(it.when)).cloned().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let finalisation = self.build.cancellation.child_for_finalisation();
        let end = self
            .settings
            .job_limit(self.settings.deadlines.end(), &finalisation);
        let stage = if succeeded {
            BuildStage::UploadArtifactsOnSuccess
        } else {
            BuildStage::UploadArtifactsOnFailure
        };
        if self.needs_helper() {
            let upload = self.upload_by_helper(stage, &wanted, &finalisation);
            return within(upload, vec![end]).await;
        }
        let Some(store) = self.build.options.artifacts.clone() else {
            return Ok(());
        };
        let open = self.open(stage, None);
        let keep = self.keep_all(&*store, &wanted, &finalisation);
        let kept = within(keep, vec![end]).await;
        self.close(open, None, kept.is_ok());
        match kept {
            // The job failed for another reason, which its last line reports.
            Err(error) if !succeeded => {
                self.warn_not_kept(&error);
                Err(error)
            }
            kept => kept,
        }
    }

    /// Saves each artifact, also when another could not be saved.
    ///
    /// # Errors
    ///
    /// The first error; the log has the others.
    async fn keep_all(
        &mut self,
        store: &dyn ArtifactStore,
        artifacts: &[Artifact],
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let mut kept = Ok(());
        for artifact in artifacts {
            match self.keep(store, artifact, cancellation).await {
                Err(error @ BuildError::Canceled(_)) => return Err(error),
                Err(error) if kept.is_err() => self.warn_not_kept(&error),
                result => kept = kept.and(result),
            }
        }
        kept
    }

    pub(crate) fn warn_not_kept(&self, error: &BuildError) {
        let text = format!("artifacts are not kept: {}", error.chain());
        self.build.log.warning_line(&text);
    }

    async fn keep(
        &mut self,
        store: &dyn ArtifactStore,
        artifact: &Artifact,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let project = self.artifacts_dir()?;
        let log = self.log();
        let paths = self.expand_all("a path of artifacts", &artifact.paths)?;
        let exclude = self.expand_all("a path of artifacts:exclude", &artifact.exclude)?;
        let untracked = self
            .untracked(artifact.untracked, &project.host, cancellation)
            .await?;
        let directory = project.clone();
        let collected = off_thread(move || collect(&directory, &paths, &untracked, &exclude)).await;
        let collected = collected
            .unwrap_or_else(|error| Err(CollectError::Directory(error)))
            .map_err(not_collected)?;
        for line in collected.lines(artifact.untracked, &project.named) {
            match line {
                CollectedLine::Found(text) => log.system_line(&text),
                CollectedLine::Warning(text) => log.warning_line(&text),
            }
        }
        if collected.paths.is_empty() {
            log.error_line("No files to upload");
            return Ok(());
        }
        self.keep_collected(
            store,
            artifact,
            &project.host,
            collected.paths,
            cancellation,
        )
        .await
    }

    /// Reads a report, and saves the files of an artifact.
    pub(crate) async fn keep_collected(
        &mut self,
        store: &dyn ArtifactStore,
        artifact: &Artifact,
        project: &Path,
        paths: Vec<PathBuf>,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let log = self.log();
        let name = [artifact.name.clone()];
        let name = self.expand_all("the name of artifacts", &name)?.pop();
        let files = ArtifactFiles {
            name: self.build.log.masked(&name.unwrap_or_default()),
            project: project.to_owned(),
            paths,
        };
        self.build
            .read_report(artifact, &files, cancellation)
            .await?;
        let saved = store
            .save(self.build.job.id, artifact, files, cancellation)
            .await;
        let SavedArtifact { kept, vanished } =
            saved.map_err(|error| artifact_failed("keep artifacts", error, cancellation))?;
        for line in removal_warnings(&vanished) {
            log.warning_line(&line);
        }
        let RetainedArtifact {
            artifact_type,
            files,
            ..
        } = &kept;
        let files = counted(files, "file");
        log.system_line(&format!("Kept {files} as {artifact_type}"));
        self.build.note_kept(kept);
        Ok(())
    }

    /// Lists untracked files, ignored ones included, when `is_wanted`.
    pub(crate) async fn untracked(
        &mut self,
        is_wanted: bool,
        project: &Path,
        cancellation: &Cancellation,
    ) -> Result<Vec<PathBuf>, BuildError> {
        if !is_wanted {
            return Ok(Vec::new());
        }
        let processes = self.build.processes.tree();
        let listed = untracked_files(processes, project, cancellation).await;
        listed.map_err(|source| match cancellation.cause() {
            Some(cause) => BuildError::Canceled(cause),
            None => BuildError::system("runner", "list untracked files", source),
        })
    }

    /// Removes the files of file variables. The executor's cleanup finds those that cannot be removed here.
    pub(crate) async fn cleanup_file_variables(&mut self) {
        let finalisation = self.build.cancellation.child_for_finalisation();
        let stage = BuildStage::CleanupFileVariables;
        let dirs = self.local_dirs().filter(|_| self.build.staging.is_none());
        let removed = match dirs {
            None => self.script_stage(stage, &finalisation).await,
            Some(dirs) => {
                let temp = PathBuf::from(&dirs.temp_dir);
                let open = self.open(stage, None);
                let removed = fail_point!(
                    "job_runner::finalise::remove_files",
                    process::remove_tree_off_thread(&temp).await
                );
                self.close(open, None, removed.is_ok());
                removed.map_err(|source| BuildError::system("runner", "remove files", source))
            }
        };
        if let Err(error) = removed {
            let text = format!("failed to remove file variables: {}", error.chain());
            self.build.log.warning_line(&text);
        }
    }
}

/// Lists untracked files, ignored ones included; there are none without a repository.
pub(crate) async fn untracked_files(
    processes: &ProcessTree,
    project: &Path,
    cancellation: &Cancellation,
) -> Result<Vec<PathBuf>, GitError> {
    if GitDir::at(project).is_none() {
        return Ok(Vec::new());
    }
    let git = Git::local(processes, project);
    let listed = git.output(&["ls-files", "-z", "--others"], cancellation);
    Ok(paths_in(&listed.await?).map(PathBuf::from).collect())
}

fn not_collected(error: CollectError) -> BuildError {
    match error {
        CollectError::Exclude { .. } | CollectError::TooMany(_) => {
            BuildError::config(error.to_string())
        }
        CollectError::Directory(source) => BuildError::system("runner", "find artifacts", source),
    }
}

pub(crate) fn artifact_failed(
    what: &str,
    error: ArtifactError,
    cancellation: &Cancellation,
) -> BuildError {
    if let (ArtifactError::Stopped, Some(cause)) = (&error, cancellation.cause()) {
        return BuildError::Canceled(cause);
    }
    if let ArtifactError::Refused(message) = error {
        return BuildError::Report { message };
    }
    BuildError::System {
        backend: "runner",
        message: what.to_owned(),
        source: Some(error.into()),
        retry: Retryability::Temporary,
    }
}

/// Returns warnings about files that were removed before they were saved.
fn removal_warnings(paths: &[PathBuf]) -> Vec<String> {
    let one = |path: &PathBuf| format!("{}: removed meanwhile, and not kept", path.display());
    let mut lines: Vec<String> = paths.iter().take(MAX_LISTED).map(one).collect();
    if paths.len() > MAX_LISTED {
        let more = paths.len() - MAX_LISTED;
        lines.push(format!("{more} more were removed meanwhile, and not kept"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_warnings_list_some_files() {
        let warnings = |count: usize| {
            let paths: Vec<_> = (0..count)
                .map(|it| PathBuf::from(format!("f{it}")))
                .collect();
            removal_warnings(&paths)
        };
        assert!(warnings(0).is_empty());
        assert_eq!(warnings(1), ["f0: removed meanwhile, and not kept"]);
        assert_eq!(warnings(10).len(), 10);
        assert_eq!(
            warnings(12)[10..],
            ["2 more were removed meanwhile, and not kept"]
        );
    }
}
