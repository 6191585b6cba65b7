//! The pool: a task that owns the machines, and what others send it.

mod creation;
mod entry;
mod owner;
mod slots;
mod status;
mod takeover;

use crate::driver::MachineDriver;
use crate::journal::Journal;
use crate::machine::State;
use crate::metrics::MachineMetrics;
use crate::options::PoolOptions;
use executor_core::{CancelCause, Cancellation, Endpoint, HumanDuration};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

pub use status::MachineStatus;
pub use takeover::is_name_of;

/// Machines that are created, handed to jobs, and removed. Clones share them.
#[derive(Debug, Clone)]
pub struct Pool {
    owner: mpsc::UnboundedSender<Message>,
}

/// What a pool writes down. Default: nothing.
#[derive(Debug, Default)]
pub struct Records {
    /// What the machines have done, for the next process. Without it, a machine of an earlier process counts as used once, and
    /// jobs there are not continued.
    pub journal: Option<Journal>,
    /// Metrics.
    pub metrics: Option<MachineMetrics>,
}

/// A request to the owner of the machines.
#[derive(Debug)]
enum Message {
    /// Reserve a free slot, or leave to do so later when machines come on demand.
    Acquire(oneshot::Sender<Acquired>),
    /// Reserve a slot as soon as there is one.
    Take(oneshot::Sender<Result<Lease, TakeError>>),
    /// Continue a job of an earlier process on its machine.
    Retake(Arc<str>, oneshot::Sender<Result<Lease, TakeError>>),
    /// Whether a machine answers.
    Verify(Arc<str>, oneshot::Sender<bool>),
    /// The job of a lease has begun.
    Started(Arc<str>),
    /// A lease has ended.
    Released {
        name: Arc<str>,
        had_job: bool,
        has_answered: bool,
        is_doubted: bool,
    },
    /// A job that was to come on demand has got its machine, or does not come.
    Unpromised,
    /// A job waits no longer.
    Left,
    Status(oneshot::Sender<Vec<MachineStatus>>),
    Change(Box<PoolOptions>),
    Shutdown(oneshot::Sender<()>),
}

/// The answer to a request for capacity.
#[derive(Debug)]
pub enum Acquired {
    /// A slot.
    Reserved(Lease),
    /// Machines come on demand, and there is room for one.
    OnDemand(Promise),
    /// There is no free slot, or no room for another machine.
    Full,
    /// There are no machines, since the driver cannot list them.
    Unlisted(String),
}

/// A slot of a machine. It is free again when this is dropped.
#[derive(Debug)]
pub struct Lease {
    name: Arc<str>,
    endpoint: Arc<Endpoint>,
    has_job: AtomicBool,
    has_answered: AtomicBool,
    is_doubted: AtomicBool,
    owner: mpsc::UnboundedSender<Message>,
}

/// Room for a machine that is created when its job asks for it.
#[derive(Debug)]
pub struct Promise {
    owner: mpsc::UnboundedSender<Message>,
}

/// Why a job gets no machine.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// It could not be created.
    #[error("{0}")]
    Driver(String),
    /// The machine of a job that was to be continued is gone.
    #[error("the job's machine {0} is gone")]
    Gone(String),
    /// There was none in this time.
    #[error("no machine was free within {}", HumanDuration(*.0))]
    TimedOut(Duration),
    /// The job was stopped.
    #[error("canceled {0}")]
    Canceled(CancelCause),
    /// The pool has ended.
    #[error("the pool of machines is closed")]
    Closed,
}

impl Pool {
    /// Returns a pool, and the future that owns its machines. The caller runs that until it returns, after
    /// [`shutdown`](Self::shutdown).
    pub fn new(
        options: PoolOptions,
        driver: Arc<dyn MachineDriver>,
        records: Records,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let pool = Self {
            owner: sender.clone(),
        };
        (pool, owner::run(options, driver, records, sender, receiver))
    }

    /// Asks for room for a job that is not there yet. Never waits.
    pub async fn acquire(&self) -> Acquired {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Acquire(reply));
        answer.await.unwrap_or(Acquired::Full)
    }

    /// Waits for a slot. `promise` is the room from [`acquire`](Self::acquire), if there is any; the waiting job takes its place.
    ///
    /// # Errors
    ///
    /// When the machine for this job cannot be created, or none is free within [`PoolOptions::acquire_timeout`].
    ///
    /// # Cancellation
    ///
    /// A stop ends the wait. A machine that is being created for the job goes to the next one.
    pub async fn take(
        &self,
        promise: Option<Promise>,
        cancellation: &Cancellation,
    ) -> Result<Lease, TakeError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Take(reply));
        drop(promise);
        self.wait(answer, cancellation).await
    }

    /// Waits for the slot of a job that an earlier process has left on this machine.
    ///
    /// # Errors
    ///
    /// When the machine is gone, or had no such job, or it was not continued in time.
    ///
    /// # Cancellation
    ///
    /// A stop ends the wait.
    pub async fn retake(
        &self,
        machine: &str,
        cancellation: &Cancellation,
    ) -> Result<Lease, TakeError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Retake(machine.into(), reply));
        self.wait(answer, cancellation).await
    }

    /// Returns whether the machine of a lease answers: the driver checks one that has had neither a check nor a job in the last seconds.
    ///
    /// # Cancellation
    ///
    /// Safe to drop; the check goes on.
    pub async fn verify(&self, lease: &Lease) -> bool {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Verify(Arc::clone(&lease.name), reply));
        answer.await.unwrap_or(false)
    }

    async fn wait(
        &self,
        answer: oneshot::Receiver<Result<Lease, TakeError>>,
        cancellation: &Cancellation,
    ) -> Result<Lease, TakeError> {
        let mut waiting = Waiting { pool: self, answer };
        tokio::select! {
            answer = &mut waiting.answer => match answer {
                Ok(taken) => taken,
                Err(_) => Err(TakeError::Closed),
            },
            cause = cancellation.canceled() => Err(TakeError::Canceled(cause)),
        }
    }

    /// Returns the machines, each with what becomes of it, by name.
    pub async fn status(&self) -> Vec<MachineStatus> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Status(reply));
        answer.await.unwrap_or_default()
    }

    /// Replaces the settings. The prefix stays, and calls in progress keep their deadlines.
    pub fn change(&self, options: PoolOptions) {
        self.send(Message::Change(Box::new(options)));
    }

    /// Ends the pool: it gives no more machines, and removes them if the settings say so. Returns when that is done, or at the
    /// deadline with the machines that are still being created or removed. The next pool takes these over.
    pub async fn shutdown(&self, deadline: Duration) -> Vec<MachineStatus> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Shutdown(reply));
        // Without an answer the owner has ended before.
        if timeout(deadline, answer).await.is_ok() {
            return Vec::new();
        }
        let unfinished = |it: &MachineStatus| it.state == State::Creating || it.is_retired;
        self.status().await.into_iter().filter(unfinished).collect()
    }

    fn send(&self, message: Message) {
        // Without the owner there is no pool, which the missing answer shows.
        let _ = self.owner.send(message);
    }
}

/// A job that waits for a slot.
struct Waiting<'p> {
    pool: &'p Pool,
    answer: oneshot::Receiver<Result<Lease, TakeError>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.answer.close();
        self.pool.send(Message::Left);
    }
}

impl Lease {
    fn new(
        name: &Arc<str>,
        endpoint: Arc<Endpoint>,
        has_job: bool,
        owner: &mpsc::UnboundedSender<Message>,
    ) -> Self {
        Self {
            name: Arc::clone(name),
            endpoint,
            has_job: AtomicBool::new(has_job),
            has_answered: AtomicBool::new(false),
            is_doubted: AtomicBool::new(false),
            owner: owner.clone(),
        }
    }

    /// Returns the machine's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how the machine is reached.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Notes that the job is there.
    pub fn start(&self) {
        if !self.has_job.swap(true, Ordering::Relaxed) {
            let _ = self.owner.send(Message::Started(Arc::clone(&self.name)));
        }
    }

    /// Notes that the environment of the job is there, so the machine answers.
    pub fn note_answer(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    /// Notes that the machine may be at fault: it is checked before the next job.
    pub fn doubt(&self) {
        self.is_doubted.store(true, Ordering::Relaxed);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let _ = self.owner.send(Message::Released {
            name: Arc::clone(&self.name),
            had_job: *self.has_job.get_mut(),
            has_answered: *self.has_answered.get_mut(),
            is_doubted: *self.is_doubted.get_mut(),
        });
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let _ = self.owner.send(Message::Unpromised);
    }
}
