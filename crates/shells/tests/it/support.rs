//! Real shells that run scripts.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

use executor_core::job::{Job, Step};
use executor_core::shell::{ShellDialect, ShellInfo};
use executor_core::stage::BuildStage;
use shells::JobScripts;

/// A shell of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shell {
    Bash,
    Dash,
    Busybox,
}

/// How the shell gets a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feed {
    Stdin,
    File,
}

/// The result of a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Shell {
    pub(crate) const ALL: [Self; 3] = [Self::Bash, Self::Dash, Self::Busybox];

    pub(crate) fn dialect(self) -> ShellDialect {
        match self {
            Self::Bash => ShellDialect::Bash,
            Self::Dash | Self::Busybox => ShellDialect::Sh,
        }
    }

    /// Returns the command that starts the shell.
    pub(crate) fn command(self) -> Command {
        let (program, arguments): (_, &[&str]) = match self {
            Self::Bash => ("bash", &[]),
            Self::Dash => ("dash", &[]),
            Self::Busybox => ("busybox", &["sh"]),
        };
        require(program, program);
        let mut command = new_command(program);
        command.args(arguments);
        command
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the tests run real shells and real git"
)]
pub(crate) fn new_command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Fails the test, with a hint, if a program is missing.
pub(crate) fn require(program: &str, package: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    assert!(
        found,
        "`{program}` is missing: apt-get install {package} (cargo xtask test does it)"
    );
}

/// The directories of one job.
#[derive(Debug)]
pub(crate) struct JobDirs {
    root: TempDir,
}

impl JobDirs {
    pub(crate) fn new() -> Self {
        let dirs = Self {
            root: tempfile::tempdir().expect("a temporary directory"),
        };
        fs::create_dir(dirs.project()).expect("a directory");
        fs::create_dir(dirs.temp()).expect("a directory");
        dirs
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn temp(&self) -> PathBuf {
        self.root().join("project.tmp")
    }

    pub(crate) fn env_file(&self) -> PathBuf {
        self.temp().join(shells::ENV_FILE_NAME)
    }

    /// Sets the environment of a job for `command`: only these directories and `PATH`.
    pub(crate) fn equip(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("a PATH"))
            .env("HOME", self.root())
            .env("LC_ALL", "C.UTF-8")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env(shells::PROJECT_DIR, self.project())
            .env(shells::TEMP_DIR, self.temp())
            .env(shells::ENV_FILE, self.env_file())
            .current_dir(self.root());
    }

    /// Runs `script` and waits for it.
    pub(crate) fn run(&self, shell: Shell, feed: Feed, script: &str) -> Outcome {
        self.run_with(shell, feed, script, |_| {})
    }

    /// Runs `script` with a command that `change` has modified.
    pub(crate) fn run_with(
        &self,
        shell: Shell,
        feed: Feed,
        script: &str,
        change: impl FnOnce(&mut Command),
    ) -> Outcome {
        let mut command = shell.command();
        self.equip(&mut command);
        if feed == Feed::File {
            let file = self.root().join("script");
            fs::write(&file, script).expect("a file");
            command.arg(file);
        }
        change(&mut command);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the shell starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        if feed == Feed::Stdin {
            // A shell that ends early closes the pipe; its outcome shows why.
            drop(stdin.write_all(script.as_bytes()));
        }
        drop(stdin);
        let output = child.wait_with_output().expect("the shell ends");
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Returns the scripts of a job with one step that runs `commands`.
pub(crate) fn scripts(dialect: ShellDialect, commands: &[&str]) -> JobScripts {
    let step = Step {
        name: Step::SCRIPT.to_owned(),
        script: commands.iter().map(|&command| command.to_owned()).collect(),
        ..Step::default()
    };
    let job = Job {
        steps: vec![step],
        ..Job::default()
    };
    JobScripts::new(&ShellInfo::new(dialect), &job)
}

/// Returns the text of `stage`, which must not be empty.
pub(crate) fn text(scripts: &JobScripts, stage: &BuildStage) -> String {
    scripts
        .script(stage)
        .expect("no NUL")
        .expect("a script")
        .into_text()
}

/// Returns `stdout` without the lines that echo commands.
pub(crate) fn without_echo(stdout: &str) -> String {
    let lines = stdout
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("\u{1b}[32;1m"));
    lines.collect()
}

/// Checks the result of `commands` as the user's step under every shell, from standard input and
/// from a file.
pub(crate) fn check(commands: &[&str], expect: (i32, &str)) {
    for shell in Shell::ALL {
        check_under(shell, commands, expect);
    }
}

/// Checks the exit code of `commands` and the output without echo under one shell, from standard
/// input and from a file.
pub(crate) fn check_under(shell: Shell, commands: &[&str], expect: (i32, &str)) {
    for feed in [Feed::Stdin, Feed::File] {
        let dirs = JobDirs::new();
        let text = text(&scripts(shell.dialect(), commands), &BuildStage::script());
        let outcome = dirs.run(shell, feed, &text);
        let shown = (outcome.code.unwrap_or(-1), without_echo(&outcome.stdout));
        assert_eq!(
            (shown.0, shown.1.as_str()),
            expect,
            "{shell:?} {feed:?} {commands:?}: {outcome:#?}"
        );
    }
}
