//! A running node.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use anyhow::{Context, bail};

use super::{VARIABLE, certificates, images};
use crate::docker::{mount_memory, unmount};
use crate::{run, stop};

/// How long a node may take to be ready. It takes ten seconds on an idle machine.
const START: Duration = Duration::from_mins(3);

/// A running node. It ends when this is dropped, and with this process.
#[derive(Debug)]
pub(crate) struct Node {
    child: Child,
    programs: PathBuf,
    directory: Directory,
}

/// The files of a node. They are removed when this is dropped, which comes after the end of the node.
#[derive(Debug)]
struct Directory(PathBuf);

impl Directory {
    fn make() -> anyhow::Result<Self> {
        // Short, because the length of a socket path is limited.
        let directory = Self(env::temp_dir().join(name(process::id())));
        fs::create_dir_all(&directory.0)?;
        if let Err(error) = mount_memory(&directory.0) {
            println!("test: {} is on the disk: {error:#}", directory.0.display());
        }
        Ok(directory)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        remove(&self.0, process::id());
    }
}

impl Node {
    pub(super) fn start(root: &Path, programs: &Path) -> anyhow::Result<Self> {
        sweep();
        let id = process::id();
        let place = Directory::make()?;
        let directory = place.0.clone();
        fs::create_dir_all(directory.join("images"))?;
        fs::create_dir_all(directory.join("cni"))?;
        images::make(&directory.join("images")).context("make the images of the node")?;
        // 100.64.0.0/10 is for providers and their customers (RFC 6598), so a host rarely has it. Each process has four addresses.
        let own = 0x6440_0000 | ((id << 2) & 0x003f_fffc);
        let network = |last: u32| Ipv4Addr::from(own | last).to_string();
        let (host_ip, node_ip) = (network(1), network(2));
        certificates::make(&directory, &[&node_ip, "127.0.0.1", "10.233.0.1"])?;
        write_settings(&directory, &node_ip)?;
        let values = format!(
            "node_ip={node_ip} host_ip={host_ip} service_range=10.233.0.0/24 bin='{}'\n",
            programs.display()
        );
        fs::write(directory.join("values"), values)?;
        let log = File::create(directory.join("node.log"))?;
        // `setpriv` ends the node when this process is killed.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare"])
            .args([
                "--net",
                "--mount",
                "--pid",
                "--uts",
                "--ipc",
                "--fork",
                "--mount-proc",
            ])
            .arg("--kill-child")
            .arg(root.join("xtask/kubernetes/node"))
            .arg(&directory)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("start the node")?;
        let node = Self {
            child,
            programs: programs.to_owned(),
            directory: place,
        };
        node.join_network(&host_ip)?;
        node.wait_until_ready()?;
        println!("test: Kubernetes runs at https://{node_ip}:6443");
        Ok(node)
    }

    /// Tells a command where the cluster is.
    pub(crate) fn tell(&self, command: &mut Command) {
        let settings = self.settings();
        command.env(VARIABLE, &settings).env("KUBECONFIG", settings);
        let path = env::var_os("PATH").unwrap_or_default();
        let paths = [self.programs.clone()].into_iter();
        if let Ok(path) = env::join_paths(paths.chain(env::split_paths(&path))) {
            command.env("PATH", path);
        }
    }

    fn settings(&self) -> PathBuf {
        self.directory.0.join("administrator.kubeconfig")
    }

    /// Connects the network of the node with this one.
    fn join_network(&self, host_ip: &str) -> anyhow::Result<()> {
        let id = process::id();
        let begun = Instant::now();
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let first = loop {
            let first = fs::read_to_string(&children).unwrap_or_default();
            if let Some(first) = first.split_whitespace().next() {
                break first.to_owned();
            }
            if begun.elapsed() > START {
                bail!("the node has no process");
            }
            stop::check()?;
            thread::sleep(Duration::from_millis(10));
        };
        let device = format!("rwk{id}");
        let ip = |words: &[&str]| {
            let mut command = Command::new("ip");
            run::run(command.args(words).stdin(Stdio::null()))
        };
        ip(&[
            "link", "add", &device, "type", "veth", "peer", "name", "node0", "netns", &first,
        ])?;
        ip(&["address", "add", &format!("{host_ip}/30"), "dev", &device])?;
        ip(&["link", "set", &device, "up"])
    }

    fn wait_until_ready(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        let asks = |words: &[&str]| {
            let mut kubectl = Command::new(self.programs.join("kubectl"));
            kubectl.arg("--kubeconfig").arg(self.settings()).args(words);
            let output = kubectl.stdin(Stdio::null()).stderr(Stdio::null()).output();
            output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned())
        };
        // A pod needs both.
        while !asks(&["get", "nodes"])?.contains(" Ready")
            || asks(&["get", "serviceaccount", "default"])?.is_empty()
        {
            if begun.elapsed() > START {
                bail!("the node is not ready:\n{}", self.log_ends());
            }
            stop::check()?;
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn log_ends(&self) -> String {
        let files = fs::read_dir(&self.directory.0)
            .into_iter()
            .flatten()
            .flatten();
        let logs = files.filter(|it| it.path().extension().is_some_and(|it| it == "log"));
        let ends = logs.map(|it| {
            let text = fs::read_to_string(it.path()).unwrap_or_default();
            let lines: Vec<_> = text.lines().collect();
            let end = lines[lines.len().saturating_sub(4)..].join("\n");
            format!("{}:\n{end}", it.file_name().display())
        });
        ends.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It kills the first process of the node, and so all.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn name(id: u32) -> String {
    format!("runwright-node-{id}")
}

/// Removes what a node has left.
fn remove(directory: &Path, id: u32) {
    // Its processes end in a moment; until then they hold files open.
    let begun = Instant::now();
    loop {
        unmount(directory);
        let removed = fs::remove_dir_all(directory);
        let controllers = fs::read_dir("/sys/fs/cgroup")
            .into_iter()
            .flatten()
            .flatten();
        let groups = controllers.map(|it| it.path().join(name(id)));
        let groups: Vec<_> = groups
            .filter(|it| it.exists() && !remove_groups(it))
            .collect();
        let is_gone = removed.is_ok() || !directory.exists();
        if is_gone && groups.is_empty() {
            return;
        }
        if begun.elapsed() > Duration::from_secs(20) {
            println!("test: {} and {groups:?} are left", directory.display());
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Removes a control group and those below it.
fn remove_groups(group: &Path) -> bool {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            remove_groups(&entry.path());
        }
    }
    fs::remove_dir(group).is_ok()
}

/// Removes the leftovers of nodes whose xtask process was killed.
fn sweep() {
    for entry in fs::read_dir(env::temp_dir())
        .into_iter()
        .flatten()
        .flatten()
    {
        let id = entry
            .file_name()
            .to_str()
            .and_then(|it| it.strip_prefix("runwright-node-")?.parse().ok());
        if let Some(id) = id
            && !Path::new("/proc").join(format!("{id}")).exists()
        {
            remove(&entry.path(), id);
        }
    }
}

fn write_settings(directory: &Path, node_ip: &str) -> anyhow::Result<()> {
    let here = directory.display();
    let containerd = format!(
        r#"version = 2
root = "{here}/containerd"
state = "{here}/containerd-state"
[grpc]
address = "{here}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "runwright.test/pause:1"
# Without it no sandbox starts where CAP_SYS_RESOURCE is missing.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{here}/cni"
"#
    );
    fs::write(directory.join("containerd.toml"), containerd)?;
    let network = serde_json::json!({
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            { "type": "bridge", "bridge": "pods0", "isGateway": true, "ipam": {
                "type": "host-local",
                "dataDir": directory.join("cni-data"),
                "ranges": [[{ "subnet": "10.232.0.0/24" }]],
                "routes": [{ "dst": "0.0.0.0/0" }],
            } },
            { "type": "loopback" },
        ],
    });
    fs::write(directory.join("cni/10-pods.conflist"), network.to_string())?;
    let group = name(process::id());
    for controller in fs::read_dir("/sys/fs/cgroup")?.flatten() {
        let path = controller.path();
        if !path.is_dir() || !path.join("cgroup.procs").exists() {
            continue;
        }
        let own = path.join(&group);
        fs::create_dir_all(&own)?;
        for file in ["cpuset.cpus", "cpuset.mems"] {
            if let Ok(all) = fs::read_to_string(path.join(file)) {
                fs::write(own.join(file), all)?;
            }
        }
    }
    let kubelet = serde_json::json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": true },
            "x509": { "clientCAFile": directory.join("ca.pem") },
        },
        "authorization": { "mode": "Webhook" },
        "address": node_ip,
        "tlsCertFile": directory.join("kubelet-cert.pem"),
        "tlsPrivateKeyFile": directory.join("kubelet-key.pem"),
        "containerRuntimeEndpoint": format!("unix://{here}/containerd.sock"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{group}"),
        "failSwapOn": false,
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "podLogsDir": directory.join("pod-logs"),
        // The disk of the host may be nearly full, which is not the tests' concern.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {
            "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%"
        },
        "maxPods": 200,
        "serializeImagePulls": false,
        "syncFrequency": "10s",
        "nodeStatusUpdateFrequency": "4s",
    });
    fs::write(directory.join("kubelet.yaml"), kubelet.to_string())?;
    Ok(())
}
