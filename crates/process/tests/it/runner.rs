//! A runner in a process of its own, which a test can kill.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use process::{Containment, Layers, Mount, NeverStop, Settings, Stream, Supervisor, Timing};

use crate::support::{noted, processes, sh};

/// The variable with the directory of the runner; if it is set, the test runs as a runner.
const WORK: &str = "PROCESS_TEST_WORK";
const NO_CGROUP: &str = "PROCESS_TEST_NO_CGROUP";
const RESTLESS: &str = "PROCESS_TEST_RESTLESS";

/// The line that the keeper prints when the runner is dead.
const KILLED: &str = "killed";

/// Five processes, three of which have left the group, one of them also without its environment.
const JOB: &str = r#"
note() { setsid "$@" sh -c 'echo $$ >> "$1"; sleep 600' sh "$NOTES" >/dev/null 2>&1 </dev/null & }
note env
note nohup
note env -i PATH="$PATH"
sh -c 'trap "" TERM HUP; echo $$ >> "$NOTES"; sleep 600' &
echo $$ >> "$NOTES"
sleep 600
"#;

/// A runner with a job, in another process.
///
/// A keeper between it and the test adopts its orphans. The test process is a subreaper once a test runs without cgroups,
/// and would mistake the guardian for a leftover of a job.
pub(crate) struct Runner {
    keeper: Child,
    work: PathBuf,
}

impl Runner {
    /// Starts a runner with one job that sleeps.
    pub(crate) fn start(work: &Path, containment: Containment) -> Self {
        Self::launch(work, containment, false)
    }

    /// Starts a runner that starts and ends jobs without pause.
    pub(crate) fn start_restless(work: &Path, containment: Containment) -> Self {
        Self::launch(work, containment, true)
    }

    fn launch(work: &Path, containment: Containment, restless: bool) -> Self {
        fs::create_dir_all(work.join("temp")).unwrap();
        let mut command = again("runner::acts_as_keeper");
        command.env(WORK, work);
        if containment == Containment::NoCgroup {
            command.env(NO_CGROUP, "1");
        }
        if restless {
            command.env(RESTLESS, "1");
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        Self {
            keeper: command.spawn().unwrap(),
            work: work.to_owned(),
        }
    }

    /// Kills the runner alone, as the kernel would.
    pub(crate) fn kill(&mut self) {
        self.keeper
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"kill\n")
            .unwrap();
        let mut lines = BufReader::new(self.keeper.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == KILLED));
    }

    /// Returns the processes of the job, once all have started.
    pub(crate) fn job(&self) -> Option<Vec<u32>> {
        let pids = noted(&self.work.join("notes"));
        (pids.len() == 5).then_some(pids)
    }

    /// Returns the runner's guardian.
    pub(crate) fn guardian(&self) -> Option<u32> {
        guardian(&self.work)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // It exits, and kills the runner, at the end of its input.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Finds a guardian by its journal, but not the processes that it started, which have the same argument.
pub(crate) fn guardian(work: &Path) -> Option<u32> {
    let journal = format!("{}/", state(work).join("journal").display());
    let all = processes("cmdline", &journal);
    let is_started = |pid: u32| parent(pid).is_some_and(|parent| all.contains(&parent));
    all.iter().copied().find(|pid| !is_started(*pid))
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

/// Returns the runner's state directory.
pub(crate) fn state(work: &Path) -> PathBuf {
    work.join("state")
}

/// Returns the names of the journals, which are those of the runs.
pub(crate) fn journals(work: &Path) -> Vec<String> {
    entries(&state(work).join("journal"))
}

/// Lists the leftovers of a run in its working directory and among the processes.
pub(crate) fn left(work: &Path, runs: &[String]) -> Vec<String> {
    let mut left = journals(work);
    left.extend(entries(&work.join("temp")));
    left.extend(mounts_below(work));
    // A job's processes have the path in their environment, or, without an environment, in their arguments.
    let notes = work.join("notes").display().to_string();
    for file in ["environ", "cmdline"] {
        left.extend(
            processes(file, &notes)
                .iter()
                .map(|pid| format!("process {pid}")),
        );
    }
    for mount in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
        let groups = runs.iter().map(|run| format!("{mount}/runwright-{run}"));
        left.extend(groups.filter(|group| Path::new(group).exists()));
    }
    left
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Returns a command of a job that is itself a runner, without cgroups.
pub(crate) fn nested(work: &Path) -> process::Command {
    fs::create_dir_all(work.join("temp")).unwrap();
    process::Command::new(std::env::current_exe().unwrap())
        .args(["runner::acts_as_runner", "--exact", "--nocapture"])
        .env(WORK, work)
        .env(NO_CGROUP, "1")
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
}

/// Starts this program again, for a test that needs a process of its own.
pub(crate) fn again(test: &str) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "it is to be killed like any other process"
    )]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]);
    command
}

/// Mounts an overlay below `directory`, at a path with characters that mount tables escape.
pub(crate) fn overlay(supervisor: &Supervisor, directory: &Path) -> Mount {
    let [scratch, lower, upper, work, target] =
        ["scratch", "lower", "upper", "work", "a target, at: \\ here"]
            .map(|name| directory.join(name));
    for directory in [&scratch, &lower, &upper, &work, &target] {
        fs::create_dir(directory).unwrap();
    }
    fs::create_dir(lower.join("old")).unwrap();
    fs::write(lower.join("old/file"), "from below").unwrap();
    let overlays = supervisor.overlays(&scratch).unwrap();
    let layers = Layers {
        lower: &[&lower],
        upper: &upper,
        work: &work,
    };
    supervisor.mount(overlays, &layers, &target).unwrap()
}

/// Returns the lines of the mount table for a directory.
pub(crate) fn mounts_below(directory: &Path) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let directory = format!("{}/", fs::canonicalize(directory).unwrap().display());
    let lines = table.lines().filter(|line| line.contains(&directory));
    lines.map(str::to_owned).collect()
}

/// Runs as the keeper if the environment says so; otherwise does nothing.
#[tokio::test]
async fn acts_as_keeper() {
    if std::env::var_os(WORK).is_none() {
        return;
    }
    // Makes this process a subreaper.
    let _supervisor = crate::support::supervisor(Containment::NoCgroup);
    let mut command = again("runner::acts_as_runner");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut runner = command.spawn().unwrap();
    let mut input = std::io::stdin().lines();
    input.next();
    runner.kill().unwrap();
    runner.wait().unwrap();
    println!("\n{KILLED}");
    input.next();
}

/// Runs as the runner if the environment says so; otherwise does nothing.
#[tokio::test]
async fn acts_as_runner() {
    let Some(work) = std::env::var_os(WORK).map(PathBuf::from) else {
        return;
    };
    let no_cgroup = std::env::var_os(NO_CGROUP).is_some();
    let containment = if no_cgroup {
        Containment::NoCgroup
    } else {
        Containment::Auto
    };
    let settings = Settings {
        containment,
        state_dir: Some(state(&work)),
        ..Settings::default()
    };
    let supervisor = Supervisor::start(settings).unwrap();
    let command = sh(JOB).env("NOTES", work.join("notes"));
    let mut sink = |_: Stream, _: &[u8]| {};
    if std::env::var_os(RESTLESS).is_none() {
        let directory = supervisor.temp_dir(&work.join("temp"), "job-").unwrap();
        fs::write(directory.path().join("file"), "x").unwrap();
        let _mount = process::can_mount().then(|| overlay(&supervisor, directory.path()));
        let process = supervisor.tree().spawn(&command).unwrap();
        process
            .run(&mut sink, &NeverStop, &Timing::default())
            .await
            .unwrap();
        unreachable!("the job sleeps for longer than any test");
    }
    loop {
        let directory = supervisor.temp_dir(&work.join("temp"), "job-").unwrap();
        let tree = supervisor.tree();
        let script = "setsid sleep 600 >/dev/null 2>&1 & echo x > file";
        let stage = sh(script)
            .env("NOTES", work.join("notes"))
            .current_dir(directory.path());
        let process = tree.spawn(&stage).unwrap();
        process
            .run(&mut sink, &NeverStop, &Timing::default())
            .await
            .unwrap();
        tree.close().await.unwrap();
    }
}
