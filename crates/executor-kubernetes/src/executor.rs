//! The executor: one job in one pod.

use crate::agent::start_script;
use crate::bare::{BarePod, BareStage};
use crate::cluster::Cluster;
use crate::config::{EngineChoice, KubernetesConfig, NAME};
use crate::created::Created;
use crate::error::{KubernetesError, no_agent};
use crate::exec::PodExec;
use crate::link::{Link, program};
use crate::memory::oom_kills;
use crate::place::{self, PodPlace};
use crate::pod::overwrite::namespace_of;
use crate::pod::{Objects, Request, objects, offers};
use crate::ports::PodPorts;
use crate::provider::Clusters;
use crate::stage_end::{explain, unless_ended};
use crate::terminal::PodTerminal;
use crate::warm::WarmPod;
use executor_core::ability::{
    Abilities, ByteStream, FileTransfer, PortProxy, ResumeHandle, ResumeObserver, Terminal,
};
use executor_core::{
    AbstractExecutor, AbstractExecutorOptions, BuildDirs, BuildError, CancelCause, Cancellation,
    Executor, ExecutorData, ExecutorStage, ExitCode, JobOutcome, JobStop, JobTraceExt,
    PrepareOptions, PreparedEnvironment, ShellDialect, ShellInfo, StageCell, StageCommand,
    StageResult, Workspace,
};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use steps::agent::Agent;
use steps::{NextRequest, RecordedRuns, RunRecord, RunTiming, StageRequests, StepsError};

/// The directory for builds, and that for caches, unless the runner's settings name others.
pub(crate) const BUILDS: &str = "/builds";
pub(crate) const CACHE: &str = "/cache";

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
    /// That of the job. Its abort shortens the cleanup.
    stop: Cancellation,
    prepared: Option<Prepared>,
}

#[derive(Debug)]
struct Prepared {
    stages: Stages,
    shell: String,
    temp_dir: String,
    transfer: Arc<dyn FileTransfer>,
    terminal: Arc<PodTerminal>,
    ports: Arc<dyn PortProxy>,
}

/// How stages are run.
#[derive(Debug)]
enum Stages {
    Agent(Box<AgentStages>),
    Bare(PodExec),
}

/// The stages as requests to the agent.
#[derive(Debug)]
struct AgentStages {
    requests: StageRequests,
    exec: PodExec,
    /// Whether the agent could not be reached again.
    is_lost: bool,
    /// The kills for lack of memory that are reported.
    oom_kills: u64,
}

/// A pod that runs.
enum Opened {
    Agent(Link),
    Bare(BarePod),
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
            stop: data
                .get()
                .map_or_else(Cancellation::new, |JobStop(stop)| stop.clone()),
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

    /// Finds a warm pod for the job, or creates one, and connects with its agent if that can run there.
    async fn fresh(
        &mut self,
        cancellation: &Cancellation,
    ) -> Result<(PodPlace, Opened), BuildError> {
        let cluster = self.cluster().await?;
        if !self.config().warm.is_empty() {
            let name = self.name()?;
            let objects = self.objects(&cluster, &name, None, &BTreeMap::new())?;
            let taken = self.clusters.warm.take(&cluster, &objects).await;
            if let Some(WarmPod { created, link, .. }) = taken {
                let (trace, dirs) = (self.base.trace()?, self.base.dirs()?);
                trace.system_line(&format!(
                    "Using warm pod {} in namespace {}",
                    created.name, cluster.namespace
                ));
                for warning in &objects.warnings {
                    trace.warning_line(warning);
                }
                link.agent.set_trace(Arc::clone(trace));
                let place = self.place(&created.name, &cluster)?;
                self.created = Some(created);
                // An archive without a file: it creates the directory.
                let empty: ByteStream = Box::new(&[0_u8; 1024][..]);
                let parent = parent(&dirs.project_dir);
                link.client.files().put(parent, empty, cancellation).await?;
                return Ok((place, Opened::Agent(link)));
            }
        }
        let engine = self.config().engine;
        let program = match engine {
            EngineChoice::Exec => Err("the setting is engine = \"exec\"".to_owned()),
            EngineChoice::Agent => Ok(program().await?),
            EngineChoice::Auto => program().await.map_err(|error| error.chain()),
        };
        let (place, early) = self
            .create(&cluster, program.as_ref().ok(), cancellation)
            .await?;
        if let Some((agent, found)) = early {
            let grace = self.config().orphan_grace();
            let link = Link::of(agent, found, grace, cancellation).await?;
            return Ok((place, Opened::Agent(link)));
        }
        let reason = match program {
            Err(reason) => reason,
            Ok(program) => match self.link(Some(program), cancellation).await {
                Ok(link) => return Ok((place, Opened::Agent(link))),
                Err(error) => match no_agent(&error) {
                    Some(reason) if engine == EngineChoice::Auto => reason,
                    _ => return Err(error),
                },
            },
        };
        let pod = self.bare(&reason, cancellation).await?;
        Ok((place, Opened::Bare(pod)))
    }

    /// Opens the pod of a job without the agent.
    async fn bare(&self, reason: &str, cancellation: &Cancellation) -> Result<BarePod, BuildError> {
        let trace = self.base.trace()?;
        let means = "a lost connection ends it, and it cannot be resumed";
        match self.config().engine {
            EngineChoice::Exec => {
                trace.system_line(&format!("The job runs without the agent: {means}"));
            }
            EngineChoice::Auto | EngineChoice::Agent => {
                trace.warning_line(&format!(
                    "the job runs without the agent: {reason}; {means}"
                ));
            }
        }
        let (created, dirs) = (self.created()?, self.base.dirs()?);
        Ok(BarePod::open(created, &directories(dirs), cancellation).await?)
    }

    /// Connects with the agent of the pod.
    async fn link(
        &self,
        program: Option<Agent>,
        cancellation: &Cancellation,
    ) -> Result<Link, BuildError> {
        let (created, directories) = (self.created()?, directories(self.base.dirs()?));
        let trace = Some(Arc::clone(self.base.trace()?));
        let grace = self.config().orphan_grace();
        Link::open(created, &directories, trace, program, grace, cancellation).await
    }

    fn created(&self) -> Result<&Created, BuildError> {
        let created = self.created.as_ref();
        created.ok_or_else(|| BuildError::not_prepared(NAME))
    }

    /// Returns a new name for a pod of the job.
    pub(crate) fn name(&self) -> Result<String, BuildError> {
        let job = self.base.options()?.job.id;
        Ok(format!("runwright-{job}-{:08x}", fastrand::u32(..)))
    }

    pub(crate) fn place(&self, pod: &str, cluster: &Cluster) -> Result<PodPlace, BuildError> {
        Ok(PodPlace {
            pod: pod.to_owned(),
            cluster: cluster.place.clone(),
            owner: cluster.owner.clone(),
            job: self.base.options()?.job.id,
        })
    }

    pub(crate) fn objects(
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
}

/// Returns the directories that exist before the first stage.
pub(crate) fn directories(dirs: &BuildDirs) -> [&str; 3] {
    [&dirs.builds_dir, &dirs.cache_dir, parent(&dirs.project_dir)]
}

fn parent(directory: &str) -> &str {
    let parent = directory.rsplit_once('/').map(|(parent, _)| parent);
    parent.filter(|it| !it.is_empty()).unwrap_or("/")
}

pub(crate) fn internal(error: &BuildError) -> KubernetesError {
    KubernetesError::Config(error.to_string())
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
        let (place, runs, opened) = match resumed {
            None => {
                let (place, opened) = self.fresh(cancellation).await?;
                (place, RecordedRuns::default(), opened)
            }
            Some((place, runs)) => {
                let adopted = self.adopt(place, cancellation).await;
                // A script may have run there.
                let place = adopted.map_err(|error| BuildError::from(error).given_up())?;
                let link = self.link(None, cancellation).await?;
                (place, runs, Opened::Agent(link))
            }
        };
        let (exec, found, transfer) = match &opened {
            Opened::Agent(it) => (&it.agent.exec, &it.found, it.client.files()),
            Opened::Bare(it) => (&it.exec, &it.found, it.files()),
        };
        let dirs = self.base.dirs()?.clone();
        let mut shell = self.base.shell().clone();
        if shell.dialect == ShellDialect::Bash && found.bash.is_empty() {
            shell.dialect = ShellDialect::Sh;
        }
        let program = match (&shell.program, shell.dialect) {
            (Some(program), _) => program.clone(),
            (None, ShellDialect::Bash) => found.bash.clone(),
            (None, dialect) => dialect.to_string(),
        };
        let mut environment = self
            .base
            .remote_environment(&place.pod, Some(Arc::clone(&transfer)))?;
        environment.shell = shell.clone();
        shell.program = Some(program.clone());
        let terminal = PodTerminal::new(exec.clone(), shell, dirs.clone());
        let mut oom_kills_before = 0;
        if self.resumed.is_some() {
            terminal.end_all().await?;
            oom_kills_before = oom_kills(exec).await.unwrap_or_default();
        }
        let options = self.base.options()?;
        let ports = PodPorts {
            exec: exec.clone(),
            offers: offers(self.config(), &options.job, &options.variables),
        };
        environment.workspace = Workspace::Remote {
            dirs: dirs.clone(),
            transfer: Some(Arc::clone(&transfer)),
        };
        let stages = match opened {
            Opened::Agent(link) => {
                let record = RunRecord::new(place.handle(), runs, self.observer.clone());
                Stages::Agent(Box::new(AgentStages {
                    requests: StageRequests::new(link.client, record, &place.pod),
                    exec: link.agent.exec.clone(),
                    is_lost: false,
                    oom_kills: oom_kills_before,
                }))
            }
            Opened::Bare(pod) => Stages::Bare(pod.exec),
        };
        self.prepared = Some(Prepared {
            stages,
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
        let (Some(prepared), Some(created)) = (&mut self.prepared, &mut self.created) else {
            return Err(BuildError::not_prepared(NAME));
        };
        prepared.terminal.set_variables(&command.variables);
        let agent = match &mut prepared.stages {
            Stages::Agent(agent) => agent,
            Stages::Bare(exec) => {
                let stage = BareStage {
                    exec,
                    command: &command,
                    shell: &prepared.shell,
                    temp_dir: &prepared.temp_dir,
                    trace: &*trace,
                    config: &options.config,
                };
                let running = pin!(stage.run(cancellation));
                let ran = unless_ended(created, &*trace, running).await;
                return ran
                    .unwrap_or_else(|ended| Err(ended.into()))
                    .map_err(BuildError::given_up);
            }
        };
        if agent.is_lost {
            return Err(BuildError::Canceled(CancelCause::EnvironmentLost));
        }
        let timing = RunTiming {
            terminate_grace: options.config.graceful_kill_timeout,
            pipe_grace: Duration::from_secs(1),
            timeout: None,
        };
        let requests = &mut agent.requests;
        let (shell, temp_dir) = (&prepared.shell, &prepared.temp_dir);
        let next = requests.next(&command, shell, temp_dir, timing, cancellation);
        let request = match next.await? {
            NextRequest::Ended(result) => return Ok(result),
            NextRequest::Open(request) => request,
        };
        let running = pin!(request.follow(&*trace, cancellation));
        let ran = match unless_ended(created, &*trace, running).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => {
                agent.is_lost |= matches!(error, StepsError::Lost { .. });
                Err(explain(error, created, &*trace, cancellation).await)
            }
            Err(ended) => Err(ended.into()),
        };
        let mut ran = ran.map_err(BuildError::given_up);
        if let Ok(result) = &mut ran
            && result.status.exit_code() == KILLED
            && let Some(kills) = oom_kills(&agent.exec).await
        {
            result.oom_killed |= kills > agent.oom_kills;
            agent.oom_kills = kills;
        }
        agent.requests.record_end(&request, ran.as_ref().ok());
        ran
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.base.finish(outcome);
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.base.cleanup();
        self.prepared = None;
        if let Some(created) = &mut self.created {
            created.remove(&self.stop).await?;
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
            resumable: match &prepared.stages {
                Stages::Agent(agent) => Some(Arc::new(agent.requests.record().clone())),
                Stages::Bare(_) => None,
            },
        }
    }
}
