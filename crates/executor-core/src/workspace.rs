//! The directories of a job.

use crate::ability::FileTransfer;
use crate::shell::ShellInfo;
use crate::variable::JobVariable;
use std::fmt;
use std::sync::Arc;

/// The directories of a build, as paths inside the environment.
///
/// The creator of each directory:
///
/// | Directory | Created by | Removed by |
/// | --- | --- | --- |
/// | `builds_dir`, `cache_dir`, the parent of a `project_dir` the executor chose | the executor, in `prepare` | never: later jobs use them too |
/// | `project_dir` | the driver: directly on this host, by a script of the first stages in a remote environment | the driver, or never |
/// | `temp_dir` | the executor, in `prepare` or when a stage first needs it, unless the driver was first | its creator; the executor in `cleanup` |
///
/// The driver is the caller of the executor: the job runner or the conformance suite. Both sides
/// accept an existing directory. `temp_dir` is private to its owner (mode 0700); in `cleanup` an
/// executor removes its own files there, even if the driver created the directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildDirs {
    /// The parent of all builds.
    pub builds_dir: String,
    /// The parent of all caches.
    pub cache_dir: String,
    /// The job's sources. `prepare` need not create it; scripts start in it after the driver created it.
    pub project_dir: String,
    /// The job's temporary files: scripts, file variables. Never below `project_dir`.
    pub temp_dir: String,
    /// Whether builds of other jobs share `builds_dir`.
    pub shared: bool,
}

/// The location of a job's files, and how the runner accesses them.
#[derive(Clone)]
pub enum Workspace {
    /// On this host: the runner reads and writes them itself.
    Local(BuildDirs),
    /// On this host and mounted into the environment under other paths: the runner reads and writes the
    /// files itself, scripts use the paths of the environment.
    Mounted {
        /// The directories as scripts see them.
        inside: BuildDirs,
        /// The same directories on this host.
        host: BuildDirs,
    },
    /// On another host or in a volume.
    Remote {
        /// The directories inside the environment.
        dirs: BuildDirs,
        /// Transfers files; `None` means that only scripts can.
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

    /// Returns whether scripts and the runner use the same paths.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// Returns the directories on this host, if the runner can access the files itself.
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

/// The environment of a job, as returned by [`Executor::prepare`](crate::Executor::prepare).
#[derive(Debug, Clone)]
pub struct PreparedEnvironment {
    /// The actual shell; scripts are written for it.
    pub shell: ShellInfo,
    /// The location of the job's files.
    pub workspace: Workspace,
    /// The name of the host, container or pod.
    pub hostname: String,
    /// Variables of the environment; they have precedence over the job's own.
    pub variables: Vec<JobVariable>,
}
