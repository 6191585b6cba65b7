//! Scripts in a machine.

use crate::qemu::wait_until;
use crate::support::{Agent, Done, Job, await_file};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Child;

#[test]
fn output_and_exit_codes_are_exact() {
    let agent = Agent::start();
    let job = agent.job(1);
    job.prepare();
    // R-VM-28: a script of several MB, binary output on both streams, and input that the script reads itself.
    let mut script = String::from(
        "printf '\\000\\377\\r\\n' | tee /dev/stderr\nread -r line\nfrom the script itself\necho \"$line\"\n",
    );
    script.extend(std::iter::repeat_n(
        ": a line that does nothing, many times over\n",
        80_000,
    ));
    script.push_str("echo the end");
    assert!(script.len() > 3 << 20);
    let output = job
        .command(&["run", &job.script(&script), "build_script"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        output.stdout,
        b"\0\xff\r\nfrom the script itself\nthe end\n"
    );
    assert_eq!(output.stderr, b"\0\xff\r\n");
    let done = job.run("head -c 8000000 /dev/zero; printf x").succeeds();
    assert_eq!(done.stdout.len(), 8_000_001);

    // R-VM-29
    for code in [1, 3, 127, 255] {
        job.run(format!("exit {code}")).build_failure();
        assert_eq!(
            fs::read_to_string(job.exit_code_file()).unwrap(),
            code.to_string()
        );
    }
    job.run("kill -9 $$").build_failure();
    assert_eq!(fs::read_to_string(job.exit_code_file()).unwrap(), "137");
    job.cleanup();
}

#[test]
fn output_arrives_while_the_script_runs() {
    let agent = Agent::start();
    let job = agent.job(1);
    job.prepare();
    // R-VM-28
    let go = agent.path("go");
    let script = format!(
        "echo one; echo two >&2; while [ ! -e {go} ]; do sleep 0.02; done; echo three",
        go = go.display()
    );
    let mut child = job
        .command(&["run", &job.script(script), "build_script"])
        .spawn()
        .unwrap();
    assert_eq!(first_line(child.stdout.as_mut().unwrap()), "one\n");
    assert_eq!(first_line(child.stderr.as_mut().unwrap()), "two\n");
    fs::write(go, "").unwrap();
    let rest = Done::of(child.wait_with_output().unwrap()).succeeds();
    assert_eq!(rest.text(), "three\n");
    job.cleanup();
}

fn first_line(stream: &mut impl Read) -> String {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        line.extend(byte);
    }
    String::from_utf8(line).unwrap()
}

#[test]
fn start_file_that_prints_disturbs_no_script() {
    let agent = Agent::start();
    let job = agent.job(1);
    job.prepare();
    let home = agent.path(agent.machines()[0]["id"].as_str().unwrap());
    let text = "echo from a start file\necho git >>~/started\n";
    fs::write(home.join(".bashrc"), text).unwrap();
    assert_eq!(job.run("echo own").succeeds().text(), "own\n");
    // It is not a missing tool either.
    job.prepare();
    let started = fs::read_to_string(home.join("started")).unwrap();
    assert_eq!(started, "git\ngit\n");
    job.cleanup();
}

#[test]
fn script_without_a_prepared_machine_is_a_system_failure() {
    let agent = Agent::start();
    // R-VM-25
    let text = agent.job(1).run("true").system_failure();
    assert!(text.contains("ci-7-0-0-1 has no stored state"), "{text}");
    let job = agent.job(2);
    job.prepare();
    fs::write(job.state_file(), "{").unwrap();
    let text = job.run("true").system_failure();
    assert!(text.contains(".json is damaged: EOF"), "{text}");
    fs::write(job.state_file(), "{\"version\": 9, \"state\": []}").unwrap();
    let text = job.run("true").system_failure();
    assert!(text.contains("version 9, this driver reads 1"), "{text}");
    job.cleanup();
}

/// Calls the agent as an operator would.
pub(crate) fn forward(agent: &Agent, method: &str) {
    let id = agent.machines()[0]["id"].as_str().unwrap().to_owned();
    let url = format!("http://127.0.0.1:{}/v1/vms/{id}/ssh", agent.port);
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(url)
        .header("authorization", "Bearer secret")
        .body(())
        .unwrap();
    ureq::Agent::new_with_defaults().run(request).unwrap();
}

#[test]
fn lost_or_changed_forwarding_is_found_again() {
    let agent = Agent::start();
    let job = agent.job(1);
    job.prepare();
    let port = agent.machines()[0]["port"].clone();
    // R-VM-27
    forward(&agent, "DELETE");
    assert_eq!(job.run("echo ok").succeeds().text(), "ok\n");
    // R-VM-26
    let other = agent.machines()[0]["port"].clone();
    assert_ne!(port, other);
    forward(&agent, "DELETE");
    forward(&agent, "POST");
    assert_ne!(agent.machines()[0]["port"], other);
    assert_eq!(job.run("echo ok").succeeds().text(), "ok\n");
    job.cleanup();
}

/// Starts a script and waits until it says that it runs.
fn started(agent: &Agent, job: &Job<'_>, script: &str) -> Child {
    let marker = agent.path("started");
    let script = format!("echo started >>{}\n{script}", marker.display());
    let child = job
        .command(&["run", &job.script(script), "build_script"])
        .spawn()
        .unwrap();
    // The shell creates it before it writes.
    wait_until(|| fs::read_to_string(&marker).is_ok_and(|it| it.ends_with('\n')));
    child
}

#[test]
fn lost_connection_is_a_system_failure_and_runs_nothing_again() {
    let agent = Agent::start();
    let job = agent.job(1);
    job.prepare();
    let child = started(&agent, &job, "sleep 300");
    forward(&agent, "DELETE");
    // R-VM-29
    let text = Done::of(child.wait_with_output().unwrap()).system_failure();
    assert!(
        text.contains("was lost while a script ran, which is not started again"),
        "{text}"
    );
    assert_eq!(
        fs::read_to_string(agent.path("started")).unwrap(),
        "started\n"
    );
    job.cleanup();
}

#[test]
fn request_to_stop_reaches_the_script() {
    let agent = Agent::start();
    let job = agent.job(1);
    job.prepare();
    let script = "trap 'echo stopping; exit 5' TERM\necho ready\nwhile :; do sleep 0.05; done";
    let mut child = started(&agent, &job, script);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    terminate(&child);
    assert_eq!(lines.next().unwrap().unwrap(), "stopping");
    Done::of(child.wait_with_output().unwrap()).build_failure();
    assert_eq!(fs::read_to_string(job.exit_code_file()).unwrap(), "5");

    // A second signal kills what does not obey.
    fs::remove_file(agent.path("started")).unwrap();
    let script = format!(
        "trap '' TERM\nsleep 300 &\ntrap 'echo >{signaled}' TERM\necho $! >{pid}\nwhile :; do sleep 0.05; done",
        signaled = agent.path("signaled").display(),
        pid = agent.path("pid").display()
    );
    let child = started(&agent, &job, &script);
    await_file(&agent.path("pid"));
    terminate(&child);
    // Two signals that are pending at once are one.
    await_file(&agent.path("signaled"));
    terminate(&child);
    Done::of(child.wait_with_output().unwrap()).system_failure();
    let pid = fs::read_to_string(agent.path("pid")).unwrap();
    // The kernel may take a moment to end it.
    let state = format!(
        "for _ in $(seq 600); do case $(cat /proc/{}/stat) in ''|*') Z '*) exit 0;; esac; sleep 0.1; done; exit 1",
        pid.trim()
    );
    job.run(state).succeeds();

    // A request to stop in `prepare` leaves the machine to `cleanup`.
    let other = agent.job(2);
    agent.set(&json!({ "boot": 60 }));
    let child = other.command(&["prepare"]).spawn().unwrap();
    await_file(&other.state_file());
    terminate(&child);
    let text = Done::of(child.wait_with_output().unwrap()).system_failure();
    assert!(text.contains("stopped by the runner"), "{text}");
    assert_eq!(agent.machines().len(), 2);
    job.cleanup();
    other.cleanup();
    agent.assert_nothing_remains();
}

pub(crate) fn terminate(child: &Child) {
    crate::support::program("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
}
