//! What is known about a job before anything is created for it.

use crate::config::policy;
use crate::config::{DockerConfig, EngineChoice, ImageOptions};
use crate::engine::Engine;
use crate::error::DockerError;
use crate::garbage::JobLeases;
use crate::image::{CredentialSources, Credentials, ImageInfo, ImageReference, Images};
use crate::job::container::ready::Inside;
use crate::job::shared::SharedHost;
use crate::job::stage::transport::{self, Fallback, Tactic};
use executor_core::ability::ResumeObserver;
use executor_core::{
    BuildDirs, Cancellation, JobTraceExt, PrepareOptions, ShellDialect, ShellInfo,
};
use process::Supervisor;
use std::time::Duration;

/// How long an entry point may take when the runner's settings set no limit.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// What is known before anything is made.
#[derive(Debug)]
pub(crate) struct Preparation {
    pub(crate) shared: SharedHost,
    pub(crate) engine: Engine,
    /// Those of the engine, pulled as nobody in particular.
    pub(crate) images: Images,
    /// Keep what the job uses from being removed.
    pub(crate) leases: Option<JobLeases>,
    /// Starts the helpers that tell credentials.
    pub(crate) supervisor: Option<Supervisor>,
    pub(crate) settings: DockerConfig,
    /// The id of the run.
    pub(crate) owner: String,
    pub(crate) attempt: u32,
    /// As the executor's base computed them.
    pub(crate) dirs: BuildDirs,
    /// The shell that somebody prefers.
    pub(crate) shell: ShellInfo,
    pub(crate) options: PrepareOptions,
    /// Wants to know what another process would need to go on.
    pub(crate) observer: Option<ResumeObserver>,
}

impl Preparation {
    /// Returns the images of the engine as this job may pull them: its own, the helper's, those of services.
    pub(crate) fn images_of_job(&self) -> Images {
        let variable = self.options.variables.get("DOCKER_AUTH_CONFIG");
        let sources = CredentialSources::of_runner();
        let sources = sources.with_job(variable, &self.options.job.credentials);
        let mut credentials = Credentials::new(sources);
        if let Some(supervisor) = &self.supervisor {
            credentials = credentials.with_helpers(supervisor.tree());
        }
        let images = self.images.for_job(credentials);
        images.with_leases(self.leases.clone())
    }

    /// Sees to it that the engine has the job's image.
    pub(crate) async fn image(
        &self,
        images: &Images,
        said: &ImageOptions,
        cancellation: &Cancellation,
    ) -> Result<ImageInfo, DockerError> {
        let job = &self.options.job.image;
        let variables = &self.options.variables;
        let configured = self.settings.image.as_deref().unwrap_or_default();
        let wanted = if job.name.is_empty() {
            configured
        } else {
            &job.name
        };
        let expanded = variables.expand(wanted).into_owned();
        if expanded.is_empty() {
            return Err(DockerError::config(
                "the job names no image, and the runner has none for such jobs; set `image:` in the \
                 job, or `image` in the runner's settings",
            ));
        }
        let reference = reference_of(&expanded)?;
        policy::check_image(&self.settings, &reference)
            .map_err(|refusal| DockerError::config(refusal.to_string()))?;
        self.pull(images, &reference, &job.pull_policy, said, cancellation)
            .await
    }

    /// Sees to it that the engine has the image of the predefined container, where that is another.
    pub(crate) async fn helper_image(
        &self,
        images: &Images,
        said: &ImageOptions,
        cancellation: &Cancellation,
    ) -> Result<Option<ImageInfo>, DockerError> {
        let named = self.settings.helper_image.as_deref();
        let attach = self.settings.engine == EngineChoice::Attach;
        let Some(named) = named.filter(|name| attach && !name.is_empty()) else {
            return Ok(None);
        };
        let reference = reference_of(&self.options.variables.expand(named))?;
        let pulled = self.pull(images, &reference, &[], said, cancellation).await;
        pulled.map(Some)
    }

    async fn pull(
        &self,
        images: &Images,
        reference: &ImageReference,
        asked: &[String],
        said: &ImageOptions,
        cancellation: &Cancellation,
    ) -> Result<ImageInfo, DockerError> {
        let policies = policy::pull_policies(&self.settings, asked)
            .map_err(|refusal| DockerError::config(refusal.to_string()))?;
        images
            .ensure(
                reference,
                &policies,
                said.platform.as_deref(),
                &*self.options.trace,
                cancellation,
            )
            .await
    }

    /// Decides how stages are run, and says so where it is not the first choice and nobody has said it in this run.
    pub(crate) fn tactic(&self, image: &ImageInfo) -> Result<Tactic, DockerError> {
        let choice = self.settings.engine;
        let (tactic, fallback) = transport::choose(choice, steps::agent::find(), image)?;
        if let Some(Fallback(reason)) = fallback
            && self.shared.is_news(&reason)
        {
            let words = format!("stages are run by exec, without the agent: {reason}");
            self.options.trace.system_line(&words);
        }
        Ok(tactic)
    }

    /// Decides for the shell that scripts are written for.
    pub(crate) fn choose_shell(
        &self,
        inside: &Inside,
        image: &str,
    ) -> Result<ShellInfo, DockerError> {
        let mut shell = self.shell.clone();
        let (dialect, program) = match self.options.config.shell {
            Some(ShellDialect::Sh) => (ShellDialect::Sh, "sh"),
            Some(ShellDialect::Bash) if !inside.is_bash() => {
                return Err(DockerError::config(format!(
                    "image {image} has no bash, which the runner's settings ask for with `shell`"
                )));
            }
            Some(dialect @ (ShellDialect::Pwsh | ShellDialect::PowerShell)) => {
                return Err(DockerError::config(format!(
                    "jobs in containers run in bash or sh, not in {dialect}"
                )));
            }
            _ if inside.is_bash() => (ShellDialect::Bash, inside.shell.as_str()),
            _ => (ShellDialect::Sh, inside.shell.as_str()),
        };
        shell.dialect = dialect;
        shell.program = Some(program.to_owned());
        Ok(shell)
    }
}

fn reference_of(name: &str) -> Result<ImageReference, DockerError> {
    ImageReference::parse(name).map_err(|error| DockerError::config(format!("image: {error}")))
}
