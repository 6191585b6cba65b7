use crate::artifacts::ArtifactStore;
use crate::attempts;
use crate::finalise::artifact_failed;
use crate::limit::{Limit, abort_when_canceled, within};
use crate::options::HelperServer;
use crate::panics::off_thread;
use crate::sources::{Sources, check_in_place};
use crate::stages::{Stages, into_system_failure};
use executor_core::job::Dependency;
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, BuildStage, Cancellation, HumanDuration, counted};
use fail_point::fail_point;
use std::fs;
use std::path::PathBuf;

impl Stages<'_, '_> {
    /// Creates the job's directories.
    pub(crate) async fn prepare_script(&mut self) -> Result<(), BuildError> {
        let (setup, limits) = self.setup_limits();
        let job = self.build.cancellation.clone();
        let work = async {
            let is_remote = self.local_dirs().is_none();
            if is_remote || self.build.staging.is_some() {
                let ran = self.script_stage(BuildStage::PrepareScript, &setup).await;
                ran.map_err(|error| into_system_failure(error, "preparing the environment"))?;
            }
            if self.build.staging.is_some() {
                return self.make_directories().await;
            }
            if is_remote {
                return Ok(());
            }
            let open = self.open(BuildStage::PrepareScript, None);
            let created = self.make_directories().await;
            self.close(open, None, created.is_ok());
            created
        };
        within(abort_when_canceled(work, &job, &setup), limits).await
    }

    /// Fetches sources, caches and artifacts. A cancel stops them at once.
    pub(crate) async fn set_up(&mut self) -> Result<(), BuildError> {
        let (setup, limits) = self.setup_limits();
        let job = self.build.cancellation.clone();
        let work = async {
            self.get_sources(&setup).await?;
            self.restore_caches(&setup).await?;
            self.download_artifacts(&setup).await?;
            self.send_staged(&setup).await?;
            // A script must not start after a stop between two stages.
            Ok(setup.check()?)
        };
        within(abort_when_canceled(work, &job, &setup), limits).await
    }

    fn setup_limits(&self) -> (Cancellation, Vec<Limit>) {
        let setup = self.build.cancellation.child();
        let limit = self
            .settings
            .job_limit(self.settings.deadlines.work_ends(), &setup);
        (setup, vec![limit])
    }

    async fn make_directories(&mut self) -> Result<(), BuildError> {
        let Some(dirs) = self.local_dirs() else {
            return Ok(());
        };
        // Early sources have a directory already, and the journal has it.
        let comes_early = self.build.early.is_some();
        if let Some(project) = self.build.own_project(dirs)
            && self.build.staging.is_none()
            && !comes_early
        {
            self.build.processes.record_directory(&project)?;
        }
        let project = PathBuf::from(&dirs.project_dir);
        let temp = PathBuf::from(&dirs.temp_dir);
        let message = format!("make directory {}", dirs.project_dir);
        let in_place = match &self.build.options.sources {
            Sources::InPlace(tree) => Some(tree),
            _ => None,
        };
        if let Some(tree) = in_place {
            check_in_place(tree)?;
        }
        let makes_project = in_place.is_none() && !comes_early;
        let created = off_thread(move || {
            if makes_project {
                fail_point!(
                    "job_runner::setup::make_project",
                    fs::create_dir_all(project)
                )?;
            }
            fail_point!(
                "job_runner::setup::make_temp",
                process::make_private_dir(&temp)
            )?;
            // An earlier job may have exported variables.
            fail_point!(
                "job_runner::setup::remove_exports",
                process::remove_tree(&temp.join(shells::ENV_FILE_NAME))
            )
        });
        let created = created.await.flatten();
        created.map_err(|source| BuildError::system("runner", message, source))
    }

    async fn download_artifacts(&mut self, setup: &Cancellation) -> Result<(), BuildError> {
        let at_gitlab = self.build.options.helper.server == HelperServer::GitLab;
        let by_scripts = at_gitlab && self.needs_helper();
        let store = self.build.options.artifacts.clone();
        let Some(store) = store.filter(|_| !by_scripts) else {
            return self.download_from_gitlab(setup).await;
        };
        let mut wanted: Vec<Dependency> = Vec::new();
        let mut lost = Vec::new();
        for dependency in &self.build.job.dependencies {
            if store.lost(dependency.id).await {
                lost.push(dependency.name.as_str());
            } else if store.contains(dependency.id).await {
                wanted.push(dependency.clone());
            }
        }
        if !lost.is_empty() {
            return Err(BuildError::MissingDependency {
                jobs: lost.join(", "),
            });
        }
        if wanted.is_empty() {
            return Ok(());
        }
        if self.needs_helper() {
            return self.download_by_helper(Some(&*store), &wanted, setup).await;
        }
        let attempts = self.attempts("ARTIFACT_DOWNLOAD_ATTEMPTS");
        let mut attempt = 1;
        loop {
            let open = self.open(BuildStage::DownloadArtifacts, None);
            let fetched = self.fetch_artifacts(&*store, &wanted, setup).await;
            self.close(open, None, fetched.is_ok());
            match fetched {
                Err(error) if attempt < attempts && error.is_temporary() => {
                    self.pause_after_failure(attempt, "download artifacts", &error, setup)
                        .await;
                }
                other => return other,
            }
            attempt += 1;
        }
    }

    /// Downloads the artifacts that the job's GitLab keeps.
    async fn download_from_gitlab(&mut self, setup: &Cancellation) -> Result<(), BuildError> {
        if !self.needs_helper() || !self.build.options.keeps_artifacts() {
            return Ok(());
        }
        let dependencies = self.build.job.dependencies.iter();
        let wanted = dependencies.filter(|it| it.artifacts_file.is_some());
        let wanted: Vec<Dependency> = wanted.cloned().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        self.download_by_helper(None, &wanted, setup).await
    }

    /// Adds the artifacts of earlier jobs to the job's sources.
    async fn fetch_artifacts(
        &mut self,
        store: &dyn ArtifactStore,
        dependencies: &[Dependency],
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let project = self.artifacts_dir()?.host;
        // The sources may include the artifacts of the first dependencies.
        let shown = self.build.shown_inputs.iter();
        let shown = shown.zip(dependencies).take_while(|(id, it)| **id == it.id);
        let shown = shown.count();
        for Dependency { id, name, .. } in &dependencies[..shown] {
            let text = format!("Showing the files of {name} ({id})");
            self.build.log.system_line(&text);
        }
        for dependency in &dependencies[shown..] {
            let fetched = store.fetch(dependency, &project, cancellation).await;
            let count =
                fetched.map_err(|error| artifact_failed("fetch artifacts", error, cancellation))?;
            let Dependency { id, name, .. } = dependency;
            let files = counted(count, "file");
            self.build
                .log
                .system_line(&format!("Fetched {files} of {name} ({id})"));
        }
        Ok(())
    }

    /// Returns the number of attempts that the variable `name` allows.
    pub(crate) fn attempts(&self, name: &str) -> u32 {
        let (attempts, warning) = attempts::read(&self.expanded, name);
        if let Some(warning) = warning {
            self.build.log.warning_line(&warning);
        }
        attempts
    }

    /// Logs a failed attempt and pauses before the next.
    pub(crate) async fn pause_after_failure(
        &mut self,
        attempt: u32,
        what: &str,
        error: &BuildError,
        stop: &Cancellation,
    ) {
        let pause = attempts::pause_after(attempt);
        let log = &self.build.log;
        log.warning_line(&format!("failed to {what}: {}", error.chain()));
        log.system_line(&format!("Trying again in {}...", HumanDuration(pause)));
        attempts::pause(pause, stop).await;
    }
}
