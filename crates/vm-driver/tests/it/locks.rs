//! Stages of one job that run at the same time, and stages that die.

use crate::support::{Agent, Done};
use serde_json::json;
use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn stages_of_a_job_do_not_interleave() {
    let agent = Agent::start();
    agent.set(&json!({ "boot": 0.1, "ssh_refused": 2 }));
    // R-VM-10
    for round in 1..=10 {
        let job = agent.job(round);
        let script = job.script("true");
        let before = agent.requests().len();
        // Every second time the script comes while `prepare` is in the middle, and must wait; else all come at once.
        let is_second = round % 2 == 0;
        thread::scope(|scope| {
            let call = |arguments: &[&str]| {
                let mut command = job.command(arguments);
                scope.spawn(move || Done::of(command.output().unwrap()))
            };
            let prepared = call(&["prepare"]);
            if is_second {
                let begun = Instant::now();
                while agent.machines().is_empty() {
                    assert!(begun.elapsed() < Duration::from_mins(1));
                }
                call(&["run", &script, "build_script"])
                    .join()
                    .unwrap()
                    .succeeds();
                prepared.join().unwrap().succeeds();
            } else {
                call(&["run", &script, "build_script"]);
                call(&["cleanup"]);
            }
        });
        let requests = agent.requests().split_off(before);
        let created = requests
            .iter()
            .position(|it| it == "POST /vms")
            .expect("prepare has run");
        let ready = requests
            .iter()
            .rposition(|it| it == "POST /vms/ID/ssh")
            .unwrap();
        // Of `prepare` alone: `run` asks for the address, and `cleanup` disables SSH, stops and deletes.
        let of_others = |it: &String| {
            it == "GET /vms/ID/ssh" || it.starts_with("DELETE") || it.ends_with("/stop")
        };
        assert!(
            !requests[created..ready].iter().any(of_others),
            "{requests:#?}"
        );
        if is_second {
            assert_eq!(requests[ready + 1..], ["GET /vms/ID/ssh"]);
        }
        // The cleanup may have come first.
        job.cleanup();
    }
    agent.assert_nothing_remains();
}

#[test]
fn lock_is_held_by_one_stage_of_one_job() {
    let agent = Agent::start();
    agent.set(&json!({ "boot": 60 }));
    // R-VM-09
    let job = agent.job(1);
    let child = job.command(&["prepare"]).spawn().unwrap();
    let begun = Instant::now();
    while !agent.requests().iter().any(|it| it == "POST /vms/ID/start") {
        assert!(begun.elapsed() < Duration::from_mins(1));
    }
    let lock = File::open(job.state_file().with_extension("lock")).unwrap();
    assert!(matches!(
        lock.try_lock(),
        Err(std::fs::TryLockError::WouldBlock)
    ));
    agent.set(&json!({ "boot": 0 }));
    agent.job(2).prepare();
    crate::scripts::terminate(&child);
    Done::of(child.wait_with_output().unwrap()).system_failure();
    lock.try_lock().expect("the lock is free");
    drop(lock);
    job.cleanup();
    agent.job(2).cleanup();
    agent.assert_nothing_remains();
}

#[test]
fn lock_file_is_removed_without_a_race() {
    let agent = Agent::start();
    // R-VM-33, R-VM-34: cleanups of one job, many at a time, each of which removes the lock that others wait for.
    let job = agent.job(1);
    job.prepare();
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| job.cleanup());
        }
    });
    agent.assert_nothing_remains();
}

#[test]
fn machine_of_a_killed_prepare_is_taken_over() {
    let agent = Agent::start();
    // R-VM-16: killed after the creation and before the state is written.
    agent.set(&json!({ "create": 2 }));
    let job = agent.job(1);
    let mut child = job.command(&["prepare"]).spawn().unwrap();
    let begun = Instant::now();
    while agent.machines().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!job.state_file().exists());
    agent.set(&json!({ "create": 0 }));
    let text = job.call(&["prepare"]).succeeds().text();
    assert!(text.contains("exists already and is used"), "{text}");
    assert_eq!(agent.machines().len(), 1);
    job.cleanup();

    // The answer is lost.
    agent.set(&json!({ "lose_create": 1 }));
    let text = job.call(&["prepare"]).succeeds().text();
    assert!(text.contains("the agent does not answer"), "{text}");
    assert_eq!(agent.machines().len(), 1);
    job.cleanup();
    agent.assert_nothing_remains();
}

/// `RUNWRIGHT_TEST_KILLS` sets how often it kills.
#[test]
fn one_machine_is_left_by_kills_at_random_moments() {
    let kills = std::env::var("RUNWRIGHT_TEST_KILLS").map_or(15, |it| it.parse().unwrap());
    let agent = Agent::start();
    agent.set(&json!({ "create": 0.05, "boot": 0.05 }));
    // R-VM-16
    for round in 0..kills {
        let job = agent.job(1);
        let mut child = job.command(&["prepare"]).spawn().unwrap();
        thread::sleep(Duration::from_millis(round * 7919 % 400));
        child.kill().unwrap();
        child.wait().unwrap();
        job.prepare();
        assert_eq!(agent.machines().len(), 1);
        assert_eq!(job.run("echo ok").succeeds().text(), "ok\n");
        job.cleanup();
        agent.assert_nothing_remains();
    }
}
