//! Jobs on another host, compared with the programs of OpenSSH.
//!
//! `RUNWRIGHT_AGENT=AGENT cargo bench -p benches --bench ssh`, with the program that `cargo xtask agent` builds. It starts a
//! server of OpenSSH on the loopback interface. `SSH_ROUNDS` sets the number of rounds, 15 by default.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(
    clippy::disallowed_methods,
    reason = "the programs of OpenSSH, which are the floor to compare with"
)]

use benches::statistics::{median, millis, ratio};
use executor_core::ability::ByteStream;
use executor_core::prelude::*;
use executor_core::{JobTrace, StreamKind};
use executor_ssh::{EngineChoice, SshConfig, SshOptions, SshProvider};
use executor_testkit::{CommandBuilder, CountingTrace, JobBuilder, OptionsBuilder, runner_config};
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

const ENGINES: [(&str, EngineChoice); 2] = [
    ("with the agent", EngineChoice::Agent),
    ("without it", EngineChoice::Shell),
];
/// The tree of a job: files of 4 KiB.
const FILES: usize = 500;
const LOG_BYTES: usize = 100_000_000;

fn main() {
    let rounds = std::env::var("SSH_ROUNDS").ok();
    let rounds: usize = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(15);
    assert!(
        std::env::var_os("RUNWRIGHT_AGENT").is_some(),
        "set RUNWRIGHT_AGENT to the program that `cargo xtask agent` builds"
    );
    let server = Sshd::start();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(stages(&server, rounds));
    runtime.block_on(jobs(&server, rounds));
    runtime.block_on(logs(&server, rounds.min(7)));
}

/// Prints a floor and what is compared with it; each has one time for each round.
fn print(
    title: &str,
    (name, floor): (&str, &[Duration]),
    compared: Vec<(String, Vec<Duration>, f64)>,
) {
    let floor = median(floor);
    println!("{title}");
    println!("  {name:<40} {:>9.2} ms   1.00x", millis(floor));
    for (name, times, goal) in compared {
        let time = median(&times);
        let ratio = ratio(time, floor);
        println!(
            "  {name:<40} {:>9.2} ms {ratio:>6.2}x, goal {goal}x",
            millis(time)
        );
    }
}

async fn stages(server: &Sshd, rounds: usize) {
    let mut floor = Vec::new();
    let mut compared = Vec::new();
    for (name, engine) in ENGINES {
        let goal = if engine == EngineChoice::Agent {
            0.1
        } else {
            0.5
        };
        let mut job = Job::open(&server.provider(engine)).await;
        job.run("true").await;
        let mut times = Vec::new();
        for _ in 0..rounds {
            floor.push(server.ssh(&["true"]));
            times.push(job.run("true").await);
        }
        job.close().await;
        compared.push((format!("stage {name}"), times, goal));
    }
    print(
        "a stage on an open connection",
        ("ssh host true", &floor),
        compared,
    );
}

async fn jobs(server: &Sshd, rounds: usize) {
    let tree = server.path("tree");
    fs::create_dir(&tree).expect("created");
    for number in 0..FILES {
        let text = format!("{number}\n").repeat(4096 / (number.to_string().len() + 1));
        fs::write(tree.join(number.to_string()), text).expect("written");
    }
    let mut floor = Vec::new();
    let mut compared = Vec::new();
    for (name, engine) in ENGINES {
        let provider = server.provider(engine);
        // The agent is on the host from then on.
        Job::open(&provider).await.close().await;
        let mut times = Vec::new();
        for _ in 0..rounds {
            let copied = server.path("copied");
            floor.push(server.ssh(&["true"]) + server.scp(&tree, &copied));
            fs::remove_dir_all(copied).expect("removed");
            let start = Instant::now();
            let mut job = Job::open(&provider).await;
            job.put(&tree).await;
            job.run("test -f tree/0").await;
            job.close().await;
            times.push(start.elapsed());
        }
        compared.push((format!("job {name}, with its removal"), times, 1.5));
    }
    let title = format!("a job of one stage, from login to logout, with {FILES} files of 4 KiB");
    print(&title, ("ssh host true, and scp -r", &floor), compared);
}

async fn logs(server: &Sshd, rounds: usize) {
    let file = server.path("long");
    let line = format!("{}\n", "0".repeat(99));
    fs::write(&file, line.repeat(LOG_BYTES / line.len())).expect("written");
    let show = format!("cat {}", file.display());
    let mut floor = Vec::new();
    let mut compared = Vec::new();
    for (name, engine) in ENGINES {
        let mut job = Job::open(&server.provider(engine)).await;
        let mut times = Vec::new();
        for _ in 0..rounds {
            floor.push(server.ssh(&[&show]));
            let before = job.trace.bytes(StreamKind::Stdout);
            times.push(job.run(&show).await);
            let bytes = job.trace.bytes(StreamKind::Stdout) - before;
            assert_eq!(bytes, LOG_BYTES as u64);
        }
        job.close().await;
        compared.push((format!("stage {name}"), times, 1.3));
    }
    print(
        "100 MB of log",
        ("ssh host cat file, to a pipe", &floor),
        compared,
    );
}

/// A prepared job.
struct Job {
    executor: Box<dyn Executor>,
    directory: String,
    trace: Arc<CountingTrace>,
}

impl Job {
    async fn open(provider: &SshProvider) -> Self {
        let config = runner_config("ssh");
        let go_on = Cancellation::new();
        let data = provider.acquire(&config, &go_on).await.expect("a host");
        let mut executor = provider.create(&data).expect("an executor");
        let trace = Arc::new(CountingTrace::default());
        let options = OptionsBuilder::new()
            .job(JobBuilder::new(1).build())
            .config(config)
            .trace(Arc::clone(&trace) as Arc<dyn JobTrace>);
        let prepared = executor.prepare(options.build(), &go_on).await;
        let environment = prepared.expect("prepared");
        Self {
            executor,
            directory: environment.workspace.dirs().builds_dir.clone(),
            trace,
        }
    }

    async fn put(&mut self, tree: &Path) {
        let tree = tree.to_owned();
        let pack = move || {
            let mut archive = tar::Builder::new(Vec::new());
            archive.append_dir_all("tree", tree).expect("packed");
            archive.into_inner().expect("packed")
        };
        let packed = tokio::task::spawn_blocking(pack).await.expect("packed");
        let archive: ByteStream = Box::new(std::io::Cursor::new(packed));
        let transfer = self.executor.abilities().file_transfer.expect("files");
        transfer
            .put(&self.directory, archive, &Cancellation::new())
            .await
            .expect("sent");
    }

    async fn run(&mut self, script: &str) -> Duration {
        let command = CommandBuilder::new(script).working_dir(&self.directory);
        let start = Instant::now();
        let result = self
            .executor
            .run(command.build(), &Cancellation::new())
            .await;
        assert!(result.expect("a stage").status.is_success());
        start.elapsed()
    }

    async fn close(mut self) {
        self.executor.cleanup().await.expect("cleaned up");
    }
}

/// A server of OpenSSH on the loopback interface. It ends when it is dropped.
struct Sshd {
    child: Child,
    port: u16,
    directory: tempfile::TempDir,
}

impl Sshd {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("home")).expect("created");
        for name in ["host", "key"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(at(name));
            run(&mut keygen);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let shown = directory.path().display();
        let host = fs::read_to_string(at("host.pub")).expect("read");
        fs::write(at("known"), format!("[127.0.0.1]:{port} {host}")).expect("written");
        let config = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {shown}/host\nAuthorizedKeysFile {shown}/key.pub\n\
             StrictModes no\nUsePAM no\nPidFile none\nSetEnv HOME={shown}/home\n\
             Subsystem sftp internal-sftp\n"
        );
        fs::write(at("config"), config).expect("written");
        fs::create_dir_all("/run/sshd").expect("created");
        let child = Command::new("/usr/sbin/sshd")
            .arg("-D")
            .arg("-f")
            .arg(at("config"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sshd starts; Debian has it in openssh-server");
        let server = Self {
            child,
            port,
            directory,
        };
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(Instant::now() < end, "sshd does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn provider(&self, engine: EngineChoice) -> SshProvider {
        executor_ssh::provider(SshOptions {
            config: SshConfig {
                host: Some("127.0.0.1".to_owned()),
                port: Some(self.port),
                user: Some("root".to_owned()),
                identity_file: Some(self.path("key")),
                known_hosts_file: Some(self.path("known")),
                config_file: Some(PathBuf::from("/dev/null")),
                engine,
                ..SshConfig::default()
            },
            home: None,
            user: "root".to_owned(),
            auth_socket: None,
        })
    }

    /// Returns a program of OpenSSH with the options for this server.
    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let known = format!("UserKnownHostsFile={}", self.path("known").display());
        command
            .args(["-q", "-F", "none", "-o", &known, "-i"])
            .arg(self.path("key"))
            .arg(if program == "ssh" { "-p" } else { "-P" })
            .arg(self.port.to_string());
        command
    }

    fn ssh(&self, words: &[&str]) -> Duration {
        run(self.client("ssh").arg("root@127.0.0.1").args(words))
    }

    fn scp(&self, from: &Path, to: &Path) -> Duration {
        let to = format!("root@127.0.0.1:{}", to.display());
        run(self.client("scp").arg("-r").arg(from).arg(to))
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // Its sessions end with their clients.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program, reads its output, and returns how long it took.
fn run(command: &mut Command) -> Duration {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().expect("started");
    let time = start.elapsed();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    time
}
