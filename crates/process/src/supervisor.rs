//! One run of the runner: all its trees, and what guards them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::cgroup::{Group, own_group};
use crate::children;
use crate::error::ProcessError;
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
}

/// The settings of a [`Supervisor`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// How processes are held together. Default: [`Containment::Auto`].
    pub containment: Containment,
    /// The most processes and threads one job may have at a time. Default: no limit.
    ///
    /// Without effect where the unified hierarchy has no `pids` controller.
    pub pids_max: Option<u64>,
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
    group: Option<Group>,
    /// False once the kernel has refused to start a child in a group.
    cgroups: AtomicBool,
    settings: Settings,
    next_tree: AtomicU64,
}

impl Supervisor {
    /// Prepares a run.
    ///
    /// # Errors
    ///
    /// Fails if cgroups are demanded and cannot be had.
    pub fn start(settings: Settings) -> Result<Self, ProcessError> {
        let id = random_id();
        let group = make_run_group(&id, &settings)?;
        let cgroups = AtomicBool::new(group.is_some());
        let next_tree = AtomicU64::new(1);
        let shared = Shared {
            id,
            group,
            cgroups,
            settings,
            next_tree,
        };
        if shared.group.is_none() {
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

    /// Makes the tree of one job. Nothing is started yet.
    pub fn tree(&self) -> ProcessTree {
        let number = self.shared.next_tree.fetch_add(1, Ordering::Relaxed);
        ProcessTree::new(
            Arc::clone(&self.shared),
            number,
            self.shared.settings.pids_max,
        )
    }
}

impl Shared {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn uses_cgroups(&self) -> bool {
        self.cgroups.load(Ordering::Relaxed)
    }

    /// Makes a group inside the run's; `None` where that is not possible.
    pub(crate) fn make_group(&self, name: &str) -> Option<Group> {
        let parent = self.group.as_ref().filter(|_| self.uses_cgroups())?;
        Group::create(parent.path().join(name))
            .inspect_err(|error| tracing::warn!(%error, "No cgroup for a job."))
            .ok()
    }

    /// Goes on without cgroups after the kernel refused to start a child in one.
    pub(crate) fn give_up_cgroups(&self, reason: &io::Error) {
        if self.cgroups.swap(false, Ordering::Relaxed) {
            tracing::warn!(%reason, "Processes cannot be started in a cgroup; going on without.");
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
            tracing::warn!(run = %self.id, %error, "The cgroup of the run is left behind.");
        }
    }
}

fn make_run_group(id: &str, settings: &Settings) -> Result<Option<Group>, ProcessError> {
    if settings.containment == Containment::NoCgroup {
        return Ok(None);
    }
    let made = own_group().and_then(|own| Group::create(run_group(&own, id)));
    let group = match made {
        Ok(group) if group.can_kill() => Ok(group),
        Ok(group) => {
            let _ = group.remove_blocking(Duration::ZERO);
            Err(io::ErrorKind::Unsupported.into())
        }
        Err(error) => Err(error),
    };
    match group {
        Ok(group) => {
            delegate_controllers(&group);
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
fn delegate_controllers(group: &Group) {
    for controller in ["pids", "memory"] {
        if let Some(parent) = group.path().parent()
            && Group::delegate(parent, controller)
        {
            Group::delegate(group.path(), controller);
        }
    }
}

fn run_group(own: &std::path::Path, id: &str) -> PathBuf {
    own.join(format!("runwright-{id}"))
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
