use super::{PlannedVolume, VolumePlan};
use crate::config::DockerConfig;
use crate::doubt::{Doubt, Removal, unless_stopped};
use crate::engine::Engine;
use crate::error::DockerError;
use crate::labels::{Labels, Role};
use bollard::models::VolumeCreateRequest;
use bollard::query_parameters::{RemoveVolumeOptions, UploadToContainerOptionsBuilder};
use executor_core::{CancelCause, Cancellation};
use fail_point::fail_point;
use std::io;

/// The volumes of a job, which are there.
#[derive(Debug)]
pub struct JobVolumes {
    engine: Engine,
    binds: Vec<String>,
    /// Those that end with the job.
    passing: Vec<String>,
    /// Destinations of volumes that nothing has been in yet.
    fresh: Vec<String>,
    /// Whether the last one may come into being later.
    doubt: Doubt,
}

impl JobVolumes {
    /// Makes what is planned and not there yet.
    ///
    /// # Errors
    ///
    /// When the engine refuses; then what ends with the job has been removed again.
    ///
    /// # Cancellation
    ///
    /// Stops at once, with nothing left.
    pub async fn create(
        engine: &Engine,
        config: &DockerConfig,
        plan: VolumePlan,
        labels: &Labels,
        cancellation: &Cancellation,
    ) -> Result<Self, DockerError> {
        let mut volumes = Self {
            engine: engine.clone(),
            binds: plan.binds,
            passing: Vec::new(),
            fresh: Vec::new(),
            doubt: Doubt::default(),
        };
        for planned in plan.made {
            let made = match cancellation.cause() {
                Some(cause) => Err(DockerError::Canceled(cause)),
                None if cancellation.is_canceled() => Err(DockerError::Canceled(CancelCause::User)),
                None => volumes.make(config, planned, labels, cancellation).await,
            };
            if let Err(error) = made {
                // The first error is what somebody wants to know.
                let _ = volumes.remove().await;
                return Err(error);
            }
        }
        Ok(volumes)
    }

    /// Returns those that another process has made after the same plan.
    pub fn made(engine: &Engine, plan: VolumePlan) -> Self {
        let passing = plan.made.into_iter().filter(|planned| !planned.kept);
        Self {
            engine: engine.clone(),
            binds: plan.binds,
            passing: passing.map(|planned| planned.name).collect(),
            fresh: Vec::new(),
            doubt: Doubt::default(),
        }
    }

    /// Returns what containers mount, in the engine's words.
    pub fn binds(&self) -> &[String] {
        &self.binds
    }

    async fn make(
        &mut self,
        config: &DockerConfig,
        planned: PlannedVolume,
        labels: &Labels,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        if !planned.kept {
            // Before it is made, so that it is removed even when the answer is late.
            self.passing.push(planned.name.clone());
        }
        let found = self.engine.api().inspect_volume(&planned.name);
        let doing = format!("look for volume {}", planned.name);
        match unless_stopped(cancellation, self.engine.call(doing, found)).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        let labels = if planned.kept {
            labels.for_kept(Role::Volume)
        } else {
            labels.for_role(Role::Volume)
        };
        let request = VolumeCreateRequest {
            name: Some(planned.name.clone()),
            driver: config.volume_driver.clone().filter(|it| !it.is_empty()),
            driver_opts: Some(config.volume_driver_ops.clone().into_iter().collect()),
            labels: Some(labels),
            ..VolumeCreateRequest::default()
        };
        let doing = format!("create volume {}", planned.name);
        let created = self.engine.api().create_volume(request);
        let creating = async {
            fail_point!(
                "executor_docker::volume::create",
                self.engine.call(doing, created).await
            )
        };
        let creating = unless_stopped(cancellation, creating);
        if planned.kept {
            creating.await?;
        } else {
            self.doubt.until_answered(creating).await?;
        }
        self.fresh.push(planned.destination);
        Ok(())
    }

    /// Lets every user of a container write into the volumes that were made for it, as an engine makes
    /// them for root alone. They belong to `user` where that has a number, `1000:1000`. The container
    /// need not run, nor have a shell.
    ///
    /// # Errors
    ///
    /// When the engine refuses.
    pub async fn open(&self, container: &str, user: Option<&str>) -> Result<(), DockerError> {
        if self.fresh.is_empty() {
            return Ok(());
        }
        let doing = || format!("open the volumes of container {container}");
        let archive =
            directories(&self.fresh, owner(user)).map_err(|source| DockerError::Broken {
                doing: doing(),
                source: source.into(),
            })?;
        let options = UploadToContainerOptionsBuilder::default().path("/").build();
        let body = bollard::body_full(archive.into());
        let api = self.engine.api();
        let uploaded = api.upload_to_container(container, Some(options), body);
        self.engine.call(doing(), uploaded).await
    }

    /// Removes the volumes that end with the job, when no container has them any more.
    ///
    /// # Errors
    ///
    /// The first, after all have been tried.
    pub async fn remove(&mut self) -> Result<(), DockerError> {
        let mut first = Ok(());
        let mut left = Vec::new();
        let passing = std::mem::take(&mut self.passing);
        let last = passing.len().saturating_sub(1);
        for (index, name) in passing.into_iter().enumerate() {
            let doubt = if index == last {
                self.doubt.clone()
            } else {
                Doubt::default()
            };
            let force = !doubt.is_left();
            let removed = doubt.settle(|| remove(&self.engine, &name, force));
            if let Err(error) = removed.await {
                first = first.and(Err(error));
                left.push(name);
            }
        }
        // So that another try removes what this one could not.
        self.passing = left;
        first
    }
}

/// Removes a volume. By force also one whose driver is gone; then nobody says whether there was one.
async fn remove(engine: &Engine, name: &str, force: bool) -> Result<Removal, DockerError> {
    let options = RemoveVolumeOptions { force };
    let removed = engine.api().remove_volume(name, Some(options));
    match engine.call(format!("remove volume {name}"), removed).await {
        Ok(()) => Ok(Removal::Done),
        Err(error) if error.is_not_found() => Ok(Removal::Nothing),
        Err(error) => Err(error),
    }
}

/// Returns the numbers of a user; who has a name is taken for root, who shares with everybody.
fn owner(user: Option<&str>) -> (u64, u64) {
    let user = user.unwrap_or_default();
    let (user, group) = user.split_once(':').unwrap_or((user, user));
    let number = |it: &str| it.parse::<u32>().ok().map(u64::from);
    number(user).zip(number(group)).unwrap_or((0, 0))
}

/// Packs directories that everybody may write to.
fn directories(paths: &[String], (user, group): (u64, u64)) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for path in paths {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_mode(0o777);
        header.set_uid(user);
        header.set_gid(group);
        header.set_size(0);
        let relative = format!("{}/", path.trim_start_matches('/'));
        archive.append_data(&mut header, relative, io::empty())?;
    }
    archive.into_inner()
}
