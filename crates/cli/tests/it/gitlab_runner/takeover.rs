//! Jobs of a runner that was killed, or that ended before them.

use super::{Place, end_after_jobs, ended, signal};
use crate::kubernetes::Namespace;
use crate::project::count_ticks;
use crate::ssh::wait_until_clean;
use gitlab_testkit::{JobServerState, Sshd};
use rustix::process::Signal;
use std::fs;
use std::time::Duration;

/// The number of kills; the whole proof takes 300.
fn kills() -> u64 {
    let number = std::env::var("RUNWRIGHT_TEST_KILLS").ok();
    number.map_or(8, |it| it.parse().unwrap())
}

#[test]
fn killed_runner_loses_no_end_of_a_job_and_no_line_of_its_log() {
    let place = Place::new();
    place.register();
    kill_again_and_again(&place, 1, 700);
}

#[test]
fn killed_runner_of_containers_loses_no_end_of_a_job_and_no_line_of_its_log() {
    let place = Place::new();
    place.register_docker();
    kill_again_and_again(&place, unused_job() + 10, 2000);
}

/// Kills runners, each within so many milliseconds after 0.1 s, and looks at what the server has of their jobs.
fn kill_again_and_again(place: &Place, first: u64, within: u64) {
    const LINES: usize = 300;
    // A runner may be killed before it has read the answer with the job.
    place.server.requeue_unacknowledged(Duration::from_secs(10));
    let script = format!(
        "i=1; while [ $i -le {LINES} ]; do echo line $i of {LINES}; i=$((i+1)); done; sleep 0.2"
    );
    let mut next = first;
    for kill in 0..kills() {
        let mut runner = place.start();
        while place.server.with_state(JobServerState::queued) < 2 {
            place.queue(next, &script);
            next += 1;
        }
        // Other moments each time, without a random number to repeat.
        std::thread::sleep(Duration::from_millis(100 + kill * 37 % within));
        runner.kill().unwrap();
        runner.wait().unwrap();
    }
    let runner = place.start();
    for id in first..next {
        place.wait_for_end(id);
        let end = place.server.final_update(id).unwrap();
        let log = String::from_utf8_lossy(&place.server.trace(id)).into_owned();
        let lines = log
            .lines()
            .filter(|it| it.contains(&format!("of {LINES}")) && it.contains("line"));
        let count = lines.filter(|it| !it.contains("while")).count();
        if end["state"] == "success" {
            assert_eq!(count, LINES, "{log}");
        } else {
            assert_eq!(end["failure_reason"], "runner_system_failure", "{log}");
            assert!(log.contains("the runner was killed"), "{log}");
        }
    }
    end_after_jobs(runner);
    assert_eq!(violations_after_a_kill(place), Vec::<String>::new());
    let outbox = fs::read_dir(place.dir.path().join("home/runners")).unwrap();
    for state in outbox.flatten() {
        let left = fs::read_dir(state.path().join("outbox")).unwrap().flatten();
        assert_eq!(left.filter(|it| it.path().is_dir()).count(), 0);
    }
}

/// Returns what the server found wrong, except that the next runner learns from it how much of a log it has, and that it had the
/// end already, if the killed one did not come to read the answer.
fn violations_after_a_kill(place: &Place) -> Vec<String> {
    let mut violations = place.server.violations();
    let known = ["a piece begins at 0", "after the accepted final update"];
    violations.retain(|it| !known.iter().any(|known| it.contains(known)));
    violations
}

/// Returns a number for a job whose containers are looked for: the engine has those of other tests too.
fn unused_job() -> u64 {
    u64::from(std::process::id()) * 100
}

fn containers(job: u64) -> String {
    let label = format!("label=dev.runwright.job.id={job}");
    crate::docker::docker(&["ps", "-aq", "--filter", &label])
}

#[test]
fn job_of_a_killed_runner_goes_on_in_its_container() {
    let place = Place::new();
    place.register_docker();
    goes_on_after(&place, Signal::KILL, unused_job(), None);
    assert_eq!(containers(unused_job()), "");
}

#[test]
fn runner_leaves_its_jobs_in_containers_to_the_next_one() {
    let place = Place::new();
    place.register_docker();
    goes_on_after(&place, Signal::USR2, unused_job() + 2, Some(0));
    assert_eq!(containers(unused_job() + 2), "");
}

#[test]
fn jobs_of_a_runner_that_ends_go_on_at_their_host() {
    let host = Sshd::with_shells();
    let place = Place::new();
    place.register_ssh(&host);
    goes_on_after(&place, Signal::KILL, 1, None);
    goes_on_after(&place, Signal::USR2, 2, Some(0));
    wait_until_clean(&host);
}

#[test]
fn jobs_of_a_runner_that_ends_go_on_in_their_pods() {
    let Some(namespace) = Namespace::new("taken-over") else {
        return;
    };
    let place = Place::new();
    place.register_kubernetes(&namespace);
    goes_on_after(&place, Signal::KILL, 1, None);
    goes_on_after(&place, Signal::USR2, 2, Some(0));
    assert_eq!(namespace.pods(), Vec::<String>::new());
}

/// Ends a runner by a signal while its job runs, and looks at the job's end and log at the next one.
fn goes_on_after(place: &Place, stop: Signal, job: u64, code: Option<i32>) {
    let runner = place.start();
    place.queue(
        job,
        "i=1; while [ $i -le 60 ]; do echo tick $i.; i=$((i+1)); sleep 0.1; done",
    );
    place.wait_for_text(job, "tick 1.");
    signal(&runner, stop);
    assert_eq!(ended(runner), code);
    assert!(place.server.final_update(job).is_none());
    let runner = place.start_with_log("next");
    place.wait_for_end(job);
    let log = String::from_utf8_lossy(&place.server.trace(job)).into_owned();
    assert_eq!(
        place.server.final_update(job).unwrap()["state"],
        "success",
        "{log}"
    );
    assert_eq!(count_ticks(&log), 60, "{log}");
    end_after_jobs(runner);
    assert_eq!(violations_after_a_kill(place), Vec::<String>::new());
    // It counts from the first process on: 60 ticks take six seconds.
    let log = place.log("next");
    let (_, seconds) = log.split_once("seconds=").unwrap();
    let seconds = seconds.split_whitespace().next().unwrap();
    assert!(seconds.parse::<u64>().unwrap() >= 6, "{log}");
}

#[test]
fn container_of_a_killed_runner_is_removed_when_its_job_cannot_go_on() {
    let job = unused_job() + 1;
    let place = Place::new();
    place.register_docker();
    let mut runner = place.start();
    place.queue(job, "echo begun; sleep 600");
    place.wait_for_text(job, "begun");
    runner.kill().unwrap();
    runner.wait().unwrap();
    assert_ne!(containers(job), "");
    // A runner of another name does not take the job over.
    let config = fs::read_to_string(place.config()).unwrap();
    fs::write(place.config(), config.replace("\"one\"", "\"two\"")).unwrap();
    let runner = place.start();
    place.wait_for_end(job);
    let end = place.server.final_update(job).unwrap();
    assert_eq!(end["failure_reason"], "runner_system_failure");
    end_after_jobs(runner);
}
