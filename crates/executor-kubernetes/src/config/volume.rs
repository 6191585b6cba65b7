use serde::Deserialize;
use std::collections::BTreeMap;

/// The volumes of all containers of a pod (`[runners.kubernetes.volumes]`), by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VolumesConfig {
    /// Directories of the node.
    pub host_path: Vec<VolumeConfig>,
    /// Claims of persistent volumes.
    pub pvc: Vec<VolumeConfig>,
    /// Config maps, with a file for each key.
    pub config_map: Vec<VolumeConfig>,
    /// Secrets, with a file for each key.
    pub secret: Vec<VolumeConfig>,
    /// Directories that are empty at the start of a job.
    pub empty_dir: Vec<VolumeConfig>,
    /// Volumes of a storage driver.
    pub csi: Vec<VolumeConfig>,
    /// Directories of an NFS server.
    pub nfs: Vec<VolumeConfig>,
}

/// A volume. Each kind has some of these keys; another key is refused when the pod is made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VolumeConfig {
    /// The name: that of the claim, config map or secret. That of a claim may refer to variables.
    pub name: String,
    /// The directory in the containers; may refer to variables.
    pub mount_path: String,
    /// The part of the volume that is mounted.
    pub sub_path: Option<String>,
    /// Whether jobs cannot write there.
    pub read_only: bool,
    /// `HostToContainer` or `Bidirectional`, for `host_path` and `pvc`.
    pub mount_propagation: Option<String>,
    /// The directory of the node. Default: `mount_path`.
    pub host_path: Option<String>,
    /// The files, by key, of `config_map` and `secret`. Default: all keys.
    pub items: BTreeMap<String, String>,
    /// `Memory`, for `empty_dir`. Default: the node's disk.
    pub medium: Option<String>,
    /// The most that an `empty_dir` may hold.
    pub size_limit: Option<String>,
    /// The driver of a `csi` volume.
    pub driver: Option<String>,
    /// Its file system.
    pub fs_type: Option<String>,
    /// Its attributes.
    pub volume_attributes: BTreeMap<String, String>,
    /// The host of an NFS server.
    pub server: Option<String>,
    /// The directory there.
    pub path: Option<String>,
}
