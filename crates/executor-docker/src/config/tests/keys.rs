//! Values of every key.

use super::value::{Good, Unread, Warned, Wrong, check, check_with};
use crate::config::DockerConfig;

#[test]
fn keys_of_the_engine_and_of_images() {
    check("host", r#""unix:///run/docker.sock""#, &Good);
    check("host", "5", &Unread("expected a string"));
    check("tls_cert_path", r#""/etc/docker""#, &Good);
    check("tls_verify", "true", &Good);
    check("tls_verify", r#""yes""#, &Unread("expected a boolean"));
    for engine in ["auto", "agent", "exec", "attach"] {
        check("engine", &format!("{engine:?}"), &Good);
    }
    check(
        "engine",
        r#""podman""#,
        &Unread("unknown variant `podman`, expected one of"),
    );
    check("sources", r#""copy""#, &Good);
    check("sources", r#""clone""#, &Unread("unknown variant `clone`"));
    check("image", r#""ruby:3.4""#, &Good);
    check(
        "allowed_images",
        r#"["ruby:*", "registry.example/**"]"#,
        &Good,
    );
    check(
        "allowed_images",
        r#"["ruby:[1-"]"#,
        &Wrong("`ruby:[1-` is not a pattern"),
    );
    check("pull_policy", r#""never""#, &Good);
    check("pull_policy", r#"["if-not-present", "always"]"#, &Good);
    check(
        "pull_policy",
        r#""sometimes""#,
        &Unread("unknown variant `sometimes`"),
    );
    check("pull_policy", "7", &Unread("a text or a list of texts"));
    check("allowed_pull_policies", r#"["never"]"#, &Good);
    check_with(
        "pull_policy = \"always\"",
        "allowed_pull_policies",
        r#"["never"]"#,
        &Wrong("does not have all policies of pull_policy"),
    );
    check("helper_image", r#""registry.example/helper:1""#, &Good);
    check(
        "helper_image_flavor",
        r#""ubuntu""#,
        &Warned("no helper image is needed"),
    );
    check("orphan_grace", "0", &Good);
    check("orphan_grace", r#""1h""#, &Unread("expected i64"));
    check("warm", "2", &Good);
    check("warm", "-1", &Unread("invalid value: integer `-1`"));
    check_with(
        "engine = \"attach\"",
        "warm",
        "1",
        &Warned("has no effect with engine"),
    );
    check("warm_limit", "4", &Good);
    check("warm_idle", "60", &Good);
    check("warm_idle", r#""1m""#, &Unread("expected u64"));
    check("runtime", r#""runsc""#, &Good);
    check("isolation", r#""default""#, &Good);
    check("isolation", r#""hyperv""#, &Wrong("Windows"));
    check("disable_entrypoint_overwrite", "true", &Good);
}

#[test]
fn keys_of_users_and_privileges() {
    check("hostname", r#""ci""#, &Good);
    check("user", r#""1000:1000""#, &Good);
    check("allowed_users", r#"["1000", "app"]"#, &Good);
    check("group_add", r#"["docker"]"#, &Good);
    check("userns_mode", r#""host""#, &Good);
    check("userns_mode", r#""keep-id""#, &Wrong("the only mode"));
    check("privileged", "true", &Good);
    check("services_privileged", "true", &Good);
    let lists = [
        ("allowed_privileged_images", "privileged = true"),
        ("allowed_privileged_services", "services_privileged = true"),
    ];
    for (key, switch) in lists {
        check_with(switch, key, r#"["docker:*-dind"]"#, &Good);
        check(
            key,
            r#"["docker:*-dind"]"#,
            &Warned("nothing is privileged"),
        );
        check_with(switch, key, r#"["docker:{1"]"#, &Wrong("a brace is open"));
    }
    check("cap_add", r#"["SYS_PTRACE"]"#, &Good);
    check(
        "cap_add",
        r#"["--all"]"#,
        &Wrong("not the name of a capability"),
    );
    check("cap_drop", "[]", &Good);
    check(
        "cap_drop",
        r#"["CAP_CHOWN", ""]"#,
        &Wrong("not the name of a capability"),
    );
    check("no_new_privileges", "false", &Good);
    check("security_opt", r#"["apparmor=ci"]"#, &Good);
    check("services_security_opt", r#"["apparmor=ci"]"#, &Good);
    check("read_only", "true", &Good);
    check("init", "true", &Good);
    check("allowed_volumes", r#"["/srv/ci", "ci-*"]"#, &Good);
    check(
        "allowed_volumes",
        r#"["/srv/../etc"]"#,
        &Wrong("has a `..`"),
    );
    check("allowed_volumes", r#"["[a"]"#, &Wrong("a bracket is open"));
}

#[test]
fn keys_of_resources() {
    for key in [
        "memory",
        "memory_reservation",
        "service_memory",
        "service_memory_reservation",
    ] {
        check(key, r#""512m""#, &Good);
        check(key, "536870912", &Good);
        check(
            key,
            r#""512x""#,
            &Unread("`512x` is not a size: write bytes, or"),
        );
        check(key, r#""1m""#, &Wrong("less than 6m"));
    }
    for (key, memory) in [
        ("memory_swap", "memory"),
        ("service_memory_swap", "service_memory"),
    ] {
        let other = format!("{memory} = \"512m\"");
        check_with(&other, key, r#""1g""#, &Good);
        check_with(&other, key, "-1", &Good);
        check_with(&other, key, r#""256m""#, &Wrong("is less than"));
        check(key, r#""1g""#, &Wrong("needs"));
        let kept = format!("{memory}_reservation");
        check_with(&other, &kept, r#""1g""#, &Wrong("is more than"));
    }
    for key in ["cpus", "service_cpus"] {
        check(key, r#""1.5""#, &Good);
        check(key, "2", &Good);
        check(key, "0.5", &Good);
        check(
            key,
            r#""all""#,
            &Unread("`all` is not a number of processors"),
        );
        check(key, r#""-1""#, &Unread("is not a number of processors"));
    }
    for key in ["cpu_shares", "service_cpu_shares"] {
        check(key, "512", &Good);
        check(key, "1", &Wrong("from 2 to 262144"));
    }
    for key in ["cpuset_cpus", "cpuset_mems", "service_cpuset_cpus"] {
        check(key, r#""0-2,4""#, &Good);
        check(key, r#""2-0""#, &Wrong("not a list of numbers and ranges"));
    }
    check("cgroup_parent", r#""ci.slice""#, &Good);
    check("service_cgroup_parent", r#""ci.slice""#, &Good);
    check(
        "service_slot_cgroup_template",
        r#""ci-${slot}""#,
        &Wrong("is not supported"),
    );
    check_with("memory = \"1g\"", "oom_kill_disable", "true", &Good);
    check("oom_kill_disable", "true", &Wrong("without memory"));
    check("oom_score_adjust", "-500", &Good);
    check("oom_score_adjust", "2000", &Wrong("from -1000 to 1000"));
    check("pids_limit", "0", &Good);
    check("pids_limit", "-7", &Wrong("less than 0"));
    check("shm_size", "300000", &Good);
    check("shm_size", r#""128m""#, &Good);
    check("shm_size", "-1", &Wrong("less than 0"));
    check("ulimit", r#"{ nofile = "1024:4096", rtprio = 99 }"#, &Good);
    check("ulimit", r#"{ files = "1" }"#, &Wrong("`files` is none of"));
    check(
        "ulimit",
        r#"{ nofile = "9:1" }"#,
        &Unread("`9:1` is not a limit"),
    );
    check("sysctls", r#"{ "net.core.somaxconn" = "1024" }"#, &Good);
    check(
        "sysctls",
        r#"{ "kernel.panic" = "1" }"#,
        &Wrong("of the whole host"),
    );
    check(
        "devices",
        r#"["/dev/kvm", "/dev/snd:/dev/snd:rw", "nvidia.com/gpu=all"]"#,
        &Good,
    );
    check("devices", r#"["kvm"]"#, &Unread("`kvm` is not a device"));
    check(
        "devices",
        r#"["/dev/kvm:/dev/kvm:rx"]"#,
        &Unread("is not a device"),
    );
    check("device_cgroup_rules", r#"["c 81:* rmw", "a *:* r"]"#, &Good);
    check(
        "device_cgroup_rules",
        r#"["c 81 rw"]"#,
        &Wrong("is not a rule"),
    );
    for key in ["gpus", "service_gpus"] {
        check(key, r#""all""#, &Good);
        check(key, "2", &Good);
        check(key, r#""device=0,1""#, &Good);
        check(key, r#""some""#, &Unread("is no request for GPUs"));
    }
}

#[test]
fn keys_of_services() {
    let service = r#"
        name = "postgres:16"
        alias = "db"
        command = ["-c", "fsync=off"]
        entrypoint = [""]
        environment = ["POSTGRES_PASSWORD=x"]
    "#;
    check("[[services]]", service, &Good);
    check(
        "[[services]]",
        "alias = \"db\"",
        &Wrong("without the name of an image"),
    );
    check(
        "[[services]]",
        "name = \"a\"\nenvironment = [\"A\"]",
        &Wrong("not NAME=value"),
    );
    check(
        "[[services]]",
        "name = \"a\"\nsuspend_data_path = \"/d\"",
        &Warned("no effect"),
    );
    check(
        "[[services]]",
        "name = \"a\"\nport = 1",
        &Unread("unknown field `port`"),
    );
    check("allowed_services", r#"["postgres:*"]"#, &Good);
    check(
        "allowed_services",
        r#"["\\"]"#,
        &Wrong("ends with a backslash"),
    );
    check("services_limit", "-1", &Good);
    check("services_limit", "-2", &Wrong("less than -1"));
    check("wait_for_services_timeout", "-1", &Good);
    check(
        "wait_for_services_timeout",
        r#""30s""#,
        &Unread("expected i64"),
    );
    check(
        "services_devices",
        r#"{ "redis:*" = ["/dev/null:/dev/zero:r"] }"#,
        &Good,
    );
    check(
        "services_devices",
        r#"{ "[" = ["/dev/null"] }"#,
        &Wrong("a bracket is open"),
    );
    check("services_tmpfs", r#"{ "/data" = "rw,noexec" }"#, &Good);
    check(
        "services_tmpfs",
        r#"{ data = "rw" }"#,
        &Wrong("not an absolute path"),
    );
}

#[test]
fn keys_of_storage_and_networks() {
    check(
        "volumes",
        r#"["/cache", "/srv/a:/a:ro,z", "data:/data", "target", "$X:/x"]"#,
        &Good,
    );
    check("volumes", r#"["a:b:c:d"]"#, &Wrong("too many colons"));
    check("volumes_from", r#"["storage:ro"]"#, &Good);
    check(
        "volumes_from",
        r#"["storage:now"]"#,
        &Wrong("is not container[:ro]"),
    );
    check("volume_keep", "true", &Good);
    check("volume_driver", r#""local""#, &Good);
    check("volume_driver_ops", r#"{ size = "100m" }"#, &Good);
    check("cache_dir", r#""/srv/cache""#, &Good);
    check("cache_dir", r#""cache""#, &Wrong("not an absolute path"));
    check("disable_cache", "true", &Good);
    check("tmpfs", r#"{ "/tmp" = "rw,size=64m" }"#, &Good);
    check("tmpfs", r#"{ "tmp" = "" }"#, &Wrong("not an absolute path"));
    for network in [
        "auto",
        "per-job",
        "bridge",
        "none",
        "host",
        "container:a",
        "my-net",
    ] {
        check("network", &format!("{network:?}"), &Good);
        check("network_mode", &format!("{network:?}"), &Good);
    }
    check(
        "network_mode",
        r#""--host""#,
        &Wrong("not the name of a network"),
    );
    check("enable_ipv6", "true", &Good);
    check_with(
        "network = \"bridge\"",
        "enable_ipv6",
        "true",
        &Warned("no network of its own"),
    );
    check("network_mtu", "1400", &Good);
    check("network_mtu", "-1", &Unread("expected u32"));
    check("network_mtu", "20", &Wrong("from 68 to 65535"));
    check("dns", r#"["10.0.0.1", "::1"]"#, &Good);
    check(
        "dns",
        r#"["ns.example"]"#,
        &Wrong("`ns.example` is not an address"),
    );
    check("dns_search", r#"["example.org"]"#, &Good);
    check("extra_hosts", r#"["db:10.0.0.1", "v6:2001:db8::1"]"#, &Good);
    check("extra_hosts", r#"["db"]"#, &Wrong("not name:address"));
    check_with("network = \"bridge\"", "links", r#"["db:postgres"]"#, &Good);
    check(
        "links",
        r#"["db:postgres"]"#,
        &Wrong("needs network = \"bridge\""),
    );
    check("mac_address", r#""02:42:ac:11:00:02""#, &Good);
    check("mac_address", r#""02:42""#, &Wrong("is not an address"));
    check_with(
        "network = \"host\"",
        "mac_address",
        r#""02:42:ac:11:00:02""#,
        &Wrong("of the host"),
    );
    check_with(
        "network = \"container:a\"",
        "hostname",
        r#""b""#,
        &Wrong("of another container"),
    );
    check("pid_mode", r#""host""#, &Good);
    check("ipcmode", r#""private""#, &Good);
    check("environment", r#"["A=b=c", "D="]"#, &Good);
    check("environment", r#"["A"]"#, &Wrong("`A` is not NAME=value"));
    check("container_labels", r#"{ team = "blue" }"#, &Good);
    check("log_options", r#"{ max-size = "10m" }"#, &Good);
    check(
        "log_options",
        r#"{ gelf-address = "x" }"#,
        &Wrong("no option of the log driver"),
    );
}

#[test]
fn an_unknown_key_is_named() {
    check(
        "volume",
        "[]",
        &Unread("unknown field `volume`, expected one of"),
    );
}

#[test]
fn every_key_is_documented_and_tested() {
    let error = toml::from_str::<DockerConfig>("none = 1").unwrap_err();
    let error = error.message();
    let (_, list) = error
        .split_once("expected one of ")
        .expect("it names all keys");
    let keys: Vec<&str> = list.split(", ").map(|it| it.trim_matches('`')).collect();
    assert!(keys.len() > 80, "{error}");
    let guide = include_str!("../../../../../docs/book/src/docker-keys.md");
    let tests = include_str!("keys.rs");
    for key in keys {
        let in_guide = [format!("`{key}`"), format!("[runners.docker.{key}]")];
        assert!(
            in_guide.iter().any(|it| guide.contains(it)),
            "{key} is not in the guide"
        );
        let in_tests = [format!("\"{key}\""), format!("\"[[{key}]]\"")];
        assert!(
            in_tests.iter().any(|it| tests.contains(it)),
            "{key} is not tried"
        );
    }
}
