//! Creates the container of a job.

use crate::config::{ImageOptions, SourcesChoice};
use crate::engine::labels::{Labels, Role};
use crate::engine::names::Names;
use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::image::ImageInfo;
use crate::job::container::attached::ShellProbe;
use crate::job::container::begin::Startup;
use crate::job::container::{JobContainer, agent_place, fault, ready};
use crate::job::create::{
    AllowedOptions, ContainerPlan, ContainerRole, Entrypoint, StandardInput, build_container,
    environment_of_job,
};
use crate::job::created_resources::CreatedResources;
use crate::job::files::JobFiles;
use crate::job::files::chown;
use crate::job::files::tree::Owner;
use crate::job::prepare::preparation::{PATIENCE, Preparation};
use crate::job::stage::helper::HelperPlan;
use crate::job::stage::transport::StageTransport;
use crate::service::Attachment;
use bollard::models::{ContainerCreateBody, Mount};
use executor_core::{Cancellation, ShellDialect};
use shells::MarkedLine;
use std::path::Path;

/// The name of the job's container in a network with names, as in GitLab Runner.
const ALIAS: &str = "build";

/// The decisions about a container before its creation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Creation<'c> {
    pub(crate) preparation: &'c Preparation,
    pub(crate) image: &'c ImageInfo,
    pub(crate) transport: &'c StageTransport,
    pub(crate) labels: &'c Labels,
    pub(crate) names: &'c Names,
    /// The job's options of its image.
    pub(crate) image_options: &'c ImageOptions,
    /// The options that the settings allow.
    pub(crate) allowed: &'c AllowedOptions,
    /// The text that the main process prints when it is ready.
    pub(crate) mark: &'c str,
    /// Whose container it is.
    pub(crate) occupant: Occupant,
}

/// Whose container is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occupant {
    /// It is the container of the job.
    Job,
    /// A job takes it later, so nothing in it is of a job.
    Later,
}

impl Creation<'_> {
    /// Creates the container, starts it, and waits until it is ready.
    pub(crate) async fn begin(
        &self,
        made: &mut CreatedResources,
        cancellation: &Cancellation,
    ) -> Result<(JobContainer, JobFiles, MarkedLine), DockerError> {
        let (mut container, files) = self.create(made, cancellation).await?;
        if let Some(volumes) = &made.volumes {
            let user = self.allowed.user.as_deref().unwrap_or(&self.image.user);
            let user = Some(user).filter(|user| !user.is_empty());
            unless_stopped(cancellation, volumes.open(container.id(), user)).await?;
        }
        cancellation.check()?;
        let options = &self.preparation.options;
        let name = self.image.reference.familiar();
        let script = match self.transport {
            StageTransport::Exec => ready::question_and_wait(self.mark),
            StageTransport::Agent(_) | StageTransport::Attach => String::new(),
        };
        let beginning = Startup {
            image: &name,
            script: &script,
            mark: self.mark,
            patience: options.config.prepare_timeout.unwrap_or(PATIENCE),
            trace: &options.trace,
        };
        let line = match self.transport {
            StageTransport::Agent(_) | StageTransport::Exec => {
                beginning.begin(&mut container, cancellation).await?
            }
            StageTransport::Attach => {
                let question = ShellProbe {
                    image: &name,
                    mark: self.mark,
                    script: &ready::question(self.mark),
                    patience: beginning.patience,
                    trace: &*options.trace,
                };
                question.ask(&container.execs(), cancellation).await?
            }
        };
        Ok((container, files, line))
    }

    /// Creates the container, with mounts of this host's files when the engine sees them.
    pub(crate) async fn create(
        &self,
        made: &mut CreatedResources,
        cancellation: &Cancellation,
    ) -> Result<(JobContainer, JobFiles), DockerError> {
        let Preparation {
            engine,
            settings,
            options,
            dirs,
            ..
        } = self.preparation;
        let name = self.names.build();
        let platform = self.image_options.platform.as_deref();
        let pending = made.container(&name);
        let create =
            |body| JobContainer::create(engine, &name, platform, body, &pending, cancellation);
        if let Some(root) = self.root_to_mount() {
            let files = JobFiles::mounted(root, dirs, options, self.names.base())?;
            let body = self.with_this_host(root, &files, made)?;
            match create(body).await {
                Ok(container) => return Ok((container, files)),
                Err(error)
                    if fault::is_no_source(&error) && settings.sources == SourcesChoice::Auto => {}
                Err(error) => return Err(error),
            }
        }
        if options.project_dir.is_some() {
            return Err(DockerError::config(
                "the engine does not see this host's files, so no job can run in a tree of this host; \
                 let the job have its own tree",
            ));
        }
        let files = JobFiles::remote(dirs, self.labels);
        let more = match self.transport {
            StageTransport::Agent(_) => vec![agent_place::volume(self.labels)],
            StageTransport::Exec | StageTransport::Attach => Vec::new(),
        };
        let body = self.body(&files, more, made);
        let container = create(body).await?;
        if let StageTransport::Agent(agent) = self.transport {
            let archive = agent_place::archive(agent)?;
            let uploading = container.upload(agent_place::PLACE, archive);
            unless_stopped(cancellation, uploading).await?;
        }
        Ok((container, files))
    }

    /// Returns the directory of this host for the container's files, unless they are copied.
    pub(crate) fn root_to_mount(&self) -> Option<&Path> {
        let Preparation {
            engine,
            settings,
            options,
            ..
        } = self.preparation;
        let may_mount = match settings.sources {
            SourcesChoice::Copy => false,
            SourcesChoice::Auto if engine.may_make_sources() => false,
            // Without the right to change owners, files of this host are useless to another user.
            SourcesChoice::Auto if options.project_dir.is_none() => {
                let user = self.allowed.user.as_deref().unwrap_or(&self.image.user);
                chown::is_permitted() || chown::is_root_or(user, chown::own_user())
            }
            _ => true,
        };
        let root = options.config.host_builds_dir.as_deref();
        root.filter(|_| may_mount).map(Path::new)
    }

    /// Creates the directories on this host; returns the body of a container that mounts them.
    fn with_this_host(
        &self,
        root: &Path,
        files: &JobFiles,
        made: &mut CreatedResources,
    ) -> Result<ContainerCreateBody, DockerError> {
        let mut more = Vec::new();
        if let Some(host) = &files.host {
            made.directory(Path::new(&host.temp_dir))?;
            files.make(self.preparation.options.project_dir.is_some())?;
            if let (StageTransport::Agent(agent), Some(run)) =
                (self.transport, files.agent_directory())
            {
                made.directory(&run)?;
                more = agent_place::mounts(agent, root, &run)?;
            }
        }
        Ok(self.body(files, more, made))
    }

    /// Returns the body of the create request, with these files and mounts.
    pub(crate) fn body(
        &self,
        files: &JobFiles,
        more: Vec<Mount>,
        made: &CreatedResources,
    ) -> ContainerCreateBody {
        let settings = &self.preparation.settings;
        let job = &self.preparation.options.job.image;
        let (command, mut own) = match self.transport {
            StageTransport::Agent(_) => {
                let grace = settings.orphan_grace();
                let own = vec![agent_place::environment(grace)];
                (agent_place::serve(grace), own)
            }
            StageTransport::Exec | StageTransport::Attach => (self.shell(), Vec::new()),
        };
        if files.host.is_some() {
            own.extend(chown::git_environment(&self.image.environment));
        }
        let entrypoint = Entrypoint::of_job(&job.entrypoint);
        let mut environment = self.variables(&entrypoint, files);
        environment.retain(|variable| !own.iter().any(|it| name_of(it) == name_of(variable)));
        environment.extend(own);
        let mounts = files.mounts.iter().cloned().chain(more);
        let mut plan = ContainerPlan {
            image: self.image.id.clone(),
            entrypoint,
            command,
            environment,
            labels: self.labels.for_role(Role::Build),
            mounts: mounts.collect(),
            standard_input: self.standard_input(),
            ..common_plan(made)
        };
        plan.network.aliases = vec![ALIAS.to_owned()];
        if let Some(services) = &made.services {
            // A service with this name keeps it.
            let names: Vec<_> = services.names().concat();
            plan.network.aliases.retain(|alias| !names.contains(alias));
        }
        let body = build_container(settings, &self.allowed.clone().apply(plan));
        match self.transport {
            // The main process reads its script there, and then waits for a line that never comes.
            StageTransport::Exec => ContainerCreateBody {
                open_stdin: Some(true),
                ..body
            },
            StageTransport::Agent(_) | StageTransport::Attach => body,
        }
    }

    /// Returns the job's variables for its entry point. Without one no program reads them there, so the engine does not
    /// get them.
    fn variables(&self, entrypoint: &Entrypoint, files: &JobFiles) -> Vec<String> {
        let Preparation {
            settings, options, ..
        } = self.preparation;
        let has_entry_point = match entrypoint {
            Entrypoint::Instead(words) if !settings.disable_entrypoint_overwrite => {
                !words.is_empty()
            }
            Entrypoint::Instead(_) | Entrypoint::Image => !self.image.entrypoint.is_empty(),
        };
        match self.occupant {
            Occupant::Job if has_entry_point => {
                environment_of_job(&options.variables, &files.inside)
            }
            Occupant::Job | Occupant::Later => Vec::new(),
        }
    }

    fn standard_input(&self) -> StandardInput {
        match self.transport {
            StageTransport::Attach => StandardInput::Once,
            StageTransport::Agent(_) | StageTransport::Exec => StandardInput::Closed,
        }
    }

    fn shell(&self) -> Vec<String> {
        ready::shell(self.preparation.options.config.shell == Some(ShellDialect::Sh))
    }

    /// Returns the plan of a helper that changes the owner of files when the container is dead. Needed when root in the
    /// container created files that this process cannot remove.
    pub(crate) fn rescuer(
        &self,
        made: &mut CreatedResources,
        beside: &JobContainer,
        files: &JobFiles,
        owner: Owner,
    ) -> Result<Option<HelperPlan>, DockerError> {
        // With `attach`, the helper container outlives the job's container.
        let has_helper = matches!(self.transport, StageTransport::Attach);
        if has_helper || files.host.is_none() || owner.uid != 0 || chown::is_permitted() {
            return Ok(None);
        }
        self.helper(made, beside, files, self.image, owner)
            .map(Some)
    }

    /// Returns the plan of the helper container. It has the files and the user of the job's container `beside`, so that
    /// each can change files of the other.
    pub(crate) fn helper(
        &self,
        made: &mut CreatedResources,
        beside: &JobContainer,
        files: &JobFiles,
        image: &ImageInfo,
        owner: Owner,
    ) -> Result<HelperPlan, DockerError> {
        let Preparation {
            engine, settings, ..
        } = self.preparation;
        let name = self.names.helper();
        let pending = made.container(&name);
        let is_here = files.host.is_some();
        let run = files.agent_directory();
        let run = run.filter(|_| matches!(self.transport, StageTransport::Agent(_)));
        let mounts = files.mounts.iter().filter(|_| is_here).cloned();
        let mounts = mounts.chain(run.map(|run| agent_place::run_mount(&run)));
        let plan = ContainerPlan {
            role: ContainerRole::Helper,
            image: image.id.clone(),
            entrypoint: Entrypoint::Instead(Vec::new()),
            command: self.shell(),
            labels: self.labels.for_role(Role::Helper),
            mounts: mounts.collect(),
            standard_input: StandardInput::Once,
            ..common_plan(made)
        };
        let allowed = AllowedOptions {
            user: Some(format!("{}:{}", owner.uid, owner.gid)),
            ..self.allowed.clone()
        };
        let mut body = build_container(settings, &allowed.apply(plan));
        let mut root = None;
        if !is_here {
            let host = body.host_config.get_or_insert_default();
            let from = host.volumes_from.get_or_insert_default();
            from.push(beside.id().to_owned());
            if !settings.read_only {
                root = Some(files.cache_directory(owner)?);
            }
        }
        Ok(HelperPlan {
            engine: engine.clone(),
            name,
            image: image.reference.familiar(),
            platform: self.image_options.platform.clone(),
            body,
            root,
            pending,
        })
    }
}

/// Returns the name in `NAME=value`.
fn name_of(variable: &str) -> &str {
    variable.split('=').next().unwrap_or_default()
}

/// Returns the common part of the plans of a job's containers.
fn common_plan(made: &CreatedResources) -> ContainerPlan {
    let attachment = match (&made.services, &made.network) {
        (Some(services), Some(network)) => services.attachment(network),
        (None, Some(network)) => Attachment::of(network),
        (_, None) => Attachment::default(),
    };
    ContainerPlan {
        binds: made
            .volumes
            .as_ref()
            .map_or_else(Vec::new, |it| it.binds().to_vec()),
        network: attachment.network,
        links: attachment.links,
        extra_hosts: attachment.extra_hosts,
        ..ContainerPlan::default()
    }
}
