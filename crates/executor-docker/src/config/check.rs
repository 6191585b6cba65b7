use super::choice::is_builtin;
use super::ulimit::NAMES;
use super::{DockerConfig, NetworkChoice};
use crate::volume::VolumeSpec;
use std::fmt;

/// Whether jobs can run in spite of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// They run; the key does not do what somebody may expect.
    Warning,
    /// They do not: what the key asks for is not done, and to go on without it would be wrong.
    Error,
}

/// What is wrong with one key of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The key, as the file has it.
    pub key: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
    /// Whether jobs can run in spite of it.
    pub severity: Severity,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "runners.docker.{}: {}", self.key, self.message)
    }
}

/// The smallest memory that engines accept.
const LEAST_MEMORY: i64 = 6 << 20;

impl DockerConfig {
    /// Returns everything that is wrong with these settings by themselves, without an engine.
    pub fn problems(&self) -> Vec<ConfigProblem> {
        let mut problems = Problems::default();
        self.unsupported(&mut problems);
        self.images(&mut problems);
        self.resources(&mut problems);
        self.networks(&mut problems);
        self.storage(&mut problems);
        self.security(&mut problems);
        problems.0
    }

    /// Keys that say something which cannot be here.
    fn unsupported(&self, problems: &mut Problems) {
        if !matches!(self.isolation.as_deref(), None | Some("" | "default")) {
            problems.error("isolation", "is of Windows containers, which are not run");
        }
        if self.helper_image_flavor.is_some() {
            let text = "has no effect: no helper image is needed";
            problems.warning("helper_image_flavor", text);
        }
        if self.service_slot_cgroup_template.is_some() {
            let text = "is not supported; service_cgroup_parent is, for all slots together";
            problems.error("service_slot_cgroup_template", text);
        }
        if self
            .services
            .iter()
            .any(|it| it.suspend_data_path.is_some())
        {
            let text = "suspend_data_path has no effect: jobs are not suspended";
            problems.warning("services", text);
        }
    }

    fn images(&self, problems: &mut Problems) {
        let lists = [
            ("allowed_images", &self.allowed_images),
            ("allowed_services", &self.allowed_services),
            ("allowed_privileged_images", &self.allowed_privileged_images),
            (
                "allowed_privileged_services",
                &self.allowed_privileged_services,
            ),
        ];
        for (key, patterns) in lists {
            for pattern in patterns {
                if let Err(error) = crate::policy::Pattern::parse(pattern) {
                    problems.error(key, &error.to_string());
                }
            }
        }
        for pattern in self.services_devices.keys() {
            if let Err(error) = crate::policy::Pattern::parse(pattern) {
                problems.error("services_devices", &error.to_string());
            }
        }
        let allowed = |it| self.allowed_pull_policies.contains(it);
        if !self.allowed_pull_policies.is_empty() && !self.pull_policy.iter().all(allowed) {
            let text = "does not have all policies of pull_policy";
            problems.error("allowed_pull_policies", text);
        }
        if self.services.iter().any(|it| it.name.trim().is_empty()) {
            problems.error("services", "has one without the name of an image");
        }
        for line in self.services.iter().flat_map(|it| &it.environment) {
            if !line
                .split_once('=')
                .is_some_and(|(name, _)| !name.is_empty())
            {
                let text = "environment has an entry that is not NAME=value";
                problems.error("services", text);
            }
        }
    }

    fn resources(&self, problems: &mut Problems) {
        let job = [
            ("memory", self.memory),
            ("memory_swap", self.memory_swap),
            ("memory_reservation", self.memory_reservation),
        ];
        let service = [
            ("service_memory", self.service_memory),
            ("service_memory_swap", self.service_memory_swap),
            (
                "service_memory_reservation",
                self.service_memory_reservation,
            ),
        ];
        for [(key, memory), (swap_key, swap), (kept_key, kept)] in [job, service] {
            if memory.is_some_and(|it| it.get() < LEAST_MEMORY) {
                problems.error(key, "is less than 6m, the least that engines accept");
            }
            if kept.is_some_and(|it| it.get() < LEAST_MEMORY) {
                problems.error(kept_key, "is less than 6m, the least that engines accept");
            }
            if kept.zip(memory).is_some_and(|(kept, memory)| kept > memory) {
                problems.error(kept_key, &format!("is more than {key}"));
            }
            match (swap.map(super::Size::get), memory.map(super::Size::get)) {
                (Some(_), None) => problems.error(swap_key, &format!("needs {key}")),
                (Some(swap), Some(memory)) if swap != -1 && swap < memory => {
                    let text = format!("is less than {key}, which is a part of it");
                    problems.error(swap_key, &text);
                }
                _ => {}
            }
        }
        if self.shm_size.is_some_and(|it| it.get() < 0) {
            problems.error("shm_size", "is less than 0");
        }
        if self
            .oom_score_adjust
            .is_some_and(|it| !(-1000..=1000).contains(&it))
        {
            problems.error("oom_score_adjust", "is not from -1000 to 1000");
        }
        if self.oom_kill_disable && self.memory.is_none() {
            let text = "without memory, a job could stop the whole host";
            problems.error("oom_kill_disable", text);
        }
        let shares = [
            ("cpu_shares", self.cpu_shares),
            ("service_cpu_shares", self.service_cpu_shares),
        ];
        for (key, shares) in shares {
            if shares.is_some_and(|it| it != 0 && !(2..=262_144).contains(&it)) {
                problems.error(key, "is not from 2 to 262144");
            }
        }
        let sets = [
            ("cpuset_cpus", &self.cpuset_cpus),
            ("cpuset_mems", &self.cpuset_mems),
            ("service_cpuset_cpus", &self.service_cpuset_cpus),
        ];
        for (key, set) in sets {
            if set.as_deref().is_some_and(|it| !is_cpu_set(it)) {
                problems.error(key, "is not a list of numbers and ranges, like 0-2,4");
            }
        }
        if self.pids_limit < -1 {
            problems.error("pids_limit", "is less than 0, which is any number");
        }
        for name in self
            .ulimit
            .keys()
            .filter(|it| !NAMES.contains(&it.as_str()))
        {
            let text = format!("`{name}` is none of {}", NAMES.join(", "));
            problems.error("ulimit", &text);
        }
        for name in self.sysctls.keys().filter(|it| !is_of_a_container(it)) {
            let text = format!("`{name}` is of the whole host, not of a container");
            problems.error("sysctls", &text);
        }
        for rule in self
            .device_cgroup_rules
            .iter()
            .filter(|it| !is_device_rule(it))
        {
            let text = format!("`{rule}` is not a rule like `c 81:* rmw`");
            problems.error("device_cgroup_rules", &text);
        }
    }

    fn networks(&self, problems: &mut Problems) {
        let network = self.network();
        if !self.links.is_empty() && network != NetworkChoice::Named("bridge".to_owned()) {
            let text =
                "needs network = \"bridge\": in other networks names are found without links";
            problems.error("links", text);
        }
        for link in self
            .links
            .iter()
            .filter(|it| it.split(':').any(str::is_empty))
        {
            problems.error("links", &format!("`{link}` is not container:alias"));
        }
        let shares =
            |kind: &str| matches!(&network, NetworkChoice::Named(it) if it.starts_with(kind));
        for host in &self.extra_hosts {
            let parts = host.split_once([':', '=']);
            if !parts.is_some_and(|(name, address)| !name.is_empty() && !address.is_empty()) {
                problems.error("extra_hosts", &format!("`{host}` is not name:address"));
            }
        }
        if shares("container:") {
            let keys = [
                ("hostname", self.hostname.is_some()),
                ("dns", !self.dns.is_empty()),
                ("extra_hosts", !self.extra_hosts.is_empty()),
                ("mac_address", self.mac_address.is_some()),
            ];
            for (key, _) in keys.iter().filter(|(_, set)| *set) {
                problems.error(key, "cannot be with the network of another container");
            }
        }
        if shares("host") && self.mac_address.is_some() {
            problems.error("mac_address", "cannot be with the network of the host");
        }
        if self
            .mac_address
            .as_deref()
            .is_some_and(|it| !is_mac_address(it))
        {
            problems.error("mac_address", "is not an address like 02:42:ac:11:00:02");
        }
        for server in self
            .dns
            .iter()
            .filter(|it| it.parse::<std::net::IpAddr>().is_err())
        {
            problems.error("dns", &format!("`{server}` is not an address"));
        }
        if self.network_mtu != 0 && !(68..=65_535).contains(&self.network_mtu) {
            problems.error("network_mtu", "is not from 68 to 65535");
        }
        let own = matches!(network, NetworkChoice::Auto | NetworkChoice::PerJob);
        for (key, set) in [
            ("enable_ipv6", self.enable_ipv6),
            ("network_mtu", self.network_mtu != 0),
        ] {
            if set && !own {
                let text = "has no effect: the job gets no network of its own";
                problems.warning(key, text);
            }
        }
        if let NetworkChoice::Named(name) = &network
            && !is_builtin(name)
            && !name.starts_with(|it: char| it.is_ascii_alphanumeric())
        {
            let key = if self.network_mode.is_some() {
                "network_mode"
            } else {
                "network"
            };
            problems.error(key, &format!("`{name}` is not the name of a network"));
        }
    }

    fn storage(&self, problems: &mut Problems) {
        for volume in &self.volumes {
            // What refers to variables is known with the job.
            if volume.contains('$') {
                continue;
            }
            if let Err(error) = VolumeSpec::parse(volume, "/builds") {
                problems.error("volumes", &error.to_string());
            }
        }
        for (key, paths) in [
            ("tmpfs", &self.tmpfs),
            ("services_tmpfs", &self.services_tmpfs),
        ] {
            for path in paths.keys().filter(|it| !it.starts_with('/')) {
                problems.error(key, &format!("`{path}` is not an absolute path"));
            }
        }
        if self
            .cache_dir
            .as_deref()
            .is_some_and(|it| !it.starts_with('/'))
        {
            problems.error("cache_dir", "is not an absolute path");
        }
        for path in self
            .allowed_volumes
            .iter()
            .filter(|it| !it.starts_with('/'))
        {
            problems.error(
                "allowed_volumes",
                &format!("`{path}` is not an absolute path"),
            );
        }
        for option in self.log_options.keys() {
            let known = [
                "compress",
                "env",
                "env-regex",
                "labels",
                "labels-regex",
                "max-file",
                "max-size",
                "tag",
            ];
            if !known.contains(&option.as_str()) {
                let text = format!("`{option}` is no option of the log driver json-file");
                problems.error("log_options", &text);
            }
        }
    }

    fn security(&self, problems: &mut Problems) {
        let lists = [
            ("cap_add", self.cap_add.as_slice()),
            ("cap_drop", self.cap_drop.as_deref().unwrap_or_default()),
        ];
        for (key, names) in lists {
            let word = |it: &String| {
                let known = |it: char| it.is_ascii_alphabetic() || it == '_';
                !it.is_empty() && it.chars().all(known)
            };
            for name in names.iter().filter(|it| !word(it)) {
                problems.error(key, &format!("`{name}` is not the name of a capability"));
            }
        }
        let unused = [
            (
                "allowed_privileged_images",
                !self.privileged && !self.allowed_privileged_images.is_empty(),
            ),
            (
                "allowed_privileged_services",
                !self.services_privileged && !self.allowed_privileged_services.is_empty(),
            ),
        ];
        for (key, _) in unused.iter().filter(|(_, set)| *set) {
            problems.warning(key, "has no effect: nothing is privileged");
        }
        if !matches!(self.userns_mode.as_deref(), None | Some("" | "host")) {
            problems.error("userns_mode", "is not host, the only mode there is");
        }
    }
}

#[derive(Default)]
struct Problems(Vec<ConfigProblem>);

impl Problems {
    fn error(&mut self, key: &'static str, message: &str) {
        self.add(key, message, Severity::Error);
    }

    fn warning(&mut self, key: &'static str, message: &str) {
        self.add(key, message, Severity::Warning);
    }

    fn add(&mut self, key: &'static str, message: &str, severity: Severity) {
        self.0.push(ConfigProblem {
            key,
            message: message.to_owned(),
            severity,
        });
    }
}

fn is_cpu_set(text: &str) -> bool {
    text.split(',').all(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let ends = from.trim().parse::<u32>().ok().zip(to.trim().parse().ok());
        ends.is_some_and(|(from, to)| from <= to)
    })
}

/// Whether a setting of the kernel is one that each container has for itself.
fn is_of_a_container(name: &str) -> bool {
    const IPC: [&str; 8] = [
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
        "kernel.sem",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
    ];
    name.starts_with("net.") || name.starts_with("fs.mqueue.") || IPC.contains(&name)
}

fn is_device_rule(rule: &str) -> bool {
    let parts: Vec<&str> = rule.split(' ').collect();
    let [kind, numbers, permissions] = *parts.as_slice() else {
        return false;
    };
    let number = |it: &str| it == "*" || it.parse::<u32>().is_ok();
    let known = |it: char| "rwm".contains(it);
    matches!(kind, "a" | "b" | "c")
        && numbers
            .split_once(':')
            .is_some_and(|(major, minor)| number(major) && number(minor))
        && (1..=3).contains(&permissions.len())
        && permissions.chars().all(known)
}

fn is_mac_address(text: &str) -> bool {
    let byte = |it: &str| it.len() == 2 && u8::from_str_radix(it, 16).is_ok();
    text.split(':').count() == 6 && text.split(':').all(byte)
}
