//! What is known about a job before anything is created for it.

use crate::config::policy::{self, effective_user};
use crate::config::{DockerConfig, EngineChoice, ImageOptions, SourcesChoice};
use crate::engine::Engine;
use crate::engine::names::Names;
use crate::error::DockerError;
use crate::garbage::JobLeases;
use crate::image::{CredentialSources, Credentials, ImageInfo, ImageReference, Images};
use crate::job::container::ready::ContainerDetails;
use crate::job::files::{JobFiles, chown};
use crate::job::shared::SharedHost;
use crate::job::stage::transport::{self, TransportChoice};
use executor_core::ability::ResumeObserver;
use executor_core::{
    BuildDirs, Cancellation, JobTraceExt, PrepareOptions, ShellDialect, ShellInfo,
};
use process::Supervisor;
use std::path::Path;
use std::time::Duration;

/// The time limit of an entry point, unless the settings have one.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// The input of a preparation.
#[derive(Debug)]
pub(crate) struct Preparation {
    pub(crate) shared: SharedHost,
    pub(crate) engine: Engine,
    /// The images of the engine, without credentials.
    pub(crate) images: Images,
    /// Protect the job's images and volumes from removal.
    pub(crate) leases: Option<JobLeases>,
    /// Starts the credential helpers.
    pub(crate) supervisor: Option<Supervisor>,
    pub(crate) settings: DockerConfig,
    /// The id of the run.
    pub(crate) owner: String,
    pub(crate) attempt: u32,
    /// The directories that the executor's base computed.
    pub(crate) dirs: BuildDirs,
    /// The preferred shell.
    pub(crate) shell: ShellInfo,
    pub(crate) options: PrepareOptions,
    /// Observes the data that another process needs to resume the job.
    pub(crate) observer: Option<ResumeObserver>,
}

impl Preparation {
    /// Returns the images of the engine with the credentials of this job.
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

    /// Provides the job's image, pulling it when necessary.
    pub(crate) async fn image(
        &self,
        images: &Images,
        image_options: &ImageOptions,
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
        self.pull(
            images,
            &reference,
            &job.pull_policy,
            image_options,
            cancellation,
        )
        .await
    }

    /// Provides the helper's image, when it differs from the job's.
    pub(crate) async fn helper_image(
        &self,
        images: &Images,
        image_options: &ImageOptions,
        cancellation: &Cancellation,
    ) -> Result<Option<ImageInfo>, DockerError> {
        let named = self.settings.helper_image.as_deref();
        let attach = self.settings.engine == EngineChoice::Attach;
        let Some(named) = named.filter(|name| attach && !name.is_empty()) else {
            return Ok(None);
        };
        let reference = reference_of(&self.options.variables.expand(named))?;
        let pulled = self
            .pull(images, &reference, &[], image_options, cancellation)
            .await;
        pulled.map(Some)
    }

    async fn pull(
        &self,
        images: &Images,
        reference: &ImageReference,
        asked: &[String],
        image_options: &ImageOptions,
        cancellation: &Cancellation,
    ) -> Result<ImageInfo, DockerError> {
        let policies = policy::pull_policies(&self.settings, asked)
            .map_err(|refusal| DockerError::config(refusal.to_string()))?;
        images
            .ensure(
                reference,
                &policies,
                image_options.platform.as_deref(),
                &*self.options.trace,
                cancellation,
            )
            .await
    }

    /// Chooses the transport of stages. The first job of this run without the agent reports the reason.
    pub(crate) fn transport(&self, image: &ImageInfo) -> Result<TransportChoice, DockerError> {
        let chosen = transport::choose(self.settings.engine, steps::agent::find(), image)?;
        if let Some(reason) = &chosen.agent_unavailable
            && self.shared.is_news(reason)
        {
            let text = format!("scripts run by exec, without the agent: {reason}");
            self.options.trace.warning_line(&text);
        }
        Ok(chosen)
    }

    /// Chooses the shell that scripts are written for.
    pub(crate) fn choose_shell(
        &self,
        details: &ContainerDetails,
        image: &str,
    ) -> Result<ShellInfo, DockerError> {
        let mut shell = self.shell.clone();
        let (dialect, program) = match self.options.config.shell {
            Some(ShellDialect::Sh) => (ShellDialect::Sh, "sh"),
            Some(ShellDialect::Bash) if !details.is_bash() => {
                return Err(DockerError::config(format!(
                    "image {image} has no bash, which the runner's setting `shell` requires"
                )));
            }
            Some(dialect @ (ShellDialect::Pwsh | ShellDialect::PowerShell)) => {
                return Err(DockerError::config(format!(
                    "jobs in containers run in bash or sh, not in {dialect}"
                )));
            }
            _ if details.is_bash() => (ShellDialect::Bash, details.shell.as_str()),
            _ => (ShellDialect::Sh, details.shell.as_str()),
        };
        shell.dialect = dialect;
        shell.program = Some(program.to_owned());
        Ok(shell)
    }

    /// Announces the likely location of the job's files, so that they can be copied while images are pulled.
    ///
    /// Only the engine knows whether it sees this host's files, and only the image knows its user. Files of this host
    /// are likely for an engine behind a socket of this host.
    pub(crate) fn announce_files(&self, image_options: &ImageOptions, names: &Names) {
        let Some(planned) = &self.options.planned else {
            return;
        };
        let root = self.options.config.host_builds_dir.as_deref();
        let Some(root) = root.filter(|_| self.is_likely_to_mount(image_options)) else {
            return;
        };
        // The creation of the directories reports their errors.
        if let Ok(files) =
            JobFiles::mounted(Path::new(root), &self.dirs, &self.options, names.base())
        {
            planned.announce(files.workspace(None));
        }
    }

    fn is_likely_to_mount(&self, image_options: &ImageOptions) -> bool {
        let user = effective_user(&self.settings, image_options.user.as_deref());
        let of_image = "";
        self.engine.is_local()
            && self.settings.sources != SourcesChoice::Copy
            && self.options.project_dir.is_none()
            && (chown::is_permitted()
                || chown::is_root_or(user.unwrap_or(of_image), chown::own_user()))
    }
}

fn reference_of(name: &str) -> Result<ImageReference, DockerError> {
    ImageReference::parse(name).map_err(|error| DockerError::config(format!("image: {error}")))
}
