//! The containment of one job.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::cgroup::{Group, Leaf};
use crate::children;
use crate::command::{Command, MARKER_NAME, Prepared, nested};
use crate::environment::Environment;
use crate::error::ProcessError;
use crate::process::Process;
use crate::scan::{self, Sought};
use crate::supervisor::Shared;
use crate::sys::{ChildStdio, Started, clone, posix, stdio};

/// Processes that are not over yet, in all trees of this program.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// Everything one job starts.
///
/// Made by [`Supervisor::tree`](crate::Supervisor::tree), ended by
/// [`close`](Self::close), also after success. Cheap to clone; the clones are one tree.
/// When the last clone and the last [`Process`] are dropped without `close`,
/// what still lives is killed without waiting.
#[derive(Debug, Clone)]
pub struct ProcessTree {
    shared: Arc<Tree>,
}

#[derive(Debug)]
pub(crate) struct Tree {
    run: Arc<Shared>,
    /// Begins the marker of every process: `<run>.<tree>.`.
    prefix: String,
    group: Option<Group>,
    next: AtomicU64,
    closed: AtomicBool,
    /// Set before the first kill of the whole tree.
    killed: AtomicBool,
    /// Leaves that are empty again; making one costs more than a system call.
    spare: Mutex<Vec<Leaf>>,
}

impl ProcessTree {
    pub(crate) fn new(run: Arc<Shared>, number: u64, pids_max: Option<u64>) -> Self {
        let group = run.make_group(&format!("job-{number}"));
        if let (Some(group), Some(limit)) = (&group, pids_max)
            && !group.limit_pids(limit)
        {
            tracing::warn!(limit, "The number of processes cannot be limited here.");
        }
        let prefix = format!("{}.{number}.", run.id());
        let shared = Tree {
            run,
            prefix,
            group,
            next: AtomicU64::new(1),
            closed: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            spare: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Starts a process as the leader of its own process group.
    ///
    /// Call it inside a tokio runtime. Blocks until the program is loaded, about
    /// half a millisecond, however large the runner is.
    ///
    /// # Errors
    ///
    /// Fails if the program or its directory does not exist or may not be used,
    /// if an argument cannot be passed, if the kernel has no room, or if the tree
    /// is closed.
    pub fn spawn(&self, command: &Command) -> Result<Process, ProcessError> {
        self.shared.refuse_if_closed()?;
        children::collect_abandoned();
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let marker = format!("{}{number}", self.shared.prefix);
        let inherited = self.shared.run.environment().get(MARKER_NAME);
        let prepared = command.prepare(Some(&nested(inherited, &marker)))?;
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
        let mut scope = Scope::new(Arc::clone(&self.shared), number, marker)?;
        let started = scope.start(&prepared, child_stdio).map_err(|error| {
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
        // Whoever closed the tree meanwhile may have looked before the process was there. Dropped,
        // it is killed.
        self.shared.refuse_if_closed()?;
        Ok(process)
    }

    /// Returns the environment the runner was started with.
    pub fn environment(&self) -> &Environment {
        self.shared.run.environment()
    }

    /// Returns whether the processes are held by a cgroup, which nothing escapes.
    pub fn is_contained(&self) -> bool {
        self.shared.group.is_some() && self.shared.run.uses_cgroups()
    }

    /// Kills everything in the tree at once, without waiting.
    ///
    /// Those who wait in [`Process::run`] see their processes end by a signal.
    pub fn kill(&self) {
        self.shared.kill();
    }

    /// Kills what still lives and waits until nothing does.
    ///
    /// Idempotent. Call it at the end of every job, also of a successful one.
    ///
    /// # Errors
    ///
    /// Fails if something outlives SIGKILL for 10 s.
    pub async fn close(&self) -> Result<(), ProcessError> {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.spare().clear();
        if let Some(group) = &self.shared.group {
            group
                .remove()
                .await
                .map_err(|source| ProcessError::Containment {
                    reason: format!("remove {}", group.path().display()),
                    source: Some(source),
                })?;
        }
        if self.shared.needs_marker() {
            let tree = Arc::clone(&self.shared);
            blocking(move || sweep(Sought::MarkerPrefix(&tree.prefix), None)).await?;
        }
        children::collect_abandoned();
        Ok(())
    }
}

impl Tree {
    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Leaf>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether somebody here may have killed a process at its birth.
    fn may_be_killed(&self) -> bool {
        self.killed.load(Ordering::SeqCst) || self.is_closed()
    }

    fn is_closed(&self) -> bool {
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

    /// Returns whether processes of this tree may be outside its group, or it has none.
    fn needs_marker(&self) -> bool {
        self.group.is_none() || !self.run.uses_cgroups()
    }

    /// Returns a leaf for the next process; `None` where processes are held by their marker.
    ///
    /// A leaf that cannot be made, for want of memory or because the system limits the number of
    /// groups, ends the use of groups for good: a single process outside them would escape all that
    /// relies on them.
    fn leaf(&self, number: u64) -> Result<Option<Leaf>, ProcessError> {
        let Some(group) = self.group.as_ref().filter(|_| self.run.uses_cgroups()) else {
            return Ok(None);
        };
        if let Some(leaf) = self.spare().pop() {
            return Ok(Some(leaf));
        }
        match Leaf::create(group.path().join(number.to_string())) {
            Ok(leaf) => Ok(Some(leaf)),
            Err(error) => {
                // The group of a closed tree is gone, which says nothing about others.
                self.refuse_if_closed()?;
                self.run.give_up_cgroups(&error);
                Ok(None)
            }
        }
    }

    fn kill(&self) {
        self.killed.store(true, Ordering::SeqCst);
        if let Some(group) = &self.group {
            let _ = group.kill();
        }
        if self.needs_marker() {
            scan::kill(Sought::MarkerPrefix(&self.prefix), &[], &[]);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        if self.needs_marker() {
            self.kill();
        }
        let Some(group) = &self.group else {
            return;
        };
        self.spare().clear();
        let removed = group.remove_blocking(Duration::from_millis(100));
        if let Err(error) = removed {
            // The run's end, the guardian or the next start will try again.
            tracing::warn!(%error, path = %group.path().display(), "A cgroup is left for now.");
        }
    }
}

/// One process and all it starts, as far as they can be told from others.
#[derive(Debug)]
pub(crate) struct Scope {
    tree: Arc<Tree>,
    leaf: Option<Leaf>,
    marker: String,
    oom_kills: Option<u64>,
}

impl Scope {
    fn new(tree: Arc<Tree>, number: u64, marker: String) -> Result<Self, ProcessError> {
        let leaf = tree.leaf(number)?;
        let oom_kills = tree.group.as_ref().and_then(Group::oom_kills);
        // Counted before the start, so that no sweep takes what the process
        // starts for somebody's left-over.
        ACTIVE.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            tree,
            leaf,
            marker,
            oom_kills,
        })
    }

    /// Starts the main process in the leaf, or without if the kernel will not have it there.
    ///
    /// Some kernels kill at its birth whatever starts in a new group, if the group
    /// of the runner was itself killed before; see [`Leaf::is_reusable`].
    fn start(&mut self, command: &Prepared, stdio: ChildStdio) -> io::Result<Started> {
        let Some(leaf) = &self.leaf else {
            return start_without_leaf(command, stdio);
        };
        let mut refused = false;
        let started = children::start(|| {
            clone::spawn(command, &stdio, Some(leaf.directory())).unwrap_or_else(|error| {
                // Without room for processes the other way would not do either.
                refused = error.kind() != io::ErrorKind::WouldBlock;
                Err(error)
            })
        });
        let reason = match started {
            Err(error) if refused && self.tree.is_closed() => return Err(error),
            Err(error) if refused => error,
            Ok(child) if !child.begun && !self.tree.may_be_killed() => {
                children::collect(child.pid)?;
                io::Error::other("the kernel kills what starts in a new group")
            }
            started => return started,
        };
        self.tree.run.give_up_cgroups(&reason);
        self.leaf = None;
        start_without_leaf(command, stdio)
    }

    /// Kills the group of the main process, and everything else in reach, at once.
    ///
    /// `leader` must not have been collected yet.
    pub(crate) fn kill(&self, leader: Option<Pid>) {
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        match &self.leaf {
            Some(leaf) => {
                if let Err(error) = leaf.kill() {
                    tracing::warn!(%error, "A cgroup leaf cannot be killed.");
                }
            }
            None => {
                scan::kill(Sought::Marker(&self.marker), leader.as_slice(), &[]);
            }
        }
    }

    /// Kills what outlived the main process and waits until it is gone.
    pub(crate) async fn end(&mut self, leader: Option<Pid>) -> Result<(), ProcessError> {
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        if let Some(leaf) = &mut self.leaf {
            leaf.empty()
                .await
                .map_err(|source| ProcessError::Containment {
                    reason: "empty the cgroup of an ended process".to_owned(),
                    source: Some(source),
                })?;
            if children::adopts() {
                children::adopted();
            }
            return Ok(());
        }
        if children::adopts() && children::adopted().is_empty() {
            // Whatever outlives its parent becomes our child, or is below one.
            return Ok(());
        }
        let marker = self.marker.clone();
        blocking(move || sweep(Sought::Marker(&marker), leader)).await
    }

    /// Returns whether the kernel killed for want of memory since the start.
    pub(crate) fn oom_killed(&self) -> bool {
        let now = self.tree.group.as_ref().and_then(Group::oom_kills);
        now > self.oom_kills
    }
}

/// Starts a process in a session of its own; where the kernel or a sandbox has no `clone3`, in a
/// group of its own only, and then it can reach the runner's terminal, and has what the runner
/// inherited of open files.
fn start_without_leaf(command: &Prepared, stdio: ChildStdio) -> io::Result<Started> {
    children::start(|| match clone::spawn(command, &stdio, None) {
        Ok(started) => started,
        Err(error) => {
            tracing::debug!(%error, "Processes get no session of their own here.");
            posix::spawn(command, stdio)
        }
    })
}

impl Drop for Scope {
    fn drop(&mut self) {
        ACTIVE.fetch_sub(1, Ordering::Relaxed);
        // A leaf with survivors serves the next process as well: its end kills
        // them, and so does the end of the tree.
        match self.leaf.take() {
            Some(leaf) if leaf.is_reusable() => self.tree.spare().push(leaf),
            Some(leaf) => leaf.retire(),
            None => {}
        }
    }
}

/// Kills what carries the marker until nothing does, and collects the dead.
fn sweep(sought: Sought<'_>, leader: Option<Pid>) -> Result<(), ProcessError> {
    let adopts = children::adopts();
    let orphans = || {
        let orphans = if adopts {
            children::adopted()
        } else {
            Vec::new()
        };
        // One that shed both marker and group could be any job's, so it is only
        // ours if no other job could have made it.
        let alone = ACTIVE.load(Ordering::Relaxed) <= usize::from(leader.is_some());
        if alone { orphans } else { Vec::new() }
    };
    let ended = scan::end(sought, leader.as_slice(), orphans);
    ended
        .map(drop)
        .map_err(|count| ProcessError::Survivors { count })
}

/// Kills what carries a marker that begins so, in whatever tree it is.
pub(crate) async fn sweep_run(prefix: String) -> Result<(), ProcessError> {
    blocking(move || sweep(Sought::MarkerPrefix(&prefix), None)).await
}

/// Runs a scan of all processes where it holds up no other task.
async fn blocking<T: Send + 'static>(
    action: impl FnOnce() -> Result<T, ProcessError> + Send + 'static,
) -> Result<T, ProcessError> {
    match tokio::task::spawn_blocking(action).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down.
            Err(canceled) => Err(ProcessError::Containment {
                reason: "look for what is left".to_owned(),
                source: Some(io::Error::other(canceled)),
            }),
        },
    }
}
