//! The containment of one job.

use parking_lot::{Mutex, MutexGuard};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use fail_point::fail_point;

use crate::cgroup::Group;
use crate::children;
use crate::command::{Command, MARKER_NAME, nested};
use crate::environment::Environment;
use crate::error::ProcessError;
use crate::job_cgroup::JobCgroup;
use crate::leaf::Leaf;
use crate::limits::lock_limit;
use crate::process::Process;
use crate::scan::{self, Sought};
use crate::scope::{Scope, blocking, release_active, sweep};
use crate::supervisor::Shared;
use crate::sys::stdio;

/// All processes of one job.
///
/// [`Supervisor::tree`](crate::Supervisor::tree) creates it, and [`close`](Self::close) ends it, also after success.
/// Clones are cheap and share the tree. When the last clone and the last [`Process`] are dropped without `close`,
/// the remaining processes are killed without waiting.
#[derive(Debug, Clone)]
pub struct ProcessTree {
    shared: Arc<Tree>,
}

#[derive(Debug)]
pub(crate) struct Tree {
    run: Arc<Shared>,
    /// The prefix of the markers: `<run>.<tree>.`.
    prefix: String,
    number: u64,
    /// The cgroup, created for the first process. `None` again once another tree has it.
    group: Mutex<Option<JobCgroup>>,
    /// Set before a process starts outside of the cgroup.
    is_outside: AtomicBool,
    next: AtomicU64,
    closed: AtomicBool,
    /// The number of ended processes that count as running, since their descendants may live.
    staying: AtomicUsize,
    /// Set before the first kill of the whole tree.
    killed: AtomicBool,
}

impl ProcessTree {
    pub(crate) fn new(run: Arc<Shared>, number: u64) -> Self {
        let prefix = format!("{}.{number}.", run.id());
        let shared = Tree {
            run,
            prefix,
            number,
            group: Mutex::default(),
            is_outside: AtomicBool::new(false),
            next: AtomicU64::new(1),
            closed: AtomicBool::new(false),
            staying: AtomicUsize::new(0),
            killed: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Starts a process as the leader of its own process group.
    ///
    /// Call it in a tokio runtime. It blocks until the program is loaded, about half a millisecond regardless of the
    /// runner's size, and up to 15 ms longer while another process has the program open for writing.
    ///
    /// # Errors
    ///
    /// Fails if the program or its directory does not exist or may not be used, if an argument cannot be passed, if
    /// the kernel has no room, or if the tree is closed.
    pub fn spawn(&self, command: &Command) -> Result<Process, ProcessError> {
        self.shared.refuse_if_closed()?;
        children::collect_abandoned();
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let marker = format!("{}{number}", self.shared.prefix);
        let inherited = self.shared.run.environment().get(MARKER_NAME);
        let mut prepared = command.prepare(Some(&nested(inherited, &marker)))?;
        if !self.shared.trusts_groups() {
            prepared.lock_limit = lock_limit(&marker);
        }
        let spawn_error = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => ProcessError::NotFound {
                program: command.program(),
            },
            _ => ProcessError::Spawn {
                program: command.program(),
                source,
            },
        };
        let (child_stdio, our_stdio) = stdio(command.input()).map_err(spawn_error)?;
        let mut scope = Scope::new(Arc::clone(&self.shared), marker, command.descendants())?;
        let started = fail_point!("process::tree::spawn", scope.start(&prepared, child_stdio));
        let started = started.map_err(|error| {
            let closed = self.shared.refuse_if_closed().err();
            closed.unwrap_or_else(|| spawn_error(error))
        })?;
        let process = Process::new(
            command.program(),
            started,
            our_stdio,
            command.input(),
            scope,
        )?;
        // A concurrent `close` may have missed the new process, which is killed when it is dropped here.
        self.shared.refuse_if_closed()?;
        Ok(process)
    }

    /// Returns the process environment of the runner.
    pub fn environment(&self) -> &Environment {
        self.shared.run.environment()
    }

    /// Returns whether the processes are in a cgroup, which they cannot escape.
    pub fn is_contained(&self) -> bool {
        !self.shared.needs_marker()
    }

    /// Kills all processes in the tree at once, without waiting.
    ///
    /// Pending calls of [`Process::run`] see their processes end by a signal.
    pub fn kill(&self) {
        self.shared.kill();
    }

    /// Kills the remaining processes and waits until they are gone.
    ///
    /// Idempotent. Call it at the end of every job, also of a successful one.
    ///
    /// # Errors
    ///
    /// Fails if a process survives SIGKILL for 10 s.
    pub async fn close(&self) -> Result<(), ProcessError> {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.release_staying();
        if !self.shared.pass_on_group()
            && let Some(group) = self.shared.group_to_remove()
        {
            group
                .remove()
                .await
                .map_err(|source| ProcessError::Containment {
                    reason: format!("remove {}", group.path().display()),
                    source: Some(source),
                })?;
        }
        let has_started = self.shared.next.load(Ordering::Relaxed) > 1;
        if has_started && self.shared.needs_marker() {
            let tree = Arc::clone(&self.shared);
            blocking(move || sweep(Sought::MarkerPrefix(&tree.prefix), None)).await?;
        }
        children::collect_abandoned();
        Ok(())
    }
}

impl Tree {
    fn group(&self) -> MutexGuard<'_, Option<JobCgroup>> {
        self.group.lock()
    }

    /// Returns the number of processes killed for lack of memory; `None` when it is unknown.
    pub(crate) fn oom_kills(&self) -> Option<u64> {
        self.group().as_ref().and_then(JobCgroup::oom_kills)
    }

    pub(crate) fn give_up_cgroups(&self, reason: &io::Error) {
        self.run.give_up_cgroups(reason);
    }

    /// Returns whether a kill of this tree may have hit a new process.
    pub(crate) fn may_be_killed(&self) -> bool {
        self.killed.load(Ordering::SeqCst) || self.is_closed()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst) || self.run.is_closed()
    }

    fn refuse_if_closed(&self) -> Result<(), ProcessError> {
        if self.is_closed() {
            let reason = "the process tree is closed".to_owned();
            return Err(ProcessError::Containment {
                reason,
                source: None,
            });
        }
        Ok(())
    }

    /// Counts an ended process as running until the tree is closed.
    pub(crate) fn stay_active(&self) {
        self.staying.fetch_add(1, Ordering::Relaxed);
    }

    fn release_staying(&self) {
        release_active(self.staying.swap(0, Ordering::Relaxed));
    }

    /// Returns whether only the process groups of programs are ended.
    pub(crate) fn trusts_groups(&self) -> bool {
        self.run.trusts_groups()
    }

    /// Returns whether processes of this tree may be outside its cgroup, or it has none.
    fn needs_marker(&self) -> bool {
        let all_inside = self.run.uses_cgroups() && !self.is_outside.load(Ordering::SeqCst);
        !all_inside && !self.trusts_groups()
    }

    /// Returns a leaf for the next process; `None` where processes are found by their marker.
    ///
    /// If a leaf cannot be created, because of memory or a limit of the system, cgroups are abandoned for good: code
    /// that relies on them would miss a single process outside.
    pub(crate) fn leaf(&self) -> Result<Option<Leaf>, ProcessError> {
        let mut group = self.group();
        // Under the lock, so that no tree gets a cgroup after it was closed.
        self.refuse_if_closed()?;
        if group.is_none() {
            *group = self.run.job_group(self.number);
        }
        let Some(group) = group.as_mut().filter(|_| self.run.uses_cgroups()) else {
            // A run that was closed just now has no cgroups.
            self.refuse_if_closed()?;
            self.is_outside.store(true, Ordering::SeqCst);
            return Ok(None);
        };
        match group.lend() {
            Ok(leaf) => Ok(Some(leaf)),
            Err(error) => {
                // The cgroup of a closed run is gone.
                self.refuse_if_closed()?;
                self.run.give_up_cgroups(&error);
                Ok(None)
            }
        }
    }

    /// Takes back a leaf of [`leaf`](Self::leaf).
    pub(crate) fn return_leaf(&self, leaf: Leaf) {
        if let Some(group) = &mut *self.group() {
            group.take_back(leaf);
        }
    }

    /// Passes the cgroup on to the next tree if this one left nothing in it; otherwise returns false.
    ///
    /// A concurrent kill of this tree finds no cgroup, so it never reaches the next job.
    fn pass_on_group(&self) -> bool {
        let mut group = self.group();
        let unharmed = !self.killed.load(Ordering::SeqCst) && !self.needs_marker();
        // The next tree checks its settings.
        let empty = group.take_if(|group| unharmed && group.is_empty());
        let passed_on = empty.is_some();
        self.run.spare_groups().extend(empty);
        passed_on
    }

    fn group_to_remove(&self) -> Option<Group> {
        let mut group = self.group();
        let group = group.as_mut()?;
        group.close_spare();
        Some(group.group().clone())
    }

    fn kill(&self) {
        self.killed.store(true, Ordering::SeqCst);
        if let Some(group) = &*self.group() {
            let _ = group.group().kill();
        }
        if self.needs_marker() {
            scan::kill(Sought::MarkerPrefix(&self.prefix), &[], &[]);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.release_staying();
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        if self.needs_marker() {
            self.kill();
        }
        if self.pass_on_group() {
            return;
        }
        let Some(group) = self.group_to_remove() else {
            return;
        };
        let removed = group.remove_blocking(Duration::from_millis(100));
        if let Err(error) = removed {
            // The end of the run, the guardian or the next start tries again.
            tracing::warn!(%error, path = %group.path().display(), "A cgroup could not be removed yet.");
        }
    }
}
