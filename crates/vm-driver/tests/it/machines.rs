//! The calls of a fleet, which has the program as its plugin.

use crate::qemu::{assert_no_machine, host};
use crate::support::{Agent, program};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};

const NAME: &str = "runwright-lab-1795831611-9d8ff56e";

/// Starts a call with the settings of the agent's file, as a fleet does.
fn begin(agent: &Agent, call: &str, fields: Value) -> Child {
    let text = fs::read_to_string(agent.path("driver.toml")).unwrap();
    let mut config: Value = toml::from_str(&text).unwrap();
    config["state-dir"] = "vm-driver".into();
    let mut request = json!({ "version": 1, "call": call, "config": config });
    let Value::Object(fields) = fields else {
        panic!("fields are an object");
    };
    request.as_object_mut().unwrap().extend(fields);
    let mut child = program(env!("CARGO_BIN_EXE_runwright-vm-driver"))
        .arg(call)
        .current_dir(agent.root.path())
        .env("JEBALLTO_TOKEN", "secret")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(request.to_string().as_bytes()).unwrap();
    child
}

fn call(agent: &Agent, call: &str, fields: Value) -> Value {
    let output = begin(agent, call, fields).wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.success(), answer["error"].is_null());
    answer
}

fn refusal(agent: &Agent, name: &str, fields: Value) -> String {
    let answer = call(agent, name, fields);
    answer["error"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn machine_of_a_fleet_is_created_once_and_removed() {
    let agent = Agent::start();
    let named = || json!({ "name": NAME });
    let list = |prefix: &str| call(&agent, "list", json!({ "prefix": prefix }))["machines"].clone();
    assert_eq!(list("runwright-lab-"), json!([]));
    let first = call(&agent, "create", named());
    let ssh = &first["endpoint"]["ssh"];
    assert_eq!(
        (&ssh["host"], &ssh["user"]),
        (&json!("127.0.0.1"), &json!("root"))
    );
    let keys = fs::read_to_string(ssh["known_hosts_file"].as_str().unwrap()).unwrap();
    assert!(keys.contains("ssh-ed25519"), "{keys}");
    // The answer was lost.
    assert_eq!(call(&agent, "create", named()), first);
    assert_eq!(agent.machines().len(), 1);
    assert_eq!(list("runwright-lab-"), json!([NAME]));
    assert_eq!(list("runwright-other-"), json!([]));
    let mut known = json!({ "name": NAME, "endpoint": first["endpoint"] });
    assert_eq!(call(&agent, "check", known.clone()), json!({}));
    known["endpoint"]["ssh"]["port"] = 1.into();
    let text = refusal(&agent, "check", known);
    assert_eq!(text, "the machine has another address now");
    for _ in 0..2 {
        assert_eq!(call(&agent, "remove", named()), json!({}));
        agent.assert_nothing_remains();
    }
    let text = refusal(&agent, "check", named());
    assert!(text.contains("there is no machine"), "{text}");
    agent.assert_nothing_remains();
}

#[test]
fn wrong_requests_of_a_fleet_are_refused() {
    let agent = Agent::start();
    for (fields, expected) in [
        (
            json!({ "version": 2 }),
            "version 2 of the protocol is not known",
        ),
        (
            json!({ "config": {} }),
            "plugin_config: missing field `host`",
        ),
        (
            json!({ "config": { "host": "qemu", "memory": 1 } }),
            "unknown field `memory`",
        ),
        (json!({ "name": ".." }), "invalid name \"..\""),
        (json!({ "name": "../a" }), "invalid name \"../a\""),
        (json!({ "config": 1 }), "plugin_config: invalid type"),
        (
            json!({ "call": "stop", "name": "a" }),
            "unknown call \"stop\"",
        ),
    ] {
        let text = refusal(&agent, "create", fields);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn machine_of_qemu_is_found_again_after_a_kill() {
    let agent = host("", "");
    let named = || json!({ "name": NAME });
    let mut killed = begin(&agent, "create", named());
    crate::qemu::wait_until(|| agent.path("vm-driver/snapshots").exists());
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(refusal(&agent, "create", named()), "");
    assert_eq!(call(&agent, "check", named()), json!({}));
    let [emulator] = agent.emulators()[..] else {
        panic!("one machine: {:?}", agent.emulators());
    };
    let pid = emulator.to_string();
    program("kill").args(["-KILL", &pid]).status().unwrap();
    // The kernel may answer for it a moment longer.
    crate::qemu::wait_until(|| {
        refusal(&agent, "check", named()).contains("the machine has stopped")
    });
    // As after a restart of this host.
    assert_eq!(refusal(&agent, "create", named()), "");
    assert_eq!(call(&agent, "check", named()), json!({}));
    assert_eq!(call(&agent, "remove", named()), json!({}));
    assert_no_machine(&agent);
}
