//! One `[[runners]]`: its polls and its jobs.

use crate::api::{ApiError, JobAnswer, Server};
use crate::config::RunnerSettings;
use crate::metrics::RunnerMetrics;
use crate::object_cache::ObjectBucket;
use crate::outbox::{JobEnd, JobRecord, LeftJob};
use crate::pace::{Pace, PaceSettings, Polled};
use crate::process_context::ProcessContext;
use crate::reasons::name_for_server;
use crate::secrets::{CloudEndpoints, SecretStores};
use crate::session::OpenSession;
use crate::slots::TurnCount;
use crate::turn::Turn;
use executor_core::job::Job;
use executor_core::{
    Cancellation, ErrorPolicy, ExecutorProvider, FeaturesInfo, JobRequest, JobSlots, JobVariable,
    Worker, chain,
};
use gitlab_api::runner::{JobUpdate, RunnerInfo, UpdateOutput};
use job_runner::helper::GitLabArtifacts;
use job_runner::{
    BuildRunnerOptions, CacheStore, HelperOptions, HelperServer, LocalRepositories, Sources,
};
use parking_lot::Mutex;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// The variable with a file of certificates for the server.
const CERTIFICATES: &str = "CI_SERVER_TLS_CA_FILE";

/// The checksum of an empty log.
const NO_LOG: &str = "crc32:00000000";

/// What the turns of an entry share.
#[derive(Debug)]
pub(crate) struct EntryContext {
    pub(crate) settings: Arc<RunnerSettings>,
    pub(crate) provider: Arc<dyn ExecutorProvider>,
    pub(crate) server: Server,
    pub(crate) process: Arc<ProcessContext>,
    pub(crate) metrics: RunnerMetrics,
    /// The bucket of the caches; without one, they are on this host.
    pub(crate) bucket: Option<ObjectBucket>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Of the answer before, if that had no job.
    last_update: String,
    info: RunnerInfo,
    /// The last status that was no success, to report a change only.
    trouble: Option<String>,
}

impl EntryContext {
    pub(crate) fn new(
        settings: Arc<RunnerSettings>,
        provider: Arc<dyn ExecutorProvider>,
        server: Server,
        process: Arc<ProcessContext>,
        bucket: Option<ObjectBucket>,
    ) -> Self {
        let metrics = process.metrics.of(&settings.config);
        Self {
            settings,
            provider,
            server,
            process,
            metrics,
            bucket,
            state: Mutex::default(),
        }
    }

    /// Opens a session for the job that a request may bring; `None` without terminals and ports.
    pub(crate) fn open_session(&self, request: &JobRequest) -> Option<OpenSession> {
        let features = &request.features;
        let sessions = self.process.sessions.as_ref();
        let opened = sessions
            .filter(|_| features.terminal || features.proxy)?
            .open();
        opened
            .inspect_err(|error| {
                tracing::warn!(error = error as &dyn Error, "A job has no session.");
            })
            .ok()
    }

    /// Returns the message that asks for a job.
    pub(crate) fn request(
        &self,
        request: &JobRequest,
        session: Option<&OpenSession>,
    ) -> gitlab_api::runner::JobRequest {
        let info = self.process.info(request, &self.settings.labels);
        let mut state = self.state.lock();
        state.info = info.clone();
        gitlab_api::runner::JobRequest {
            info,
            token: self.settings.config.token.clone(),
            system_id: self.process.system_id.clone(),
            last_update: std::mem::take(&mut state.last_update),
            session: session.map(OpenSession::message),
        }
    }

    /// Returns the runner as it last described itself.
    pub(crate) fn info(&self) -> RunnerInfo {
        self.state.lock().info.clone()
    }

    /// Notes an answer, and reports a change for the worse or the better.
    pub(crate) fn answered(&self, answer: &JobAnswer) {
        let name = &self.settings.config.name;
        let trouble = match answer {
            JobAnswer::None { last_update } => {
                self.state.lock().last_update.clone_from(last_update);
                None
            }
            JobAnswer::Job(_) | JobAnswer::Unreadable { .. } => None,
            JobAnswer::Forbidden => {
                Some("the server does not accept the runner's token".to_owned())
            }
            // Reported already.
            JobAnswer::Unavailable { status: 0, .. } => return,
            JobAnswer::Unavailable { status, .. } => Some(format!("the server answers {status}")),
        };
        match (&trouble, self.change(trouble.clone())) {
            (_, false) => {}
            (Some(trouble), true) => tracing::warn!(runner = %name, "No jobs: {trouble}."),
            (None, true) => tracing::info!(runner = %name, "The server answers again."),
        }
    }

    /// Notes a poll without an answer.
    pub(crate) fn poll_failed(&self, error: &ApiError) {
        let name = &self.settings.config.name;
        let text = chain(error);
        if self.change(Some(text.clone())) {
            tracing::warn!(runner = %name, "No jobs: {text}.");
        }
    }

    /// Returns whether this is news.
    fn change(&self, trouble: Option<String>) -> bool {
        let mut state = self.state.lock();
        let is_news = state.trouble != trouble;
        state.trouble = trouble;
        is_news
    }

    /// Reports the end of a job that did not run, once: the server gives up on it otherwise.
    pub(crate) async fn report(&self, record: &JobRecord, end: &JobEnd) {
        let reason = end.reason;
        let reason = reason.map(|it| name_for_server(it, &record.failure_reasons));
        let update = JobUpdate {
            info: record.info.clone(),
            token: record.token.clone(),
            state: end.state,
            failure_reason: reason.unwrap_or_default().to_owned(),
            checksum: NO_LOG.to_owned(),
            output: UpdateOutput {
                checksum: NO_LOG.to_owned(),
                bytesize: None,
            },
            ..JobUpdate::default()
        };
        if let Err(error) = self.server.update_job(record.job, &update).await {
            tracing::warn!(
                job = record.job,
                error = &error as &dyn Error,
                "The end of a job was not sent."
            );
        }
    }

    /// Returns the options of a job's runner, whose log and temporary files are in `directory`.
    pub(crate) fn build_options(&self, job: &Job, directory: &Path) -> BuildRunnerOptions {
        let web = self.server.files(self.settings.artifact.upload_timeout);
        let artifacts = GitLabArtifacts::new(job, self.settings.url.clone(), web, directory);
        let secrets = SecretStores::new(self.server.secret_stores(), CloudEndpoints::default());
        let timestamps = self.settings.feature_flags.get("FF_TIMESTAMPS");
        BuildRunnerOptions {
            sources: Sources::Git(LocalRepositories::Refused),
            git_authorities: self.authorities(),
            helper: HelperOptions {
                server: HelperServer::GitLab,
                program: self.process.helper.clone(),
                ..HelperOptions::default()
            },
            artifacts: Some(Arc::new(artifacts)),
            caches: Some(self.caches(job, directory)),
            secrets: Some(Arc::new(secrets)),
            spool_dir: Some(directory.to_owned()),
            limits_kept_log: true,
            timestamps: timestamps.copied().unwrap_or(true),
            version: self.process.version.clone(),
            revision: self.process.revision.clone(),
            ..BuildRunnerOptions::default()
        }
    }
}

impl EntryContext {
    /// Returns the server with a file of certificates for it, if the settings name one.
    fn authorities(&self) -> Option<(String, PathBuf)> {
        let file = std::path::absolute(self.settings.tls_ca_file.as_ref()?).ok()?;
        Some((self.settings.url.origin().ascii_serialization(), file))
    }

    /// Adds the runner's variables to a job: the certificates, for its scripts and for the helper command, and the feature flags,
    /// which have precedence over those of the job.
    pub(crate) fn add_variables(&self, job: &mut Job) {
        for (name, value) in &self.settings.feature_flags {
            let flag = JobVariable::public(name, value.to_string());
            job.variables.push(flag);
        }
        let file = self.settings.tls_ca_file.as_ref();
        let text = file.and_then(|it| std::fs::read_to_string(it).ok());
        if let Some(text) = text
            && job.variables.iter().all(|it| it.key != CERTIFICATES)
        {
            job.variables.push(JobVariable::file(CERTIFICATES, text));
        }
    }

    /// Returns the caches of a job's project; `directory` is for archives on their way.
    fn caches(&self, job: &Job, directory: &Path) -> Arc<dyn CacheStore> {
        let project = job.job_info.project_id;
        if let Some(bucket) = &self.bucket {
            let runner = self.settings.config.short_token();
            return Arc::new(bucket.caches(runner, project, directory));
        }
        let project = format!("{} {project}", self.settings.url);
        Arc::new(self.process.caches.of_project(project))
    }
}

/// An entry at work.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) context: Arc<EntryContext>,
    pub(crate) check_interval: Duration,
    /// The numbers of the runner's concurrent jobs.
    pub(crate) numbers: JobSlots,
    /// The jobs of an earlier process that it takes over first.
    pub(crate) left: Vec<LeftJob>,
    /// Its turns, and those of the same runner with earlier settings.
    pub(crate) turns: TurnCount,
    /// The stop of the process: a job is taken over even if the entry ends.
    pub(crate) shutdown: Cancellation,
}

impl Entry {
    /// Polls and runs jobs until a stop; then waits for the jobs that run.
    pub(crate) async fn run(mut self, stop: Cancellation) {
        let left = std::mem::take(&mut self.left);
        let EntryContext {
            settings, metrics, ..
        } = &*self.context;
        let is_adaptive = settings
            .feature_flags
            .get("FF_USE_ADAPTIVE_REQUEST_CONCURRENCY");
        let mut pace = Pace::new(PaceSettings {
            check_interval: self.check_interval,
            unhealthy_requests_limit: settings.unhealthy_requests_limit,
            unhealthy_interval: settings.unhealthy_interval,
            most_polls: settings.request_concurrency,
            is_adaptive: is_adaptive.copied().unwrap_or(true),
        });
        let limit = usize::try_from(settings.config.limit).unwrap_or(usize::MAX);
        let (ended, mut polls_ended) = mpsc::unbounded_channel::<(Polled, Instant)>();
        let mut turns = JoinSet::new();
        for left in left {
            let left = Turn::of_left(
                Arc::clone(&self.context),
                left,
                &self.numbers,
                self.shutdown.clone(),
            );
            let left = Arc::new(left);
            let worker = self.worker(Arc::clone(&left));
            let counted = self.turns.enter();
            let (metrics, shutdown) = (metrics.clone(), self.shutdown.clone());
            turns.spawn(async move {
                take_over(&worker, &left, &metrics, &shutdown).await;
                drop(counted);
            });
        }
        let mut polls = 0_usize;
        while !stop.is_canceled() {
            let has_room = limit == 0 || self.turns.number() < limit;
            let may_poll = has_room && polls < pace.polls();
            let next = async {
                sleep_until(pace.next()).await;
                self.context.process.slots.wait_for_one().await;
            };
            tokio::select! {
                biased;
                _ = stop.canceled() => break,
                // This function has a sender, so the channel is open.
                Some((polled, began)) = polls_ended.recv() => {
                    polls -= 1;
                    pace.note(polled, began);
                    metrics.polls(polls);
                    metrics.most_polls(pace.polls());
                    metrics.polled(polled, pace.is_resting());
                }
                Some(_) = turns.join_next(), if !turns.is_empty() => {}
                () = self.turns.fewer(), if !has_room => {}
                () = next, if may_poll => {
                    polls += 1;
                    metrics.polls(polls);
                    let new = Turn::new(Arc::clone(&self.context), ended.clone(), self.shutdown.clone());
                    let worker = self.worker(Arc::new(new));
                    let counted = self.turns.enter();
                    let (metrics, stop) = (metrics.clone(), stop.clone());
                    turns.spawn(async move {
                        turn(&worker, &metrics, &stop).await;
                        drop(counted);
                    });
                }
            }
        }
        while turns.join_next().await.is_some() {}
    }

    fn worker(&self, turn: Arc<Turn>) -> Worker {
        let context = &self.context;
        Worker {
            config: Arc::new(context.settings.config.clone()),
            provider: Arc::clone(&context.provider),
            source: Arc::clone(&turn) as _,
            runner: turn,
            active: context.process.metrics.active().clone(),
            slots: self.numbers.clone(),
            pause: self.check_interval,
            on_error: ErrorPolicy::Retry,
        }
    }
}

/// Takes a turn.
async fn turn(worker: &Worker, metrics: &RunnerMetrics, stop: &Cancellation) {
    metrics.turn_began();
    let turn = worker.take_turn(stop).await;
    metrics.turn_ended(turn.as_ref().ok().copied());
    if let Err(error) = turn {
        let name = &worker.config.name;
        tracing::warn!(runner = %name, error = &error as &dyn Error, "A turn failed.");
    }
}

/// Takes turns until the executor has room for the job that is there already.
async fn take_over(worker: &Worker, left: &Turn, metrics: &RunnerMetrics, shutdown: &Cancellation) {
    while left.has_left() && !shutdown.is_canceled() {
        turn(worker, metrics, shutdown).await;
        if left.has_left() {
            tokio::select! {
                _ = shutdown.canceled() => {}
                () = sleep(worker.pause) => {}
            }
        }
    }
}

/// What this crate and the runner of jobs can do, whatever the executor.
pub(crate) fn own_features() -> FeaturesInfo {
    FeaturesInfo {
        variables: true,
        artifacts: true,
        cache: true,
        fallback_cache_keys: true,
        upload_multiple_artifacts: true,
        upload_raw_artifacts: true,
        refspecs: true,
        masking: true,
        raw_variables: true,
        artifacts_exclude: true,
        multi_build_steps: true,
        trace_reset: true,
        trace_checksum: true,
        trace_size: true,
        vault_secrets: true,
        cancelable: true,
        return_exit_code: true,
        cancel_gracefully: true,
        two_phase_job_commit: true,
        ..FeaturesInfo::default()
    }
}
