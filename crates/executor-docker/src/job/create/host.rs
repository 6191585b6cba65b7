use super::security;
use super::{ContainerPlan, ServicePlan};
use crate::config::policy::is_on;
use crate::config::{Cpus, Device, DockerConfig, Gpus, NetworkChoice, Size};
use bollard::models::{
    DeviceMapping, DeviceRequest, HostConfig, HostConfigLogConfig, ResourcesUlimits, RestartPolicy,
    RestartPolicyNameEnum,
};
use std::collections::{BTreeMap, HashMap};

/// Returns the host configuration of a container of the job.
pub(super) fn of_build(config: &DockerConfig, plan: &ContainerPlan) -> HostConfig {
    let tmpfs = config.tmpfs.clone().into_iter().chain(plan.tmpfs.clone());
    HostConfig {
        memory: config.memory.map(Size::get),
        memory_swap: config.memory_swap.map(Size::get),
        memory_reservation: config.memory_reservation.map(Size::get),
        nano_cpus: config.cpus.map(Cpus::nanos),
        cpu_shares: config.cpu_shares,
        cpuset_cpus: config.cpuset_cpus.clone(),
        cpuset_mems: config.cpuset_mems.clone(),
        cgroup_parent: config.cgroup_parent.clone(),
        oom_kill_disable: config.oom_kill_disable.then_some(true),
        oom_score_adj: config.oom_score_adjust,
        ulimits: non_empty(ulimits(config)),
        sysctls: non_empty_map(map(&config.sysctls)),
        devices: non_empty(device_files(&config.devices)),
        device_requests: non_empty(device_requests(&config.devices, config.gpus.as_ref())),
        device_cgroup_rules: non_empty(config.device_cgroup_rules.clone()),
        cap_add: non_empty(config.cap_add.clone()),
        cap_drop: non_empty(security::cap_drop(config)),
        security_opt: non_empty(security::options(
            config,
            &config.security_opt,
            plan.seccomp.as_deref(),
            plan.privileged,
        )),
        privileged: plan.privileged.then_some(true),
        group_add: non_empty(config.group_add.clone()),
        readonly_rootfs: config.read_only.then_some(true),
        init: config.init.then_some(true),
        binds: non_empty(plan.binds.clone()),
        mounts: non_empty(plan.mounts.clone()),
        tmpfs: non_empty_map(tmpfs.collect()),
        volumes_from: non_empty(config.volumes_from.clone()),
        links: non_empty([config.links.clone(), plan.links.clone()].concat()),
        pid_mode: config.pid_mode.clone(),
        ipc_mode: config.ipcmode.clone(),
        extra_hosts: non_empty(extra_hosts(config, &plan.extra_hosts)),
        network_mode: network_mode(config, plan.network.mode.as_deref()),
        ..of_all(config)
    }
}

/// Returns the host configuration of the container of a service.
pub(super) fn of_service(config: &DockerConfig, plan: &ServicePlan) -> HostConfig {
    let devices: Vec<Device> = config
        .services_devices
        .iter()
        .filter(|(pattern, _)| {
            plan.reference
                .as_ref()
                .is_some_and(|it| is_on(&[pattern], it))
        })
        .flat_map(|(_, devices)| devices.clone())
        .collect();
    HostConfig {
        memory: config.service_memory.map(Size::get),
        memory_swap: config.service_memory_swap.map(Size::get),
        memory_reservation: config.service_memory_reservation.map(Size::get),
        nano_cpus: config.service_cpus.map(Cpus::nanos),
        cpu_shares: config.service_cpu_shares,
        cpuset_cpus: config.service_cpuset_cpus.clone(),
        cgroup_parent: config.service_cgroup_parent.clone(),
        devices: non_empty(device_files(&devices)),
        device_requests: non_empty(device_requests(&devices, config.service_gpus.as_ref())),
        cap_drop: non_empty(DockerConfig::DEFAULT_CAP_DROP.map(str::to_owned).to_vec()),
        security_opt: non_empty(security::options(
            config,
            &config.services_security_opt,
            plan.seccomp.as_deref(),
            plan.privileged,
        )),
        privileged: plan.privileged.then_some(true),
        binds: non_empty(plan.binds.clone()),
        mounts: non_empty(plan.mounts.clone()),
        tmpfs: non_empty_map(map(&config.services_tmpfs)),
        extra_hosts: non_empty(extra_hosts(config, &plan.extra_hosts)),
        network_mode: network_mode(config, plan.network.mode.as_deref()),
        ..of_all(config)
    }
}

/// Returns the common part of all containers.
fn of_all(config: &DockerConfig) -> HostConfig {
    let options = non_empty_map(map(&config.log_options));
    HostConfig {
        pids_limit: (config.pids_limit > 0).then_some(config.pids_limit),
        shm_size: config.shm_size.map(Size::get),
        dns: non_empty(config.dns.clone()),
        dns_search: non_empty(config.dns_search.clone()),
        runtime: config.runtime.clone(),
        userns_mode: config.userns_mode.clone().filter(|it| !it.is_empty()),
        log_config: options.map(|config| HostConfigLogConfig {
            typ: Some("json-file".to_owned()),
            config: Some(config),
        }),
        volume_driver: config.volume_driver.clone().filter(|it| !it.is_empty()),
        restart_policy: Some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::NO),
            maximum_retry_count: None,
        }),
        ..HostConfig::default()
    }
}

fn network_mode(config: &DockerConfig, plan: Option<&str>) -> Option<String> {
    let named = || match config.network() {
        NetworkChoice::Named(name) => Some(name),
        NetworkChoice::Auto | NetworkChoice::PerJob => None,
    };
    plan.map(str::to_owned).or_else(named)
}

fn extra_hosts(config: &DockerConfig, more: &[String]) -> Vec<String> {
    [config.extra_hosts.as_slice(), more].concat()
}

fn ulimits(config: &DockerConfig) -> Vec<ResourcesUlimits> {
    let limits = config.ulimit.iter().map(|(name, limit)| ResourcesUlimits {
        name: Some(name.clone()),
        soft: Some(limit.soft),
        hard: Some(limit.hard),
    });
    limits.collect()
}

fn device_files(devices: &[Device]) -> Vec<DeviceMapping> {
    let files = devices.iter().filter_map(|device| match device {
        Device::File {
            host,
            container,
            permissions,
        } => Some(DeviceMapping {
            path_on_host: Some(host.clone()),
            path_in_container: Some(container.clone()),
            cgroup_permissions: Some(permissions.clone()),
        }),
        Device::Named(_) => None,
    });
    files.collect()
}

fn device_requests(devices: &[Device], gpus: Option<&Gpus>) -> Vec<DeviceRequest> {
    let names: Vec<String> = devices
        .iter()
        .filter_map(|device| match device {
            Device::Named(name) => Some(name.clone()),
            Device::File { .. } => None,
        })
        .collect();
    let by_name = (!names.is_empty()).then(|| DeviceRequest {
        driver: Some("cdi".to_owned()),
        device_ids: Some(names),
        ..DeviceRequest::default()
    });
    let gpus = gpus.map(|gpus| gpus.request().clone());
    gpus.into_iter().chain(by_name).collect()
}

fn map(pairs: &BTreeMap<String, String>) -> HashMap<String, String> {
    pairs.clone().into_iter().collect()
}

fn non_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn non_empty_map(map: HashMap<String, String>) -> Option<HashMap<String, String>> {
    (!map.is_empty()).then_some(map)
}
