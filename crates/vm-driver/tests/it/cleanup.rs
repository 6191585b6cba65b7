//! The end of a job, whatever it finds.

use crate::scripts::terminate;
use crate::support::{Agent, Done};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn any_state_is_cleaned_up() {
    let agent = Agent::start();
    // R-VM-35
    for state in [
        None,
        Some(""),
        Some("{\"version\": 1"),
        Some("{\"version\": 9}"),
        Some("\0"),
    ] {
        let job = agent.job(1);
        job.prepare();
        match state {
            None => fs::remove_file(job.state_file()).unwrap(),
            Some(text) => fs::write(job.state_file(), text).unwrap(),
        }
        job.cleanup();
        agent.assert_nothing_remains();
        // Nothing to clean up is not a failure either.
        job.cleanup();
        if let Some(text) = state {
            fs::write(job.state_file(), text).unwrap();
            job.cleanup();
        }
        agent.assert_nothing_remains();
    }
}

#[test]
fn failed_cleanup_leaves_the_machine_to_a_sweep() {
    let agent = Agent::start();
    let job = agent.job(1);
    job.prepare();
    agent.edit_settings("cleanup = 60", "cleanup = 1");
    // R-VM-30: a runner notes the failure of a cleanup and does not change the job's result.
    agent.set(&json!({ "fail": -1 }));
    let text = job.call(&["cleanup"]).system_failure();
    for step in [
        "disable SSH: not ready",
        "stop the machine: not ready",
        "delete the machine: not ready",
        "the cleanup is incomplete",
    ] {
        assert!(text.contains(step), "{text}");
    }
    assert!(job.state_file().exists());
    agent.set(&json!({ "fail": 0 }));
    agent.job(9).call(&["sweep", "3600"]).succeeds();
    assert_eq!(agent.machines().len(), 1, "it is not old enough");
    let text = agent.job(9).call(&["sweep", "0"]).succeeds().stderr;
    assert!(text.contains("remove ci-7-0-0-1"), "{text}");
    agent.assert_nothing_remains();
}

#[test]
fn machine_of_a_failed_job_may_be_kept() {
    let agent = Agent::start();
    agent.write_settings("keep-failed = true", "");
    let job = agent.job(1).with("CUSTOM_ENV_CI_JOB_STATUS", "failed");
    job.prepare();
    let text = job.call(&["cleanup"]).succeeds().stderr;
    assert!(text.contains("ci-7-0-0-1 is kept"), "{text}");
    assert_eq!(agent.machines().len(), 1);
    agent.job(1).cleanup();
    agent.assert_nothing_remains();
}

#[test]
fn signals_do_not_disturb_a_cleanup() {
    let agent = Agent::start();
    let job = agent.job(1);
    job.prepare();
    agent.set(&json!({ "fail": 3 }));
    let child = job.command(&["cleanup"]).spawn().unwrap();
    let begun = Instant::now();
    while !agent.requests().iter().any(|it| it == "DELETE /vms/ID/ssh") {
        assert!(begun.elapsed() < Duration::from_mins(1));
    }
    terminate(&child);
    terminate(&child);
    let done = Done::of(child.wait_with_output().unwrap()).succeeds();
    // A runner takes what is on standard error for a warning.
    assert!(done.text().contains("disable SSH: "), "{done:?}");
    assert_eq!(done.stderr, "");
    agent.assert_nothing_remains();
}
