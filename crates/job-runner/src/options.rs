use crate::artifacts::ArtifactStore;
use crate::cache::CacheStore;
use crate::resumed::{JobNote, JobNotes};
use crate::sources::Sources;
use crate::terminals::Terminals;
use crate::tracked::WatchChanges;
use crate::visitor::Visitor;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a [`BuildRunner`](crate::BuildRunner) runs its jobs.
#[derive(Debug, Clone)]
pub struct BuildRunnerOptions {
    /// Where the jobs' files come from. Default: from nowhere.
    pub sources: Sources,
    /// Where artifacts are kept; `None`, the default, keeps none and fetches none.
    pub artifacts: Option<Arc<dyn ArtifactStore>>,
    /// Where caches are kept; `None`, the default, keeps none and restores none.
    pub caches: Option<Arc<dyn CacheStore>>,
    /// The directory for the whole logs, one file for each attempt of a job, see
    /// [`BuildRunner::spool_path`](crate::BuildRunner::spool_path). Default: none is kept.
    pub spool_dir: Option<PathBuf>,
    /// How often the preparation is tried while its errors are temporary. Default: 3.
    pub prepare_attempts: u32,
    /// How long the runner rests between two of these tries. Default: 3 s.
    pub prepare_pause: Duration,
    /// How much of a job's time is kept for what follows its script; at most half of it is used.
    /// Default: a tenth, but at least 10 s and at most 5 min.
    pub finalisation_budget: Option<Duration>,
    /// How long an executor's cleanup may take before it is given up. Default: 5 min.
    ///
    /// An executor keeps a shorter deadline itself; this is the net under it.
    pub cleanup_deadline: Duration,
    /// Whether the kept log has a time on each line. Default: yes.
    pub timestamps: bool,
    /// Whether the log has section markers, for jobs whose source understands them. Default: yes.
    pub sections: bool,
    /// Whether the directory of a job with files of a working tree stays when the job is over; it
    /// is never an overlay then. Default: no.
    pub keep_builds: bool,
    /// Who enters jobs; `None`, the default, is nobody.
    pub visitor: Option<Arc<dyn Visitor>>,
    /// Where the jobs are listed that shells can be opened in.
    pub terminals: Terminals,
    /// Whether a warning says which tracked files a job has changed without a word. Default: none does.
    pub watch_changes: Option<WatchChanges>,
    /// Where jobs are noted, so that another process can go on with them; `None`, the default, notes none.
    /// A log has to be kept, too.
    pub notes: Option<JobNotes>,
    /// The jobs that an earlier process has noted, and that are gone on with.
    pub left: Vec<JobNote>,
    /// The runner's version, for the log and `CI_RUNNER_VERSION`.
    pub version: String,
    /// The commit the runner was built from, for `CI_RUNNER_REVISION`.
    pub revision: String,
}

impl Default for BuildRunnerOptions {
    fn default() -> Self {
        Self {
            sources: Sources::None,
            artifacts: None,
            caches: None,
            spool_dir: None,
            prepare_attempts: 3,
            prepare_pause: Duration::from_secs(3),
            finalisation_budget: None,
            cleanup_deadline: Duration::from_mins(5),
            timestamps: true,
            sections: true,
            keep_builds: false,
            watch_changes: None,
            visitor: None,
            terminals: Terminals::default(),
            notes: None,
            left: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: String::new(),
        }
    }
}
