use super::address::Address;
use super::said::refusal;
use crate::error::Error;
use process::{CaptureLimits, Command, NeverStop, ProcessError, ProcessTree};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Settings that hold whatever the user's are.
const SETTINGS: [&str; 16] = [
    "core.autocrlf=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.symlinks=true",
    "credential.interactive=false",
    "fetch.recurseSubmodules=false",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "gc.auto=0",
    // A redirect leads past what was checked of the server.
    "http.followRedirects=false",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "transfer.bundleURI=false",
    "transfer.credentialsInUrl=die",
];

/// The most that git may say.
const LONGEST: usize = 16 << 20;

/// Starts git for one repository, until one moment.
#[derive(Debug)]
pub(super) struct Git<'a> {
    pub(super) processes: &'a ProcessTree,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) directory: &'a Path,
    pub(super) address: &'a Address,
    pub(super) until: Instant,
    /// What time there was, to be told.
    pub(super) within: Duration,
}

/// Why git gave no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It failed, and said this.
    Said(String),
    /// There will be none.
    Ended(Error),
}

impl Git<'_> {
    /// Runs git and returns what it printed.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends it and all it started.
    pub(super) async fn try_run(&self, args: &[&str]) -> Result<String, Failure> {
        self.run_in(self.directory, &[], args).await
    }

    /// The same in another directory, with more variables.
    pub(super) async fn run_in(
        &self,
        directory: &Path,
        more: &[(&str, &Path)],
        args: &[&str],
    ) -> Result<String, Failure> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let more = more.iter().map(|(name, value)| (*name, *value));
        let command = Command::new("git")
            .args(settings)
            .args(args.iter().copied())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .envs(more)
            .current_dir(directory);
        let limits = CaptureLimits {
            deadline: self.until.saturating_duration_since(Instant::now()),
            max_bytes: LONGEST,
        };
        let captured = self.processes.output(&command, &limits, &NeverStop).await;
        let captured = match captured {
            Ok(captured) => captured,
            Err(ProcessError::Deadline { .. }) => return Err(Failure::Ended(self.late())),
            Err(error) => return Err(Failure::Ended(Error::Git(error))),
        };
        if !captured.outcome.success() {
            let said = String::from_utf8_lossy(&captured.stderr);
            return Err(Failure::Said(said.into_owned()));
        }
        if captured.truncated {
            return Err(Failure::Ended(Error::TooLarge {
                what: format!("what git says of {}", self.address.url),
                limit: LONGEST as u64,
                unit: "bytes",
            }));
        }
        Ok(String::from_utf8_lossy(&captured.stdout).into_owned())
    }

    /// Returns what a failure means, when the server is to blame.
    pub(super) fn explain(&self, failure: Failure) -> Error {
        match failure {
            Failure::Said(said) => refusal(&said, self.address),
            Failure::Ended(error) => error,
        }
    }

    pub(super) fn late(&self) -> Error {
        Error::Late {
            what: self.address.url.clone(),
            within: self.within,
        }
    }
}
