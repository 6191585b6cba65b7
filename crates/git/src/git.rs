use crate::{GitError, RemoteEnvironment};
use executor_core::variable::is_foreign_git_variable;
use process::{CaptureLimits, Command, ProcessError, ProcessTree, StopSignal};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Flags that keep git from running programs that a repository names: hooks and a file monitor. A job or the repository's
/// author may have put them there.
pub const UNTRUSTED_REPO_FLAGS: [&str; 4] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
];

/// Settings for git that talks to a server, whatever the user's settings are.
const REMOTE_SETTINGS: [&str; 14] = [
    "core.autocrlf=false",
    "core.pager=cat",
    "core.symlinks=true",
    "credential.interactive=false",
    "fetch.recurseSubmodules=false",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "gc.auto=0",
    // A redirect leads past the check of the server.
    "http.followRedirects=false",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "transfer.bundleURI=false",
    "transfer.credentialsInUrl=die",
];

/// The deadline of a call on this machine.
const LOCAL_DEADLINE: Duration = Duration::from_mins(1);

/// The most bytes of output of a call on this machine: a listing of files may be long.
const LOCAL_LIMIT: usize = 1 << 30;

/// Git in one directory, with settings that suit untrusted repositories. Each call runs one command.
#[derive(Debug, Clone)]
pub struct Git<'a> {
    processes: &'a ProcessTree,
    directory: &'a Path,
    flags: Vec<&'static str>,
    environment: Vec<(OsString, OsString)>,
    deadline: Deadline,
    limit: usize,
}

#[derive(Debug, Clone, Copy)]
enum Deadline {
    /// Each call may take this long.
    PerCall(Duration),
    /// All calls together end at this moment.
    At(Instant),
}

impl<'a> Git<'a> {
    /// Returns git for a repository on this machine. It takes no optional locks, so it disturbs no other git.
    pub fn local(processes: &'a ProcessTree, directory: &'a Path) -> Self {
        let environment = local_environment(processes);
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let no_locks = ("GIT_OPTIONAL_LOCKS".into(), "0".into());
        Self {
            processes,
            directory,
            flags: UNTRUSTED_REPO_FLAGS.to_vec(),
            environment: environment.chain([no_locks]).collect(),
            deadline: Deadline::PerCall(LOCAL_DEADLINE),
            limit: LOCAL_LIMIT,
        }
    }

    /// Returns git that talks to a server, until `deadline`.
    pub fn remote(
        processes: &'a ProcessTree,
        directory: &'a Path,
        environment: &RemoteEnvironment,
        deadline: Instant,
    ) -> Self {
        let settings = REMOTE_SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        Self {
            processes,
            directory,
            flags: UNTRUSTED_REPO_FLAGS.into_iter().chain(settings).collect(),
            environment: environment.variables().to_vec(),
            deadline: Deadline::At(deadline),
            limit: CaptureLimits::default().max_bytes,
        }
    }

    /// Sets how many bytes a call may print. Default: 1 GiB for a local git, 1 MiB for a remote one.
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Adds a variable to git's environment.
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs git in another directory.
    pub fn in_directory(mut self, directory: &'a Path) -> Self {
        self.directory = directory;
        self
    }

    /// Returns the directory git runs in.
    pub fn directory(&self) -> &'a Path {
        self.directory
    }

    /// Runs git with these arguments and returns its standard output.
    ///
    /// Names from a repository or a server must stand behind `--end-of-options` or `--`, or begin with `refs/`.
    ///
    /// # Errors
    ///
    /// [`GitError`] when it cannot be run, is stopped, runs past its deadline, fails, or prints more than its limit.
    ///
    /// # Cancellation
    ///
    /// Git and everything it started are killed at once, when `stop` asks for anything and when the future is dropped.
    pub async fn output<S: StopSignal + ?Sized>(
        &self,
        args: &[&str],
        stop: &S,
    ) -> Result<Vec<u8>, GitError> {
        let command = Command::new("git")
            .args(self.flags.iter().copied())
            .args(args.iter().copied())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.directory);
        let deadline = match self.deadline {
            Deadline::PerCall(duration) => duration,
            Deadline::At(moment) => moment.saturating_duration_since(Instant::now()),
        };
        let limits = CaptureLimits {
            deadline,
            max_bytes: self.limit,
        };
        let captured = self.processes.output(&command, &limits, stop).await;
        let captured = captured.map_err(|error| match error {
            ProcessError::Stopped { .. } => GitError::Stopped,
            ProcessError::Deadline { after, .. } => GitError::Deadline {
                args: args.join(" "),
                after,
            },
            error => GitError::Run(error),
        })?;
        if !captured.outcome.success() {
            return Err(GitError::Failed {
                args: args.join(" "),
                status: captured.outcome.status.to_string(),
                stderr: String::from_utf8_lossy(&captured.stderr).trim().to_owned(),
            });
        }
        if captured.truncated {
            return Err(GitError::OutputTooLong {
                args: args.join(" "),
                limit: self.limit,
            });
        }
        Ok(captured.stdout)
    }
}

/// Returns the program's environment without variables that point git at another repository.
pub fn local_environment(processes: &ProcessTree) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    let environment = processes.environment().iter();
    environment.filter(|(name, _)| !name.to_str().is_some_and(is_foreign_git_variable))
}

/// Returns the paths in a listing whose entries end with NUL.
pub fn paths_in(listing: &[u8]) -> impl Iterator<Item = &Path> {
    let names = listing.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    names.map(|name| Path::new(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GitProcesses;
    use executor_core::Cancellation;
    use process::NeverStop;

    fn processes() -> GitProcesses {
        GitProcesses::start(None).expect("processes can be started")
    }

    #[tokio::test]
    async fn failure_has_arguments_and_standard_error() {
        let (processes, directory) = (processes(), tempfile::tempdir().expect("a directory"));
        let git = Git::local(processes.tree(), directory.path());
        let error = git.output(&["no-such-command"], &NeverStop).await;
        let error = error.expect_err("no such command").to_string();
        assert!(
            error.starts_with("git no-such-command ended with"),
            "{error}"
        );
        assert!(error.contains("is not a git command"), "{error}");
    }

    #[tokio::test]
    async fn output_beyond_the_limit_is_an_error() {
        let (processes, directory) = (processes(), tempfile::tempdir().expect("a directory"));
        let git = Git::local(processes.tree(), directory.path()).with_limit(3);
        let error = git.output(&["version"], &NeverStop).await;
        let error = error.expect_err("longer than 3 bytes");
        assert_eq!(error.to_string(), "git version printed more than 3 bytes");
    }

    #[tokio::test]
    async fn hooks_and_monitor_of_a_repository_do_not_run() {
        let (processes, directory) = (processes(), tempfile::tempdir().expect("a directory"));
        let path = directory.path();
        let git = Git::local(processes.tree(), path);
        let output = async |args: &[&str]| git.output(args, &NeverStop).await.expect("it works");
        output(&["init", "--quiet"]).await;
        let note = path.join("ran");
        let program = format!("touch {}; false", note.display());
        output(&["config", "core.fsmonitor", &program]).await;
        output(&["status", "--porcelain"]).await;
        assert!(!note.exists());
    }

    #[tokio::test]
    async fn stop_and_deadline_are_errors_of_their_own() {
        let (processes, directory) = (processes(), tempfile::tempdir().expect("a directory"));
        let (tree, path) = (processes.tree(), directory.path());
        // An alias lets git run a program that does not end by itself.
        let args = ["-c", "alias.wait=!sleep 600", "wait"];
        let cancellation = Cancellation::new();
        cancellation.cancel(executor_core::CancelCause::User);
        let stopped = Git::local(tree, path).output(&args, &cancellation).await;
        assert!(matches!(stopped, Err(GitError::Stopped)), "{stopped:?}");
        let user = processes.tree().environment();
        let environment = RemoteEnvironment::from_user(user.iter(), path);
        let soon = Instant::now() + Duration::from_millis(50);
        let late = Git::remote(tree, path, &environment, soon);
        let late = late.output(&args, &NeverStop).await;
        assert!(matches!(late, Err(GitError::Deadline { .. })), "{late:?}");
    }

    #[test]
    fn listing_is_split_at_nul() {
        let paths: Vec<&Path> = paths_in(b"a\0b c\0").collect();
        assert_eq!(paths, [Path::new("a"), Path::new("b c")]);
    }
}
