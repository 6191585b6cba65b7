use std::io;
use std::path::PathBuf;

/// Why a run cannot be looked at, or not gone on with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunsError {
    /// There is no such run.
    #[error("there is no run {id} of {}", project.display())]
    None {
        /// The number that was asked for.
        id: u64,
        /// Whose run it would be.
        project: PathBuf,
    },
    /// There is no run at all.
    #[error("nothing was run yet in {}", project.display())]
    NoneYet {
        /// Whose run it would be.
        project: PathBuf,
    },
    /// All that was asked for is done.
    #[error("run {id} {ended}: there is nothing to {verb}")]
    NothingToDo {
        /// The run.
        id: u64,
        /// How it ended.
        ended: &'static str,
        /// What was asked for.
        verb: &'static str,
    },
    /// What is kept of the run is no such thing.
    #[error("read {}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Another version of this program wrote the record of the run.
    #[error(
        "{} has version {version}, which this version of the program does not know",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The record is that of another run.
    #[error("{} is about run {id}, which is another one", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The run that it is about.
        id: u64,
    },
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
}

impl RunsError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
