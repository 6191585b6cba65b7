//! Containers have the properties that were requested from the engine.

use crate::support::engine;
use crate::support::scratch::with_container;
use executor_docker::config::DockerConfig;
use executor_docker::job::create::{
    ContainerPlan, Entrypoint, NetworkPlan, ServicePlan, build_container, service_container,
};
use serde_json::{Value, json};

const BUSYBOX: &str = "runwright-test/busybox:1";

fn config(text: &str) -> DockerConfig {
    let config: DockerConfig = toml::from_str(text).unwrap();
    assert_eq!(config.problems(), [], "of {text}");
    config
}

fn plan(script: &str) -> ContainerPlan {
    ContainerPlan {
        image: BUSYBOX.to_owned(),
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        network: NetworkPlan {
            mode: Some("none".to_owned()),
            aliases: Vec::new(),
        },
        ..ContainerPlan::default()
    }
}

/// Runs a script in a container and returns its output.
async fn output_of(config: &DockerConfig, plan: &ContainerPlan) -> String {
    let engine = engine().await;
    let body = build_container(config, plan);
    let (code, output) = with_container(&engine, body, async |it| it.run().await).await;
    assert_eq!(code, 0, "{output}");
    output
}

/// Returns the numbers of the capabilities in `/proc/self/status`.
fn capabilities(output: &str) -> u64 {
    let line = output.lines().find_map(|it| it.strip_prefix("CapEff:"));
    u64::from_str_radix(line.expect("the status has it").trim(), 16).unwrap()
}

const MKNOD: u64 = 1 << 27;
const NET_RAW: u64 = 1 << 13;
const SYS_ADMIN: u64 = 1 << 21;
const SYS_PTRACE: u64 = 1 << 19;

#[tokio::test]
async fn a_job_has_few_rights_by_default() {
    let status =
        "cat /proc/self/status; test ! -e /dev/sda; test -S /run/docker.sock && exit 9 || true";
    let output = output_of(&DockerConfig::default(), &plan(status)).await;
    assert_eq!(
        capabilities(&output) & (MKNOD | NET_RAW | SYS_ADMIN),
        0,
        "{output}"
    );
    assert!(output.contains("NoNewPrivs:\t1"), "{output}");
    assert!(output.contains("Seccomp:\t2"), "{output}");
}

#[tokio::test]
async fn rights_are_granted_by_name() {
    let settings = config("cap_add = [\"SYS_PTRACE\"]\ncap_drop = []\nno_new_privileges = false");
    let output = output_of(&settings, &plan("cat /proc/self/status")).await;
    let wanted = MKNOD | NET_RAW | SYS_PTRACE;
    assert_eq!(
        capabilities(&output) & (wanted | SYS_ADMIN),
        wanted,
        "{output}"
    );
    assert!(output.contains("NoNewPrivs:\t0"), "{output}");
}

#[tokio::test]
async fn limits_hold_in_the_container() {
    let settings = config(
        r#"
        memory = "64m"
        memory_swap = "64m"
        cpus = "0.5"
        pids_limit = 20
        shm_size = "1m"
        read_only = true
        hostname = "limited"
        extra_hosts = ["db.example:192.0.2.7"]
        devices = ["/dev/zero:/dev/mine:r"]
        [tmpfs]
        "/scratch" = "rw,size=1m,mode=1777"
        [ulimit]
        nofile = "100:200"
        [sysctls]
        "kernel.shm_rmid_forced" = "1"
        "#,
    );
    let script = r"
        hostname; ulimit -n; ulimit -Hn; cat /proc/sys/kernel/shm_rmid_forced
        grep -c 192.0.2.7 /etc/hosts
        touch /here 2>&1
        touch /scratch/there && echo written
        d=/dev; df -k /scratch $d/shm | tail -n 2 | while read name blocks rest; do echo $blocks; done
        head -c 3 /dev/mine | wc -c
        (for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do sleep 60 & done) 2>&1
        true
    ";
    let plan = ContainerPlan {
        user: Some("1000:1000".to_owned()),
        ..plan(script)
    };
    let engine = engine().await;
    let body = build_container(&settings, &plan);
    let (inspected, output) = with_container(&engine, body, async |container| {
        let (_, output) = container.run().await;
        let inspected = engine.api().inspect_container(&container.id, None).await;
        (serde_json::to_value(inspected.unwrap()).unwrap(), output)
    })
    .await;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[..5], ["limited", "100", "200", "1", "1"], "{output}");
    let rest = lines[5..].join("\n");
    assert!(rest.contains("/here: Read-only file system"), "{output}");
    assert!(rest.contains("written\n1024\n1024\n3\n"), "{output}");
    assert!(rest.contains("can't fork"), "{output}");
    let host = &inspected["HostConfig"];
    let found = json!([
        host["Memory"],
        host["MemorySwap"],
        host["NanoCpus"],
        host["PidsLimit"],
        host["ReadonlyRootfs"],
        host["CapDrop"],
        host["SecurityOpt"],
        host["Privileged"],
        host["Devices"],
    ]);
    let expect = json!([
        64 << 20,
        64 << 20,
        500_000_000,
        20,
        true,
        ["MKNOD", "NET_RAW"],
        ["no-new-privileges=true"],
        false,
        [{ "PathOnHost": "/dev/zero", "PathInContainer": "/dev/mine", "CgroupPermissions": "r" }],
    ]);
    assert_eq!(found, expect);
}

#[tokio::test]
async fn the_memory_limit_applies() {
    let script = "d=/dev; dd if=$d/zero of=$d/shm/much bs=1M count=100";
    let engine = engine().await;
    // The engine may not report it: it misses the kernel's kill when the container ends at once.
    for (memory, ends_with) in [("32m", 137), ("256m", 0)] {
        let limits = format!("memory = \"{memory}\"\nmemory_swap = \"{memory}\"");
        let settings = config(&format!("{limits}\nshm_size = \"256m\""));
        let body = build_container(&settings, &plan(script));
        let (code, output) =
            with_container(&engine, body, async |container| container.run().await).await;
        assert_eq!(code, ends_with, "{memory}: {output}");
    }
}

#[tokio::test]
async fn a_job_replaces_or_disables_the_entry_point() {
    let engine = engine().await;
    let check = async |entrypoint: &[&str], command: &[&str], expect: &str| {
        let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let plan = ContainerPlan {
            entrypoint: Entrypoint::of_job(&words(entrypoint)),
            command: words(command),
            ..plan("")
        };
        let body = build_container(&DockerConfig::default(), &plan);
        let (_, output) = with_container(&engine, body, async |it| it.run().await).await;
        assert_eq!(output, expect, "{entrypoint:?} {command:?}");
    };
    check(&[], &["echo", "a"], "a\n").await;
    check(&[""], &["echo", "a"], "a\n").await;
    check(&["echo", "before"], &["echo", "a"], "before echo a\n").await;
}

#[tokio::test]
async fn a_service_has_its_own_limits_and_variables() {
    let settings =
        config("memory = \"1g\"\nservice_memory = \"64m\"\n[services_tmpfs]\n\"/data\" = \"rw\"");
    let plan = ServicePlan {
        image: BUSYBOX.to_owned(),
        command: ["sh", "-c", "echo $WORD; mount | grep -c ' /data '"]
            .map(str::to_owned)
            .to_vec(),
        environment: vec!["WORD=hello".to_owned()],
        network: NetworkPlan {
            mode: Some("none".to_owned()),
            aliases: Vec::new(),
        },
        ..ServicePlan::default()
    };
    let engine = engine().await;
    let body = service_container(&settings, &plan);
    let (memory, output) = with_container(&engine, body, async |container| {
        let (_, output) = container.run().await;
        let inspected = engine.api().inspect_container(&container.id, None).await;
        (inspected.unwrap().host_config.unwrap().memory, output)
    })
    .await;
    assert_eq!(output, "hello\n1\n");
    assert_eq!(memory, Some(64 << 20));
}

#[tokio::test]
async fn the_engine_shows_no_values_of_the_job() {
    let engine = engine().await;
    let body = build_container(&DockerConfig::default(), &plan("true"));
    let shown: Value = with_container(&engine, body, async |container| {
        let inspected = engine.api().inspect_container(&container.id, None).await;
        serde_json::to_value(inspected.unwrap()).unwrap()
    })
    .await;
    let environment = shown["Config"]["Env"].as_array().unwrap();
    assert!(
        environment
            .iter()
            .all(|it| it.as_str().unwrap().starts_with("PATH=")),
        "{environment:?}"
    );
}
