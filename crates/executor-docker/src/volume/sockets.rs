use crate::engine::{Address, Engine};
use std::env;
use std::fs;
use std::path::PathBuf;

/// Where the sockets of container engines are. Whoever can write to one has all rights on the host.
const KNOWN: [&str; 8] = [
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/var/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/var/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/var/run/crio/crio.sock",
];

/// Returns the paths of the sockets of container engines, this one's among them, with and without the
/// links on their way.
pub fn sockets(engine: &Engine) -> Vec<PathBuf> {
    let mut sockets = KNOWN.map(PathBuf::from).to_vec();
    if let Address::Unix(path) = &engine.host().address {
        sockets.push(path.clone());
    }
    if let Some(directory) = env::var_os("XDG_RUNTIME_DIR") {
        let directory = PathBuf::from(directory);
        sockets.push(directory.join("docker.sock"));
        sockets.push(directory.join("podman/podman.sock"));
    }
    let real: Vec<PathBuf> = sockets
        .iter()
        .filter_map(|it| fs::canonicalize(it).ok())
        .collect();
    sockets.extend(real);
    sockets.sort();
    sockets.dedup();
    sockets
}
