use std::io;
use std::path::PathBuf;

/// Why a run cannot be read or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunsError {
    /// The run does not exist.
    #[error("there is no run {id} of {}", project.display())]
    None {
        /// Its number.
        id: u64,
        /// The project.
        project: PathBuf,
    },
    /// The project has no runs.
    #[error("nothing has been run yet in {}", project.display())]
    NoneYet {
        /// The project.
        project: PathBuf,
    },
    /// The run has nothing left to do.
    #[error("run {id} {ended}: there is nothing to {verb}")]
    NothingToDo {
        /// The run.
        id: u64,
        /// How it ended.
        ended: &'static str,
        /// The requested action.
        verb: &'static str,
    },
    /// A file of the run is damaged.
    #[error("read {}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Lines of the journal of a run are damaged.
    #[error(
        "{}: {}",
        path.display(),
        if *lines == 1 { "a line is damaged".to_owned() } else { format!("{lines} lines are damaged") }
    )]
    DamagedJournal {
        /// The file.
        path: PathBuf,
        /// How many.
        lines: usize,
    },
    /// Another version of this program wrote the record of the run.
    #[error(
        "{} has version {version}, and this version of the program expects version 1",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The record is that of another run.
    #[error("{} has the record of run {id}", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The run in the record.
        id: u64,
    },
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
