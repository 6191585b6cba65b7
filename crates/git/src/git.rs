use crate::foreign_filters;
use crate::{GitError, RemoteEnvironment};
use executor_core::variable::is_foreign_git_variable;
use process::{CaptureLimits, Command, ProcessError, ProcessTree, StopSignal};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Flags that keep git from running programs that a repository names: hooks, a file monitor, a program that checks
/// signatures. A job or the repository's author may have put them there.
pub const UNTRUSTED_REPO_FLAGS: [&str; 6] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "log.showSignature=false",
];

/// Variables that keep git from asking a remote of the repository for objects that it lacks, which may start a program.
/// Git below 2.45 knows only the second, an unknown protocol.
const NO_LAZY_FETCH: [(&str, &str); 2] =
    [("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none")];

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

/// The variable that counts the settings in git's environment.
const COUNT: &str = "GIT_CONFIG_COUNT";

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
    /// Whether the repository's configuration may start filters and fetch.
    is_trusting: bool,
}

#[derive(Debug, Clone, Copy)]
enum Deadline {
    /// Each call may take this long.
    PerCall(Duration),
    /// All calls together end at this moment.
    At(Instant),
}

impl<'a> Git<'a> {
    /// Returns git that reads a repository on this machine. It takes no optional locks, so it disturbs no other git, and
    /// starts no program that the repository's configuration names.
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
            is_trusting: false,
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
            is_trusting: true,
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
        let mut added = Vec::new();
        if !self.is_trusting {
            added = foreign_filters::without_filters(self, stop).await?;
            added.extend(NO_LAZY_FETCH.map(|(name, value)| (name.into(), value.into())));
        }
        self.output_of(args, &added, stop).await
    }

    /// Returns the names of the filters that the repository's configuration has and a checkout does not run.
    ///
    /// # Errors
    ///
    /// Those of [`output`](Self::output).
    ///
    /// # Cancellation
    ///
    /// That of [`output`](Self::output).
    pub async fn ignored_filters<S: StopSignal + ?Sized>(
        &self,
        stop: &S,
    ) -> Result<Vec<String>, GitError> {
        foreign_filters::ignored_filters(self, stop).await
    }

    /// Returns variables that add settings to those of the environment.
    pub(crate) fn settings(
        &self,
        settings: impl Iterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let of_user = |(name, value): &(OsString, OsString)| {
            (name == COUNT)
                .then(|| value.to_str()?.parse().ok())
                .flatten()
        };
        let mut count: usize = self.environment.iter().find_map(of_user).unwrap_or(0);
        let mut variables = Vec::new();
        for (key, value) in settings {
            variables.push((format!("GIT_CONFIG_KEY_{count}").into(), key));
            variables.push((format!("GIT_CONFIG_VALUE_{count}").into(), value));
            count += 1;
        }
        if !variables.is_empty() {
            variables.push((COUNT.into(), count.to_string().into()));
        }
        variables
    }

    /// As [`output`](Self::output), with more variables and whatever the repository's configuration starts.
    pub(crate) async fn output_of<S: StopSignal + ?Sized>(
        &self,
        args: &[&str],
        added: &[(OsString, OsString)],
        stop: &S,
    ) -> Result<Vec<u8>, GitError> {
        let environment = self.environment.iter().chain(added);
        let command = Command::new("git")
            .args(self.flags.iter().copied())
            .args(args.iter().copied())
            .envs(environment.map(|(name, value)| (name, value)))
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
    async fn reading_starts_no_program_of_the_repository() {
        let (processes, directory) = (processes(), tempfile::tempdir().expect("a directory"));
        let path = directory.path();
        let git = Git::local(processes.tree(), path);
        let output = async |args: &[&str]| git.output(args, &NeverStop).await;
        let config = async |key: &str, value: &str| {
            output(&["config", key, value]).await.expect("it works");
        };
        let ran = path.join("ran");
        let program = format!("touch {}; cat", ran.display());
        output(&["init", "--quiet"]).await.expect("it works");
        std::fs::write(path.join("a"), "one\n").expect("written");
        let attributes = b"a filter=x=y.z\nb filter=long\nc filter=\xff\n";
        std::fs::write(path.join(".gitattributes"), attributes).expect("written");
        for name in ["b", "c"] {
            std::fs::write(path.join(name), "one\n").expect("written");
        }
        output(&["add", "."]).await.expect("it works");
        config("filter.x=y.z.clean", &program).await;
        config("filter.x=y.z.required", "true").await;
        // A second file of the configuration.
        let mut more = format!("[filter \"long\"]\nprocess = {program}\nrequired\n").into_bytes();
        more.extend_from_slice(b"[filter \"\xff\"]\n");
        more.extend_from_slice(format!("clean = {program}\n").as_bytes());
        std::fs::write(path.join(".git/more"), more).expect("written");
        config("include.path", "more").await;
        for name in ["a", "b", "c"] {
            std::fs::write(path.join(name), "two\n").expect("written");
        }
        for args in [
            &["diff", "--name-only"][..],
            &["status", "--porcelain"],
            &["ls-files", "--modified"],
            &["hash-object", "--", "a"],
            &["hash-object", "--", "c"],
        ] {
            let printed = output(args).await.expect("it works");
            assert!(!printed.is_empty(), "{args:?}");
            assert!(!ran.exists(), "{args:?}");
        }
        let ignored = git.ignored_filters(&NeverStop).await.expect("it works");
        assert_eq!(ignored, ["long"]);
        // An object that is missing is not fetched.
        config("remote.origin.url", &path.display().to_string()).await;
        config("remote.origin.promisor", "true").await;
        config("remote.origin.uploadpack", &program).await;
        config("extensions.partialClone", "origin").await;
        let missing = output(&["cat-file", "-p", &"1".repeat(40)]).await;
        assert!(missing.is_err() && !ran.exists());
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
