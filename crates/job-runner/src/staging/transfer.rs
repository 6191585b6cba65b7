//! Transfers files between the staging directory and the environment.

use super::{Staging, pattern_roots};
use crate::build::Build;
use crate::limit::within;
use crate::sources::Sources;
use crate::stages::Stages;
use executor_core::job::ArtifactWhen;
use executor_core::{BuildError, Cancellation, PreparedEnvironment, Workspace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Redirects an environment that this host reaches only through streams to a staging directory, as if the
/// environment saw that directory.
pub(crate) fn redirect_to_staging(
    build: &mut Build<'_>,
    environment: PreparedEnvironment,
) -> Result<PreparedEnvironment, BuildError> {
    let Workspace::Remote { dirs, transfer } = &environment.workspace else {
        return Ok(environment);
    };
    if let Sources::InPlace(tree) = &build.options.sources {
        return Err(BuildError::config(format!(
            "a job in a remote environment cannot run in the working tree {} itself",
            tree.display()
        )));
    }
    let Some(transfer) = transfer else {
        return Ok(environment);
    };
    // Another run may have removed the directory in which the job began. Nothing is needed of it: its files were sent.
    let resumed = build.resumed.as_ref();
    let context = resumed.map_or(&build.context, |it| &it.fresh_context);
    let parent = context.config.host_builds_dir.as_ref();
    let parent = parent.map_or_else(std::env::temp_dir, PathBuf::from);
    let supervisor = build.processes.supervisor();
    let staging = Staging::create(Arc::clone(transfer), dirs, &parent, supervisor)?;
    let workspace = Workspace::Mounted {
        inside: dirs.clone(),
        host: staging.host_dirs(dirs),
    };
    build.staging = Some(staging);
    Ok(PreparedEnvironment {
        workspace,
        ..environment
    })
}

impl Stages<'_, '_> {
    /// Sends the staged files to the environment.
    pub(crate) async fn send_staged(
        &mut self,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        match &self.build.staging {
            Some(staging) => staging.send(cancellation).await,
            None => Ok(()),
        }
    }

    /// Fetches the files to save after this result of the scripts from the environment.
    pub(crate) async fn fetch_staged(&mut self, succeeded: bool) -> Result<(), BuildError> {
        if self.build.staging.is_none() {
            return Ok(());
        }
        let paths = self.pattern_roots_to_save(succeeded)?;
        let Some(staging) = self.build.staging.as_ref().filter(|_| !paths.is_empty()) else {
            return Ok(());
        };
        let finalisation = self.build.cancellation.child_for_finalisation();
        let end = self
            .settings
            .job_limit(self.settings.deadlines.end(), &finalisation);
        within(staging.fetch(&paths, &finalisation), vec![end]).await
    }

    /// Returns the roots of the paths of artifacts and caches that are due after this result of the scripts.
    fn pattern_roots_to_save(&self, succeeded: bool) -> Result<Vec<String>, BuildError> {
        let due = |when: ArtifactWhen| match when {
            ArtifactWhen::OnSuccess => succeeded,
            ArtifactWhen::OnFailure => !succeeded,
            ArtifactWhen::Always => true,
        };
        let job = &self.build.job;
        let options = self.build.options;
        let artifacts = job.artifacts.iter();
        let artifacts = artifacts.filter(|it| options.artifacts.is_some() && due(it.when));
        let caches = job.cache.iter();
        let caches = caches.filter(|it| options.caches.is_some() && due(it.when));
        let wanted = artifacts.map(|it| (it.untracked, &it.paths));
        let wanted = wanted.chain(caches.map(|it| (it.untracked, &it.paths)));
        let mut patterns = Vec::new();
        for (untracked, paths) in wanted {
            if untracked {
                // Untracked files can be anywhere, and the repository is needed to find them.
                patterns.push(".".to_owned());
            }
            patterns.extend(self.expand_all("a path", paths)?);
        }
        let project = &self.environment.workspace.dirs().project_dir;
        Ok(pattern_roots(Path::new(project), &patterns))
    }
}
