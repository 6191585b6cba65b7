use super::{PlannedVolume, VolumePlan};
use crate::config::DockerConfig;
use crate::engine::Engine;
use crate::engine::labels::{Labels, Role};
use crate::engine::pending_request::{PendingRequest, RemovalOutcome, unless_stopped};
use crate::error::DockerError;
use crate::garbage::JobLeases;
use bollard::models::VolumeCreateRequest;
use bollard::query_parameters::{RemoveVolumeOptions, UploadToContainerOptionsBuilder};
use executor_core::Cancellation;
use fail_point::fail_point;
use futures_util::future::join_all;
use std::io;

/// The volumes of a job.
#[derive(Debug)]
pub struct JobVolumes {
    engine: Engine,
    binds: Vec<String>,
    volumes: Vec<JobVolume>,
    leases: Option<JobLeases>,
}

/// A volume to create unless it exists.
#[derive(Debug)]
struct JobVolume {
    planned: PlannedVolume,
    /// Whether this job may have created it.
    is_begun: bool,
    /// Whether it is new and empty.
    is_fresh: bool,
    /// The state of the create request.
    pending: PendingRequest,
}

impl JobVolumes {
    /// Returns planned volumes; creates none.
    pub fn planned(engine: &Engine, plan: VolumePlan) -> Self {
        let volumes = plan.made.into_iter().map(|planned| JobVolume {
            planned,
            is_begun: false,
            is_fresh: false,
            pending: PendingRequest::default(),
        });
        Self {
            engine: engine.clone(),
            binds: plan.binds,
            volumes: volumes.collect(),
            leases: None,
        }
    }

    /// Returns the same with leases that protect the volumes from removal.
    #[must_use]
    pub fn with_leases(mut self, leases: Option<JobLeases>) -> Self {
        self.leases = leases;
        self
    }

    /// Returns volumes that another process created after the same plan.
    pub fn made(engine: &Engine, plan: VolumePlan) -> Self {
        let mut made = Self::planned(engine, plan);
        for volume in &mut made.volumes {
            volume.is_begun = true;
        }
        made
    }

    /// Creates the missing volumes, in parallel.
    ///
    /// # Errors
    ///
    /// When the engine refuses one; the others are waited for, and [`remove`](Self::remove) removes them.
    ///
    /// # Cancellation
    ///
    /// Stops at once; [`remove`](Self::remove) also finds volumes from dropped requests.
    pub async fn make(
        &mut self,
        config: &DockerConfig,
        labels: &Labels,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        let engine = &self.engine;
        if let Some(leases) = &self.leases {
            let kept = self.volumes.iter().filter(|volume| volume.planned.kept);
            for volume in kept {
                leases.volume(&volume.planned.name).await;
            }
        }
        let volumes = self.volumes.iter_mut();
        let makings = volumes.map(|volume| volume.make(engine, config, labels, cancellation));
        join_all(makings).await.into_iter().collect()
    }

    /// Returns the binds of containers, in the engine's format.
    pub fn binds(&self) -> &[String] {
        &self.binds
    }

    /// Makes the new volumes of a container writable for every user: an engine creates them for root. They belong to
    /// `user` when that is numeric, as in `1000:1000`. The container need not run or have a shell.
    ///
    /// # Errors
    ///
    /// When the engine refuses.
    pub async fn open(&self, container: &str, user: Option<&str>) -> Result<(), DockerError> {
        let fresh = self.volumes.iter().filter(|volume| volume.is_fresh);
        let fresh: Vec<&str> = fresh
            .map(|volume| volume.planned.destination.as_str())
            .collect();
        if fresh.is_empty() {
            return Ok(());
        }
        let doing = || format!("make the volumes of container {container} writable");
        let archive =
            directories(&fresh, Owner::of(user)).map_err(|source| DockerError::Broken {
                doing: doing(),
                source: source.into(),
            })?;
        let options = UploadToContainerOptionsBuilder::default().path("/").build();
        let body = bollard::body_full(archive.into());
        let api = self.engine.api();
        let uploaded = api.upload_to_container(container, Some(options), body);
        self.engine.call(doing(), uploaded).await
    }

    /// Removes the volumes that end with the job, in parallel. No container may use them. May be called more than once,
    /// also when some were not created.
    ///
    /// # Errors
    ///
    /// The first, after all have been tried.
    pub async fn remove(&mut self) -> Result<(), DockerError> {
        let engine = &self.engine;
        let removals = self.volumes.iter_mut().map(|volume| volume.remove(engine));
        join_all(removals).await.into_iter().collect()
    }
}

impl JobVolume {
    async fn make(
        &mut self,
        engine: &Engine,
        config: &DockerConfig,
        labels: &Labels,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        let PlannedVolume { name, kept, .. } = &self.planned;
        // Before the creation, so that it is removed even when the answer is late.
        self.is_begun = true;
        let found = engine.api().inspect_volume(name);
        let found = engine.call(format!("find volume {name}"), found);
        match unless_stopped(cancellation, found).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        let labels = if *kept {
            labels.for_kept(Role::Volume)
        } else {
            labels.for_role(Role::Volume)
        };
        let request = VolumeCreateRequest {
            name: Some(name.clone()),
            driver: config.volume_driver.clone().filter(|it| !it.is_empty()),
            driver_opts: Some(config.volume_driver_ops.clone().into_iter().collect()),
            labels: Some(labels),
            ..VolumeCreateRequest::default()
        };
        let doing = format!("create volume {name}");
        let created = engine.api().create_volume(request);
        let creating = async {
            fail_point!(
                "executor_docker::volume::create",
                engine.call(doing, created).await
            )
        };
        let creating = unless_stopped(cancellation, creating);
        self.pending.track(creating).await?;
        self.is_fresh = true;
        Ok(())
    }

    async fn remove(&mut self, engine: &Engine) -> Result<(), DockerError> {
        if self.planned.kept || !self.is_begun {
            return Ok(());
        }
        let (name, force) = (&self.planned.name, !self.pending.is_unknown());
        let removed = self.pending.settle(|| remove(engine, name, force));
        removed.await?;
        // After a failure, the next call tries again.
        self.is_begun = false;
        Ok(())
    }
}

/// Removes a volume; with `force` also one whose driver is gone, but then the outcome does not tell whether it existed.
async fn remove(engine: &Engine, name: &str, force: bool) -> Result<RemovalOutcome, DockerError> {
    let options = RemoveVolumeOptions { force };
    let removed = engine.api().remove_volume(name, Some(options));
    match engine.call(format!("remove volume {name}"), removed).await {
        Ok(()) => Ok(RemovalOutcome::Removed),
        Err(error) if error.is_not_found() => Ok(RemovalOutcome::Absent),
        Err(error) => Err(error),
    }
}

/// The numeric owner of a directory in a container.
#[derive(Debug, Clone, Copy, Default)]
struct Owner {
    user: u64,
    group: u64,
}

impl Owner {
    /// Returns the numbers of a user; a user given by name becomes root.
    fn of(user: Option<&str>) -> Self {
        let user = user.unwrap_or_default();
        let (user, group) = user.split_once(':').unwrap_or((user, user));
        let number = |it: &str| it.parse::<u32>().ok().map(u64::from);
        match (number(user), number(group)) {
            (Some(user), Some(group)) => Self { user, group },
            _ => Self::default(),
        }
    }
}

/// Packs directories that every user may write to.
fn directories(paths: &[&str], owner: Owner) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for path in paths {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_mode(0o777);
        header.set_uid(owner.user);
        header.set_gid(owner.group);
        header.set_size(0);
        let relative = format!("{}/", path.trim_start_matches('/'));
        archive.append_data(&mut header, relative, io::empty())?;
    }
    archive.into_inner()
}
