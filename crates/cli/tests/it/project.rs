//! A repository for one test, and the binary run in it.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Every event a test waits for happens within this time, even on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

/// A Git repository with a pipeline, and a separate home for the state.
#[derive(Debug)]
pub(crate) struct Project {
    scratch: TempDir,
}

/// The result of a finished binary.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    /// Returns standard output and standard error in one text.
    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Asserts the exit code and prints all output if it differs.
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Returns the duration of the pipeline in seconds, parsed from its last line: `0.1s`, `2m 5s`.
    pub(crate) fn seconds(&self) -> f64 {
        let mut lines = self.stdout.lines();
        let line = lines.rfind(|line| line.starts_with("pipeline "));
        let took = line.and_then(|line| line.rsplit_once(", "));
        let (_, took) = took.unwrap_or_else(|| panic!("no time in {self:?}"));
        let parts = took.split(' ').map(|part| {
            let (number, unit) = part.split_at(part.len() - 1);
            let unit = match unit {
                "h" => 3600.0,
                "m" => 60.0,
                _ => 1.0,
            };
            number.parse::<f64>().unwrap() * unit
        });
        parts.sum()
    }

    /// Asserts that either stream contains a text.
    pub(crate) fn expect_text(self, text: &str) -> Self {
        assert!(
            self.all().contains(text),
            "no {text:?} in:\n{}\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Project {
    /// Returns a repository with one commit that contains this pipeline.
    pub(crate) fn with_pipeline(pipeline: &str) -> Self {
        let project = Self::empty_directory();
        project.write(".gitlab-ci.yml", pipeline);
        project.git(&["init", "-q", "-b", "main"]);
        project.commit();
        project
    }

    /// Returns a directory without a repository and without a pipeline.
    pub(crate) fn empty_directory() -> Self {
        let project = Self {
            scratch: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(project.dir()).unwrap();
        project
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.scratch.path().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let status = Command::new("git")
            .args([
                "-c",
                "user.name=Test Author",
                "-c",
                "user.email=author@example.com",
            ])
            .args(arguments)
            .current_dir(self.dir())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status()
            .unwrap();
        assert!(status.success(), "git {arguments:?}");
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "A first commit"]);
    }

    /// Returns the binary, set up to run in the project.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runwright"));
        command
            .args(arguments)
            .current_dir(self.dir())
            .env("RUNWRIGHT_HOME", self.home())
            // Not this machine's own engine.
            .env("DOCKER_HOST", "unix:///no/engine")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary until it exits.
    pub(crate) fn runwright(&self, arguments: &[&str]) -> Done {
        self.command(arguments).output().unwrap().into()
    }

    /// Starts the binary; its output goes to `out` in the scratch directory.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.start_as(self.command(arguments))
    }

    /// Starts the binary as configured; its output goes to the same file.
    pub(crate) fn start_as(&self, mut command: Command) -> Child {
        let out = fs::File::create(self.scratch.path().join("out")).unwrap();
        command
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .unwrap()
    }

    /// Returns the output of a started binary so far.
    pub(crate) fn printed(&self) -> String {
        fs::read(self.scratch.path().join("out"))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Returns the end of the output of a started binary.
    pub(crate) fn printed_end(&self) -> String {
        let bytes = fs::read(self.scratch.path().join("out")).unwrap_or_default();
        let end = &bytes[bytes.len().saturating_sub(2000)..];
        String::from_utf8_lossy(end).into_owned()
    }

    /// Waits until a started binary has printed `text`.
    pub(crate) fn wait_for(&self, text: &str) {
        wait_until(&format!("{text:?} in the output"), || {
            self.printed().contains(text)
        });
    }

    /// Returns the stored log of the only job that ever ran.
    pub(crate) fn only_log(&self) -> Vec<u8> {
        let mut logs: Vec<_> = files_below(&self.home())
            .into_iter()
            .filter(|path| path.extension().is_some_and(|it| it == "log"))
            .collect();
        assert_eq!(logs.len(), 1, "{logs:?}");
        fs::read(logs.remove(0)).unwrap()
    }

    /// Returns the files below the state directory that a run must not leave behind.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        let is_left = |path: &PathBuf| {
            let mut parts = path
                .components()
                .filter_map(|part| part.as_os_str().to_str());
            let made = ["builds-", "probe-", "snapshot-", "steps-"];
            let below_builds = parts.any(|name| made.iter().any(|start| name.starts_with(start)));
            let below_journal = path.components().any(|part| part.as_os_str() == "journal");
            below_builds || (below_journal && !path.ends_with("journal"))
        };
        let mut files = files_below(&self.home());
        files.retain(is_left);
        files
    }
}

/// The stages that the runner adds to a job's scripts.
const OWN_STAGES: [&str; 12] = [
    "resolve secrets",
    "prepare executor",
    "prepare script",
    "get sources",
    "clear worktree",
    "restore cache",
    "download artifacts",
    "archive cache",
    "archive cache on failure",
    "upload artifacts on success",
    "upload artifacts on failure",
    "cleanup file variables",
];

/// Returns whether a line reports a stage of the runner's own, which it does for stages of a second or more: `get
/// sources 1.2s`, with or without a job name before it.
pub(crate) fn is_of_slow_stage(line: &str) -> bool {
    let (_, line) = line.rsplit_once("| ").unwrap_or(("", line));
    let line = line.trim_start_matches(['▸', '▾', ' ']).trim_end();
    let mut rests = OWN_STAGES
        .iter()
        .filter_map(|stage| line.strip_prefix(stage));
    rests.any(|rest| {
        let time = rest.strip_prefix(' ').unwrap_or_default();
        time.starts_with(|c: char| c.is_ascii_digit()) && time.ends_with(['h', 'm', 's'])
    })
}

/// Copies the program with another process. A child that another test forks would inherit a file descriptor open for
/// writing here, and a file open for writing cannot be executed.
pub(crate) fn copy_program(to: &Path) {
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_runwright"))
        .arg(to)
        .status();
    assert!(copied.unwrap().success(), "{}", to.display());
}

/// Returns everything below a directory, without following links.
pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_below(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

/// Returns the lines of the mount table that name a path below a directory.
pub(crate) fn mounts_below(directory: &Path) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let directory = format!("{}/", directory.display());
    let lines = table.lines().filter(|line| line.contains(&directory));
    lines.map(str::to_owned).collect()
}

/// Waits for a condition and panics on timeout.
pub(crate) fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_until_described(|| what.to_owned(), condition);
}

/// Waits for a condition and panics on timeout with this description.
pub(crate) fn wait_until_described(what: impl Fn() -> String, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < end, "waited too long for {}", what());
        // A file or process of another program sends no event, so this polls.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the processes whose environment or command line contains `marker`.
pub(crate) fn processes_with(marker: &str) -> Vec<u32> {
    let own = std::process::id();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let holds = |file: &str| {
            fs::read(entry.path().join(file)).is_ok_and(|bytes| memmem(&bytes, marker.as_bytes()))
        };
        if pid != own && (holds("environ") || holds("cmdline")) {
            found.push(pid);
        }
    }
    found
}

fn memmem(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

/// Checks that the lines `tick N.` of a log are there once each, in order, and returns how many there are.
pub(crate) fn count_ticks(log: &str) -> usize {
    let ticks = log.lines().filter_map(|line| {
        let number = line.split_once("tick ")?.1.strip_suffix('.')?;
        number.parse::<usize>().ok()
    });
    let ticks: Vec<usize> = ticks.collect();
    let expected: Vec<usize> = (1..=ticks.len()).collect();
    assert_eq!(ticks, expected, "{log}");
    ticks.len()
}
