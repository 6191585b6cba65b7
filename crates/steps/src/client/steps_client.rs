use super::agent_info::AgentInfo;
use super::answer;
use super::call::{Attempts, Failure, is_for_another, refusal};
use super::error::{StepsError, StepsErrorClass};
use super::follow::follow;
use super::link::Link;
use super::log_reader::LogReader;
use super::options::ClientOptions;
use super::report::report;
use super::request::request;
use super::run_id::RunId;
use super::run_result::RunResult;
use super::run_spec::{RunSpec, RunSteps};
use super::run_status::RunStatus;
use super::step_report::StepReports;
use super::stop;
use super::wishes::{Patron, Wishes};
use crate::files::RemoteFiles;
use crate::library::{Asker, Library};
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
/// All calls share one connection, which is opened with the first of them. When it breaks it is opened again, and what
/// was going on goes on where it stopped. Clones are the same client.
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
    /// The service that answered last, as it names itself.
    instance: Arc<Mutex<Option<String>>>,
    /// Who brings what steps need from outside, if there is somebody.
    patron: Option<Patron>,
}

impl StepsClient {
    /// Returns a client that reaches its service in this way. It does not connect yet.
    pub fn new(connector: Arc<dyn StepsConnector>, options: ClientOptions) -> Self {
        Self {
            link: Arc::new(Link::new(connector, options)),
            instance: Arc::default(),
            patron: None,
        }
    }

    /// Returns a client that brings functions of git repositories and registries, and sends images of them, while it
    /// follows a request.
    ///
    /// A job's own credentials are in `asker`, or else in the variables of a [`RunSpec`].
    #[must_use]
    pub fn with_library(mut self, library: Arc<dyn Library>, asker: Asker) -> Self {
        self.patron = Some(Patron { library, asker });
        self
    }

    /// Waits until the service answers, and returns who it is.
    ///
    /// # Errors
    ///
    /// [`StepsError::Unreachable`] when nobody answered [in time](ClientOptions::ready_within).
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
        let agent = answer::agent(hello);
        let mut instance = self.instance.lock();
        *instance = Some(agent.instance.clone());
        Ok(agent)
    }

    /// Runs a request to its end, and gives what it writes to `output`, each byte once.
    ///
    /// # Errors
    ///
    /// A script that fails is no error. [`StepsErrorClass::Lost`] means that it is not known how the scripts ended, or
    /// whether they have; they are never started twice.
    ///
    /// # Cancellation
    ///
    /// The service is told, ends the scripts as strongly as that, and the end is waited for; then it returns
    /// [`StepsError::Canceled`]. What ended by itself before that keeps its result. When the future is dropped the
    /// request goes on in the service, and can be [resumed](Self::resume).
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

    /// Goes on with a request that somebody started earlier as this one, from this byte of its log, as
    /// [`execute`](Self::execute) does.
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
        // Scripts name no functions, so whoever wishes for one beside them is not the service.
        let names_functions = matches!(run.steps, RunSteps::Language(_));
        let patron = self.patron.clone().filter(|_| names_functions);
        let beside = Beside {
            patron: patron.map(|patron| patron.of(&run.variables)),
            reports: run.reports.as_ref(),
        };
        let ended = self.watch(&run.id, log, beside, cancellation).await;
        match (ended, run.timing.timeout) {
            (Err(StepsError::TimedOut { .. }), Some(limit)) => Err(StepsError::TimedOut { limit }),
            (ended, _) => ended,
        }
    }

    /// Returns how one request is, or all that the service knows.
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
        Ok(answer.jobs.into_iter().map(answer::status).collect())
    }

    /// Ends a request, if it has not ended, and lets the service forget it. It may be called again.
    ///
    /// # Errors
    ///
    /// When the service is not there.
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

    /// Gives a tree of files to another owner, without following a link or leaving its file system.
    ///
    /// # Errors
    ///
    /// When the service may not, or a path is not there.
    pub async fn own(&self, path: &str, uid: u32, gid: u32) -> Result<(), StepsError> {
        let request = v1::OwnRequest {
            path: path.to_owned(),
            uid,
            gid,
        };
        RemoteFiles::new(Arc::clone(&self.link)).own(request).await
    }

    /// Returns what moves files to the environment and from it, over the same connection.
    pub fn files(&self) -> Arc<dyn FileTransfer> {
        Arc::new(RemoteFiles::new(Arc::clone(&self.link)))
    }

    /// Starts a request, once, however often the connection breaks meanwhile.
    ///
    /// It is sent with the name of the service that shall take it, so that one that was started anew does not take what the
    /// one before may have run.
    async fn start(&self, run: &RunSpec, cancellation: &Cancellation) -> Result<(), StepsError> {
        let mut request = request(run);
        request.instance = match self.known_instance() {
            Some(instance) => instance,
            None => self.hello(cancellation).await?.instance,
        };
        let mut attempts = Attempts::new(&self.link);
        let mut state = Sending::Unsent;
        // What may have been sent is not given up for a cancellation: it is known first whether it runs.
        let never = Cancellation::new();
        loop {
            let mut service = self.link.service();
            let call = service.run(request.clone());
            match (attempts.once(call).await, state) {
                (Ok(v1::RunResponse {}), _) => return Ok(()),
                (Err(Failure::Refused(status)), Sending::Unsent) if is_for_another(&status) => {
                    // Nobody has it, so whoever is there now may take it.
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

    /// Follows a request to its end and lets the service forget it.
    async fn watch(
        &self,
        id: &RunId,
        mut log: LogReader<'_>,
        beside: Beside<'_>,
        cancellation: &Cancellation,
    ) -> Result<RunResult, StepsError> {
        let met = async {
            if let Some(patron) = beside.patron {
                Wishes::new(&self.link, id, patron).meet().await;
            }
            pending::<Infallible>().await
        };
        let ended = tokio::select! {
            ended = follow(&self.link, id, &mut log) => {
                ended.and_then(|status| answer::ended(status, cancellation))
            }
            error = stop::pass_on(&self.link, id, cancellation) => Err(error),
            never = met => match never {},
        };
        let is_lost = |error: &StepsError| matches!(error.class(), StepsErrorClass::Lost);
        if !ended.as_ref().is_err_and(is_lost) {
            if let Some(reports) = beside.reports {
                report(&self.link, id, reports).await;
            }
            self.let_go(id).await;
        }
        ended.map_err(|error| match cancellation.cause() {
            Some(cause) if is_lost(&error) => StepsError::Canceled(cause),
            _ => error,
        })
    }

    /// What the service is not told it finds out itself, later, so a failure is no error of the request.
    async fn let_go(&self, id: &RunId) {
        let limit = self.link.options().call_timeout;
        match tokio::time::timeout(limit, self.finish(id)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(id = %id, %error, "A request could not be finished."),
            Err(_) => tracing::debug!(id = %id, "A request could not be finished in time."),
        }
    }
}

/// What goes on beside the log.
struct Beside<'a> {
    /// Who brings what the steps refer to.
    patron: Option<Patron>,
    /// Who is told what became of them.
    reports: Option<&'a StepReports>,
}

/// What is known of a request that is being sent.
#[derive(Debug, Clone, Copy)]
enum Sending {
    /// No service has it.
    Unsent,
    /// No service has it, and it was given another address.
    Redirected,
    /// Some service may run it.
    Unanswered,
}
