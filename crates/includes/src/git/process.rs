use ::process::{CaptureLimits, Command, NeverStop, ProcessError, ProcessTree};
use std::ffi::OsString;
use std::path::Path;
use tokio::time::Instant;

/// Settings that hold whatever the user's are.
const SETTINGS: [&str; 11] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "credential.interactive=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    // A redirect leads past what was said about the server.
    "http.followRedirects=false",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "transfer.bundleURI=false",
    "transfer.credentialsInUrl=die",
];

/// Starts Git in one directory, until one moment.
#[derive(Debug)]
pub(super) struct Git<'a> {
    pub(super) processes: &'a ProcessTree,
    pub(super) directory: &'a Path,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) until: Instant,
}

/// Why Git gave no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It could not be run.
    Start(ProcessError),
    /// It took too long.
    Late,
    /// It said more than this many bytes.
    TooLong(usize),
    /// It failed, and said this.
    Failed(String),
}

impl Git<'_> {
    /// Runs Git and returns what it printed, of at most `limit` bytes.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends it and all it started.
    pub(super) async fn run(&self, args: &[&str], limit: usize) -> Result<Vec<u8>, Failure> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let command = Command::new("git")
            .args(settings)
            .args(args.iter().copied())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.directory);
        let limits = CaptureLimits {
            deadline: self.until.saturating_duration_since(Instant::now()),
            max_bytes: limit,
        };
        let captured = self.processes.output(&command, &limits, &NeverStop).await;
        let captured = match captured {
            Ok(captured) => captured,
            Err(ProcessError::Deadline { .. }) => return Err(Failure::Late),
            Err(error) => return Err(Failure::Start(error)),
        };
        if !captured.outcome.success() {
            let said = String::from_utf8_lossy(&captured.stderr);
            return Err(Failure::Failed(said.into_owned()));
        }
        if captured.truncated {
            return Err(Failure::TooLong(limit));
        }
        Ok(captured.stdout)
    }
}
