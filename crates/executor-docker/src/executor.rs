//! The executor: one job in one container.

use crate::engine::pending_request::unless_stopped;
use crate::garbage::JobLeases;
use crate::job::created_resources::CreatedResources;
use crate::job::prepare::adopt::{Adoption, adopt};
use crate::job::prepare::preparation::Preparation;
use crate::job::prepare::start::start;
use crate::job::prepared::Prepared;
use crate::job::resume;
use crate::job::shared::{Shared, SharedHost};
use crate::job::stage::{Stage, Timing};
use crate::service::BuildPorts;
use crate::warm::{BackgroundRemoval, Pool};
use executor_core::ability::{Abilities, Resumable, ResumeHandle, ResumeObserver, Terminal};
use executor_core::{
    AbstractExecutor, AbstractExecutorOptions, BuildError, CancelCause, Cancellation, Endpoint,
    Executor, ExecutorData, ExecutorStage, JobOutcome, Placement, PrepareOptions,
    PreparedEnvironment, ShellDialect, ShellInfo, StageCell, StageCommand, StageResult,
};
use std::sync::Arc;

/// Runs the stages of one job in a container.
///
/// Created by the provider that [`provider`](crate::provider()) returns. `prepare` pulls the image, creates and starts
/// the container; `cleanup` removes everything that was created.
#[derive(Debug)]
pub struct DockerExecutor {
    base: AbstractExecutor,
    shared: SharedHost,
    pool: Pool,
    /// The job that another process started.
    resumed: Option<ResumeHandle>,
    observer: Option<ResumeObserver>,
    /// The machine from a layer.
    endpoint: Option<Endpoint>,
    made: Option<CreatedResources>,
    /// The removal by the pool, until it is finished.
    removal: Option<BackgroundRemoval>,
    prepared: Option<Prepared>,
    /// Protect the job's images and volumes until the cleanup.
    leases: Option<JobLeases>,
}

impl DockerExecutor {
    pub(crate) fn new(shared: SharedHost, pool: Pool, data: &ExecutorData) -> Self {
        let base = AbstractExecutor::new(AbstractExecutorOptions {
            default_builds_dir: "/builds".to_owned(),
            default_cache_dir: "/cache".to_owned(),
            shared_builds_dir: false,
            shell: ShellInfo::new(ShellDialect::Bash),
            show_hostname: true,
        });
        Self {
            base,
            shared,
            pool,
            resumed: data.get::<ResumeHandle>().cloned(),
            observer: data.get::<ResumeObserver>().cloned(),
            endpoint: data.get::<Endpoint>().cloned(),
            made: None,
            removal: None,
            prepared: None,
            leases: None,
        }
    }
}

#[async_trait::async_trait]
impl Executor for DockerExecutor {
    fn shell(&self) -> &ShellInfo {
        self.base.shell()
    }

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        cancellation.check()?;
        let dirs = self.base.prepare(options)?.clone();
        let options = self.base.options()?.clone();
        let settings = match &self.endpoint {
            None => self.shared.settings(&options.config).clone(),
            Some(endpoint) => self.shared.settings_on(&options.config, endpoint)?,
        };
        let _preparing = self.pool.preparing();
        let resumed = self.resumed.as_ref().map(resume::read).transpose()?;
        let (owner, attempt) = match &resumed {
            Some((container_ref, _)) => (container_ref.owner.clone(), container_ref.attempt),
            None => (self.shared.owner().to_owned(), Shared::next_attempt()),
        };
        let (engine, images) = self.shared.engine(&settings, cancellation).await?;
        let supervisor = self.shared.options.supervisor.clone();
        self.leases = self.shared.leases(&engine, &options.job.job_info.name);
        let made = self
            .made
            .insert(CreatedResources::new(engine.clone(), supervisor.clone()));
        let preparation = Preparation {
            shared: Arc::clone(&self.shared),
            engine,
            images,
            leases: self.leases.clone(),
            supervisor,
            settings,
            owner,
            attempt,
            dirs,
            shell: self.base.shell().clone(),
            options,
            observer: self.observer.clone(),
        };
        let prepared = match resumed {
            None => start(&preparation, &self.pool, made, cancellation).await?,
            Some((container_ref, runs)) => {
                let adoption = Adoption {
                    container_ref,
                    runs,
                };
                let adopted = adopt(&preparation, adoption, made, cancellation).await;
                adopted.map_err(|error| BuildError::from(error).given_up())?
            }
        };
        let hostname = prepared.container.hostname();
        let mut environment = self.base.remote_environment(&hostname, None)?;
        environment.workspace = prepared.files.workspace(prepared.transfer.clone());
        environment.shell = prepared.shell.clone();
        self.prepared = Some(prepared);
        Ok(environment)
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        self.base.set_current_stage(ExecutorStage::RUN);
        cancellation.check()?;
        let options = self.base.options()?;
        let trace = Arc::clone(&options.trace);
        let timing = Timing::of(&options.config);
        let prepared = self.prepared.as_mut().ok_or_else(not_prepared)?;
        if let Some(lost) = prepared.container.lost() {
            return Err(BuildError::from(lost).given_up());
        }
        prepared.terminal.set_variables(&command.variables);
        if command.placement == Placement::User {
            prepared.await_services(cancellation).await?;
            prepared.chown_files().await?;
        }
        if !prepared.engine.writes_files() {
            let written = unless_stopped(cancellation, prepared.write_files(&command)).await;
            written.map_err(|error| BuildError::from(error).given_up())?;
        }
        let services = prepared.services.clone();
        let execs = prepared.container.execs();
        let stop = cancellation.child();
        let stage = Stage {
            command: &command,
            temp_dir: &prepared.files.inside.temp_dir,
            container: &execs,
            trace: &*trace,
            cancellation: &stop,
        };
        let ran = {
            let running = prepared.engine.run(stage, timing);
            tokio::pin!(running);
            tokio::select! {
                ran = &mut running => ran,
                lost = services.lost() => {
                    stop.cancel(CancelCause::EnvironmentLost);
                    // The lost service is the reason, however the stage ends now.
                    let _ = running.await;
                    Err(lost.into())
                }
            }
        };
        if command.placement == Placement::User {
            prepared.chown_files_of_root().await;
        }
        ran
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.base.finish(outcome);
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.base.cleanup();
        if let Some(mut prepared) = self.prepared.take() {
            prepared.chown_private_directory().await;
        }
        // A machine may be gone as soon as this returns.
        let may_wait = self.endpoint.is_none();
        if let Some(made) = self.made.take_if(|made| made.is_of_pool && may_wait) {
            match self.pool.remove(made, self.leases.clone()) {
                Ok(removal) => self.removal = Some(removal),
                Err(made) => self.made = Some(*made),
            }
        }
        if let Some(removal) = &mut self.removal {
            let ended = removal.until_dead().await;
            self.removal = None;
            if let Err(mut left) = ended {
                self.made = left.made.take();
                if let Some(made) = &mut self.made {
                    made.is_of_pool = false;
                }
                return Err(left.error.into());
            }
        }
        if let Some(made) = &mut self.made {
            made.remove().await?;
        }
        self.leases = None;
        Ok(())
    }

    fn current_stage(&self) -> ExecutorStage {
        self.base.current_stage()
    }

    fn set_current_stage(&self, stage: ExecutorStage) {
        self.base.set_current_stage(stage);
    }

    fn stage_cell(&self) -> StageCell {
        self.base.stage_cell()
    }

    fn abilities(&self) -> Abilities {
        let Some(prepared) = &self.prepared else {
            return Abilities::none();
        };
        let port_proxy = self.base.options().ok().map(|options| {
            let ports = options.job.image.ports.iter().map(|port| port.number);
            prepared.services.port_proxy(Some(BuildPorts {
                container: prepared.container.id().to_owned(),
                ports: ports.collect(),
            }))
        });
        let record = prepared.record.clone();
        Abilities {
            // A server reads `native_steps_integration` as support for the whole language of steps.
            steps: None,
            terminal: Some(Arc::clone(&prepared.terminal) as Arc<dyn Terminal>),
            file_transfer: prepared.transfer.clone(),
            port_proxy,
            suspend: None,
            resumable: record.map(|record| Arc::new(record) as Arc<dyn Resumable>),
        }
    }
}

fn not_prepared() -> BuildError {
    BuildError::not_prepared("docker")
}
