//! Engines of this host, each a `dockerd` of its own.

use super::program::{run, stderr_tail};
use crate::driver::{DriverError, MachineDriver};
use async_trait::async_trait;
use executor_core::Endpoint;
use parking_lot::Mutex;
use process::{
    FileLock, LockKind, ProcessTree, adopt_orphans, collect_adopted, make_private_dir_all,
    remove_job_tree, replace_file,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

/// How long an engine may take to start, to answer, and to end by itself: it gives each container 10 s, and then 5 s.
const START: Duration = Duration::from_mins(1);
const ANSWER: Duration = Duration::from_secs(10);
const END: Duration = Duration::from_secs(30);

/// The lock that an engine holds while it starts, and how long it waits for others.
const START_LOCK: &str = "/run/runwright-machines.lock";
const START_LOCK_TIMEOUT: Duration = Duration::from_mins(10);

/// The longest path of a socket.
const LONGEST_SOCKET: usize = 107;

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// The address of clients and server.
const LOOPBACK: &str = "127.0.0.1";

/// The settings of [`LocalEngines`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalEngineSettings {
    /// Where the engines have their files, a directory for each. Default: `/var/lib/runwright-machines`.
    pub directory: PathBuf,
    /// The program. Default: `dockerd`.
    pub program: String,
}

impl Default for LocalEngineSettings {
    fn default() -> Self {
        Self {
            directory: "/var/lib/runwright-machines".into(),
            program: "dockerd".to_owned(),
        }
    }
}

/// A driver whose machines are Docker engines of this host: each has its own images, containers, network and certificates. It
/// needs root.
///
/// An engine outlives this process, as a machine in a cloud does, and the next one finds it by its directory. It listens on a port
/// of the loopback address and speaks TLS; only its client certificate gets in.
#[derive(Debug)]
pub struct LocalEngines {
    settings: LocalEngineSettings,
    processes: ProcessTree,
    /// Those that this process has started, to collect their ends.
    children: Mutex<Vec<Child>>,
}

/// One engine, by its files.
#[derive(Debug, Clone)]
struct Files {
    directory: PathBuf,
    bridge: String,
}

impl LocalEngines {
    /// Returns the driver.
    pub fn new(settings: LocalEngineSettings, processes: ProcessTree) -> Self {
        Self {
            settings,
            processes,
            children: Mutex::default(),
        }
    }

    fn files(&self, name: &str) -> Result<Files, DriverError> {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        if !name.chars().all(is_plain) || name.starts_with('.') {
            return Err(DriverError::new(format!("invalid name {name:?}")));
        }
        let directory = self.settings.directory.join(name);
        let longest = directory.join("exec/containerd/containerd.sock.ttrpc");
        if longest.as_os_str().len() > LONGEST_SOCKET {
            let message = format!(
                "{} is too long for the paths of sockets: choose a shorter `directory`, or name of the runner",
                directory.display()
            );
            return Err(DriverError::new(message));
        }
        // Names of interfaces have at most 15 characters.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Ok(Files {
            directory,
            bridge: format!("rwm{:011x}", hash & 0xfff_ffff_ffff),
        })
    }

    async fn command(&self, program: &str, words: &[&str]) -> Result<Vec<u8>, DriverError> {
        let shown = format!("{program} {}", words.join(" "));
        let command = process::Command::new(program).args(words.iter().copied());
        let captured = run(&self.processes, command).await?;
        if captured.outcome.success() {
            return Ok(captured.stdout);
        }
        let message = format!("{shown}: {}", stderr_tail(&captured));
        Err(DriverError::new(message))
    }

    /// Locks the start of engines on this host. Two that start at once would change the rules of the firewall at once, and fail.
    async fn start_lock(&self) -> Result<FileLock, DriverError> {
        let lock = spawn_blocking(|| {
            let file = FileLock::open_file(Path::new(START_LOCK))?;
            FileLock::within(file, LockKind::Exclusive, START_LOCK_TIMEOUT)
        });
        let lock = lock.await.unwrap_or_else(|error| Err(error.into()));
        lock.map_err(failed("wait for other engines to start"))
    }

    /// Makes the bridge for containers, if it is missing. Each engine has its own network.
    async fn make_bridge(&self, files: &Files) -> Result<(), DriverError> {
        let used = self.command("ip", &["-4", "-o", "address"]).await?;
        let used = String::from_utf8_lossy(&used).into_owned();
        let mut lines = used.lines();
        if lines.any(|it| it.contains(&format!(" {} ", files.bridge))) {
            return Ok(());
        }
        // One without an address was not finished.
        self.remove_bridge(&files.bridge).await?;
        // Of the addresses that RFC 2544 keeps for tests of networks, so that no real one is hidden.
        let mut free =
            (18..20).flat_map(|high| (0..=255).map(move |low| format!("198.{high}.{low}.1")));
        let free = free.find(|it| !used.contains(&format!(" {it}/")));
        let free = free.ok_or_else(|| DriverError::new("no network is free"))?;
        let bridge = &*files.bridge;
        self.command("ip", &["link", "add", bridge, "type", "bridge"])
            .await?;
        let address = format!("{free}/24");
        self.command("ip", &["address", "add", &address, "dev", bridge])
            .await?;
        self.command("ip", &["link", "set", bridge, "up"]).await?;
        Ok(())
    }

    /// Removes the bridge, and the rules of the firewall that name it.
    async fn remove_bridge(&self, bridge: &str) -> Result<(), DriverError> {
        if let Ok(rules) = self.command("iptables-save", &[]).await {
            let rules = String::from_utf8_lossy(&rules).into_owned();
            let mut table = "filter";
            for rule in rules.lines() {
                table = rule.strip_prefix('*').unwrap_or(table);
                let words: Vec<_> = rule.split(' ').collect();
                if words.first() == Some(&"-A") && words.contains(&bridge) {
                    let mut remove = vec!["-w", "-t", table, "-D"];
                    remove.extend(&words[1..]);
                    // One that has gone meanwhile is no error.
                    let _ = self.command("iptables", &remove).await;
                }
            }
        }
        if Path::new("/sys/class/net").join(bridge).exists() {
            self.command("ip", &["link", "delete", bridge]).await?;
        }
        Ok(())
    }

    fn start(&self, files: &Files) -> io::Result<Child> {
        let port = files.port()?;
        let certificates = files.at("certificates");
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(files.at("log"))?;
        // Not by `process`, whose guardian would end it with this process. Without this, the next sweep for leftovers would, too.
        adopt_orphans()?;
        #[expect(clippy::disallowed_methods, reason = "an engine outlives this process")]
        let mut command = Command::new(&self.settings.program);
        command
            .arg("--host")
            .arg(format!("unix://{}", files.at("docker.sock").display()))
            .args(["--host", &format!("tcp://{LOOPBACK}:{port}")])
            .arg("--tlsverify")
            .arg("--tlscacert")
            .arg(certificates.join("ca.pem"))
            .arg("--tlscert")
            .arg(certificates.join("server-cert.pem"))
            .arg("--tlskey")
            .arg(certificates.join("server-key.pem"))
            .arg("--data-root")
            .arg(files.at("data"))
            .arg("--exec-root")
            .arg(files.at("exec"))
            .arg("--pidfile")
            .arg(files.at("pid"))
            .args(["--bridge", &files.bridge, "--shutdown-timeout", "1"])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // No Ctrl-C of a terminal reaches it.
            .process_group(0);
        command.spawn()
    }

    /// Waits until the engine answers.
    async fn wait(&self, files: &Files, mut child: Child) -> Result<(), DriverError> {
        let begun = Instant::now();
        loop {
            if files.answers().await {
                self.children.lock().push(child);
                return Ok(());
            }
            // An error says that it has ended and was collected elsewhere.
            let ended = child.try_wait();
            if !matches!(ended, Ok(None)) {
                let log = files.log_end();
                return Err(DriverError::new(format!("the engine ended:\n{log}")));
            }
            if begun.elapsed() > START {
                self.children.lock().push(child);
                let log = files.log_end();
                return Err(DriverError::new(format!(
                    "the engine does not answer:\n{log}"
                )));
            }
            sleep(PAUSE).await;
        }
    }

    /// Collects the engines that have ended, and the dead processes that they have left.
    fn collect(&self) {
        collect_adopted();
        let mut children = self.children.lock();
        children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}

#[async_trait]
impl MachineDriver for LocalEngines {
    async fn list(&self, prefix: &str) -> Result<Vec<String>, DriverError> {
        let entries = match fs::read_dir(&self.settings.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed("list the engines"))?,
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter(|name| name.starts_with(prefix)).collect())
    }

    async fn create(&self, name: &str) -> Result<Endpoint, DriverError> {
        if !rustix::process::geteuid().is_root() {
            return Err(DriverError::new("engines of this host need root"));
        }
        let files = self.files(name)?;
        make_private_dir_all(&files.directory).map_err(failed("make the engine's directory"))?;
        let endpoint = |files: &Files| {
            let port = files.port().map_err(failed("choose a port"))?;
            Ok(Endpoint::Engine {
                host: format!("tcp://{LOOPBACK}:{port}"),
                tls_cert_path: Some(files.at("certificates")),
            })
        };
        if files.answers().await {
            return endpoint(&files);
        }
        // One that hangs, or processes of a dead one.
        files.end().await?;
        self.collect();
        // Another process may have the number meanwhile, and the engine would wait for it.
        let _ = fs::remove_file(files.at("exec/containerd/containerd.pid"));
        // Another process may have the port meanwhile.
        let _ = fs::remove_file(files.at("port"));
        if !files.at("certificates/key.pem").exists() {
            make_certificates(&files.at("certificates")).map_err(|error| DriverError {
                message: "make certificates".to_owned(),
                source: Some(error),
            })?;
        }
        let _lock = self.start_lock().await?;
        self.make_bridge(&files).await?;
        let program = &self.settings.program;
        let child = self.start(&files).map_err(|error| {
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            let hint = if is_missing {
                ": install Docker Engine"
            } else {
                ""
            };
            DriverError {
                message: format!("start {program}{hint}"),
                source: Some(error.into()),
            }
        })?;
        self.wait(&files, child).await?;
        endpoint(&files)
    }

    async fn check(&self, name: &str, _endpoint: &Endpoint) -> Result<(), DriverError> {
        self.collect();
        let files = self.files(name)?;
        if files.answers().await {
            return Ok(());
        }
        Err(DriverError::new("the engine does not answer"))
    }

    async fn remove(&self, name: &str) -> Result<(), DriverError> {
        let files = match self.files(name) {
            // One that could not be created for its name.
            Err(_) if !self.settings.directory.join(name).exists() => return Ok(()),
            files => files?,
        };
        files.end().await?;
        self.collect();
        let jobs = files.networks();
        for bridge in jobs.iter().chain([&files.bridge]) {
            self.remove_bridge(bridge).await?;
        }
        let directory = files.directory.clone();
        let removed = spawn_blocking(move || match remove_job_tree(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        });
        let removed = removed
            .await
            .map_err(|error| failed("remove")(error.into()))?;
        removed.map_err(failed("remove the engine's directory"))
    }
}

impl Files {
    fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns the port, which is chosen anew for each start.
    fn port(&self) -> io::Result<u16> {
        let path = self.at("port");
        if let Ok(text) = fs::read_to_string(&path)
            && let Ok(port) = text.trim().parse()
        {
            return Ok(port);
        }
        let port = TcpListener::bind((LOOPBACK, 0))?.local_addr()?.port();
        fs::write(path, port.to_string())?;
        Ok(port)
    }

    async fn answers(&self) -> bool {
        let ping = async {
            let mut stream = UnixStream::connect(self.at("docker.sock")).await?;
            stream.write_all(b"GET /_ping HTTP/1.0\r\n\r\n").await?;
            let mut status = [0; 12];
            stream.read_exact(&mut status).await?;
            Ok::<_, io::Error>(status.ends_with(b" 200"))
        };
        matches!(timeout(ANSWER, ping).await, Ok(Ok(true)))
    }

    /// Returns the bridges of the networks that jobs had, which an engine does not remove when it ends. Their names have the beginnings of
    /// the networks' ids, which its database has as text.
    fn networks(&self) -> Vec<String> {
        const ID: usize = 64;
        let database = fs::read(self.at("data/network/files/local-kv.db")).unwrap_or_default();
        let is_hex = |byte: &u8| byte.is_ascii_hexdigit();
        let ids = database.split(|byte| !is_hex(byte));
        let ids = ids.filter(|id| id.len() == ID);
        let bridges: BTreeSet<_> = ids
            .map(|id| format!("br-{}", String::from_utf8_lossy(&id[..12])))
            .collect();
        let is_there = |bridge: &String| Path::new("/sys/class/net").join(bridge).exists();
        bridges.into_iter().filter(is_there).collect()
    }

    fn log_end(&self) -> String {
        let log = fs::read_to_string(self.at("log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }

    /// Ends its processes: the engine, which ends its containers, then all that is left of it.
    async fn end(&self) -> Result<(), DriverError> {
        let begun = Instant::now();
        let (mut signal, mut is_asked) = (Signal::TERM, false);
        loop {
            let (own, all) = self.processes().map_err(failed("look for processes"))?;
            if all.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > 2 * END {
                let message = format!("processes of the engine do not end: {all:?}");
                return Err(DriverError::new(message));
            }
            if begun.elapsed() > END || own.is_empty() {
                signal = Signal::KILL;
            }
            let targets = if signal == Signal::KILL { &all } else { &own };
            if !is_asked || signal == Signal::KILL {
                is_asked = true;
                for process in targets.iter().filter_map(|id| Pid::from_raw(*id)) {
                    // It may have ended meanwhile.
                    let _ = kill_process(process, signal);
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Returns the engine's process, and all processes that it has started: those whose command line names its directory, and
    /// their descendants. Ended ones that nothing has collected are left out.
    fn processes(&self) -> io::Result<(BTreeSet<i32>, BTreeSet<i32>)> {
        let directory = format!("{}/", self.directory.display());
        let (mut parents, mut all) = (BTreeMap::new(), BTreeSet::new());
        let mut engine = BTreeSet::new();
        let data_root = self.at("data");
        for entry in fs::read_dir("/proc")? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(id) = name.and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            // A process may end while it is looked at.
            let Ok(status) = fs::read_to_string(path.join("stat")) else {
                continue;
            };
            let mut fields = status
                .rsplit(')')
                .next()
                .unwrap_or_default()
                .split(' ')
                .skip(1);
            if matches!(fields.next(), Some("Z" | "X") | None) {
                continue;
            }
            parents.insert(id, fields.next().and_then(|it| it.parse::<i32>().ok()));
            let command = fs::read(path.join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command);
            if command.contains(&directory) {
                all.insert(id);
            }
            let mut words = command.split('\0');
            if words.any(|it| it == "--data-root")
                && words.next().is_some_and(|it| Path::new(it) == data_root)
            {
                engine.insert(id);
            }
        }
        loop {
            let before = all.len();
            for (id, parent) in &parents {
                if parent.is_some_and(|parent| all.contains(&parent)) {
                    all.insert(*id);
                }
            }
            if all.len() == before {
                return Ok((engine, all));
            }
        }
    }
}

/// Makes an authority with certificates for the engine and its client, in the files that Docker uses.
fn make_certificates(directory: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    make_private_dir_all(directory)?;
    let write = |name: &str, text: String| replace_file(&directory.join(name), text.as_bytes());
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    write("ca.pem", authority.pem())?;
    for (prefix, host) in [("server-", LOOPBACK), ("", "client")] {
        let key = KeyPair::generate()?;
        let params = CertificateParams::new(vec![host.to_owned()])?;
        let certificate = params.signed_by(&key, &authority)?;
        write(&format!("{prefix}cert.pem"), certificate.pem())?;
        // The last file is the mark that all are there.
        write(&format!("{prefix}key.pem"), key.serialize_pem())?;
    }
    Ok(())
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> DriverError {
    move |error| DriverError {
        message: what.to_owned(),
        source: Some(error.into()),
    }
}
