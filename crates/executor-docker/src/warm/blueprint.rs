//! The plan of a warm container.

use super::inventory::Limits;
use super::kind::{ContainerKind, warm_labels};
use super::relay::TraceRelay;
use super::spare::{HeldPaths, Spare};
use crate::config::ImageOptions;
use crate::engine::names::Names;
use crate::error::DockerError;
use crate::image::ImageInfo;
use crate::job::create::AllowedOptions;
use crate::job::created_resources::CreatedResources;
use crate::job::prepare::creation::{Creation, Occupant};
use crate::job::prepare::preparation::{PATIENCE, Preparation};
use crate::job::prepare::started_container::StartedContainer;
use crate::job::shared::Shared;
use crate::job::stage::transport::StageTransport;
use crate::network::JobNetwork;
use crate::volume::{JobVolumes, VolumePlan};
use bollard::models::{Mount, MountType};
use executor_core::job::{Job, JobInfo};
use executor_core::{Cancellation, JobVariables, PrepareOptions};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The plan of a job's container without its variables, credentials and log.
#[derive(Debug)]
pub(crate) struct Blueprint {
    pub(super) key: ContainerKind,
    pub(super) limits: Limits,
    preparation: Preparation,
    image: ImageInfo,
    transport: StageTransport,
    image_options: ImageOptions,
    allowed: AllowedOptions,
    network: Option<Arc<JobNetwork>>,
    binds: Vec<String>,
}

impl Blueprint {
    /// Derives the plan from a job with a started container.
    pub(crate) fn of(creation: &Creation<'_>, key: ContainerKind, made: &CreatedResources) -> Self {
        let settings = &creation.preparation.settings;
        let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            key,
            limits: Limits {
                each: size(settings.warm),
                all: size(settings.warm_limit),
                idle: settings.warm_idle(),
            },
            preparation: without_job(creation.preparation),
            image: creation.image.clone(),
            transport: creation.transport.clone(),
            image_options: creation.image_options.clone(),
            allowed: creation.allowed.clone(),
            network: made.network.clone(),
            binds: binds_of(made),
        }
    }

    /// Creates and starts the container and waits until it is ready. Removes it after a failure.
    pub(super) async fn make(mut self, cancellation: &Cancellation) -> Result<Spare, DockerError> {
        let Preparation {
            engine, supervisor, ..
        } = &self.preparation;
        let mut made = CreatedResources::new(engine.clone(), supervisor.clone());
        let log = Arc::new(TraceRelay::default());
        self.preparation.options.trace = Arc::clone(&log) as _;
        // Unique for this owner, because a failed container is removed by its name.
        let names = Names::warm(&self.preparation.owner, Shared::next_attempt());
        let beginning = self.begin(&names, &mut made, cancellation);
        let begun = tokio::time::timeout(self.patience(), beginning).await;
        let begun = begun.unwrap_or_else(|_| {
            Err(DockerError::Deadline {
                doing: format!("make container {}", names.build()),
                after: self.patience(),
            })
        });
        match begun {
            Ok(started) => {
                made.set_container_id(&names.build(), started.container.id());
                let mounts = started.files.mounts.iter();
                Ok(Spare {
                    held_paths: HeldPaths::of(self.sources(mounts)),
                    container: started.container,
                    details: started.details,
                    client: started.client,
                    private: names.base().to_owned(),
                    log,
                    made,
                })
            }
            Err(error) => {
                // The next start finds it by its owner.
                if let Err(left) = made.remove().await {
                    tracing::warn!(error = %left, "A warm container is left behind.");
                }
                Err(error)
            }
        }
    }

    async fn begin(
        &self,
        names: &Names,
        made: &mut CreatedResources,
        cancellation: &Cancellation,
    ) -> Result<StartedContainer, DockerError> {
        made.network.clone_from(&self.network);
        let plan = VolumePlan {
            binds: self.binds.clone(),
            made: Vec::new(),
        };
        made.volumes = Some(JobVolumes::planned(&self.preparation.engine, plan));
        let mark = self.transport.new_mark();
        let labels = warm_labels(&self.preparation);
        let creation = Creation {
            preparation: &self.preparation,
            image: &self.image,
            transport: &self.transport,
            labels: &labels,
            names,
            image_options: &self.image_options,
            allowed: &self.allowed,
            mark: &mark,
            occupant: Occupant::Later,
        };
        let started = creation.ready(made, cancellation).await?;
        if started.files.host.is_none() {
            return Err(DockerError::config(
                "the engine does not see this host's files",
            ));
        }
        Ok(started)
    }

    fn patience(&self) -> Duration {
        let limit = self.preparation.options.config.prepare_timeout;
        limit.unwrap_or(PATIENCE)
    }

    /// Returns the paths of this host that the container mounts.
    fn sources<'m>(&self, mounts: impl Iterator<Item = &'m Mount>) -> Vec<PathBuf> {
        let files = mounts.filter(|mount| mount.typ == Some(MountType::BIND));
        let files = files.filter_map(|mount| mount.source.as_deref());
        let binds = self.binds.iter().filter(|bind| bind.starts_with('/'));
        let binds = binds.filter_map(|bind| bind.split(':').next());
        let agent = match &self.transport {
            StageTransport::Agent(agent) => agent.path(),
            StageTransport::Exec | StageTransport::Attach => None,
        };
        let agent = agent.map(PathBuf::from);
        let paths = files.chain(binds).map(PathBuf::from);
        paths.chain(agent).collect()
    }
}

fn binds_of(made: &CreatedResources) -> Vec<String> {
    let volumes = made.volumes.as_ref();
    volumes.map_or_else(Vec::new, |volumes| volumes.binds().to_vec())
}

/// Returns the preparation without the data of its job.
fn without_job(preparation: &Preparation) -> Preparation {
    let options = &preparation.options;
    let info = &options.job.job_info;
    let job = Job {
        image: options.job.image.clone(),
        job_info: JobInfo {
            project_id: info.project_id,
            ..JobInfo::default()
        },
        ..Job::default()
    };
    Preparation {
        options: PrepareOptions {
            config: Arc::clone(&options.config),
            job: Arc::new(job),
            variables: Arc::new(JobVariables::default()),
            trace: Arc::new(TraceRelay::default()),
            slot: options.slot,
            project_dir: options.project_dir.clone(),
            planned: None,
        },
        shared: Arc::clone(&preparation.shared),
        engine: preparation.engine.clone(),
        images: preparation.images.clone(),
        supervisor: preparation.supervisor.clone(),
        // Until the container exists: then the engine protects its image and volumes.
        leases: preparation.leases.clone(),
        settings: preparation.settings.clone(),
        owner: preparation.owner.clone(),
        attempt: 0,
        dirs: preparation.dirs.clone(),
        shell: preparation.shell.clone(),
        observer: None,
    }
}
