use crate::artifacts::ArtifactStore;
use crate::cache::CacheStore;
use crate::reachable_jobs::ReachableJobs;
use crate::resume::{JobNote, JobNotes};
use crate::secrets::SecretStore;
use crate::sources::Sources;
use crate::tracked::WatchChanges;
use crate::visitor::Visitor;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a [`BuildRunner`](crate::BuildRunner) runs its jobs.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent of each other"
)]
pub struct BuildRunnerOptions {
    /// Where the jobs' files come from. Default: jobs have no files.
    pub sources: Sources,
    /// Where artifacts are kept; `None`, the default, keeps none and fetches none.
    pub artifacts: Option<Arc<dyn ArtifactStore>>,
    /// Where caches are kept; `None`, the default, keeps none and restores none.
    pub caches: Option<Arc<dyn CacheStore>>,
    /// Where secrets of jobs are read; `None`, the default, fails jobs that have any.
    pub secrets: Option<Arc<dyn SecretStore>>,
    /// How jobs use the helper command in environments whose files the runner cannot reach.
    pub helper: HelperOptions,
    /// The directory for complete logs, one file for each attempt of a job, see
    /// [`BuildRunner::spool_path`](crate::BuildRunner::spool_path). Default: no log is kept.
    pub spool_dir: Option<PathBuf>,
    /// Whether the kept log ends at the runner's output limit, with the notice, as a GitLab receives it. Default: no.
    pub limits_kept_log: bool,
    /// The number of attempts at `prepare` while its errors are temporary. Default: 3.
    pub prepare_attempts: u32,
    /// The pause between two of these attempts. Default: 3 s.
    pub prepare_pause: Duration,
    /// How much of a job's time is reserved for the stages after its script; at most half of it is used.
    /// Default: a tenth, but at least 10 s and at most 5 min.
    pub finalisation_budget: Option<Duration>,
    /// How git on this host reaches a server with a certificate of its own: the server's address, and a file with certificates.
    pub git_authorities: Option<(String, PathBuf)>,
    /// How long an executor's cleanup may take before the runner stops waiting. Default: 5 min.
    ///
    /// An executor has a shorter deadline of its own; this one is for an executor that hangs.
    pub cleanup_deadline: Duration,
    /// Whether the kept log has a time on each line. Default: yes.
    pub timestamps: bool,
    /// Whether the log has section markers, for jobs whose source understands them. Default: yes.
    pub sections: bool,
    /// Whether the directory of a job with files of a working tree is kept after the job; such a
    /// directory is never an overlay. Default: no.
    pub keep_builds: bool,
    /// Enters jobs; `None`, the default, enters none.
    pub visitor: Option<Arc<dyn Visitor>>,
    /// Lists the running jobs in which shells can be opened, and whose ports can be reached.
    pub reachable_jobs: ReachableJobs,
    /// Whether jobs that change tracked files without declaring it get a warning. Default: no.
    pub watch_changes: Option<WatchChanges>,
    /// The notes from which another process can resume jobs; `None`, the default, keeps none.
    /// They need `spool_dir`.
    pub notes: Option<JobNotes>,
    /// The notes of an earlier process, whose jobs are resumed.
    pub resumed: Vec<JobNote>,
    /// Whether a job starts over when its environment cannot be taken over; it fails otherwise. Default: yes.
    pub starts_over: bool,
    /// The runner's version, for the log and `CI_RUNNER_VERSION`.
    pub version: String,
    /// The commit the runner was built from, for `CI_RUNNER_REVISION`.
    pub revision: String,
}

impl BuildRunnerOptions {
    /// Returns whether caches are kept, here or in the environment.
    pub(crate) fn keeps_caches(&self) -> bool {
        self.caches.is_some() || self.helper.server == HelperServer::GitLab
    }

    /// Returns whether artifacts are kept, here or by the job's GitLab.
    pub(crate) fn keeps_artifacts(&self) -> bool {
        self.artifacts.is_some() || self.helper.server == HelperServer::GitLab
    }
}

impl Default for BuildRunnerOptions {
    fn default() -> Self {
        Self {
            sources: Sources::None,
            artifacts: None,
            caches: None,
            secrets: None,
            helper: HelperOptions::default(),
            spool_dir: None,
            limits_kept_log: false,
            prepare_attempts: 3,
            prepare_pause: Duration::from_secs(3),
            finalisation_budget: None,
            git_authorities: None,
            cleanup_deadline: Duration::from_mins(5),
            timestamps: true,
            sections: true,
            keep_builds: false,
            watch_changes: None,
            visitor: None,
            reachable_jobs: ReachableJobs::default(),
            notes: None,
            resumed: Vec::new(),
            starts_over: true,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: String::new(),
        }
    }
}

/// How jobs use the helper command in environments whose files this host cannot reach.
#[derive(Debug, Clone)]
pub struct HelperOptions {
    /// Where the command fetches and stores files.
    pub server: HelperServer,
    /// A program of this host that acts as the helper command when it is started as `gitlab-runner`, for environments
    /// on this host; `None`, the default, relies on the command that the environment has.
    pub program: Option<PathBuf>,
    /// The address of this host on which the endpoint listens, and at which helper commands reach it. Default: 127.0.0.1.
    ///
    /// Environments elsewhere need one that they can reach, such as that of a bridge. Requests are not encrypted; each job has
    /// a token of its own.
    pub address: IpAddr,
    /// The largest file that the endpoint accepts, in bytes. Default: 8 GiB.
    pub largest_upload: u64,
}

/// Where the helper command fetches and stores files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HelperServer {
    /// At an endpoint of this process, on the loopback interface, in front of the stores of this runner.
    #[default]
    Endpoint,
    /// At the job's GitLab with the job's token, and caches in the cache directory of the environment.
    GitLab,
}

impl Default for HelperOptions {
    fn default() -> Self {
        Self {
            server: HelperServer::default(),
            program: None,
            address: Ipv4Addr::LOCALHOST.into(),
            largest_upload: 8 << 30,
        }
    }
}
