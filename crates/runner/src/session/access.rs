use crate::system_id::random_hex;
use async_trait::async_trait;
use executor_core::job::{Job, JobId, SecretString};
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, CancelCause, Cancellation, HumanDuration};
use job_runner::{JobAccess, ReachableJobs, Visit, VisitPoint, Visitor};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep};
use web::Url;

/// How many requests of one session are forwarded at a time.
const FORWARDED: usize = 64;

/// The sessions that can be connected to. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Sessions(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    url: Url,
    certificate: String,
    timeout: Duration,
    open: Mutex<HashMap<String, Arc<Session>>>,
}

impl Sessions {
    /// Returns no sessions yet, of a server with this address and certificate.
    pub(super) fn new(url: Url, certificate: String, timeout: Duration) -> Self {
        Self(Arc::new(Shared {
            url,
            certificate,
            timeout,
            open: Mutex::default(),
        }))
    }

    /// Opens a session for a request for a job.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub(crate) fn open(&self) -> io::Result<OpenSession> {
        let id = random_hex()?;
        let authorization = format!("{}{}", random_hex()?, random_hex()?);
        let session = Arc::new(Session {
            authorization: Sha256::digest(&authorization).into(),
            timeout: self.0.timeout,
            jobs: ReachableJobs::default(),
            job: OnceLock::new(),
            connected: watch::Sender::default(),
            places: Arc::new(Semaphore::new(FORWARDED)),
            closed: Cancellation::new(),
        });
        let mut open = self.0.open.lock();
        open.insert(id.clone(), Arc::clone(&session));
        drop(open);
        Ok(OpenSession {
            sessions: self.clone(),
            id,
            authorization: authorization.into(),
            session,
        })
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        self.0.open.lock().get(id).cloned()
    }
}

/// A session until this is dropped, which closes its terminal and its connections to ports.
#[derive(Debug)]
pub(crate) struct OpenSession {
    sessions: Sessions,
    id: String,
    authorization: SecretString,
    session: Arc<Session>,
}

impl OpenSession {
    /// Returns the message that tells GitLab how to connect.
    pub(crate) fn message(&self) -> gitlab_api::runner::Session {
        let Shared {
            url, certificate, ..
        } = &*self.sessions.0;
        gitlab_api::runner::Session {
            url: format!("{url}session/{}", self.id),
            certificate: certificate.clone(),
            authorization: self.authorization.clone(),
        }
    }

    /// Makes it the session of a job. Returns the list for the job, and the visitor that waits for the user of a terminal.
    pub(crate) fn begin(&self, job: JobId) -> (ReachableJobs, Arc<dyn Visitor>) {
        // A turn has one job.
        let _ = self.session.job.set(job);
        let visitor = Arc::clone(&self.session) as Arc<dyn Visitor>;
        (self.session.jobs.clone(), visitor)
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.sessions.0.open.lock().remove(&self.id);
        self.session.closed.cancel(CancelCause::Shutdown);
    }
}

/// Access to one job.
#[derive(Debug)]
pub(super) struct Session {
    /// The digest of the header's value: comparing digests takes a time that tells nothing about the value.
    authorization: [u8; 32],
    timeout: Duration,
    /// Has at most one job: ids of jobs of two servers may be equal.
    jobs: ReachableJobs,
    pub(super) job: OnceLock<JobId>,
    connected: watch::Sender<bool>,
    /// The requests that can still be forwarded at the same time.
    places: Arc<Semaphore>,
    /// Closes the terminal and the connections to ports.
    pub(super) closed: Cancellation,
}

impl Session {
    pub(super) fn accepts(&self, authorization: &[u8]) -> bool {
        Sha256::digest(authorization).as_slice() == self.authorization
    }

    /// Returns the access to the job; `None` while it has no environment.
    pub(super) fn access(&self) -> Option<JobAccess> {
        self.jobs.of(*self.job.get()?)
    }

    /// Reserves a place for a request to a port; `None` if all are taken.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Reserves the terminal; `None` if it is in use.
    pub(super) fn connect(self: &Arc<Self>) -> Option<Connected> {
        let reserve = |is_connected: &mut bool| !std::mem::replace(is_connected, true);
        let reserved = self.connected.send_if_modified(reserve);
        reserved.then(|| Connected(Arc::clone(self)))
    }
}

/// The only connection of a session until this is dropped.
#[derive(Debug)]
pub(super) struct Connected(pub(super) Arc<Session>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connected.send_replace(false);
    }
}

/// Keeps the job's environment while a terminal is connected.
#[async_trait]
impl Visitor for Session {
    fn enters(&self, _job: &Job, _attempt: u32, point: &VisitPoint) -> bool {
        matches!(point, VisitPoint::AtEnd { .. }) && *self.connected.borrow()
    }

    fn commands(&self, _job: &Job) -> Option<Vec<String>> {
        None
    }

    async fn visit(&self, visit: Visit, cancellation: &Cancellation) -> Result<(), BuildError> {
        let VisitPoint::AtEnd { deadline } = visit.point else {
            return Ok(());
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = self.timeout.min(left);
        let line = format!(
            "Terminal is connected, will time out in {}...",
            HumanDuration(timeout)
        );
        visit.log.system_line(&line);
        let mut connected = self.connected.subscribe();
        tokio::select! {
            // This has a sender, so the channel is open.
            _ = connected.wait_for(|it| !it) => {}
            () = sleep(timeout) => {
                visit.log.warning_line("the terminal was closed, as its time is up");
                self.closed.cancel(CancelCause::Timeout);
            }
            _ = cancellation.canceled() => {}
        }
        Ok(())
    }
}
