//! Why the state is not to be had.

use std::io;
use std::path::{Path, PathBuf};

/// Why the state could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Nothing says where the state is to be.
    #[error("neither RUNWRIGHT_HOME nor HOME says where to keep state")]
    NoHome,
    /// The file system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The run lives.
    #[error("run {id} still runs{}", pid.map(|pid| format!(", by process {pid}")).unwrap_or_default())]
    Running {
        /// The run.
        id: u64,
        /// Its process, where that is known.
        pid: Option<u32>,
    },
    /// Another run works in the same tree.
    #[error("another run is in place here, by process {holder}")]
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
