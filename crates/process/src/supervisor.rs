//! One run of the runner: all its trees, and what guards them.

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
use crate::guardian::Guardian;
use crate::job_group::JobGroup;
use crate::journal::Journal;
use crate::mount::Mount;
use crate::overlay::{Layers, Overlays};
use crate::scope;
use crate::temp_dir::TempDir;
use crate::tree::ProcessTree;

/// How processes are held together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Containment {
    /// By cgroups where they can be made, else as [`NoCgroup`](Self::NoCgroup).
    #[default]
    Auto,
    /// By cgroups; starting fails where they cannot be made.
    Cgroup,
    /// By process group, ancestry and an environment marker.
    ///
    /// This makes the runner a subreaper. A process that leaves its group and
    /// sheds its environment is found for certain only when no other job of
    /// this runner is active.
    NoCgroup,
    /// By process group alone, for programs that stay in theirs and only read, such as git.
    ///
    /// Nothing is made that a runner could leave behind, and nothing is looked for: a program whose
    /// runner is killed ends by itself.
    ProcessGroup,
}

/// The settings of a [`Supervisor`].
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// How processes are held together. Default: [`Containment::Auto`].
    pub containment: Containment,
    /// The most processes and threads one job may have at a time. Default: no limit.
    ///
    /// Without effect where the unified hierarchy has no `pids` controller. Where it is not handed
    /// down to groups below the runner's own yet, it is from then on, also after the run.
    pub pids_max: Option<u64>,
    /// The directory for the [`Journal`]. Default: none, then there is no guardian
    /// either, and a runner that is killed leaves its processes behind.
    pub state_dir: Option<PathBuf>,
}

/// Starts process trees, and sees that none outlives the run.
///
/// One per run; cheap to clone.
#[derive(Debug, Clone)]
pub struct Supervisor {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    id: String,
    environment: Environment,
    group: Option<Group>,
    /// Groups of closed trees, as good as new.
    spare_groups: Mutex<Vec<JobGroup>>,
    /// False once the kernel has refused to start a child in a group.
    cgroups: AtomicBool,
    settings: Settings,
    closed: AtomicBool,
    next_tree: AtomicU64,
    journal: Option<Journal>,
    guardian: Mutex<Option<Guardian>>,
}

impl Supervisor {
    /// Prepares a run: journal, cgroup and guardian, in this order.
    ///
    /// The runner's environment is read here, and not again.
    ///
    /// Call it inside a tokio runtime. Call [`recover`](crate::recover) before,
    /// for the sake of runs that died.
    ///
    /// # Errors
    ///
    /// Fails if cgroups are demanded and cannot be had, or if there is a state
    /// directory and the journal cannot be written in it.
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

    /// Returns the id of the run, which nobody can guess.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Returns the environment the runner was started with.
    pub fn environment(&self) -> &Environment {
        &self.shared.environment
    }

    /// Makes the tree of one job. Nothing is started yet.
    pub fn tree(&self) -> ProcessTree {
        let number = self.shared.next_tree.fetch_add(1, Ordering::Relaxed);
        ProcessTree::new(Arc::clone(&self.shared), number)
    }

    /// Makes a directory with an unguessable name that begins with `prefix`.
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

    /// Finds out, by trying, how overlays can be made in the empty directory `scratch`. Blocks.
    ///
    /// # Errors
    ///
    /// Fails where there can be none: for want of rights, or because the file system is not fit.
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

    /// Returns the journal, for things that others make.
    pub fn journal(&self) -> Option<&Journal> {
        self.shared.journal.as_ref()
    }

    /// Ends the run in order: kills what is left, dismisses the guardian, removes the journal.
    ///
    /// Nothing can be started afterwards. Without it the guardian does the same
    /// once the last clone is dropped, and also removes the temporary directories.
    ///
    /// # Errors
    ///
    /// Fails if something outlives SIGKILL; the guardian then goes on trying.
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
            tracing::warn!(run = %shared.id, error, "The guardian did not leave in order.");
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

    /// Returns whether the process group of a program is all that is ever ended.
    pub(crate) fn trusts_groups(&self) -> bool {
        self.settings.containment == Containment::ProcessGroup
    }

    pub(crate) fn spare_groups(&self) -> MutexGuard<'_, Vec<JobGroup>> {
        self.spare_groups.lock()
    }

    /// Returns a group for the job of this number: one that another job left behind as it was,
    /// or else a new one. `None` where there are no groups.
    pub(crate) fn job_group(&self, number: u64) -> Option<JobGroup> {
        let parent = self.group.as_ref().filter(|_| self.uses_cgroups())?;
        let spare = self.spare_group();
        let make = || {
            let made = JobGroup::create(parent.path().join(format!("job-{number}")));
            // After the end of the run there is no group, and nothing can be started either.
            let made = made.inspect_err(|error| {
                if !self.is_closed() {
                    self.give_up_cgroups(error);
                }
            });
            made.ok()
        };
        let group = spare.or_else(make)?;
        if let Some(limit) = self.settings.pids_max
            && !group.group().limit_pids(limit)
        {
            tracing::warn!(limit, "The number of processes cannot be limited here.");
        }
        Some(group)
    }

    /// Returns a group that a job left behind, and that nobody has touched since.
    fn spare_group(&self) -> Option<JobGroup> {
        loop {
            let mut group = self.spare_groups().pop()?;
            if group.is_like_new() {
                return Some(group);
            }
            group.close_spare();
            // What lives there now ends with the run.
            let _ = group.group().remove_blocking(Duration::ZERO);
        }
    }

    /// Goes on without cgroups after the kernel refused to make one or to start a child in one.
    ///
    /// From here on, all that may have been started outside of a group is looked for by its marker.
    pub(crate) fn give_up_cgroups(&self, reason: &io::Error) {
        if self.cgroups.swap(false, Ordering::Relaxed) {
            tracing::warn!(%reason, "Cgroups cannot be used; going on without.");
            self.without_cgroups();
        }
    }

    fn without_cgroups(&self) {
        if let Err(error) = children::become_subreaper() {
            tracing::warn!(run = %self.id, %error, "Orphans of jobs will not come to the runner.");
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let Some(group) = &self.group else { return };
        if let Err(error) = group.remove_blocking(Duration::from_secs(1)) {
            let error = &error as &dyn Error;
            tracing::warn!(run = %self.id, error, "The cgroup of the run is left behind.");
        }
    }
}

/// A run without guardian is still cleaned up by the next start.
fn start_guardian(journal: &Journal) -> Option<Guardian> {
    Guardian::start(journal.path())
        .inspect_err(|error| tracing::warn!(%error, "No guardian could be started."))
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
            let reason = "no cgroup can be made below the runner's own".to_owned();
            Err(ProcessError::Containment {
                reason,
                source: Some(source),
            })
        }
        Err(error) => {
            tracing::debug!(%error, "No cgroups here.");
            Ok(None)
        }
    }
}

/// Hands down what the jobs' groups can use, as far as the system allows it.
///
/// The group the runner was started in is not ours. It is changed for a limit that somebody asked
/// for and for nothing else, and that change stays: another run may rely on it by the time this one
/// ends. That a process was killed for want of memory is told where the system counts it anyway.
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
        // Small requests only fail by interruption.
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags).unwrap_or(0);
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
