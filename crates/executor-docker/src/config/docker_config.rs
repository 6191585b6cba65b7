use super::one_or_many::one_or_many;
use super::{
    Cpus, Device, EngineChoice, Gpus, KeyStyle, NetworkChoice, ServiceConfig, Size, SourcesChoice,
    Ulimit,
};
use crate::image::PullPolicy;
use executor_core::ConfigInfo;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// How a runner's jobs run in containers (`[runners.docker]`).
///
/// The defaults are the safe choices. A value of this type belongs into the runner's
/// [`settings`](executor_core::RunnerConfig::settings). It holds the settings as they were written;
/// [`problems`](Self::problems) reports invalid and unsupported ones.
///
/// # Examples
///
/// ```
/// use executor_core::{ExecutorSettings, RunnerConfig};
/// use executor_docker::config::DockerConfig;
///
/// let config: DockerConfig = toml::from_str(r#"
///     image = "debian:12"
///     memory = "512m"
///     cpus = "1.5"
/// "#)?;
/// assert!(config.problems().is_empty());
/// let runner = RunnerConfig {
///     settings: ExecutorSettings::of(config),
///     ..RunnerConfig::new("blue", "docker")
/// };
/// # assert!(runner.settings.get::<DockerConfig>().is_some());
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one field for each key of the file, with the key's name and type"
)]
pub struct DockerConfig {
    /// How messages name the keys; not a key of a file.
    #[serde(skip)]
    pub key_style: KeyStyle,

    // What runs the containers.
    /// Where the engine is: `unix:///run/docker.sock`, `tcp://10.0.0.1:2376`, `ssh://user@host`.
    /// Default: that of `DOCKER_HOST` or the current context.
    pub host: Option<String>,
    /// The directory of `ca.pem`, `cert.pem` and `key.pem`. Default: that of `DOCKER_CERT_PATH`.
    pub tls_cert_path: Option<String>,
    /// Whether a `tcp` engine must show a certificate that the authority signed.
    pub tls_verify: bool,
    /// How stages get into the container. Ours.
    pub engine: EngineChoice,
    /// How files get into the container. Ours.
    pub sources: SourcesChoice,
    /// How long a job runs without a runner, in seconds. Until then another process may resume it; then its agent and
    /// its container end. 0 or less: without limit. Default: [`DockerConfig::DEFAULT_ORPHAN_GRACE`]. Ours.
    pub orphan_grace: i64,
    /// How many warm containers are kept for each kind that a job had. Default: none. Such a job ends when its container
    /// is dead, and does not wait for its removal. Ours.
    pub warm: u32,
    /// How many are kept for all kinds together. Default: [`DockerConfig::DEFAULT_WARM_LIMIT`]. Ours.
    pub warm_limit: u32,
    /// How long an unused one is kept, in seconds. Default: [`DockerConfig::DEFAULT_WARM_IDLE`]. Ours.
    pub warm_idle: u64,

    // Images.
    /// The image of jobs without one.
    pub image: Option<String>,
    /// The images that jobs may name, as patterns; none means all.
    pub allowed_images: Vec<String>,
    /// When to pull, in the order to try: `always`, `if-not-present`, `never`. Default: `always`.
    #[serde(deserialize_with = "one_or_many")]
    pub pull_policy: Vec<PullPolicy>,
    /// The policies that jobs may request. Default: those of `pull_policy`.
    #[serde(deserialize_with = "one_or_many")]
    pub allowed_pull_policies: Vec<PullPolicy>,
    /// The image of the helper container, for `engine = "attach"` alone. Default: the job's image.
    pub helper_image: Option<String>,
    /// For GitLab Runner's own helper images; ignored.
    pub helper_image_flavor: Option<String>,
    /// The OCI runtime, for example `runsc`.
    pub runtime: Option<String>,
    /// The isolation of Windows containers; refused, except for `default`.
    pub isolation: Option<String>,
    /// Whether jobs may not replace their image's entry point.
    pub disable_entrypoint_overwrite: bool,

    // The user and the rights of the job.
    /// The container's host name. Default: the engine's choice.
    pub hostname: Option<String>,
    /// The user that the job's scripts run as. Default: the image's.
    pub user: Option<String>,
    /// The users that jobs may run as; none means any.
    pub allowed_users: Vec<String>,
    /// More groups of that user.
    pub group_add: Vec<String>,
    /// `host` disables a remapping of users.
    pub userns_mode: Option<String>,
    /// Whether jobs are privileged. Default: no.
    pub privileged: bool,
    /// Whether services are privileged. Default: no.
    pub services_privileged: bool,
    /// The images that `privileged` is for, as patterns; none means all.
    pub allowed_privileged_images: Vec<String>,
    /// The images that `services_privileged` is for, as patterns; none means all.
    pub allowed_privileged_services: Vec<String>,
    /// Additional capabilities of a job.
    pub cap_add: Vec<String>,
    /// Capabilities that a job does not have. Default: [`DockerConfig::DEFAULT_CAP_DROP`].
    pub cap_drop: Option<Vec<String>>,
    /// Whether no program may gain rights by a setuid bit, as `sudo` does. Default: yes, except in
    /// privileged containers. Ours.
    pub no_new_privileges: Option<bool>,
    /// Security options, for example `seccomp=/etc/profile.json`.
    pub security_opt: Vec<String>,
    /// Security options of services.
    pub services_security_opt: Vec<String>,
    /// Whether the image's files are read-only. Ours.
    pub read_only: bool,
    /// Whether the engine starts an init process of its own in the job's container. Ours.
    pub init: bool,
    /// The directories of this host that `volumes` may be taken from where their text refers to
    /// variables, as paths; see [`crate::config::policy`]. Ours.
    pub allowed_volumes: Vec<String>,

    // Resources.
    /// The memory a job has.
    pub memory: Option<Size>,
    /// Memory and swap together; `-1` means any amount of swap.
    pub memory_swap: Option<Size>,
    /// The memory a job keeps when the host is short of it.
    pub memory_reservation: Option<Size>,
    /// How many processors a job may keep busy.
    pub cpus: Option<Cpus>,
    /// The weight of a job against other containers; the engine's default is 1024.
    pub cpu_shares: Option<i64>,
    /// The processors a job may use: `0-2,4`.
    pub cpuset_cpus: Option<String>,
    /// The memory nodes a job may use: `0,1`.
    pub cpuset_mems: Option<String>,
    /// The control group that containers are put below.
    pub cgroup_parent: Option<String>,
    /// Whether a job that is out of memory waits instead of being killed.
    pub oom_kill_disable: bool,
    /// The preference of the kernel to kill the job, from -1000 to 1000.
    pub oom_score_adjust: Option<i64>,
    /// How many processes and threads a container may have; 0 means any number. Default:
    /// [`DockerConfig::DEFAULT_PIDS_LIMIT`]. Ours.
    pub pids_limit: i64,
    /// The size of the shared memory, which services get too. Default: 64 MiB.
    pub shm_size: Option<Size>,
    /// Limits of processes by their names: `nofile = "1024:4096"`.
    pub ulimit: BTreeMap<String, Ulimit>,
    /// Settings of the kernel that each container has for itself: `"net.core.somaxconn" = "1024"`.
    pub sysctls: BTreeMap<String, String>,
    /// Devices of the host: `/dev/kvm`, `/dev/snd:/dev/snd:rw`, `vendor.example/class=name` (CDI).
    pub devices: Vec<Device>,
    /// Rules for later devices: `c 81:* rmw`.
    pub device_cgroup_rules: Vec<String>,
    /// The GPUs of a job, in the format of docker's command line: `all`, `2`, `device=0,1`.
    pub gpus: Option<Gpus>,

    // Services.
    /// Additional services of every job.
    pub services: Vec<ServiceConfig>,
    /// The images that a job's services may come from, as patterns; none means all.
    pub allowed_services: Vec<String>,
    /// How many services a job may have; -1 means any number.
    pub services_limit: i64,
    /// How long to wait until services are ready, in seconds; 0 or less means not to wait.
    pub wait_for_services_timeout: i64,
    /// The memory each service has.
    pub service_memory: Option<Size>,
    /// Memory and swap of each service together.
    pub service_memory_swap: Option<Size>,
    /// The memory each service keeps when the host is short of it.
    pub service_memory_reservation: Option<Size>,
    /// How many processors each service may keep busy.
    pub service_cpus: Option<Cpus>,
    /// The weight of each service against other containers.
    pub service_cpu_shares: Option<i64>,
    /// The processors each service may use.
    pub service_cpuset_cpus: Option<String>,
    /// The control group that services are put below.
    pub service_cgroup_parent: Option<String>,
    /// A control group for each slot of a runner; refused.
    pub service_slot_cgroup_template: Option<String>,
    /// The GPUs of each service.
    pub service_gpus: Option<Gpus>,
    /// Devices of services, by patterns of their images.
    pub services_devices: BTreeMap<String, Vec<Device>>,
    /// Memory file systems of services: path to options.
    pub services_tmpfs: BTreeMap<String, String>,

    // Storage.
    /// Binds (`/host:/here:ro`), named volumes (`name:/here`) and caches of a project (`/here`).
    pub volumes: Vec<String>,
    /// Containers whose volumes a job mounts: `name[:ro]`.
    pub volumes_from: Vec<String>,
    /// Whether volumes are kept after their job.
    pub volume_keep: bool,
    /// The driver of created volumes.
    pub volume_driver: Option<String>,
    /// Options of that driver.
    pub volume_driver_ops: BTreeMap<String, String>,
    /// The directory of this host for caches, instead of volumes.
    pub cache_dir: Option<String>,
    /// Whether volumes of a bare path end with their job.
    pub disable_cache: bool,
    /// Memory file systems: path to options.
    pub tmpfs: BTreeMap<String, String>,

    // Network.
    /// The network of a job. Ours; `network_mode` has more choices.
    pub network: NetworkChoice,
    /// The network of a job in the format of docker's `--network`; overrides `network`.
    pub network_mode: Option<String>,
    /// Whether a job's own network has IPv6.
    pub enable_ipv6: bool,
    /// The largest packet of a job's own network, in bytes; 0 means that of the host.
    pub network_mtu: u32,
    /// The name servers.
    pub dns: Vec<String>,
    /// The search domains.
    pub dns_search: Vec<String>,
    /// More lines of `/etc/hosts`: `name:address`.
    pub extra_hosts: Vec<String>,
    /// Links to other containers: `container:alias`. For the network `bridge`.
    pub links: Vec<String>,
    /// The MAC address of the job's container.
    pub mac_address: Option<String>,
    /// The process namespace of a job: `host`, `container:name`.
    pub pid_mode: Option<String>,
    /// The IPC namespace of a job: `private`, `host`, `container:name`.
    pub ipcmode: Option<String>,

    // The rest.
    /// Variables of all containers, as `NAME=value`; those of jobs override them. Ours.
    pub environment: Vec<String>,
    /// Labels of all containers, besides ours.
    pub container_labels: BTreeMap<String, String>,
    /// Options of the log driver `json-file`: `max-size`, `max-file`, `labels`.
    pub log_options: BTreeMap<String, String>,
}

impl DockerConfig {
    /// The default of `cap_drop`, capabilities that builds do not need: raw packets, with which a container can spoof its
    /// neighbours, and device files.
    pub const DEFAULT_CAP_DROP: [&'static str; 2] = ["MKNOD", "NET_RAW"];

    /// The default of `pids_limit`.
    pub const DEFAULT_PIDS_LIMIT: i64 = 4096;

    /// The default of `orphan_grace`.
    pub const DEFAULT_ORPHAN_GRACE: i64 = 3600;

    /// The default of `warm_limit`.
    pub const DEFAULT_WARM_LIMIT: u32 = 8;

    /// The default of `warm_idle`.
    pub const DEFAULT_WARM_IDLE: u64 = 300;

    /// Returns how long an unused warm container is kept.
    pub fn warm_idle(&self) -> Duration {
        Duration::from_secs(self.warm_idle)
    }

    /// Returns how long a job runs without a runner; `None` is without limit.
    pub fn orphan_grace(&self) -> Option<Duration> {
        let seconds = u64::try_from(self.orphan_grace).ok()?;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// Returns the network of `network_mode` or `network`.
    pub fn network(&self) -> NetworkChoice {
        match self.network_mode.as_deref() {
            None | Some("") => self.network.clone(),
            Some(name) => NetworkChoice::Named(name.to_owned()),
        }
    }

    /// Adds the reported part of these settings: the GPUs.
    pub fn report(&self, info: &mut ConfigInfo) {
        if let Some(gpus) = &self.gpus {
            gpus.as_str().clone_into(&mut info.gpus);
        }
    }
}

impl Default for DockerConfig {
    fn default() -> Self {
        Self {
            key_style: KeyStyle::default(),
            host: None,
            tls_cert_path: None,
            tls_verify: false,
            engine: EngineChoice::default(),
            sources: SourcesChoice::default(),
            orphan_grace: Self::DEFAULT_ORPHAN_GRACE,
            warm: 0,
            warm_limit: Self::DEFAULT_WARM_LIMIT,
            warm_idle: Self::DEFAULT_WARM_IDLE,
            image: None,
            allowed_images: Vec::new(),
            pull_policy: Vec::new(),
            allowed_pull_policies: Vec::new(),
            helper_image: None,
            helper_image_flavor: None,
            runtime: None,
            isolation: None,
            disable_entrypoint_overwrite: false,
            hostname: None,
            user: None,
            allowed_users: Vec::new(),
            group_add: Vec::new(),
            userns_mode: None,
            privileged: false,
            services_privileged: false,
            allowed_privileged_images: Vec::new(),
            allowed_privileged_services: Vec::new(),
            cap_add: Vec::new(),
            cap_drop: None,
            no_new_privileges: None,
            security_opt: Vec::new(),
            services_security_opt: Vec::new(),
            read_only: false,
            init: false,
            allowed_volumes: Vec::new(),
            memory: None,
            memory_swap: None,
            memory_reservation: None,
            cpus: None,
            cpu_shares: None,
            cpuset_cpus: None,
            cpuset_mems: None,
            cgroup_parent: None,
            oom_kill_disable: false,
            oom_score_adjust: None,
            pids_limit: Self::DEFAULT_PIDS_LIMIT,
            shm_size: None,
            ulimit: BTreeMap::new(),
            sysctls: BTreeMap::new(),
            devices: Vec::new(),
            device_cgroup_rules: Vec::new(),
            gpus: None,
            services: Vec::new(),
            allowed_services: Vec::new(),
            services_limit: -1,
            wait_for_services_timeout: 30,
            service_memory: None,
            service_memory_swap: None,
            service_memory_reservation: None,
            service_cpus: None,
            service_cpu_shares: None,
            service_cpuset_cpus: None,
            service_cgroup_parent: None,
            service_slot_cgroup_template: None,
            service_gpus: None,
            services_devices: BTreeMap::new(),
            services_tmpfs: BTreeMap::new(),
            volumes: Vec::new(),
            volumes_from: Vec::new(),
            volume_keep: false,
            volume_driver: None,
            volume_driver_ops: BTreeMap::new(),
            cache_dir: None,
            disable_cache: false,
            tmpfs: BTreeMap::new(),
            network: NetworkChoice::default(),
            network_mode: None,
            enable_ipv6: false,
            network_mtu: 0,
            dns: Vec::new(),
            dns_search: Vec::new(),
            extra_hosts: Vec::new(),
            links: Vec::new(),
            mac_address: None,
            pid_mode: None,
            ipcmode: None,
            environment: Vec::new(),
            container_labels: BTreeMap::new(),
            log_options: BTreeMap::new(),
        }
    }
}
