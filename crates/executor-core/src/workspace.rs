//! Where a job's files live.

use crate::ability::FileTransfer;
use crate::shell::ShellInfo;
use crate::variable::JobVariable;
use std::fmt;
use std::sync::Arc;

/// The directories of a build, as paths inside the environment.
///
/// Who makes which:
///
/// | Directory | Made by | Removed by |
/// | --- | --- | --- |
/// | `builds_dir`, `cache_dir`, the parent of a `project_dir` it chose itself | the executor, in `prepare` | nobody: later jobs use them too |
/// | `project_dir` | the driver: itself on this host, by a script of the first stages elsewhere | the driver, if anybody |
/// | `temp_dir` | the executor, in `prepare` or when a stage first needs it, unless the driver was first | whoever made it; the executor in `cleanup` |
///
/// "The driver" is whoever calls the executor: the job runner, the conformance suite. Both sides
/// put up with a directory that is there already; `temp_dir` is for its owner alone (mode 0700), and
/// an executor removes in `cleanup` the files it wrote there whoever made it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildDirs {
    /// All builds live below it.
    pub builds_dir: String,
    /// All caches live below it.
    pub cache_dir: String,
    /// The job's sources. `prepare` need not make it; scripts start in it once the driver has.
    pub project_dir: String,
    /// The job's temporary files: scripts, file variables. Never below `project_dir`.
    pub temp_dir: String,
    /// Whether other jobs' builds may live below `builds_dir` too.
    pub shared: bool,
}

/// Where a job's files live, and how the runner reaches them.
#[derive(Clone)]
pub enum Workspace {
    /// On this host: the runner reads and writes them itself.
    Local(BuildDirs),
    /// On this host and shown to the environment under other names: the runner reads and writes the files
    /// itself, scripts see them where the environment has them.
    Mounted {
        /// The directories as scripts see them.
        inside: BuildDirs,
        /// The same directories on this host.
        host: BuildDirs,
    },
    /// Elsewhere.
    Remote {
        /// The directories there.
        dirs: BuildDirs,
        /// How to move files; `None` means that only scripts can.
        transfer: Option<Arc<dyn FileTransfer>>,
    },
}

impl Workspace {
    /// Returns the directories as scripts see them.
    pub fn dirs(&self) -> &BuildDirs {
        match self {
            Self::Local(dirs) | Self::Remote { dirs, .. } | Self::Mounted { inside: dirs, .. } => {
                dirs
            }
        }
    }

    /// Returns whether scripts and the runner see the files in the same places.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// Returns the directories on this host, if the runner reaches the files itself.
    pub fn host_dirs(&self) -> Option<&BuildDirs> {
        match self {
            Self::Local(dirs) | Self::Mounted { host: dirs, .. } => Some(dirs),
            Self::Remote { .. } => None,
        }
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(dirs) => f.debug_tuple("Local").field(dirs).finish(),
            Self::Mounted { inside, host } => f
                .debug_struct("Mounted")
                .field("inside", inside)
                .field("host", host)
                .finish(),
            Self::Remote { dirs, transfer } => f
                .debug_struct("Remote")
                .field("dirs", dirs)
                .field("transfer", &transfer.is_some())
                .finish(),
        }
    }
}

/// The environment a job runs in, as [`Executor::prepare`](crate::Executor::prepare) leaves it.
#[derive(Debug, Clone)]
pub struct PreparedEnvironment {
    /// The shell that is really there; scripts are written for it.
    pub shell: ShellInfo,
    /// Where the files are.
    pub workspace: Workspace,
    /// The name of the host, container or pod.
    pub hostname: String,
    /// Variables the environment adds to the job's; they win over the job's own.
    pub variables: Vec<JobVariable>,
}
