use super::Problems;
use crate::config::ulimit::NAMES;
use crate::config::{DockerConfig, Size};

/// The smallest memory that engines accept.
const LEAST_MEMORY: i64 = 6 << 20;

impl DockerConfig {
    /// Keys of memory, processors and devices.
    pub(super) fn resources(&self, problems: &mut Problems) {
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
            match (swap.map(Size::get), memory.map(Size::get)) {
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
        let is_assignment = |it: &&String| it.find('=').is_some_and(|at| at > 0);
        for text in self.environment.iter().filter(|it| !is_assignment(it)) {
            problems.error("environment", &format!("`{text}` is not NAME=value"));
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
