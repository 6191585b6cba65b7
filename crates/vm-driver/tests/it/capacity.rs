//! Many jobs at the same time: one pull of an image, and a host with few places.

use crate::support::{Agent, Done};
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::thread;
use std::time::Instant;

#[test]
fn one_of_many_jobs_pulls_the_image() {
    let agent = Agent::start();
    agent.set(&json!({ "pull": 300, "limit": 8 }));
    let prepare = |id| agent.job(id).command(&["prepare"]).spawn().unwrap();
    let mut jobs: Vec<_> = (1..=8).map(prepare).collect();
    // One says so as it pulls, and the others as they wait.
    let texts: Vec<_> = jobs
        .iter_mut()
        .map(|it| await_line(it, "are pulled"))
        .collect();
    agent.set(&json!({ "pull": 0 }));
    for job in jobs {
        Done::of(job.wait_with_output().unwrap()).succeeds();
    }
    // R-VM-12, R-VM-13, R-VM-14
    assert_eq!(agent.seen()["pulls"], 1);
    let waited = texts
        .iter()
        .filter(|it| it.contains("wait for the pull of base: base: "))
        .count();
    assert_eq!(waited, 7, "waiting jobs show the progress: {texts:#?}");
    for id in 1..=8 {
        agent.job(id).cleanup();
    }
    // R-VM-13: it is there now.
    let job = agent.job(9);
    job.prepare();
    assert_eq!(agent.seen()["pulls"], 1);
    job.cleanup();
    agent.assert_nothing_remains();
}

#[test]
fn pull_of_a_killed_job_is_taken_over() {
    let agent = Agent::start();
    agent.set(&json!({ "pull": 300 }));
    let mut first = agent.job(1).command(&["prepare"]).spawn().unwrap();
    await_line(&mut first, "are pulled");
    let mut second = agent.job(2).command(&["prepare"]).spawn().unwrap();
    await_line(&mut second, "wait for the pull of base");
    first.kill().unwrap();
    first.wait().unwrap();
    // R-VM-14: the agent still pulls, and the second job follows that.
    await_line(&mut second, "\nbase: ");
    agent.set(&json!({ "pull": 0 }));
    Done::of(second.wait_with_output().unwrap()).succeeds();
    assert_eq!(agent.seen()["pulls"], 1);
    agent.job(1).cleanup();
    agent.job(2).cleanup();
    agent.assert_nothing_remains();
}

/// Reads standard output until it has this text, and returns what was read.
pub(crate) fn await_line(child: &mut Child, text: &str) -> String {
    let mut read = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    let mut byte = [0];
    while !read.contains(text) {
        stdout.read_exact(&mut byte).expect("the driver says it");
        read.push(char::from(byte[0]));
    }
    read
}

#[test]
fn full_host_is_awaited() {
    let agent = Agent::start();
    agent.set(&json!({ "limit": 1 }));
    let (first, second) = (agent.job(1), agent.job(2));
    first.prepare();
    // R-VM-19
    let mut child = second.command(&["prepare"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let full = lines
        .by_ref()
        .map(Result::unwrap)
        .find(|line| line.contains("the host is full"));
    assert!(full.is_some());
    first.cleanup();
    Done::of(child.wait_with_output().unwrap()).succeeds();
    // The reason is shown once.
    assert!(
        !lines
            .map(Result::unwrap)
            .any(|line| line.contains("the host is full"))
    );

    // R-VM-20
    agent.edit_settings("prepare = 60", "prepare = 2");
    let begun = Instant::now();
    let text = first.call(&["prepare"]).system_failure();
    assert!(
        text.contains("start the machine: not ready after") && text.contains("the host is full"),
        "{text}"
    );
    let elapsed = begun.elapsed().as_secs_f64();
    assert!((1.5..30.0).contains(&elapsed), "{elapsed}");
    first.cleanup();
    second.cleanup();
    agent.assert_nothing_remains();
}

#[test]
fn twenty_jobs_share_two_places() {
    let agent = Agent::start();
    // Any of those that wait gets the next place, so one may wait for all others.
    agent.edit_settings("poll = 20\nprepare = 60", "poll = 200\nprepare = 600");
    thread::scope(|scope| {
        for id in 1..=20 {
            let job = agent.job(id);
            scope.spawn(move || {
                job.prepare();
                assert_eq!(
                    job.run(format!("echo {id}")).succeeds().text(),
                    format!("{id}\n")
                );
                job.cleanup();
            });
        }
    });
    agent.assert_nothing_remains();
}
