//! The executor: one job in an environment of the driver.

use crate::call::{Answer, Limits};
use crate::connection::Connection;
use crate::driver::Driver;
use crate::error::DriverError;
use crate::held::{Held, HeldKind};
use crate::message::{
    Capability, Cleanup, Description, Dirs, Empty, File, Job, Prepare, Prepared, Run, Shell,
};
use crate::run::RunningScript;
use crate::transfer::DriverFiles;
use executor_core::ability::{Abilities, FileTransfer};
use executor_core::{
    AbstractExecutor, AbstractExecutorOptions, BuildDirs, BuildError, BuildStage, Cancellation,
    Executor, ExecutorStage, JobOutcome, Placement, PrepareOptions, PreparedEnvironment,
    ShellDialect, ShellInfo, StageCell, StageCommand, StageIo, StageResult,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Runs the stages of one job through the driver.
///
/// [`DriverProvider`](crate::DriverProvider) creates it.
#[derive(Debug)]
pub(crate) struct DriverExecutor {
    base: AbstractExecutor,
    driver: Arc<Driver>,
    lease: Option<Arc<Held>>,
    started: Option<Started>,
}

/// The state after the start of `prepare`.
#[derive(Debug)]
struct Started {
    environment: Arc<Held>,
    files: Option<Arc<dyn FileTransfer>>,
    shell: ShellDialect,
    runs: u32,
}

impl DriverExecutor {
    /// Removes an environment. A driver that died may have left it behind, so another process removes it.
    async fn remove(&self, environment: &str) -> Result<(), DriverError> {
        let (connection, _) = self.driver.connect().await?;
        let mut call = connection
            .call_for(environment, "cleanup", Cleanup { environment }, &[])
            .await?;
        call.result::<Empty>(self.driver.config.cleanup_timeout)
            .await?;
        Ok(())
    }

    pub(crate) fn new(driver: Arc<Driver>, lease: Option<Arc<Held>>) -> Self {
        let base = AbstractExecutor::new(AbstractExecutorOptions {
            // The driver names its own in `prepare`.
            default_builds_dir: String::new(),
            default_cache_dir: String::new(),
            shared_builds_dir: true,
            shell: ShellInfo::new(ShellDialect::Sh),
            show_hostname: true,
        });
        Self {
            base,
            driver,
            lease,
            started: None,
        }
    }

    async fn ask_to_prepare(
        &mut self,
        dirs: &BuildDirs,
        connection: Arc<Connection>,
        description: &Description,
        cancellation: &Cancellation,
    ) -> Result<Prepared, BuildError> {
        let driver = Arc::clone(&self.driver);
        let name = driver.new_environment();
        let kind = HeldKind::Environment;
        let environment = Held::new(kind, name, driver, Arc::clone(&connection), description);
        let environment = Arc::new(environment);
        let files = description.has(Capability::Files).then(|| {
            let files = DriverFiles(Arc::clone(&environment));
            Arc::new(files) as Arc<dyn FileTransfer>
        });
        // First, so that `cleanup` removes it also after a failure.
        self.started = Some(Started {
            environment: Arc::clone(&environment),
            files,
            shell: ShellDialect::Sh,
            runs: 0,
        });
        let options = self.base.options()?;
        let (trace, variables) = (Arc::clone(&options.trace), Arc::clone(&options.variables));
        self.driver.logs.add(&environment.name, trace, variables);
        let params = Prepare {
            environment: &environment.name,
            lease: self.lease.as_ref().map(|it| it.name.as_str()),
            job: job(options),
            dirs: Dirs {
                builds_dir: &dirs.builds_dir,
                cache_dir: &dirs.cache_dir,
                project_dir: &dirs.project_dir,
                temp_dir: &dirs.temp_dir,
            },
            shell: options.config.shell.map(ShellDialect::as_str),
        };
        let config = &self.driver.config;
        let limits = Limits {
            answer: config.prepare_timeout,
            stop: config.stop_timeout,
        };
        let call = connection
            .call_for(&environment.name, "prepare", params, &[])
            .await?;
        match call.result_or_stop(limits, cancellation).await? {
            Answer::Result(prepared) => Ok(prepared),
            Answer::GivenUp { error, .. } => Err(error.map_or_else(
                || BuildError::stopped("driver", cancellation),
                BuildError::from,
            )),
        }
    }
}

impl Drop for DriverExecutor {
    /// A cleanup that was not awaited leaves the log behind.
    fn drop(&mut self) {
        if let Some(started) = &self.started {
            self.driver.logs.remove(&started.environment.name);
        }
    }
}

/// Returns the job as a driver sees it.
fn job(options: &PrepareOptions) -> Job<'_> {
    let image = options.job.image.name.as_str();
    let variables = options.variables.iter();
    Job {
        id: options.job.id.0,
        name: &options.job.job_info.name,
        image: (!image.is_empty()).then_some(image),
        variables: variables
            .map(|it| (it.key.as_str(), it.value.as_str()))
            .collect(),
    }
}

#[async_trait::async_trait]
impl Executor for DriverExecutor {
    fn shell(&self) -> &ShellInfo {
        self.base.shell()
    }

    async fn prepare(
        &mut self,
        mut options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        cancellation.check()?;
        self.base.set_current_stage(ExecutorStage::PREPARE);
        let connect = async {
            let connected = self.driver.connect().await?;
            if let Some(lease) = &self.lease {
                // A new driver process may give the room of an old one's lease to another job.
                lease.connection().await?;
            }
            Ok::<_, DriverError>(connected)
        };
        let (connection, description) = tokio::select! {
            biased;
            connected = connect => connected?,
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        let config = Arc::make_mut(&mut options.config);
        config
            .builds_dir
            .get_or_insert_with(|| description.builds_dir.clone());
        config
            .cache_dir
            .get_or_insert_with(|| description.cache_dir.clone());
        let dirs = self.base.prepare(options)?.clone();
        let prepared = self
            .ask_to_prepare(&dirs, connection, &description, cancellation)
            .await?;
        let Some(started) = &mut self.started else {
            return Err(not_prepared());
        };
        started.shell = match prepared.shell {
            Shell::Sh => ShellDialect::Sh,
            Shell::Bash => ShellDialect::Bash,
        };
        let hostname = match prepared.hostname.as_str() {
            "" => &description.name,
            hostname => hostname,
        };
        let mut ready = self
            .base
            .remote_environment(hostname, started.files.clone())?;
        ready.shell.dialect = started.shell;
        Ok(ready)
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        self.base.set_current_stage(ExecutorStage::RUN);
        cancellation.check()?;
        if command.stage == BuildStage::StepRun {
            return Err(BuildError::config(
                "the driver executor runs scripts only; functions (`run`) need another executor",
            ));
        }
        command.variables.check_file_names()?;
        let files = &command.variables.files;
        let options = self.base.options()?;
        let Some(started) = &mut self.started else {
            return Err(not_prepared());
        };
        started.runs += 1;
        let environment = &started.environment;
        let connection = environment.connection().await?;
        let run = format!("{}.{}", environment.name, started.runs);
        let variables = &command.variables;
        let params = Run {
            environment: &environment.name,
            run: &run,
            stage: &command.stage.name(),
            placement: match command.placement {
                Placement::Helper => "helper",
                Placement::User => "user",
            },
            shell: started.shell.as_str(),
            working_dir: &command.working_dir,
            // A later variable of the same name wins.
            variables: variables
                .environment
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect::<BTreeMap<_, _>>(),
            script_size: command.script.len(),
            files: files
                .iter()
                .map(|file| File {
                    key: &file.key,
                    size: file.content.len(),
                })
                .collect(),
            temp_dir: &self.base.dirs()?.temp_dir,
        };
        let mut payload = vec![command.script.as_bytes()];
        payload.extend(files.iter().map(|file| file.content.as_slice()));
        let call = connection
            .call_for(&environment.name, "run", params, &payload)
            .await;
        let script = RunningScript {
            environment,
            run: &run,
            config: &options.config,
            call: call.map_err(|error| BuildError::from(error).given_up())?,
        };
        let io = StageIo {
            trace: &*options.trace,
            cancellation,
        };
        script.follow(io).await
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.base.finish(outcome);
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.base.cleanup();
        let Some(started) = &self.started else {
            return Ok(());
        };
        let environment = &started.environment.name;
        let removed = self.remove(environment).await;
        self.driver.logs.remove(environment);
        removed?;
        self.started = None;
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
        let started = self.started.as_ref();
        Abilities {
            steps: None,
            terminal: None,
            file_transfer: started.and_then(|it| it.files.clone()),
            port_proxy: None,
            suspend: None,
            resumable: None,
        }
    }
}

fn not_prepared() -> BuildError {
    BuildError::not_prepared("driver")
}
