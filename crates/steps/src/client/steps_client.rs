use super::call::{Attempts, Failure, is_for_another, refusal};
use super::error::{StepsError, StepsErrorClass};
use super::follow::follow;
use super::host_requests::{Host, HostRequests};
use super::link::Link;
use super::log_reader::LogReader;
use super::options::ClientOptions;
use super::request::request;
use super::responses;
use super::run_spec::{RunSpec, RunSteps};
use super::run_status::{AgentInfo, RunId, RunResult, RunStatus};
use super::step_report::{StepReports, report};
use super::stop;
use crate::files::RemoteFiles;
use crate::library::{JobCredentials, Library};
use crate::wire::v1;
use executor_core::Cancellation;
use executor_core::ability::{FileTransfer, StepsConnector};
use parking_lot::Mutex;
use process::OutputSink;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

/// Runs scripts through a service.
///
/// All calls share one connection. The first call opens it; when it breaks, it is opened again and interrupted work
/// continues. Clones share the connection.
///
/// # Examples
///
/// ```no_run
/// # use executor_core::{Cancellation, ability::StepsConnector};
/// # use std::sync::Arc;
/// use steps::{ClientOptions, RunId, RunSpec, StepsClient};
///
/// # async fn example(connector: Arc<dyn StepsConnector>) -> Result<(), steps::StepsError> {
/// let client = StepsClient::new(connector, ClientOptions::default());
/// let run = RunSpec::script(RunId::new("job-7-step_script"), "make test");
/// let mut output = |_, bytes: &[u8]| print!("{}", String::from_utf8_lossy(bytes));
/// let result = client.execute(&run, &mut output, &Cancellation::new()).await?;
/// println!("{}", result.status);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct StepsClient {
    link: Arc<Link>,
    /// The instance id of the service that answered last.
    instance: Arc<Mutex<Option<String>>>,
    /// The library that fulfils host requests, if there is one.
    host: Option<Host>,
    /// When an ended request is removed from the service.
    release: Release,
}

/// When an ended request is removed from the service, with its result.
#[derive(Debug, Clone)]
enum Release {
    AtEnd,
    /// The requests to remove.
    ByCaller(Arc<Mutex<Vec<RunId>>>),
}

impl StepsClient {
    /// Returns a client that reaches its service through a connector. It does not connect yet.
    pub fn new(connector: Arc<dyn StepsConnector>, options: ClientOptions) -> Self {
        Self {
            link: Arc::new(Link::new(connector, options)),
            instance: Arc::default(),
            host: None,
            release: Release::AtEnd,
        }
    }

    /// Leaves ended requests and their results with the service until [`release_kept`](Self::release_kept), so that the caller
    /// can record a result before it is removed.
    #[must_use]
    pub fn with_kept_results(self) -> Self {
        Self {
            release: Release::ByCaller(Arc::default()),
            ..self
        }
    }

    /// Adds a library that fetches functions from git repositories and registries, and publishes images, while the client
    /// follows a request.
    ///
    /// The credentials of a job are in `credentials`, or else in the variables of a [`RunSpec`].
    #[must_use]
    pub fn with_library(mut self, library: Arc<dyn Library>, credentials: JobCredentials) -> Self {
        self.host = Some(Host {
            library,
            credentials,
        });
        self
    }

    /// Waits until the service answers, and returns its description.
    ///
    /// # Errors
    ///
    /// [`StepsError::Unreachable`] when no service answered [in time](ClientOptions::ready_within).
    ///
    /// # Cancellation
    ///
    /// Stops at once.
    pub async fn hello(&self, cancellation: &Cancellation) -> Result<AgentInfo, StepsError> {
        let hello = Attempts::new(&self.link)
            .call("", cancellation, |mut service| async move {
                service.hello(v1::HelloRequest {}).await
            })
            .await?;
        let agent = responses::agent(hello);
        let mut instance = self.instance.lock();
        *instance = Some(agent.instance.clone());
        Ok(agent)
    }

    /// Runs a request to its end, and passes its output to `output`, each byte once.
    ///
    /// # Errors
    ///
    /// A failed script is not an error. [`StepsErrorClass::Lost`] means that the outcome is unknown; scripts are never
    /// started twice.
    ///
    /// # Cancellation
    ///
    /// The service stops the scripts at the same level, and this call waits for the end; then it returns
    /// [`StepsError::Canceled`]. A request that ended before keeps its result. If the future is dropped, the request
    /// continues in the service, and can be [resumed](Self::resume).
    pub async fn execute(
        &self,
        run: &RunSpec,
        output: &mut dyn OutputSink,
        cancellation: &Cancellation,
    ) -> Result<RunResult, StepsError> {
        cancellation.check().map_err(StepsError::Canceled)?;
        self.start(run, cancellation).await?;
        self.resume(run, 0, output, cancellation).await
    }

    /// Resumes a request that was started before, from an offset in its log. Otherwise the same as
    /// [`execute`](Self::execute).
    ///
    /// # Errors
    ///
    /// [`StepsError::Forgotten`] when the service does not know it, else as `execute`.
    ///
    /// # Cancellation
    ///
    /// As `execute`.
    pub async fn resume(
        &self,
        run: &RunSpec,
        offset: u64,
        output: &mut dyn OutputSink,
        cancellation: &Cancellation,
    ) -> Result<RunResult, StepsError> {
        let log = LogReader::new(output, offset, run.progress.as_ref());
        // Scripts refer to no functions, so only an untrusted service would open host requests for them.
        let has_functions = matches!(run.steps, RunSteps::Language(_));
        let host = self.host.clone().filter(|_| has_functions);
        let extras = Extras {
            host: host.map(|host| host.for_job(&run.variables)),
            reports: run.reports.as_ref(),
        };
        let ended = self.watch(&run.id, log, extras, cancellation).await;
        match (ended, run.timing.timeout) {
            (Err(StepsError::TimedOut { .. }), Some(limit)) => Err(StepsError::TimedOut { limit }),
            (ended, _) => ended,
        }
    }

    /// Returns the status of one request, or of all.
    ///
    /// # Errors
    ///
    /// [`StepsError::Forgotten`] when the service does not know it.
    pub async fn status(&self, id: Option<&RunId>) -> Result<Vec<RunStatus>, StepsError> {
        let id = id.map_or("", RunId::as_str);
        let request = v1::StatusRequest { id: id.to_owned() };
        let answer = Attempts::new(&self.link)
            .call(id, &Cancellation::new(), |mut service| {
                let request = request.clone();
                async move { service.status(request).await }
            })
            .await?;
        Ok(answer.jobs.into_iter().map(responses::status).collect())
    }

    /// Ends a request if necessary, and lets the service remove it. It may be repeated.
    ///
    /// # Errors
    ///
    /// When the service cannot be reached.
    pub async fn finish(&self, id: &RunId) -> Result<(), StepsError> {
        let request = v1::FinishRequest {
            id: id.as_str().to_owned(),
        };
        Attempts::new(&self.link)
            .call(id.as_str(), &Cancellation::new(), |mut service| {
                let request = request.clone();
                async move { service.finish(request).await }
            })
            .await?;
        Ok(())
    }

    /// Changes the owner of a tree of files, without following links or leaving its file system.
    ///
    /// # Errors
    ///
    /// When the service lacks the permission, or a path does not exist.
    pub async fn own(&self, path: &str, uid: u32, gid: u32) -> Result<(), StepsError> {
        let request = v1::OwnRequest {
            path: path.to_owned(),
            uid,
            gid,
        };
        RemoteFiles::new(Arc::clone(&self.link)).own(request).await
    }

    /// Returns the file transfer of the environment, over the same connection.
    pub fn files(&self) -> Arc<dyn FileTransfer> {
        Arc::new(RemoteFiles::new(Arc::clone(&self.link)))
    }

    /// Starts a request once, even if the connection breaks meanwhile.
    ///
    /// The message names the instance of the service, so that a restarted service does not run what the earlier one may have
    /// run.
    async fn start(&self, run: &RunSpec, cancellation: &Cancellation) -> Result<(), StepsError> {
        let mut request = request(run);
        request.instance = match self.known_instance() {
            Some(instance) => instance,
            None => self.hello(cancellation).await?.instance,
        };
        let mut attempts = Attempts::new(&self.link);
        let mut state = Sending::Unsent;
        // A request that may have been sent is not cancelled before it is known whether it runs.
        let never = Cancellation::new();
        loop {
            let mut service = self.link.service();
            let call = service.run(request.clone());
            match (attempts.once(call).await, state) {
                (Ok(v1::RunResponse {}), _) => return Ok(()),
                (Err(Failure::Refused(status)), Sending::Unsent) if is_for_another(&status) => {
                    // No instance has it, so the new one may run it.
                    request.instance = self.hello(cancellation).await?.instance;
                    state = Sending::Redirected;
                }
                (Err(Failure::Refused(status)), _) => {
                    return Err(refusal(&status, run.id.as_str()));
                }
                (Err(Failure::Gone(cause)), _) => {
                    state = Sending::Unanswered;
                    let waits = if cancellation.is_aborted() {
                        cancellation
                    } else {
                        &never
                    };
                    attempts.wait(cause, waits).await?;
                }
            }
        }
    }

    fn known_instance(&self) -> Option<String> {
        self.instance.lock().clone()
    }

    /// Follows a request to its end.
    async fn watch(
        &self,
        id: &RunId,
        mut log: LogReader<'_>,
        extras: Extras<'_>,
        cancellation: &Cancellation,
    ) -> Result<RunResult, StepsError> {
        let serve_host_requests = async {
            if let Some(host) = extras.host {
                HostRequests::new(&self.link, id, host).serve().await;
            }
            pending::<Infallible>().await
        };
        let ended = tokio::select! {
            ended = follow(&self.link, id, &mut log) => {
                ended.and_then(|status| responses::ended(status, cancellation))
            }
            error = stop::pass_on(&self.link, id, cancellation) => Err(error),
            never = serve_host_requests => match never {},
        };
        let is_lost = |error: &StepsError| matches!(error.class(), StepsErrorClass::Lost);
        if !ended.as_ref().is_err_and(is_lost) {
            if let Some(reports) = extras.reports {
                report(&self.link, id, reports).await;
            }
            match &self.release {
                Release::AtEnd => self.release(id).await,
                Release::ByCaller(kept) => kept.lock().push(id.clone()),
            }
        }
        ended.map_err(|error| match cancellation.cause() {
            Some(cause) if is_lost(&error) => StepsError::Canceled(cause),
            _ => error,
        })
    }

    /// Removes the requests from the service that this client and its clones [kept](Self::with_kept_results).
    ///
    /// # Cancellation
    ///
    /// An abort ends it; the service prunes the rest later.
    pub async fn release_kept(&self, cancellation: &Cancellation) {
        let Release::ByCaller(kept) = &self.release else {
            return;
        };
        let kept = std::mem::take(&mut *kept.lock());
        let releasing = async {
            for id in &kept {
                self.release(id).await;
            }
        };
        tokio::select! {
            () = releasing => {}
            _ = cancellation.aborted() => {}
        }
    }

    /// Finishes a request. If this fails, the service prunes the request later, so it is not an error.
    async fn release(&self, id: &RunId) {
        let limit = self.link.options().call_timeout;
        match tokio::time::timeout(limit, self.finish(id)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(id = %id, %error, "Could not finish a request."),
            Err(_) => tracing::debug!(id = %id, "Could not finish a request in time."),
        }
    }
}

/// What accompanies the log of a request.
struct Extras<'a> {
    /// Fulfils host requests.
    host: Option<Host>,
    /// Receives the results of the steps.
    reports: Option<&'a StepReports>,
}

/// What is known of a request that is being started.
#[derive(Debug, Clone, Copy)]
enum Sending {
    /// No service has it.
    Unsent,
    /// No service has it, and it was addressed to another instance.
    Redirected,
    /// A service may run it.
    Unanswered,
}
