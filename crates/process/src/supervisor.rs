//! One run of the runner: its trees, its journal and its guardian.

use parking_lot::{Mutex, MutexGuard};
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::cgroup::{Group, own_group};
use crate::children;
use crate::environment::Environment;
use crate::error::ProcessError;
use crate::guardian::{self, Guardian};
use crate::job_cgroup::JobCgroup;
use crate::journal::Journal;
use crate::mount::Mount;
use crate::overlay::{Layers, Overlays};
use crate::scope;
use crate::temp_dir::TempDir;
use crate::tree::ProcessTree;

/// How processes are contained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Containment {
    /// By cgroups where they can be created, otherwise as [`NoCgroup`](Self::NoCgroup).
    #[default]
    Auto,
    /// By cgroups; starting fails where they cannot be created.
    Cgroup,
    /// By process group, ancestry, an environment marker and a limit on file locks, which Linux does not enforce.
    ///
    /// This makes the runner a subreaper. A process that leaves its group, removes its environment and lowers the limit is
    /// found for certain only when no other job of this runner is active.
    NoCgroup,
    /// By process group alone, for programs that stay in theirs and only read, such as git.
    ///
    /// Nothing is created that the runner could leave behind, and no leftovers are looked for: such a program ends
    /// by itself when its runner is killed.
    ProcessGroup,
}

/// The settings of a [`Supervisor`].
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// How processes are contained. Default: [`Containment::Auto`].
    pub containment: Containment,
    /// The largest number of processes and threads of one job. Default: no limit.
    ///
    /// Without effect where the unified hierarchy has no `pids` controller. If the controller is not enabled below
    /// the runner's own cgroup, it is enabled, and stays so after the run.
    pub pids_max: Option<u64>,
    /// The directory for the [`Journal`]. Default: none; then there is no guardian either, and a killed runner leaves
    /// its processes behind.
    pub state_dir: Option<PathBuf>,
}

/// Starts process trees, and ensures that none outlives the run.
///
/// One per run; clones are cheap.
#[derive(Debug, Clone)]
pub struct Supervisor {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    id: String,
    environment: Environment,
    group: Option<Group>,
    /// The empty cgroups of closed trees. The next tree uses them if they are unchanged.
    spare_groups: Mutex<Vec<JobCgroup>>,
    /// False once the kernel has refused to start a child in a cgroup.
    cgroups: AtomicBool,
    settings: Settings,
    closed: AtomicBool,
    next_tree: AtomicU64,
    journal: Option<Journal>,
    guardian: Mutex<Option<Guardian>>,
}

impl Supervisor {
    /// Starts a run: creates the journal, the cgroup and the guardian, in this order.
    ///
    /// The runner's environment is read only here. Call this in a tokio runtime, after
    /// [`recover`](crate::recover), which removes the leftovers of dead runs.
    ///
    /// # Errors
    ///
    /// Fails if cgroups are required and not available, or if the journal cannot be written.
    pub fn start(settings: Settings) -> Result<Self, ProcessError> {
        let id = random_id();
        let journal = match &settings.state_dir {
            Some(directory) => Some(Journal::create(directory, &id)?),
            None => None,
        };
        if let Some(journal) = &journal {
            journal.record_marker(&format!("{id}."))?;
        }
        let group = make_run_group(&id, &settings, journal.as_ref())?;
        let guardian = journal.as_ref().and_then(start_guardian);
        let shared = Shared {
            id,
            environment: Environment::read(),
            cgroups: AtomicBool::new(group.is_some()),
            group,
            spare_groups: Mutex::default(),
            settings,
            closed: AtomicBool::new(false),
            next_tree: AtomicU64::new(1),
            journal,
            guardian: Mutex::new(guardian),
        };
        if shared.group.is_none() && !shared.trusts_groups() {
            shared.without_cgroups();
        }
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Returns the id of the run, which cannot be guessed.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Returns the environment the runner was started with.
    pub fn environment(&self) -> &Environment {
        &self.shared.environment
    }

    /// Creates the tree of one job. Nothing is started yet.
    pub fn tree(&self) -> ProcessTree {
        let number = self.shared.next_tree.fetch_add(1, Ordering::Relaxed);
        ProcessTree::new(Arc::clone(&self.shared), number)
    }

    /// Creates a directory with an unguessable name that starts with `prefix`.
    ///
    /// # Errors
    ///
    /// Fails if the journal or the directory cannot be written.
    pub fn temp_dir(&self, parent: &Path, prefix: &str) -> Result<TempDir, ProcessError> {
        let path = parent.join(format!("{prefix}{}", random_id()));
        let path = std::path::absolute(&path).map_err(|source| ProcessError::TempDir {
            path: path.clone(),
            source,
        })?;
        TempDir::create(path, &self.shared)
    }

    /// Finds out how overlays can be mounted in the empty directory `scratch`, by mounting some. Blocks.
    ///
    /// # Errors
    ///
    /// Fails if no overlay can be mounted, because of permissions or the file system.
    pub fn overlays(&self, scratch: &Path) -> Result<Overlays, ProcessError> {
        Mount::probe(scratch, &self.shared)
    }

    /// Mounts an overlay on the directory `target`. Blocks for a moment.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written or the system refuses.
    pub fn mount(
        &self,
        overlays: Overlays,
        layers: &Layers<'_>,
        target: &Path,
    ) -> Result<Mount, ProcessError> {
        Mount::create(overlays, layers, target, &self.shared)
    }

    /// Returns the journal, for records of other crates.
    pub fn journal(&self) -> Option<&Journal> {
        self.shared.journal.as_ref()
    }

    /// Ends the run: kills all remaining processes, dismisses the guardian, and removes the journal.
    ///
    /// Nothing can be started afterwards. Without this call the guardian does the same once the last clone is
    /// dropped, and also removes the temporary directories.
    ///
    /// # Errors
    ///
    /// Fails if a process survives SIGKILL; the guardian then keeps trying.
    pub async fn shutdown(self) -> Result<(), ProcessError> {
        let shared = &self.shared;
        shared.closed.store(true, Ordering::Release);
        let guardian = shared.guardian().take();
        if let Some(group) = &shared.group {
            group
                .remove()
                .await
                .map_err(|source| ProcessError::Containment {
                    reason: format!("remove {}", group.path().display()),
                    source: Some(source),
                })?;
        }
        if !shared.uses_cgroups() && !shared.trusts_groups() {
            scope::sweep_run(format!("{}.", shared.id)).await?;
        }
        children::collect_abandoned();
        if let Some(guardian) = guardian
            && let Err(error) = guardian.dismiss().await
        {
            let error = &error as &dyn Error;
            tracing::warn!(run = %shared.id, error, "The guardian did not exit as expected.");
        }
        shared.journal.as_ref().map_or(Ok(()), Journal::finish)
    }
}

impl Shared {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn guardian(&self) -> MutexGuard<'_, Option<Guardian>> {
        self.guardian.lock()
    }

    pub(crate) fn uses_cgroups(&self) -> bool {
        self.cgroups.load(Ordering::Relaxed)
    }

    /// Returns whether only the process groups of programs are ended.
    pub(crate) fn trusts_groups(&self) -> bool {
        self.settings.containment == Containment::ProcessGroup
    }

    pub(crate) fn spare_groups(&self) -> MutexGuard<'_, Vec<JobCgroup>> {
        self.spare_groups.lock()
    }

    /// Returns a cgroup for the job with this number: an unchanged one of another job, or a new one. `None` without
    /// cgroups.
    pub(crate) fn job_group(&self, number: u64) -> Option<JobCgroup> {
        let parent = self.group.as_ref().filter(|_| self.uses_cgroups())?;
        let spare = self.spare_group();
        let make = || {
            let created = JobCgroup::create(parent.path().join(format!("job-{number}")));
            // After the end of the run there is no cgroup, and nothing can be started.
            let created = created.inspect_err(|error| {
                if !self.is_closed() {
                    self.give_up_cgroups(error);
                }
            });
            created.ok()
        };
        let group = spare.or_else(make)?;
        if let Some(limit) = self.settings.pids_max
            && !group.group().limit_pids(limit)
        {
            tracing::warn!(
                limit,
                "The number of processes cannot be limited on this system."
            );
        }
        Some(group)
    }

    /// Returns an unchanged cgroup of another job.
    fn spare_group(&self) -> Option<JobCgroup> {
        loop {
            let mut group = self.spare_groups().pop()?;
            if group.is_like_new() {
                return Some(group);
            }
            group.close_spare();
            // Processes in it end with the run.
            let _ = group.group().remove_blocking(Duration::ZERO);
        }
    }

    /// Continues without cgroups after the kernel refused to create one or to start a child in one.
    ///
    /// From now on, processes that may have been started outside of a cgroup are found by their marker.
    pub(crate) fn give_up_cgroups(&self, reason: &io::Error) {
        if self.cgroups.swap(false, Ordering::Relaxed) {
            tracing::warn!(%reason, "Cgroups cannot be used; continuing without them.");
            self.without_cgroups();
        }
    }

    fn without_cgroups(&self) {
        if let Err(error) = children::become_subreaper() {
            tracing::warn!(run = %self.id, %error, "The runner cannot adopt orphans of jobs.");
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let Some(group) = &self.group else { return };
        if let Err(error) = group.remove_blocking(Duration::from_secs(1)) {
            let error = &error as &dyn Error;
            tracing::warn!(run = %self.id, error, "The cgroup of the run could not be removed.");
        }
    }
}

fn start_guardian(journal: &Journal) -> Option<Guardian> {
    Guardian::start(journal.path())
        .inspect_err(guardian::not_started)
        .ok()
}

fn make_run_group(
    id: &str,
    settings: &Settings,
    journal: Option<&Journal>,
) -> Result<Option<Group>, ProcessError> {
    if matches!(
        settings.containment,
        Containment::NoCgroup | Containment::ProcessGroup
    ) {
        return Ok(None);
    }
    let path = own_group().map(|own| own.join(format!("runwright-{id}")));
    if let (Ok(path), Some(journal)) = (&path, journal) {
        journal.record_cgroup(path)?;
    }
    let group = match path.and_then(Group::create) {
        Ok(group) if group.can_kill() => Ok(group),
        Ok(group) => {
            let _ = group.remove_blocking(Duration::ZERO);
            Err(io::ErrorKind::Unsupported.into())
        }
        Err(error) => Err(error),
    };
    match group {
        Ok(group) => {
            delegate_controllers(&group, settings);
            Ok(Some(group))
        }
        Err(source) if settings.containment == Containment::Cgroup => {
            let reason = "no cgroup can be created below the runner's own".to_owned();
            Err(ProcessError::Containment {
                reason,
                source: Some(source),
            })
        }
        Err(error) => {
            tracing::debug!(%error, "Cgroups are not available.");
            Ok(None)
        }
    }
}

/// Enables the controllers that the jobs' cgroups use, as far as the system allows.
///
/// The runner's own cgroup is not the run's. It is changed only for a requested limit, and the change is permanent,
/// because another run may rely on it by the end of this one. Processes killed for lack of memory are reported
/// where the system counts them anyway.
fn delegate_controllers(group: &Group, settings: &Settings) {
    if settings.pids_max.is_some()
        && let Some(parent) = group.path().parent()
        && Group::delegate(parent, "pids")
    {
        Group::delegate(group.path(), "pids");
    }
    Group::delegate(group.path(), "memory");
}

/// Returns 128 random bits, in hexadecimal.
fn random_id() -> String {
    use std::fmt::Write;

    let mut bytes = [0_u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        // Small requests only fail when they are interrupted.
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags).unwrap_or(0);
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
