use std::io;
use std::path::{Path, PathBuf};

/// Why the state could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The home directory is unknown.
    #[error("cannot find the state directory: neither RUNWRIGHT_HOME nor HOME is set")]
    NoHome,
    /// The file system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The run is running.
    #[error("run {id} is running{}", pid.map(|pid| format!(", by process {pid}")).unwrap_or_default())]
    Running {
        /// The run.
        id: u64,
        /// Its process, if known.
        pid: Option<u32>,
    },
    /// Another run has the working tree in place.
    #[error("another run works in place in this tree, as process {holder}")]
    InPlace {
        /// The holder's process id, or `unknown`.
        holder: String,
    },
}

pub(super) fn io_error(
    action: &'static str,
    path: impl AsRef<Path>,
) -> impl FnOnce(io::Error) -> StateError {
    let path = path.as_ref().to_owned();
    move |source| StateError::Io {
        action,
        path,
        source,
    }
}
