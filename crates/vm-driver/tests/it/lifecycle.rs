//! The stages of a job, in order.

use crate::support::Agent;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn job_goes_through_all_stages() {
    let agent = Agent::start();
    let job = agent.job(1);
    job.prepare();
    let mode = fs::metadata(job.state_file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let done = job.run("echo from the machine; echo error >&2").succeeds();
    assert_eq!(
        (done.text().as_str(), done.stderr.as_str()),
        ("from the machine\n", "error\n")
    );
    job.cleanup();
    // R-VM-31, R-VM-32, R-VM-36
    let mut requests = agent.requests();
    // It is asked again while the server is not there yet.
    requests.dedup_by(|one, other| one == other && one == "POST /vms/ID/ssh");
    assert_eq!(
        requests,
        [
            "GET /images",
            "GET /images",
            "GET /images/pull/operations",
            "POST /images/pull",
            "GET /images/pull/operations/ID",
            "GET /vms",
            "POST /vms",
            "GET /vms/ID",
            "POST /vms/ID/start",
            "GET /vms/ID",
            "POST /vms/ID/ssh",
            "GET /vms/ID/ssh",
            "DELETE /vms/ID/ssh",
            "POST /vms/ID/stop",
            "DELETE /vms/ID",
        ]
        .iter()
        .map(|it| (*it).to_owned())
        .collect::<Vec<_>>()
    );
    agent.assert_nothing_remains();
}

#[test]
fn config_has_the_settings_of_the_operator() {
    let agent = Agent::start();
    agent.write_settings(
        "hostname = \"mac-7\"\nshell = \"sh\"",
        "[job-env]\nVM_REGION = \"north\"",
    );
    let config = agent.job(1).call(&["config"]).succeeds();
    let config: Value = serde_json::from_slice(&config.stdout).unwrap();
    // R-VM-02, R-VM-03, R-VM-04
    assert_eq!(config["builds_dir"], json!(agent.path("builds")));
    assert_eq!(config["cache_dir"], json!(agent.path("cache")));
    assert_eq!(config["hostname"], "mac-7");
    assert_eq!(config["shell"], "sh");
    assert_eq!(config["job_env"], json!({ "VM_REGION": "north" }));
    assert_eq!(config["driver"]["name"], "runwright-vm-driver");
}

#[test]
fn config_sends_no_request() {
    let agent = Agent::start();
    // R-VM-05
    agent.job(1).call(&["config"]).succeeds();
    assert_eq!(agent.requests(), Vec::<String>::new());
}

#[test]
fn invalid_settings_end_prepare_before_any_request() {
    let agent = Agent::start();
    // R-VM-06
    for (settings, message) in [
        ("[image]", "duplicate key"),
        ("bulds-dir = \"/b\"", "unknown field `bulds-dir`"),
        ("builds-dir = 3", "duplicate key"),
        ("keep-failed = \"yes\"", "expected a boolean"),
    ] {
        agent.write_settings(settings, "");
        let text = agent.job(1).call(&["prepare"]).system_failure();
        assert!(text.contains(message) && text.contains("line"), "{text}");
    }
    fs::write(
        agent.path("driver.toml"),
        "host = \"jeballto\"\nbuilds-dir = \"b\"",
    )
    .unwrap();
    let text = agent.job(1).call(&["prepare"]).system_failure();
    assert!(
        text.contains("builds-dir \"b\" is not an absolute path"),
        "{text}"
    );
    agent.write_settings("", "most = 0");
    let text = agent.job(1).call(&["prepare"]).system_failure();
    assert!(text.contains("invalid most 0"), "{text}");
    fs::remove_file(agent.path("driver.toml")).unwrap();
    let text = agent.job(1).call(&["prepare"]).system_failure();
    assert!(text.contains("driver.toml: No such file"), "{text}");
    // R-VM-08
    agent.write_settings("", "");
    let text = agent
        .job(1)
        .with("JEBALLTO_TOKEN", "")
        .call(&["prepare"])
        .system_failure();
    assert!(text.contains("no token"), "{text}");
    assert_eq!(agent.requests(), Vec::<String>::new());
    let text = agent
        .job(1)
        .with("JEBALLTO_TOKEN", "wrong")
        .call(&["prepare"])
        .system_failure();
    assert!(text.contains("refuses the token"), "{text}");
    let text = agent
        .job(1)
        .with("CUSTOM_ENV_CI_JOB_ID", "")
        .call(&["prepare"])
        .system_failure();
    assert!(text.contains("CUSTOM_ENV_CI_JOB_ID is missing"), "{text}");
    let text = agent.job(1).call(&["start"]).system_failure();
    assert!(text.contains("expected `config`, `prepare`"), "{text}");
}

#[test]
fn resources_are_set_between_creation_and_start() {
    let agent = Agent::start();
    agent.write_settings("", "[resources]\ncpus = 2\nmemory = 4096\n[most]\ncpus = 8");
    let job = agent.job(1).with("CUSTOM_ENV_VM_CPUS", "4");
    job.prepare();
    // R-VM-17: a running machine would refuse.
    let machines = agent.machines();
    assert_eq!(
        machines[0]["resources"],
        json!({ "cpuCount": 4, "memorySize": 4_u64 << 30 })
    );
    // R-VM-15, R-VM-18
    assert_eq!(machines[0]["name"], job.name());
    assert_eq!(machines[0]["state"], "running");
    job.cleanup();
    for (name, value, message) in [
        ("CUSTOM_ENV_VM_CPUS", "9", "expected a number from 1 to 8"),
        (
            "CUSTOM_ENV_VM_CPUS",
            "many",
            "expected a number from 1 to 8",
        ),
        ("CUSTOM_ENV_VM_MEMORY", "1", "jobs may not choose it"),
        ("CUSTOM_ENV_CI_JOB_IMAGE", "missing", "no image missing"),
    ] {
        let job = agent.job(2).with(name, value);
        let text = job.call(&["prepare"]).build_failure();
        assert!(text.contains(message), "{text}");
        job.cleanup();
    }
    agent.assert_nothing_remains();
}

#[test]
fn slow_machine_is_awaited_and_a_broken_one_is_not() {
    let agent = Agent::start();
    // R-VM-21, R-VM-22, R-VM-23
    agent.set(&json!({ "boot": 0.1, "ssh_refused": 3, "ssh_late": 1 }));
    let job = agent.job(1);
    let text = job.call(&["prepare"]).succeeds().text();
    assert!(
        text.contains("wait for the machine: it is starting"),
        "{text}"
    );
    assert!(
        text.contains("enable SSH: VM has no NAT IP address"),
        "{text}"
    );
    assert!(
        text.contains("wait for SSH: ssh: connect to host"),
        "{text}"
    );
    let requests = agent.requests();
    let at = |wanted: &str| requests.iter().position(|it| it == wanted).unwrap();
    assert!(at("POST /vms/ID/start") < at("POST /vms/ID/ssh"));
    assert_eq!(requests.iter().filter(|it| *it == "POST /vms").count(), 1);
    job.cleanup();

    agent.set(&json!({ "machine": "error", "boot": 0 }));
    let job = agent.job(2);
    let text = job.call(&["prepare"]).system_failure();
    assert!(
        text.contains("the agent reports the state \"error\""),
        "{text}"
    );
    job.cleanup();
    agent.assert_nothing_remains();
}

#[test]
fn missing_tool_is_named() {
    let agent = Agent::start();
    // R-VM-24: a machine with `sh` and `bash` alone.
    let tools = agent.path("bin");
    fs::create_dir(&tools).unwrap();
    for tool in ["sh", "bash"] {
        std::os::unix::fs::symlink(format!("/bin/{tool}"), tools.join(tool)).unwrap();
    }
    agent.set(&json!({ "path": tools }));
    let job = agent.job(1);
    let text = job.call(&["prepare"]).system_failure();
    assert!(
        text.contains("lacks git: install it in the image"),
        "{text}"
    );
    job.cleanup();
    agent.assert_nothing_remains();
}

#[test]
fn agent_that_fails_for_a_while_is_asked_again() {
    let agent = Agent::start();
    agent.set(&json!({ "fail": 4 }));
    let job = agent.job(1);
    let text = job.call(&["prepare"]).succeeds().text();
    assert!(text.contains("out of order (503"), "{text}");
    agent.set(&json!({ "fail": 2 }));
    job.cleanup();
    agent.assert_nothing_remains();
}
