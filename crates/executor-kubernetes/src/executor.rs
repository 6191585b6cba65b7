//! The executor: one job in one pod.

use crate::agent::start_script;
use crate::cluster::Cluster;
use crate::config::{KubernetesConfig, NAME};
use crate::created::Created;
use crate::error::KubernetesError;
use crate::exec::PodExec;
use crate::link::{Link, program};
use crate::login::login;
use crate::memory::oom_kills;
use crate::place::{self, PodPlace};
use crate::pod::overwrite::namespace_of;
use crate::pod::{Objects, Request, objects, offers};
use crate::ports::PodPorts;
use crate::provider::Clusters;
use crate::terminal::PodTerminal;
use crate::warm::WarmPod;
use executor_core::ability::{
    Abilities, ByteStream, FileTransfer, PortProxy, ResumeHandle, ResumeObserver, Terminal,
};
use executor_core::{
    AbstractExecutor, AbstractExecutorOptions, BuildError, BuildStage, CancelCause, Cancellation,
    Executor, ExecutorData, ExecutorStage, ExitCode, HumanDuration, JobOutcome, JobTrace,
    JobTraceExt, PrepareOptions, PreparedEnvironment, Retryability, ShellDialect, ShellInfo,
    StageCell, StageCommand, StageResult, Workspace,
};
use process::TraceOutput;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use steps::agent::Agent;
use steps::{
    RecordedRun, RecordedRuns, RunId, RunRecord, RunSpec, RunTiming, StepsClient, StepsError,
};
use tokio::time::{Instant, sleep, timeout};

/// The directory for builds, and that for caches, unless the runner's settings name others.
pub(crate) const BUILDS: &str = "/builds";
pub(crate) const CACHE: &str = "/cache";

/// How long the last output of a pod that has ended may take.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// The pause before a pod is created again that a quota has refused.
const QUOTA_PAUSE: Duration = Duration::from_secs(2);

/// How long the end of a pod may take to be visible after that of its agent.
const PARTING: Duration = Duration::from_secs(15);

/// The exit code of a script that was killed.
const KILLED: ExitCode = ExitCode(137);

/// Runs the stages of one job in a pod.
///
/// Created by the provider that [`provider`](crate::provider()) returns. `prepare` creates the pod and starts the agent there;
/// `cleanup` deletes the pod and waits until it is gone.
#[derive(Debug)]
pub struct KubernetesExecutor {
    pub(crate) base: AbstractExecutor,
    pub(crate) clusters: Arc<Clusters>,
    /// The job of another process to resume.
    resumed: Option<ResumeHandle>,
    observer: Option<ResumeObserver>,
    pub(crate) created: Option<Created>,
    prepared: Option<Prepared>,
}

#[derive(Debug)]
struct Prepared {
    client: StepsClient,
    /// Where the job is, and how far its requests have come.
    record: RunRecord,
    /// The number of requests for each stage.
    counts: HashMap<BuildStage, u32>,
    /// The last request. The agent keeps its result until the next one, as another process may need it.
    ended: Option<RunId>,
    /// Whether the agent could not be reached again.
    is_lost: bool,
    /// The kills for lack of memory that are reported.
    oom_kills: u64,
    exec: PodExec,
    shell: String,
    temp_dir: String,
    transfer: Arc<dyn FileTransfer>,
    terminal: Arc<PodTerminal>,
    ports: Arc<dyn PortProxy>,
}

impl KubernetesExecutor {
    pub(crate) fn new(clusters: Arc<Clusters>, data: &ExecutorData) -> Self {
        let base = AbstractExecutor::new(AbstractExecutorOptions {
            default_builds_dir: BUILDS.to_owned(),
            default_cache_dir: CACHE.to_owned(),
            shared_builds_dir: false,
            shell: ShellInfo::new(ShellDialect::Bash),
            show_hostname: true,
        });
        Self {
            base,
            clusters,
            resumed: data.get::<ResumeHandle>().cloned(),
            observer: data.get::<ResumeObserver>().cloned(),
            created: None,
            prepared: None,
        }
    }

    fn config(&self) -> &KubernetesConfig {
        &self.clusters.config
    }

    /// Returns the cluster, with the namespace of the job.
    pub(crate) async fn cluster(&self) -> Result<Arc<Cluster>, KubernetesError> {
        let options = self.base.options().map_err(|error| internal(&error))?;
        let namespace = namespace_of(self.config(), options.job.id, &options.variables)?;
        self.clusters.get(namespace).await
    }

    /// Finds a warm pod for the job, or creates one, and connects with its agent.
    async fn fresh(&mut self, cancellation: &Cancellation) -> Result<(PodPlace, Link), BuildError> {
        let cluster = self.cluster().await?;
        if !self.config().warm.is_empty() {
            let name = self.name()?;
            let objects = self.objects(&cluster, &name, None, &BTreeMap::new())?;
            let taken = self.clusters.warm.take(&cluster, &objects).await;
            if let Some(WarmPod { created, link, .. }) = taken {
                let (trace, dirs) = (self.base.trace()?, self.base.dirs()?);
                for warning in &objects.warnings {
                    trace.warning_line(warning);
                }
                trace.system_line(&format!(
                    "Using warm pod {} in namespace {}",
                    created.name, cluster.namespace
                ));
                link.agent.set_trace(Arc::clone(trace));
                let place = self.place(&created.name, &cluster)?;
                self.created = Some(created);
                // An archive without a file: it creates the directory.
                let empty: ByteStream = Box::new(&[0_u8; 1024][..]);
                let parent = parent(&dirs.project_dir);
                link.client.files().put(parent, empty, cancellation).await?;
                return Ok((place, link));
            }
        }
        let program = program().await?;
        let place = self.create(&cluster, cancellation).await?;
        let link = self.link(Some(program), cancellation).await?;
        Ok((place, link))
    }

    /// Connects with the agent of the pod.
    async fn link(
        &self,
        program: Option<Agent>,
        cancellation: &Cancellation,
    ) -> Result<Link, BuildError> {
        let Some(created) = &self.created else {
            return Err(BuildError::not_prepared(NAME));
        };
        let dirs = self.base.dirs()?;
        let directories = [
            &*dirs.builds_dir,
            &dirs.cache_dir,
            parent(&dirs.project_dir),
        ];
        let trace = Some(Arc::clone(self.base.trace()?));
        let grace = self.config().orphan_grace();
        Link::open(created, &directories, trace, program, grace, cancellation).await
    }

    /// Returns a new name for a pod of the job.
    fn name(&self) -> Result<String, BuildError> {
        let job = self.base.options()?.job.id;
        Ok(format!("runwright-{job}-{:08x}", fastrand::u32(..)))
    }

    fn place(&self, pod: &str, cluster: &Cluster) -> Result<PodPlace, BuildError> {
        Ok(PodPlace {
            pod: pod.to_owned(),
            cluster: cluster.place.clone(),
            owner: cluster.owner.clone(),
            job: self.base.options()?.job.id,
        })
    }

    fn objects(
        &self,
        cluster: &Cluster,
        name: &str,
        login: Option<&str>,
        pulls: &BTreeMap<String, usize>,
    ) -> Result<Objects, BuildError> {
        let (options, dirs) = (self.base.options()?, self.base.dirs()?);
        let objects = objects(&Request {
            name,
            owner: &cluster.owner,
            job: &options.job,
            variables: &options.variables,
            config: self.config(),
            builds_dir: &dirs.builds_dir,
            cache_dir: &dirs.cache_dir,
            start: &start_script(self.config().orphan_grace()),
            login,
            pulls,
        })?;
        Ok(objects)
    }

    /// Creates the pod, and waits until the container of the job runs. An image that cannot be pulled is tried with each of its pull
    /// policies; a pod that a quota refuses is created when others have ended.
    async fn create(
        &mut self,
        cluster: &Arc<Cluster>,
        cancellation: &Cancellation,
    ) -> Result<PodPlace, BuildError> {
        let options = self.base.options()?;
        let trace = Arc::clone(&options.trace);
        let (login, warning) = login(&options.job, &options.variables);
        let mut pulls = BTreeMap::new();
        let began = Instant::now();
        let mut is_waiting = false;
        let mut name = self.name()?;
        loop {
            let objects = self.objects(cluster, &name, login.as_deref(), &pulls)?;
            if pulls.is_empty() && !is_waiting {
                for warning in warning.iter().chain(&objects.warnings) {
                    trace.warning_line(warning);
                }
            }
            if !is_waiting {
                let line = format!("Using pod {name} in namespace {}", cluster.namespace);
                trace.system_line(&line);
            }
            let place = self.place(&name, cluster)?;
            let clusters = Arc::clone(&self.clusters);
            // Before it can exist.
            let created = match &mut self.created {
                Some(created) if created.name == name => created,
                created => created.insert(Created::new(cluster, &name)),
            };
            created.owns_namespace = clusters.config.namespace_per_job;
            let started = created.start(&objects, &clusters.config, cancellation);
            let Err(error) = started.await else {
                return Ok(place);
            };
            if error.is_quota() {
                clusters.note_quota(&error);
                if began.elapsed() >= clusters.config.patience() {
                    return Err(BuildError::from(error).given_up());
                }
                if !std::mem::replace(&mut is_waiting, true) {
                    trace.warning_line(&format!("{error}; waiting for other pods to end"));
                }
                // Not all jobs at once.
                let pause = QUOTA_PAUSE.mul_f64(0.5 + fastrand::f64());
                tokio::select! {
                    () = sleep(pause) => continue,
                    cause = cancellation.canceled() => return Err(BuildError::Canceled(cause)),
                }
            }
            let Some(container) = created.unpulled() else {
                return Err(error.into());
            };
            let next = pulls.get(&container).copied().unwrap_or_default() + 1;
            let policies = objects.policies.get(&container);
            if policies.is_none_or(|count| next >= *count) {
                return Err(error.into());
            }
            let line = format!("{error}; the next pull policy of the image is tried");
            trace.warning_line(&line);
            pulls.insert(container, next);
            created.remove_pod().await?;
            (name, is_waiting) = (self.name()?, false);
        }
    }
}

impl Prepared {
    /// Returns the id of the next request of a stage, the same in each process that runs the same stages.
    fn next_id(&mut self, pod: &str, stage: &BuildStage) -> String {
        let count = self.counts.entry(stage.clone()).or_default();
        *count += 1;
        format!("{pod}-{stage}-{count}")
    }
}

fn parent(directory: &str) -> &str {
    let parent = directory.rsplit_once('/').map(|(parent, _)| parent);
    parent.filter(|it| !it.is_empty()).unwrap_or("/")
}

pub(crate) fn internal(error: &BuildError) -> KubernetesError {
    KubernetesError::Config(error.to_string())
}

/// Returns the error of a stage. The end of the pod is its reason, if it is visible soon.
async fn explain(
    error: StepsError,
    created: &mut Created,
    trace: &dyn JobTrace,
    cancellation: &Cancellation,
) -> BuildError {
    let patience = match error {
        // A pod that ends stops its agent, which may say so first.
        StepsError::Canceled(CancelCause::EnvironmentLost) => PARTING,
        StepsError::Lost { .. } => Duration::ZERO,
        error => return error.into(),
    };
    let ended = tokio::select! {
        biased;
        ended = timeout(patience, created.ended(trace)) => ended.ok(),
        _ = cancellation.canceled() => None,
    };
    match (ended, error) {
        (Some(ended), _) => ended.into(),
        (None, StepsError::Lost { since, source }) => BuildError::System {
            backend: NAME,
            message: format!("the pod could not be reached for {}", HumanDuration(since)),
            source: Some(source),
            retry: Retryability::Permanent,
        },
        (None, error) => error.into(),
    }
}

#[async_trait::async_trait]
impl Executor for KubernetesExecutor {
    fn shell(&self) -> &ShellInfo {
        self.base.shell()
    }

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        cancellation.check()?;
        self.base.prepare(options)?;
        let resumed = self.resumed.as_ref().map(place::read).transpose()?;
        let (place, runs, link) = match resumed {
            None => {
                let (place, link) = self.fresh(cancellation).await?;
                (place, RecordedRuns::default(), link)
            }
            Some((place, runs)) => {
                let adopted = self.adopt(place, cancellation).await;
                // A script may have run there.
                let place = adopted.map_err(|error| BuildError::from(error).given_up())?;
                (place, runs, self.link(None, cancellation).await?)
            }
        };
        let Link {
            agent,
            client,
            found,
        } = link;
        let dirs = self.base.dirs()?.clone();
        let mut shell = self.base.shell().clone();
        if shell.dialect == ShellDialect::Bash && found.bash.is_empty() {
            shell.dialect = ShellDialect::Sh;
        }
        let program = match (&shell.program, shell.dialect) {
            (Some(program), _) => program.clone(),
            (None, ShellDialect::Bash) => found.bash,
            (None, dialect) => dialect.to_string(),
        };
        let transfer = client.files();
        let mut environment = self
            .base
            .remote_environment(&place.pod, Some(Arc::clone(&transfer)))?;
        environment.shell = shell.clone();
        shell.program = Some(program.clone());
        let terminal = PodTerminal::new(agent.exec.clone(), shell, dirs.clone());
        let mut oom_kills_before = 0;
        if self.resumed.is_some() {
            terminal.end_all().await?;
            oom_kills_before = oom_kills(&agent.exec).await.unwrap_or_default();
        }
        let options = self.base.options()?;
        let ports = PodPorts {
            exec: agent.exec.clone(),
            offers: offers(self.config(), &options.job, &options.variables),
        };
        environment.workspace = Workspace::Remote {
            dirs: dirs.clone(),
            transfer: Some(Arc::clone(&transfer)),
        };
        self.prepared = Some(Prepared {
            client,
            record: RunRecord::new(place.handle(), runs, self.observer.clone()),
            counts: HashMap::new(),
            ended: None,
            is_lost: false,
            oom_kills: oom_kills_before,
            exec: agent.exec.clone(),
            shell: program,
            temp_dir: dirs.temp_dir,
            transfer,
            terminal: Arc::new(terminal),
            ports: Arc::new(ports),
        });
        Ok(environment)
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        self.base.set_current_stage(ExecutorStage::RUN);
        cancellation.check()?;
        command.variables.check_file_names()?;
        let options = self.base.options()?;
        let trace = Arc::clone(&options.trace);
        let timing = RunTiming {
            terminate_grace: options.config.graceful_kill_timeout,
            pipe_grace: Duration::from_secs(1),
            timeout: None,
        };
        let (Some(prepared), Some(created)) = (&mut self.prepared, &mut self.created) else {
            return Err(BuildError::not_prepared(NAME));
        };
        if prepared.is_lost {
            return Err(BuildError::Canceled(CancelCause::EnvironmentLost));
        }
        prepared.terminal.set_variables(&command.variables);
        let id = prepared.next_id(&created.name, &command.stage);
        let begun = match prepared.record.state(&id) {
            RecordedRun::Ended(result) => return Ok(*result),
            RecordedRun::Lost => return Err(BuildError::Canceled(CancelCause::EnvironmentLost)),
            RecordedRun::Begun(offset) => Some(offset),
            RecordedRun::New => {
                prepared.record.starting(&id);
                None
            }
        };
        if let Some(ended) = prepared.ended.take() {
            prepared.client.release(&ended).await;
        }
        let (record, own) = (prepared.record.clone(), id.clone());
        let run = RunSpec {
            progress: Some(Arc::new(move |offset| record.read(&own, offset))),
            ..RunSpec::stage(
                RunId::new(&*id),
                &command,
                &prepared.shell,
                &prepared.temp_dir,
                timing,
            )
        };
        let mut output = TraceOutput(&*trace);
        let running = async {
            match begun {
                None => {
                    prepared
                        .client
                        .execute(&run, &mut output, cancellation)
                        .await
                }
                Some(offset) => {
                    let client = &prepared.client;
                    client.resume(&run, offset, &mut output, cancellation).await
                }
            }
        };
        let ran = {
            let mut running = std::pin::pin!(running);
            tokio::select! {
                biased;
                ran = &mut running => match ran {
                    Ok(result) => Ok(result),
                    Err(error) => {
                        prepared.is_lost |= matches!(error, StepsError::Lost { .. });
                        Err(explain(error, created, &*trace, cancellation).await)
                    }
                },
                error = created.ended(&*trace) => match timeout(LAST_OUTPUT, running).await {
                    // The script had ended before.
                    Ok(Ok(result)) => Ok(result),
                    _ => Err(error.into()),
                },
            }
        };
        let result = match ran {
            Ok(result) => result,
            Err(error) => {
                prepared.record.ended(&id, None);
                return Err(error.given_up());
            }
        };
        if let Some(error) = &result.log_error {
            trace.warning_line(&format!(
                "the log is incomplete: {error}; later output of the job is lost"
            ));
        }
        let mut result = StageResult::from(result);
        if result.status.exit_code() == KILLED
            && let Some(kills) = oom_kills(&prepared.exec).await
        {
            result.oom_killed |= kills > prepared.oom_kills;
            prepared.oom_kills = kills;
        }
        prepared.record.ended(&id, Some(&result));
        prepared.ended = Some(RunId::new(&*id));
        Ok(result)
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.base.finish(outcome);
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.base.cleanup();
        self.prepared = None;
        if let Some(created) = &mut self.created {
            created.remove().await?;
        }
        self.created = None;
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
        Abilities {
            // A server reads `native_steps_integration` as support for the whole language of steps.
            steps: None,
            terminal: Some(Arc::clone(&prepared.terminal) as Arc<dyn Terminal>),
            file_transfer: Some(Arc::clone(&prepared.transfer)),
            port_proxy: Some(Arc::clone(&prepared.ports)),
            suspend: None,
            resumable: Some(Arc::new(prepared.record.clone())),
        }
    }
}
