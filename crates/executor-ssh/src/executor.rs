//! The executor: one job on one host.

use crate::agent::{self, RunningAgent};
use crate::changes::Changes;
use crate::config::{EngineChoice, NAME, SshOptions};
use crate::error::SshError;
use crate::files::TarTransfer;
use crate::host::{self, Host};
use crate::hosts::{Hosts, Place, machine};
use crate::link::Link;
use crate::place::{self, JobPlace};
use crate::shell_stage::new_id;
use crate::stage::{Stage, StageRunner, Timing};
use crate::target::Target;
use crate::terminal::SshTerminal;
use executor_core::ability::{Abilities, FileTransfer, ResumeHandle, ResumeObserver, Terminal};
use executor_core::{
    AbstractExecutor, AbstractExecutorOptions, BuildDirs, BuildError, Cancellation, Endpoint,
    Executor, ExecutorData, ExecutorStage, JobOutcome, JobTrace, JobTraceExt, PrepareOptions,
    PreparedEnvironment, Retryability, ShellDialect, ShellInfo, StageCell, StageCommand,
    StageResult, Workspace,
};
use fail_point::fail_point;
use shells::quote_sh;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;
use steps::agent::Agent;
use steps::{ClientOptions, RecordedRuns, RunRecord, StageRequests, StepsClient, StepsError};
use tokio::time::{Instant, sleep};

/// The directory for builds below the job's own directory, unless the runner's settings name one.
const BUILDS: &str = "builds";
/// The same for caches.
const CACHE: &str = "cache";

/// The pause between two attempts to find a job.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs the stages of one job on another host.
///
/// Created by the provider that [`provider`](crate::provider()) returns. `prepare` logs in and starts the agent there;
/// `cleanup` ends it and removes the job's directory.
#[derive(Debug)]
pub struct SshExecutor {
    base: AbstractExecutor,
    hosts: Arc<Hosts>,
    options: Arc<SshOptions>,
    place: Option<Place>,
    endpoint: Option<Endpoint>,
    /// The directory on the host that the cleanup removes.
    created: Option<(Arc<Link>, String)>,
    /// The job of another process to resume.
    resumed: Option<ResumeHandle>,
    observer: Option<ResumeObserver>,
    prepared: Option<Prepared>,
}

#[derive(Debug)]
struct Prepared {
    link: Arc<Link>,
    host: Host,
    dirs: BuildDirs,
    shell: String,
    runner: StageRunner,
    transfer: Arc<dyn FileTransfer>,
    terminal: Arc<SshTerminal>,
}

impl SshExecutor {
    pub(crate) fn new(hosts: Arc<Hosts>, options: Arc<SshOptions>, data: &ExecutorData) -> Self {
        let base = AbstractExecutor::new(AbstractExecutorOptions {
            default_builds_dir: BUILDS.to_owned(),
            default_cache_dir: CACHE.to_owned(),
            shared_builds_dir: true,
            shell: ShellInfo::new(ShellDialect::Bash),
            show_hostname: true,
        });
        Self {
            base,
            hosts,
            options,
            place: data.get::<Place>().cloned(),
            endpoint: data.get::<Endpoint>().cloned(),
            created: None,
            resumed: data.get::<ResumeHandle>().cloned(),
            observer: data.get::<ResumeObserver>().cloned(),
            prepared: None,
        }
    }

    /// Returns a transfer that sends changes only, where another job of the project has sent its files before.
    fn changes(
        &self,
        inner: Arc<dyn FileTransfer>,
        link: &Arc<Link>,
        host: &Host,
    ) -> Result<Arc<dyn FileTransfer>, BuildError> {
        let options = self.base.options()?;
        let Some(project) = options.variables.get("CI_PROJECT_URL") else {
            return Ok(inner);
        };
        Ok(Arc::new(Changes {
            inner,
            link: Arc::clone(link),
            host: host.clone(),
            kept: format!("{}/files", host.base),
            project: project.to_owned(),
            name: options.job.job_info.name.clone(),
            count: AtomicU32::new(0),
            trace: Arc::clone(&options.trace),
            said: AtomicBool::new(false),
        }))
    }

    /// Returns the machine of another layer, or else the host that `choose` returns, and the settings for it.
    fn target(
        &self,
        choose: impl FnOnce(&Hosts) -> Result<Target, SshError>,
    ) -> Result<(Target, Arc<SshOptions>), SshError> {
        let Some(endpoint) = &self.endpoint else {
            return Ok((choose(&self.hosts)?, Arc::clone(&self.options)));
        };
        let (target, options) = machine(&self.options, endpoint)?;
        Ok((target, Arc::new(options)))
    }

    /// Finds the directory and the agent of a job that another process began.
    async fn adopt(
        &mut self,
        place: &JobPlace,
        cancellation: &Cancellation,
    ) -> Result<(Arc<Link>, Host, StepsClient), SshError> {
        let (target, options) =
            self.target(|hosts| hosts.move_to(self.place.as_ref(), &place.host))?;
        let trace = self
            .base
            .trace()
            .map_err(|error| SshError::config(error.to_string()))?;
        trace.system_line(&format!("Resuming on {}", target.alias));
        let trace = Arc::clone(trace);
        let link = Arc::new(Link::new(target, options));
        let found = find(&link, &place.id, &*trace, cancellation).await;
        if !found.as_ref().is_err_and(SshError::is_temporary) {
            self.created = Some((Arc::clone(&link), place.id.clone()));
        }
        let host = found?;
        let agent = RunningAgent::of(Arc::clone(&link), &host, trace)?;
        let client = client(agent, &link);
        match client.hello(cancellation).await {
            Ok(_) => Ok((link, host, client)),
            Err(StepsError::Canceled(cause)) => Err(SshError::Canceled(cause)),
            Err(error) => Err(SshError::Host {
                host: link.target.address(),
                message: format!(
                    "reach the agent of the job: {}",
                    executor_core::chain(&error)
                ),
                retry: Retryability::Permanent,
            }),
        }
    }

    /// Logs in, on another host than in an earlier attempt that failed if one has room, and creates the job's directory.
    async fn reach(
        &mut self,
        digest: &str,
        cancellation: &Cancellation,
    ) -> Result<(Arc<Link>, Host), BuildError> {
        let place = self.place.clone().filter(|_| self.endpoint.is_none());
        let place = place.as_ref();
        if let Some(place) = place {
            self.hosts.improve(place);
        }
        let (target, options) = self.target(|hosts| hosts.target(place))?;
        let trace = self.base.trace()?;
        for note in self.hosts.new_notes(&target) {
            trace.warning_line(note);
        }
        let link = Arc::new(Link::new(target, options));
        let note = |error: Option<&SshError>| match (place, error) {
            (None, _) | (_, Some(SshError::Canceled(_))) => {}
            (Some(place), error) => self.hosts.note(place, error.is_none()),
        };
        if let Err(error) = link.connection(cancellation).await {
            note(Some(&error));
            let error = BuildError::from(error);
            // All attempts that the settings permit for one host were made. A layer has another machine.
            let may_move =
                self.endpoint.is_some() || place.is_some_and(|place| self.hosts.has_better(place));
            return Err(if may_move { error } else { error.given_up() });
        }
        let id = new_id();
        self.created = Some((Arc::clone(&link), id.clone()));
        let prepared = Host::prepare(&link, &id, digest, cancellation).await;
        note(prepared.as_ref().err());
        let host = prepared?;
        if !host.base.starts_with(&format!("{}/", host.home)) {
            trace.warning_line(&format!(
                "the home directory {} of the host is missing or cannot be written; the job uses {}",
                host.home, host.base
            ));
        }
        Ok((link, host))
    }

    /// Begins the job on a host: its directory, and the agent if that runs there.
    async fn fresh(
        &mut self,
        cancellation: &Cancellation,
    ) -> Result<(Arc<Link>, Host, Option<StepsClient>), BuildError> {
        // It may have to be read from a file.
        let found = tokio::task::spawn_blocking(|| {
            let agent = steps::agent::find().map_err(|error| executor_core::chain(&error))?;
            agent.digest().map_err(|error| error.to_string())?;
            Ok(agent)
        });
        let found: Result<Agent, String> =
            found.await.unwrap_or_else(|error| Err(error.to_string()));
        let digest = found.as_ref().ok().and_then(|agent| agent.digest().ok());
        let digest = digest.unwrap_or_default().to_owned();
        let (link, host) = self.reach(&digest, cancellation).await?;
        let client = self.start_agent(&link, &host, found, cancellation).await?;
        Ok((link, host, client))
    }

    /// Starts the agent, or says in the log why the job runs without it.
    async fn start_agent(
        &self,
        link: &Arc<Link>,
        host: &Host,
        found: Result<Agent, String>,
        cancellation: &Cancellation,
    ) -> Result<Option<StepsClient>, BuildError> {
        let choice = self.options.config.engine;
        let started = match found {
            _ if choice == EngineChoice::Shell => return Ok(None),
            Ok(agent) if agent.runs_on(&host.system, &host.machine) => {
                start(
                    link,
                    host,
                    &agent,
                    Arc::clone(self.base.trace()?),
                    cancellation,
                )
                .await?
            }
            Ok(_) => Err(format!(
                "it does not run on {}/{}",
                host.system, host.machine
            )),
            Err(why) => Err(why),
        };
        let why = match started {
            Ok(client) => return Ok(Some(client)),
            Err(why) => why,
        };
        if choice == EngineChoice::Agent {
            return Err(BuildError::config(format!(
                "engine = \"agent\" is not possible: {why}"
            )));
        }
        let warning = format!("the job runs without the agent, which could not be started: {why}");
        self.base.trace()?.warning_line(&warning);
        Ok(None)
    }

    /// Returns the job's directories on the host, as absolute paths.
    fn dirs(&self, host: &Host) -> Result<BuildDirs, BuildError> {
        let config = &self.base.options()?.config;
        let dirs = self.base.dirs()?;
        let absolute = |path: &str, is_default: bool| match path {
            path if path.starts_with('/') => path.to_owned(),
            path if is_default => format!("{}/{path}", host.job_dir),
            path => format!("{}/{path}", host.home),
        };
        let has_default_builds = config.builds_dir.is_none();
        Ok(BuildDirs {
            builds_dir: absolute(&dirs.builds_dir, has_default_builds),
            cache_dir: absolute(&dirs.cache_dir, config.cache_dir.is_none()),
            project_dir: absolute(&dirs.project_dir, has_default_builds),
            temp_dir: absolute(&dirs.temp_dir, has_default_builds),
            // By default it is in the job's own directory, which is new.
            shared: dirs.shared && !has_default_builds,
        })
    }
}

/// Uploads and starts the agent, and waits until it answers. The inner error says why the job has to run without it.
async fn start(
    link: &Arc<Link>,
    host: &Host,
    agent: &Agent,
    trace: Arc<dyn JobTrace>,
    cancellation: &Cancellation,
) -> Result<Result<StepsClient, String>, SshError> {
    let program = match agent::upload(link, host, agent, cancellation).await {
        Ok(program) => program,
        Err(error @ (SshError::Canceled(_) | SshError::Broken { .. })) => return Err(error),
        Err(error) => return Ok(Err(executor_core::chain(&error))),
    };
    let started = agent::start(Arc::clone(link), host, &program, trace, cancellation).await;
    let why = match started {
        Ok(running) => {
            let client = client(running, link);
            match client.hello(cancellation).await {
                Ok(_) => return Ok(Ok(client)),
                Err(StepsError::Canceled(cause)) => return Err(SshError::Canceled(cause)),
                Err(error) => executor_core::chain(&error),
            }
        }
        Err(error @ (SshError::Canceled(_) | SshError::Broken { .. })) => return Err(error),
        Err(error) => executor_core::chain(&error),
    };
    let printed = agent::discard(link, host).await;
    release_directory(link, host).await?;
    Ok(Err(format!("{why}: {printed}")))
}

/// Finds the job of another process, as long as its agent waits for a client: before that, nothing may start over.
async fn find(
    link: &Link,
    id: &str,
    trace: &dyn JobTrace,
    cancellation: &Cancellation,
) -> Result<Host, SshError> {
    let patience = link.options.config.orphan_grace();
    let until = Instant::now() + patience;
    let mut is_reported = false;
    loop {
        let looking = async {
            link.connection(cancellation).await?;
            Host::find(link, id, cancellation).await
        };
        let error = match looking.await {
            Err(error) if error.is_temporary() && Instant::now() < until => error,
            found => return found,
        };
        if !std::mem::replace(&mut is_reported, true) {
            trace.warning_line(&format!(
                "the host of the job cannot be reached, trying for {} s: {}",
                patience.as_secs(),
                executor_core::chain(&error)
            ));
        }
        tokio::select! {
            () = sleep(PAUSE) => {}
            cause = cancellation.canceled() => return Err(SshError::Canceled(cause)),
        }
    }
}

fn client(agent: RunningAgent, link: &Link) -> StepsClient {
    // As long as the agent waits for a client, a client comes back.
    let options = ClientOptions {
        lost_after: link.options.config.orphan_grace(),
        ..ClientOptions::default()
    };
    StepsClient::new(Arc::new(agent), options)
}

/// Removes the files with the agent's number, so that the directory of the job does not go when an agent that was not reached
/// ends by itself.
async fn release_directory(link: &Link, host: &Host) -> Result<(), SshError> {
    let job = quote_sh(&host.job_dir).map_err(|error| SshError::config(error.to_string()))?;
    // A start that comes late finds its directory.
    let script = format!("cd {job} && mkdir -p starting && rm -f agent.pid agent.started");
    let answer = link
        .run(&script, host::ANSWER, &Cancellation::new())
        .await?;
    match answer.exit.code {
        0 => Ok(()),
        _ => Err(link.host_error("give up the agent", &answer, Retryability::Temporary)),
    }
}

#[async_trait::async_trait]
impl Executor for SshExecutor {
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
        let (link, host, client, runs) = match resumed {
            None => {
                let (link, host, client) = self.fresh(cancellation).await?;
                (link, host, client, RecordedRuns::default())
            }
            Some((place, runs)) => {
                let adopted = self.adopt(&place, cancellation).await;
                // A script may have run there.
                let adopted = adopted.map_err(|error| BuildError::from(error).given_up());
                let (link, host, client) = adopted?;
                (link, host, Some(client), runs)
            }
        };
        let dirs = self.dirs(&host)?;
        make_directories(&link, &dirs, cancellation).await?;
        let mut shell = self.base.shell().clone();
        if shell.dialect == ShellDialect::Bash && host.bash.is_none() {
            shell.dialect = ShellDialect::Sh;
        }
        let program = match (&shell.program, shell.dialect) {
            (Some(program), _) => program.clone(),
            (None, ShellDialect::Bash) => host.bash.clone().unwrap_or_else(|| "bash".to_owned()),
            (None, dialect) => dialect.to_string(),
        };
        let (runner, transfer): (_, Arc<dyn FileTransfer>) = if let Some(client) = client {
            let files = client.files();
            let place = JobPlace {
                host: link.target.route(),
                id: host.id().to_owned(),
            };
            let record = RunRecord::new(place.handle(), runs, self.observer.clone());
            let requests = StageRequests::new(client, record, host.id());
            (StageRunner::Agent(requests), files)
        } else {
            let (link, host) = (Arc::clone(&link), host.clone());
            (StageRunner::Shell, Arc::new(TarTransfer { link, host }))
        };
        let transfer = self.changes(transfer, &link, &host)?;
        let terminal =
            SshTerminal::new(Arc::clone(&link), shell.clone(), dirs.clone(), host.clone());
        let mut environment = self
            .base
            .remote_environment(&format!("{} ({})", host.name, link.target.alias), None)?;
        environment.hostname.clone_from(&host.name);
        environment.shell = shell;
        environment.workspace = Workspace::Remote {
            dirs: dirs.clone(),
            transfer: Some(Arc::clone(&transfer)),
        };
        self.prepared = Some(Prepared {
            link,
            host,
            dirs,
            shell: program,
            runner,
            transfer,
            terminal: Arc::new(terminal),
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
        let timing = Timing::of(&options.config);
        let not_prepared = || BuildError::not_prepared(NAME);
        let prepared = self.prepared.as_mut().ok_or_else(not_prepared)?;
        prepared.terminal.set_variables(&command.variables);
        let stage = Stage {
            command: &command,
            temp_dir: &prepared.dirs.temp_dir,
            shell: &prepared.shell,
            trace: &*trace,
            timing,
        };
        let Prepared {
            runner, link, host, ..
        } = prepared;
        runner.run(link, host, stage, cancellation).await
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.base.finish(outcome);
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.base.cleanup();
        self.prepared = None;
        if let Some((link, id)) = &self.created {
            host::remove(link, id).await?;
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
            port_proxy: None,
            suspend: None,
            resumable: match &prepared.runner {
                StageRunner::Agent(requests) => Some(Arc::new(requests.record().clone())),
                StageRunner::Shell => None,
            },
        }
    }
}

/// Creates the directories that the executor has to create, in one call.
async fn make_directories(
    link: &Link,
    dirs: &BuildDirs,
    cancellation: &Cancellation,
) -> Result<(), BuildError> {
    let parent = dirs
        .project_dir
        .rsplit_once('/')
        .map_or("/", |(parent, _)| parent);
    let mut script = String::from("mkdir -p --");
    for directory in [&dirs.builds_dir, &dirs.cache_dir, parent] {
        let word = quote_sh(directory).map_err(|error| BuildError::config(error.to_string()))?;
        script.push(' ');
        script.push_str(&word);
    }
    let answer = fail_point!(
        "executor_ssh::executor::make_directories",
        link.run_to_end(&script, host::ANSWER, cancellation).await
    )?;
    if answer.exit.code == 0 {
        return Ok(());
    }
    let retry = Retryability::Permanent;
    Err(link
        .host_error("create the directories of the job", &answer, retry)
        .into())
}
