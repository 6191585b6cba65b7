//! Walks all fail points.

#![expect(
    clippy::print_stderr,
    reason = "how long it took, and what could not be tested"
)]

use super::scenario::Scenario;
use super::scenario_project::ScenarioProject;
use super::survey::Survey;
use crate::project::{Done, wait_until};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

/// More concurrent cases would only wait for the same processors.
const THREADS: usize = 4;

/// Points whose failure causes a warning and does not fail the run.
const WARNED_ABOUT: &[&str] = &[
    // The result of a job matters more than its cache.
    "archive::pack::create",
    "archive::pack::write",
    "archive::unpack::create_file",
    "archive::unpack::create_folder",
    "archive::unpack::create_link",
    "archive::unpack::open",
    "job_runner::cache::make_dir",
    "job_runner::cache::make_temp",
    "job_runner::cache::open_lock",
    "job_runner::cache::pack",
    "job_runner::cache::publish",
    "job_runner::cache::remove_half",
    "job_runner::cache::unpack",
    "job_runner::cache::write_entry",
    // Unused objects are swept another time.
    "content_store::sweep::layer",
    "content_store::sweep::object",
    "content_store::sweep::partial",
    "content_store::sweep::tree",
    // The result of a job matters more than the list of environments.
    "workstation::environments::make",
    "workstation::environments::open_lock",
    "workstation::environments::publish",
    "workstation::environments::write",
    "executor_shell::stage_files::remove",
    "job_runner::finalise::remove_files",
    "job_runner::layer::remove",
    // If the run is killed, the job runs again.
    "job_runner::notes::publish",
    "job_runner::notes::write",
    "job_runner::remove::project",
    "job_runner::remove::temp",
    "job_runner::worktree::forget",
    "process::cgroup::remove",
    // At the end of a job: its group stays until the end of the run.
    "process::cgroup::kill 2",
    "process::guardian::dismiss",
    "process::guardian::start",
    "process::journal::remove",
    "process::mount::unmount",
    "process::recover::end_cgroup",
    "process::recover::remove_dir",
    "process::recover::remove_journal",
    "process::recover::unmount",
    "process::temp_dir::remove",
    // The run cannot be controlled, but its jobs run.
    "workstation::control::bind",
    "workstation::control::remove_stale",
    // If the run is killed, some jobs run again.
    "workstation::journal::append",
    // A job that is not reused runs, and a job that is not stored has already run.
    "workstation::reuse::make_dir",
    "workstation::reuse::make_logs",
    "workstation::reuse::write_log",
    // The result of a job matters more than its log.
    "trace::spool::append",
];

/// Points whose failure is compensated in another way or at another time, without a message.
const COMPENSATED: &[&str] = &[
    // The next run checks again whether an old run lives.
    "workstation::state::open_lock 7",
    // Artifacts that cannot be mounted are copied.
    "content_store::layer::link",
    "content_store::layer::publish",
    // The next writer removes a replaced cache.
    "job_runner::cache::remove_temp",
    "job_runner::cache::take_away",
    // The cache only seems unused for longer.
    "job_runner::cache::touch",
    // A file that cannot be linked is copied.
    "workstation::export::publish",
    // The next run removes it.
    "workstation::export::remove_scratch",
    "workstation::export::sweep",
    // Expected durations come from other runs.
    "workstation::durations::append",
    "workstation::durations::open",
    // There is one more sweep.
    "workstation::retained_files::mark",
    // The next run sees that the entry's owner is dead and removes it.
    "workstation::resources::remove",
    // The user who kills the run again knows about it.
    "workstation::runs::forget_reported",
    // The end of the job removes it with everything else.
    "executor_shell::stage_files::remove_script",
    // So does the end of the run.
    "job_runner::remove::parent",
    // The journal has the end of the job.
    "job_runner::notes::remove",
    // Processes are found by their markers; in the middle of a run the failure is reported there.
    "process::cgroup::create",
    // Without it, a kill for lack of memory is not reported as such.
    "process::cgroup::delegate",
    // There are two ways to create a journal.
    "process::journal::publish",
    // A stale socket has no listener and is removed with the directory of its run.
    "workstation::control::remove",
    // The next command reports the killed run.
    "workstation::runs::report",
    // The stored job seems older than it is.
    "workstation::reuse::touch",
    // A later run removes the old pipeline.
    "workstation::state::prune",
];

/// Points whose failure the environment reports, so that the job fails like a script.
const FAILS_THE_JOB: &[&str] = &[
    "job_runner::exchange::receive",
    "job_runner::helper::download",
];

/// The points of the helper command, which runs in processes of its own: its death is that of a command of a script.
const IN_HELPER: &str = "job_runner::helper::";

/// One fault in one scenario.
#[derive(Debug)]
struct Case {
    scenario: Scenario,
    point: String,
    what: String,
}

/// Returns whether a case is walked: a sample selects a third of the cases, and each text another third.
fn is_in_sample(what: &str, sample: Option<&str>) -> bool {
    sample.is_none_or(|sample| {
        crc32fast::hash(format!("{sample} {what}").as_bytes()).is_multiple_of(3)
    })
}

/// Walks all cases concurrently, each thread in its own project.
///
/// `faults` returns the faults for a point and its number of visits.
fn walk(
    faults: impl Fn(&str, usize) -> Vec<String>,
    check: impl Fn(&Survey, &ScenarioProject, &Case) + Sync,
) {
    let Some(project) = ScenarioProject::new() else {
        executor_testkit::not_tested("fail points", "making a cgroup for them needs root");
        return;
    };
    let survey = Survey::of(&project);
    let cases = survey
        .points
        .iter()
        .flat_map(|(point, (scenario, visits))| {
            let faults = faults(point, *visits).into_iter();
            faults.map(|what| Case {
                scenario: *scenario,
                point: point.clone(),
                what,
            })
        });
    let sample = std::env::var(executor_testkit::SAMPLE).ok();
    let cases = cases.filter(|case| is_in_sample(&case.what, sample.as_deref()));
    let cases: Vec<Case> = cases.collect();
    let number = cases.len();
    let started = Instant::now();
    let left = Mutex::new(cases.into_iter());
    let slowest = Mutex::new((Duration::ZERO, String::new()));
    let failed = Mutex::new(Vec::new());
    let one = |project: &ScenarioProject, case: &Case| {
        project.set(case.scenario);
        check(&survey, project, case);
        project.next_start(&case.what);
        project.assert_nothing_left(&case.what);
        // Either the old or the new cache.
        let cached = case.scenario != Scenario::Inputs || project.caches().len() == 1;
        assert!(cached, "{}", case.what);
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut project = ScenarioProject::new().expect("one was created before");
                loop {
                    let case = left.lock().next();
                    let Some(case) = case else { break };
                    let begun = Instant::now();
                    // Every failure is reported, each with its own message.
                    if catch_unwind(AssertUnwindSafe(|| one(&project, &case))).is_err() {
                        failed.lock().push(case.what);
                        project = ScenarioProject::new().expect("one was created before");
                        continue;
                    }
                    let mut slowest = slowest.lock();
                    *slowest = slowest.clone().max((begun.elapsed(), case.what));
                }
            });
        }
    });
    let (elapsed, slowest) = (started.elapsed(), slowest.into_inner());
    eprintln!("{number} cases in {elapsed:?}, slowest {slowest:?}");
    let failed = failed.into_inner();
    assert_eq!(failed, Vec::<String>::new(), "of {number} cases");
}

/// Returns a visit in the middle, which is inside a job; the first is often before all jobs.
fn middle(point: &str, visits: usize) -> usize {
    let middle = visits.div_ceil(2);
    match point {
        // Each process counts its own visits.
        _ if point.starts_with(IN_HELPER) => 1,
        // A slow machine stores the log in fewer pieces.
        "trace::spool::append" => middle.min(3),
        // A waiting job polls its group repeatedly.
        "workstation::resources::open" => middle.min(5),
        _ => middle,
    }
}

#[test]
fn killed_at_any_point_nothing_is_left() {
    let faults = |point: &str, visits| {
        vec![
            format!("kill before {point}"),
            format!("kill after {point} {}", middle(point, visits)),
        ]
    };
    let slowest = Mutex::new(Duration::ZERO);
    walk(faults, |survey, project, case| {
        let what = &case.what;
        let output = project.play(case.scenario, what);
        let died = Instant::now();
        let signal = output.status.signal();
        let is_own_death = !case.point.starts_with(IN_HELPER);
        let expected = is_own_death.then_some(9);
        assert_eq!(signal, expected, "{what}: {:?}", Done::from(output));
        if what.starts_with("kill after") {
            // The guardian dies too, so the next run must clean up.
            project.cgroup.kill();
            project.cgroup.wait_until_empty(what);
        } else if case.scenario != Scenario::AfterDeath {
            wait_until(what, || project.cgroup.processes_of_jobs().is_empty());
            let mut slowest = slowest.lock();
            *slowest = died.elapsed().max(*slowest);
            drop(slowest);
            project.cgroup.wait_until_empty(what);
        }
        if case.scenario == Scenario::Copies {
            for (name, log) in project.logs() {
                let whole = &survey.logs[&name];
                assert!(whole.starts_with(&log), "{what}: {log:?} of {whole:?}");
            }
        }
        if case.scenario.is_whole() {
            let done = project.resume(what);
            // Resuming reports the death, unless it was reported before.
            let is_reported = done.stderr.contains("run 12 was killed ");
            let must_report = done.code == Some(0) && case.scenario == Scenario::Copies;
            assert!(is_reported || !must_report, "{what}: {done:?}");
        }
    });
    let slowest = slowest.into_inner();
    eprintln!("all processes of jobs were dead after {slowest:?} at most");
}

#[test]
fn failed_at_any_point_the_run_says_so_and_nothing_is_left() {
    let faults = |point: &str, visits| {
        let visits = BTreeSet::from([1, middle(point, visits)]);
        let faults = visits
            .iter()
            .map(|visit| format!("error at {point} {visit}"));
        faults.collect()
    };
    walk(faults, |_, project, case| {
        let Case { point, what, .. } = case;
        let done = Done::from(project.play(case.scenario, what));
        let among = |names: &[&str]| {
            let mut names = names.iter();
            names.any(|name| name == point || what.ends_with(name))
        };
        let is_compensated = among(COMPENSATED);
        let continues = is_compensated || among(WARNED_ABOUT);
        let expected = match () {
            () if continues => 0,
            () if FAILS_THE_JOB.contains(&point.as_str()) => 1,
            () => 3,
        };
        assert_eq!(done.code, Some(expected), "{what}: {done:?}");
        assert!(!done.all().contains("panicked"), "{what}: {done:?}");
        // The message contains the attempted operation, then the cause.
        let cause = format!("fail point {point}");
        let is_reported = done.all().lines().any(|line| {
            let attempt = line.split_once(&cause);
            attempt.is_some_and(|(attempt, _)| attempt.contains(' '))
        });
        assert!(is_reported || is_compensated, "{what}: {done:?}");
        if case.scenario == Scenario::Resumed {
            project.resume(what);
        }
    });
}
