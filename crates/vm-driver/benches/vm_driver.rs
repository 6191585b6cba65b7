//! The cost of the driver itself, compared with what it cannot do without.
//!
//! `cargo bench -p runwright-vm-driver`. With `RUNWRIGHT_TEST_GUEST`, the directory of an image for QEMU, the second machine of an
//! image is compared with the first. Goals: config 10x of `/bin/true`; prepare 1.2x of its calls; eight prepares of one image 1.3x
//! of one; QEMU 0.4x.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(
    clippy::unwrap_used,
    dead_code,
    reason = "the helpers are those of the tests"
)]

#[path = "../tests/it/support.rs"]
mod support;

use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use support::{Agent, program};

const ROUNDS: u64 = 21;

fn main() {
    // Cargo passes arguments of its own.
    config();
    prepare();
    parallel();
    qemu();
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn show(what: &str, own: Duration, floor: Duration, goal: &str) {
    let (own, floor) = (own.as_secs_f64() * 1e3, floor.as_secs_f64() * 1e3);
    println!(
        "{what:<48} {own:>9.1} ms of {floor:>9.1} ms {:>6.2}x, goal {goal}",
        own / floor
    );
}

fn config() {
    let agent = Agent::start();
    let job = agent.job(1);
    let (mut own, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS * 5 {
        own.push(timed(|| drop(job.call(&["config"]).succeeds())));
        floor.push(timed(|| drop(program("/bin/true").output().unwrap())));
    }
    show("config, /bin/true", median(own), median(floor), "10x");
}

/// Calls the agent, and returns the answer.
fn call(agent: &Agent, http: &ureq::Agent, method: &str, path: &str, body: &str) -> Value {
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("http://127.0.0.1:{}/v1{path}", agent.port));
    let request = request
        .header("authorization", "Bearer secret")
        .body(body.to_owned())
        .unwrap();
    let text = http
        .run(request)
        .unwrap()
        .body_mut()
        .read_to_string()
        .unwrap();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Makes the calls of a `prepare`, and connects once.
fn calls(agent: &Agent) {
    let http = ureq::Agent::new_with_defaults();
    call(agent, &http, "GET", "/images", "");
    call(agent, &http, "GET", "/vms", "");
    let body = json!({ "name": "bench", "image": "base", "ephemeral": true }).to_string();
    let id = call(agent, &http, "POST", "/vms", &body)["id"]
        .as_str()
        .unwrap()
        .to_owned();
    call(agent, &http, "GET", &format!("/vms/{id}"), "");
    call(agent, &http, "POST", &format!("/vms/{id}/start"), "");
    call(agent, &http, "GET", &format!("/vms/{id}"), "");
    let port = call(agent, &http, "POST", &format!("/vms/{id}/ssh"), "")["port"].to_string();
    let mut ssh = program("ssh");
    ssh.args([
        "-F",
        "none",
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        "UserKnownHostsFile=/dev/null",
        "-i",
    ]);
    ssh.arg(agent.path("user"))
        .args(["-p", &port, "root@127.0.0.1", "true"]);
    assert!(ssh.stderr(Stdio::null()).status().unwrap().success());
}

fn prepare() {
    let agent = Agent::start();
    // The image is there.
    agent.job(1).prepare();
    agent.job(1).cleanup();
    let (mut own, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        own.push(timed(|| agent.job(1).prepare()));
        agent.job(1).cleanup();
        floor.push(timed(|| calls(&agent)));
        let http = ureq::Agent::new_with_defaults();
        let id = agent.machines()[0]["id"].as_str().unwrap().to_owned();
        call(
            &agent,
            &http,
            "DELETE",
            &format!("/vms/{id}?force=true"),
            "",
        );
    }
    show(
        "prepare, its calls and one connection",
        median(own),
        median(floor),
        "1.2x",
    );
}

fn parallel() {
    let (mut eight, mut one) = (Vec::new(), Vec::new());
    for round in 0..5 {
        let agent = Agent::start();
        agent.set(&json!({ "pull": 5, "limit": 8 }));
        let image = |name: &str| format!("{name}-{round}");
        one.push(timed(|| {
            agent
                .job(1)
                .with("CUSTOM_ENV_CI_JOB_IMAGE", &image("one"))
                .prepare();
        }));
        agent.job(1).cleanup();
        eight.push(timed(|| {
            thread::scope(|scope| {
                for id in 1..=8 {
                    let job = agent
                        .job(id)
                        .with("CUSTOM_ENV_CI_JOB_IMAGE", &image("eight"));
                    scope.spawn(move || job.prepare());
                }
            });
        }));
        assert_eq!(agent.seen()["pulls"], 2);
        for id in 1..=8 {
            agent.job(id).cleanup();
        }
    }
    show(
        "8 prepares of an image pulled in 5 s, one",
        median(eight),
        median(one),
        "1.3x",
    );
}

fn qemu() {
    let Some(guest) = std::env::var_os("RUNWRIGHT_TEST_GUEST") else {
        println!("NOT MEASURED: QEMU, without RUNWRIGHT_TEST_GUEST");
        return;
    };
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let agent = Agent::start();
        std::fs::create_dir(agent.path("images")).unwrap();
        symlink(&guest, agent.path("images/guest")).unwrap();
        let text = "host = \"qemu\"\n[image]\ndefault = \"guest\"\n[ssh]\nuser = \"root\"\n[resources]\nmemory = 512\n[limits]\npoll = 100\n";
        std::fs::write(agent.path("driver.toml"), text).unwrap();
        for (id, times) in [(1, &mut first), (2, &mut second)] {
            let job = agent.job(id);
            times.push(timed(|| {
                job.prepare();
                job.run("true").succeeds();
            }));
            job.cleanup();
        }
    }
    show(
        "QEMU: second machine to first command, first",
        median(second),
        median(first),
        "0.4x",
    );
}
