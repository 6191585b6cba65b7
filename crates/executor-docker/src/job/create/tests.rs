use super::*;
use crate::config::{DockerConfig, ImageOptions};
use crate::image::{ImageInfo, ImageReference};
use bollard::models::{ContainerCreateBody, ImageConfig, ImageInspect};
use serde_json::{Value, json};

fn config(text: &str) -> DockerConfig {
    let config: DockerConfig = toml::from_str(text).unwrap();
    assert_eq!(config.problems(), [], "of {text}");
    config
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|it| (*it).to_owned()).collect()
}

fn value(body: &ContainerCreateBody) -> Value {
    serde_json::to_value(body).unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn plan() -> ContainerPlan {
    ContainerPlan {
        image: "sha256:abc".to_owned(),
        command: words(&["/agent", "serve"]),
        ..ContainerPlan::default()
    }
}

fn host_of(config: &DockerConfig, plan: &ContainerPlan) -> Value {
    value(&build_container(config, plan))["HostConfig"].take()
}

#[test]
fn a_minimal_job_gets_safe_defaults() {
    let body = build_container(&DockerConfig::default(), &plan());
    assert_eq!(
        value(&body),
        json!({
            "Image": "sha256:abc",
            "Cmd": ["/agent", "serve"],
            "Labels": {},
            "Tty": false,
            "AttachStdin": false,
            "AttachStdout": true,
            "AttachStderr": true,
            "OpenStdin": false,
            "StdinOnce": false,
            "HostConfig": {
                "CapDrop": ["MKNOD", "NET_RAW"],
                "PidsLimit": 4096,
                "RestartPolicy": { "Name": "no" },
                "SecurityOpt": ["no-new-privileges=true"],
            },
        })
    );
}

#[test]
fn a_minimal_service_gets_safe_defaults() {
    let plan = ServicePlan {
        image: "sha256:abc".to_owned(),
        ..ServicePlan::default()
    };
    let body = service_container(&DockerConfig::default(), &plan);
    assert_eq!(
        value(&body),
        json!({
            "Image": "sha256:abc",
            "Labels": {},
            "HostConfig": {
                "CapDrop": ["MKNOD", "NET_RAW"],
                "PidsLimit": 4096,
                "RestartPolicy": { "Name": "no" },
                "SecurityOpt": ["no-new-privileges=true"],
            },
        })
    );
}

/// Settings with every key that affects jobs.
const EVERY_KEY: &str = r#"
        hostname = "ci"
        group_add = ["video"]
        userns_mode = "host"
        cap_add = ["SYS_PTRACE"]
        cap_drop = ["CHOWN"]
        security_opt = ["apparmor=ci"]
        read_only = true
        init = true
        runtime = "runsc"
        memory = "512m"
        memory_swap = "1g"
        memory_reservation = "256m"
        cpus = "1.5"
        cpu_shares = 512
        cpuset_cpus = "0-1"
        cpuset_mems = "0"
        cgroup_parent = "ci.slice"
        oom_kill_disable = true
        oom_score_adjust = 500
        pids_limit = 100
        shm_size = "128m"
        devices = ["/dev/kvm", "nvidia.com/gpu=0"]
        device_cgroup_rules = ["c 81:* rmw"]
        gpus = "all"
        volumes_from = ["storage:ro"]
        volume_driver = "local"
        network = "ci-net"
        dns = ["10.0.0.1"]
        dns_search = ["example.org"]
        extra_hosts = ["db:10.0.0.2"]
        mac_address = "02:42:ac:11:00:02"
        pid_mode = "host"
        ipcmode = "private"
        [ulimit]
        nofile = "1024:4096"
        [sysctls]
        "net.core.somaxconn" = "1024"
        [tmpfs]
        "/tmp" = "rw"
        [log_options]
        max-size = "10m"
        "#;

/// The request to the engine that they cause.
const EVERY_ANSWER: &str = r#"{
            "Hostname": "ci",
            "User": "1000",
            "AttachStdin": true,
            "AttachStdout": true,
            "AttachStderr": true,
            "Tty": false,
            "OpenStdin": true,
            "StdinOnce": true,
            "Cmd": ["/agent", "serve"],
            "Image": "sha256:abc",
            "WorkingDir": "/builds",
            "Labels": { "a": "b" },
            "StopSignal": "SIGTERM",
            "HostConfig": {
                "CpuShares": 512,
                "Memory": 536870912,
                "CgroupParent": "ci.slice",
                "CpusetCpus": "0-1",
                "CpusetMems": "0",
                "Devices": [{
                    "PathOnHost": "/dev/kvm", "PathInContainer": "/dev/kvm", "CgroupPermissions": "rwm"
                }],
                "DeviceCgroupRules": ["c 81:* rmw"],
                "DeviceRequests": [
                    { "Count": -1, "Capabilities": [["gpu"]] },
                    { "Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=0"] }
                ],
                "MemoryReservation": 268435456,
                "MemorySwap": 1073741824,
                "NanoCpus": 1500000000,
                "OomKillDisable": true,
                "Init": true,
                "PidsLimit": 100,
                "Ulimits": [{ "Name": "nofile", "Soft": 1024, "Hard": 4096 }],
                "Binds": ["/srv:/srv:ro"],
                "LogConfig": { "Type": "json-file", "Config": { "max-size": "10m" } },
                "NetworkMode": "ci-net",
                "RestartPolicy": { "Name": "no" },
                "VolumeDriver": "local",
                "VolumesFrom": ["storage:ro"],
                "CapAdd": ["SYS_PTRACE"],
                "CapDrop": ["CHOWN"],
                "Dns": ["10.0.0.1"],
                "DnsSearch": ["example.org"],
                "ExtraHosts": ["db:10.0.0.2", "own:10.0.0.3"],
                "GroupAdd": ["video"],
                "IpcMode": "private",
                "OomScoreAdj": 500,
                "PidMode": "host",
                "ReadonlyRootfs": true,
                "SecurityOpt": ["apparmor=ci", "no-new-privileges=true"],
                "Tmpfs": { "/tmp": "rw" },
                "UsernsMode": "host",
                "ShmSize": 134217728,
                "Sysctls": { "net.core.somaxconn": "1024" },
                "Runtime": "runsc"
            },
            "NetworkingConfig": {
                "EndpointsConfig": {
                    "ci-net": { "MacAddress": "02:42:ac:11:00:02", "Aliases": ["build"] }
                }
            }
        }"#;

#[test]
fn every_key_of_jobs_reaches_the_container() {
    // R-EXEC-59
    let config = config(EVERY_KEY);
    let plan = ContainerPlan {
        user: Some("1000".to_owned()),
        working_dir: Some("/builds".to_owned()),
        labels: [("a".to_owned(), "b".to_owned())].into(),
        binds: words(&["/srv:/srv:ro"]),
        extra_hosts: words(&["own:10.0.0.3"]),
        stop_signal: Some("SIGTERM".to_owned()),
        standard_input: StandardInput::Once,
        network: NetworkPlan {
            mode: None,
            aliases: words(&["build"]),
        },
        ..plan()
    };
    assert_eq!(
        value(&build_container(&config, &plan)),
        parsed(EVERY_ANSWER)
    );
}

#[test]
fn every_key_of_services_reaches_only_services() {
    let config = config(
        r#"
        memory = "1g"
        cap_add = ["SYS_ADMIN"]
        gpus = "all"
        hostname = "ci"
        service_memory = "256m"
        service_memory_swap = "256m"
        service_memory_reservation = "128m"
        service_cpus = "0.5"
        service_cpu_shares = 256
        service_cpuset_cpus = "0"
        service_cgroup_parent = "services.slice"
        service_gpus = "1"
        services_security_opt = ["no-new-privileges:false"]
        [services_devices]
        "redis:*" = ["/dev/null:/dev/one"]
        "postgres:*" = ["/dev/null:/dev/two"]
        [services_tmpfs]
        "/data" = "rw"
        "#,
    );
    let plan = ServicePlan {
        image: "sha256:abc".to_owned(),
        reference: ImageReference::parse("redis:7").ok(),
        entrypoint: Entrypoint::of_job(&words(&[""])),
        command: words(&["serve"]),
        environment: words(&["A=b"]),
        network: NetworkPlan {
            mode: Some("job-net".to_owned()),
            aliases: words(&["redis", "cache"]),
        },
        ..ServicePlan::default()
    };
    assert_eq!(
        value(&service_container(&config, &plan)),
        json!({
            "Image": "sha256:abc",
            "Entrypoint": [""],
            "Cmd": ["serve"],
            "Env": ["A=b"],
            "Labels": {},
            "HostConfig": {
                "Memory": 256 << 20,
                "MemorySwap": 256 << 20,
                "MemoryReservation": 128 << 20,
                "NanoCpus": 500_000_000,
                "CpuShares": 256,
                "CpusetCpus": "0",
                "CgroupParent": "services.slice",
                "Devices": [{
                    "PathOnHost": "/dev/null", "PathInContainer": "/dev/one", "CgroupPermissions": "rwm",
                }],
                "DeviceRequests": [{ "Count": 1, "Capabilities": [["gpu"]] }],
                "PidsLimit": 4096,
                "NetworkMode": "job-net",
                "RestartPolicy": { "Name": "no" },
                "CapDrop": ["MKNOD", "NET_RAW"],
                "SecurityOpt": ["no-new-privileges:false"],
                "Tmpfs": { "/data": "rw" },
            },
            "NetworkingConfig": {
                "EndpointsConfig": { "job-net": { "Aliases": ["redis", "cache"] } },
            },
        })
    );
}

#[test]
fn an_entry_point_is_the_images_the_jobs_or_none() {
    let check = |settings: &str, role: ContainerRole, job: &[&str], expect: Value| {
        let plan = ContainerPlan {
            role,
            entrypoint: Entrypoint::of_job(&words(job)),
            ..plan()
        };
        let body = value(&build_container(&config(settings), &plan));
        assert_eq!(body["Entrypoint"], expect, "{settings} {role:?} {job:?}");
    };
    let fixed = "disable_entrypoint_overwrite = true";
    check("", ContainerRole::Build, &[], Value::Null);
    check(
        "",
        ContainerRole::Build,
        &["/init", "-v"],
        json!(["/init", "-v"]),
    );
    check("", ContainerRole::Build, &[""], json!([""]));
    check(fixed, ContainerRole::Build, &["/init"], Value::Null);
    check(fixed, ContainerRole::Build, &[""], Value::Null);
    check(fixed, ContainerRole::Helper, &[""], json!([""]));
}

#[test]
fn rights_follow_settings_and_lists() {
    let check = |settings: &str, privileged: bool, expect: Value| {
        let plan = ContainerPlan {
            privileged,
            ..plan()
        };
        let host = host_of(&config(settings), &plan);
        let found = json!([
            host["Privileged"],
            host["CapAdd"],
            host["CapDrop"],
            host["SecurityOpt"]
        ]);
        assert_eq!(found, expect, "{settings} {privileged}");
    };
    let drop = json!(["MKNOD", "NET_RAW"]);
    let no_new = json!(["no-new-privileges=true"]);
    check("", false, json!([null, null, drop, no_new]));
    // The setting alone is not enough: the image must be allowed too.
    check(
        "privileged = true",
        false,
        json!([null, null, drop, no_new]),
    );
    check("privileged = true", true, json!([true, null, drop, null]));
    check(
        "no_new_privileges = true",
        true,
        json!([true, null, drop, no_new]),
    );
    check(
        "no_new_privileges = false",
        false,
        json!([null, null, drop, null]),
    );
    check("cap_drop = []", false, json!([null, null, null, no_new]));
    check(
        "cap_add = [\"ALL\"]",
        false,
        json!([null, ["ALL"], null, no_new]),
    );
    check(
        "security_opt = [\"no-new-privileges\"]",
        false,
        json!([null, null, drop, ["no-new-privileges"]]),
    );
}

#[test]
fn aliases_exist_only_in_networks_with_names() {
    let check = |settings: &str, mode: Option<&str>, expect: [Value; 3]| {
        let plan = ContainerPlan {
            network: NetworkPlan {
                mode: mode.map(str::to_owned),
                aliases: words(&["build"]),
            },
            ..plan()
        };
        let body = value(&build_container(&config(settings), &plan));
        let found = [
            body["HostConfig"]["NetworkMode"].clone(),
            body["NetworkingConfig"]["EndpointsConfig"].clone(),
            body["Hostname"].clone(),
        ];
        assert_eq!(found, expect, "{settings} {mode:?}");
    };
    let aliases = json!({ "Aliases": ["build"] });
    check("", None, [Value::Null, Value::Null, Value::Null]);
    check(
        "",
        Some("own"),
        [json!("own"), json!({ "own": aliases }), Value::Null],
    );
    check(
        "network = \"host\"",
        None,
        [json!("host"), Value::Null, Value::Null],
    );
    check(
        "network_mode = \"net\"",
        None,
        [json!("net"), json!({ "net": aliases }), Value::Null],
    );
    let other = "hostname = \"a\"";
    check(
        other,
        Some("container:b"),
        [json!("container:b"), Value::Null, Value::Null],
    );
    check(
        other,
        Some("own"),
        [json!("own"), json!({ "own": aliases }), json!("a")],
    );
}

#[test]
fn a_seccomp_profile_is_sent_as_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("good"), "{ \"defaultAction\" : \"SCMP_ACT_ALLOW\" }").unwrap();
    std::fs::write(path("bad"), "{").unwrap();
    let option = |name: &str| vec![format!("seccomp={}", path(name))];
    let text = read_seccomp(&option("good")).unwrap();
    assert_eq!(
        text.as_deref(),
        Some(r#"{"defaultAction":"SCMP_ACT_ALLOW"}"#)
    );
    let options = DockerConfig {
        security_opt: option("good"),
        ..DockerConfig::default()
    };
    let plan = ContainerPlan {
        seccomp: text,
        ..plan()
    };
    assert_eq!(
        host_of(&options, &plan)["SecurityOpt"],
        json!([
            r#"seccomp={"defaultAction":"SCMP_ACT_ALLOW"}"#,
            "no-new-privileges=true"
        ])
    );
    for name in ["bad", "missing"] {
        let error = read_seccomp(&option(name)).unwrap_err().to_string();
        assert!(error.starts_with("read seccomp profile"), "{error}");
        assert!(error.contains(name), "{error}");
    }
    for none in [
        "seccomp=unconfined",
        "seccomp=builtin",
        "apparmor=x",
        "seccomp={}",
    ] {
        assert_eq!(read_seccomp(&words(&[none])), Ok(None), "{none}");
    }
}

#[test]
fn the_lists_determine_allowed_options() {
    let info = |user: &str| {
        ImageInfo::of(
            &ImageReference::parse("docker:dind").unwrap(),
            ImageInspect {
                config: Some(ImageConfig {
                    user: Some(user.to_owned()),
                    ..ImageConfig::default()
                }),
                ..ImageInspect::default()
            },
        )
    };
    let check = |settings: &str,
                 image: &str,
                 job: Option<&str>,
                 expect: Result<(Option<&str>, bool), &str>| {
        let options = ImageOptions {
            user: job.map(str::to_owned),
            platform: None,
        };
        let allowed = AllowedOptions::of_build(&config(settings), &info(image), &options);
        match (allowed, expect) {
            (Ok(allowed), Ok(expect)) => {
                assert_eq!(
                    (allowed.user.as_deref(), allowed.privileged),
                    expect,
                    "{settings}"
                );
                let plan = allowed.apply(plan());
                assert_eq!(
                    (plan.user.as_deref(), plan.privileged),
                    expect,
                    "{settings}"
                );
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (allowed, expect) => panic!("{settings}: {allowed:?} is not {expect:?}"),
        }
    };
    check("", "", None, Ok((None, false)));
    check("", "app", Some("root"), Ok((Some("root"), false)));
    check("user = \"1000\"", "app", None, Ok((Some("1000"), false)));
    let list = "allowed_users = [\"app\"]";
    check(list, "app", None, Ok((None, false)));
    check(
        list,
        "app",
        Some("root"),
        Err("user `root` is not allowed: the runner's allowed_users has only app"),
    );
    // An image without a user runs as root.
    check(list, "", None, Err("user `root` is not allowed"));
    check("privileged = true", "", None, Ok((None, true)));
    let listed = "privileged = true\nallowed_privileged_images = [\"docker:*\"]";
    check(listed, "", None, Ok((None, true)));
    check(
        "security_opt = [\"seccomp=/not/there\"]",
        "",
        None,
        Err("seccomp profile /not/there"),
    );
}
