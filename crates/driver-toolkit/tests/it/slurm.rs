//! The example for Slurm, with the real one on one node.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long Slurm may take for something that it does in a second.
const LIMIT: Duration = Duration::from_mins(1);

#[expect(
    clippy::disallowed_methods,
    reason = "a test starts the programs that it tests"
)]
fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    command
}

/// Slurm with one node, which ends when this is dropped.
struct Slurm {
    root: TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        for directory in ["state", "spool", "munge", "shared"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        let mut slurm = Self {
            root,
            daemons: Vec::new(),
        };
        let at = |name: &str| slurm.root.path().join(name).display().to_string();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap().to_owned();
        let (controller, node) = (free_port(), free_port());
        let config = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={socket}\nStateSaveLocation={state}\nSlurmdSpoolDir={spool}\n\
             SlurmctldPidFile={root}/controller.pid\nSlurmdPidFile={root}/node.pid\n\
             SlurmctldLogFile={root}/controller.log\nSlurmdLogFile={root}/node.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSchedulerType=sched/builtin\n\
             SelectType=select/cons_tres\nMpiDefault=none\nReturnToService=2\n\
             SlurmctldPort={controller}\nSlurmdPort={node}\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN\n\
             PartitionName=main Nodes={host} Default=YES State=UP\n",
            socket = at("munge/socket"),
            state = at("state"),
            spool = at("spool"),
            root = slurm.root.path().display(),
        );
        fs::write(at("slurm.conf"), config).unwrap();
        fs::write(at("cgroup.conf"), "IgnoreSystemd=yes\n").unwrap();
        fs::write(at("munge/key"), [7; 1024]).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(at("munge/key"), private).unwrap();
        let mut munge = program("/usr/sbin/munged");
        munge.args([
            "--foreground",
            "--force",
            "--key-file",
            &at("munge/key"),
            "--socket",
            &at("munge/socket"),
        ]);
        munge.args([
            "--pid-file",
            &at("munge/pid"),
            "--log-file",
            &at("munge/log"),
            "--seed-file",
            &at("munge/seed"),
        ]);
        let socket = PathBuf::from(at("munge/socket"));
        let mut controller = program("/usr/sbin/slurmctld");
        controller.arg("-D").env("SLURM_CONF", at("slurm.conf"));
        let mut node = program("/usr/sbin/slurmd");
        node.arg("-D").env("SLURM_CONF", at("slurm.conf"));
        slurm.spawn(munge);
        wait_until("munged listens", || socket.exists());
        slurm.spawn(controller);
        slurm.spawn(node);
        wait_until("the node is idle", || {
            let output = slurm
                .command("sinfo", &["--noheader", "--format=%T"])
                .output()
                .unwrap();
            output.stdout == b"idle\n"
        });
        slurm
    }

    fn spawn(&mut self, mut command: Command) {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.daemons.push(child.unwrap_or_else(|error| {
            panic!("{command:?}: {error}: run the tests by `cargo xtask test`")
        }));
    }

    fn command(&self, name: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Command {
        let mut command = program(name);
        command
            .args(arguments)
            .env("SLURM_CONF", self.root.path().join("slurm.conf"));
        command
    }

    /// Returns the driver as a runner calls it.
    fn driver(&self, arguments: &[&str]) -> Command {
        let test = std::env::current_exe().unwrap();
        let example = test.ancestors().nth(2).unwrap().join("examples/slurm");
        let mut command = self.command(example, arguments);
        command
            .env("SLURM_SHARED", self.root.path().join("shared"))
            .env("BUILD_EXIT_CODE_FILE", self.root.path().join("code"))
            .env("SYSTEM_FAILURE_EXIT_CODE", "2")
            .env("CUSTOM_ENV_CI_JOB_ID", "5")
            .env("CUSTOM_ENV_SLURM_OPTIONS", "--partition=main --time=10")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a script of a stage.
    fn run(&self, stage: &str, text: &str) -> Output {
        let script = self.root.path().join("script");
        fs::write(&script, text).unwrap();
        self.driver(&["run", script.to_str().unwrap(), stage])
            .output()
            .unwrap()
    }

    fn queue(&self) -> String {
        let output = self.command("squeue", &["--noheader"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LIMIT, "not in time: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn scripts_of_the_user_are_batch_jobs() {
    let slurm = Slurm::start();
    let code = slurm.root.path().join("code");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(slurm.driver(&["prepare"]).status().unwrap().success());

    let output = slurm.run(
        "build_script",
        "echo ${SLURM_JOB_ID:-none}; echo error >&2; exit 4",
    );
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(
        (
            text(&output.stdout).as_str(),
            fs::read_to_string(&code).unwrap().as_str()
        ),
        ("1\nerror\n", "4")
    );
    assert!(
        text(&output.stderr).contains("the batch job 1 "),
        "{output:?}"
    );
    let output = slurm.run(
        "get_sources",
        "echo ${SLURM_JOB_ID:-none}; echo error >&2; (sleep 300 &)",
    );
    assert_eq!(
        (text(&output.stdout).as_str(), output.status.code()),
        ("none\n", Some(0))
    );
    assert!(text(&output.stderr).ends_with("error\n"), "{output:?}");

    // A runner stops the process group of the driver.
    let script: &Path = &slurm.root.path().join("script");
    let ready = slurm.root.path().join("shared/ready");
    fs::write(script, format!("echo >{}; sleep 300", ready.display())).unwrap();
    let mut driver = slurm.driver(&["run", script.to_str().unwrap(), "build_script"]);
    let driver = std::os::unix::process::CommandExt::process_group(&mut driver, 0)
        .spawn()
        .unwrap();
    wait_until("the script runs", || ready.exists());
    program("kill")
        .args(["-TERM", "--", &format!("-{}", driver.id())])
        .status()
        .unwrap();
    let output = driver.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    wait_until("the batch job is canceled", || slurm.queue().is_empty());

    // The driver is killed.
    fs::remove_file(&ready).unwrap();
    let mut driver = slurm.driver(&["run", script.to_str().unwrap(), "build_script"]);
    let mut driver = driver.spawn().unwrap();
    wait_until("the script runs", || ready.exists());
    driver.kill().unwrap();
    driver.wait().unwrap();
    let files = slurm.root.path().join("shared/batch");
    assert_eq!(fs::read_dir(&files).unwrap().count(), 1);

    let output = slurm.driver(&["cleanup"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    wait_until("the batch job is canceled", || slurm.queue().is_empty());
    assert_eq!(fs::read_dir(&files).unwrap().count(), 0);
    let left: Vec<_> = fs::read_dir(slurm.root.path().join("shared/state"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 0);
}
