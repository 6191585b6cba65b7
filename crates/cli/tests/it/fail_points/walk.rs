//! From point to point.

#![expect(
    clippy::print_stderr,
    reason = "how long it took, and what could not be tested"
)]

use super::scenario::Scenario;
use super::stage::Stage;
use super::survey::Survey;
use crate::project::{Done, wait_until};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

/// More cases at once only wait for the same processors.
const THREADS: usize = 4;

/// What fails here does not fail the run, which warns of it.
const WARNED_OF: &[&str] = &[
    // A job is worth more than its cache.
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
    // What nobody needs is swept another time.
    "content_store::sweep::layer",
    "content_store::sweep::object",
    "content_store::sweep::partial",
    "content_store::sweep::tree",
    // A job is worth more than the list of environments.
    "runwright::environments::make",
    "runwright::environments::open_lock",
    "runwright::environments::publish",
    "runwright::environments::write",
    "executor_shell::stage_files::remove",
    "job_runner::finalise::remove_files",
    "job_runner::layer::remove",
    "job_runner::remove::project",
    "job_runner::remove::temp",
    "job_runner::worktree::forget",
    "process::cgroup::remove",
    // Where a job has ended: its group is left to the end of the run.
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
    // Nobody can tell the run what to do; its jobs run all the same.
    "runwright::control::bind",
    "runwright::control::remove_stale",
    // Should the run be killed, some jobs run again.
    "runwright::journal::append",
    // A job that is not taken runs, and one that is not kept has run.
    "runwright::reuse::make_dir",
    "runwright::reuse::make_logs",
    "runwright::reuse::write_log",
    // A job is worth more than its log.
    "trace::spool::append",
];

/// What fails here is done in another way, or at another time, and nobody need know.
const MADE_UP_FOR: &[&str] = &[
    // Whether an old run lives is asked again by the next.
    "runwright::state::open_lock 7",
    // Artifacts that cannot be shown are copied.
    "content_store::layer::link",
    "content_store::layer::publish",
    // A cache that was replaced is removed by the next that writes.
    "job_runner::cache::remove_temp",
    "job_runner::cache::take_away",
    // It only counts as not used for longer.
    "job_runner::cache::touch",
    // What cannot be linked is copied.
    "runwright::export::publish",
    // The next run removes it.
    "runwright::export::remove_scratch",
    "runwright::export::sweep",
    // What is usual is told from the times of other runs.
    "runwright::durations::append",
    "runwright::durations::open",
    // There is one sweep more.
    "runwright::kept_files::mark",
    // It is seen to be dead, and the next that looks removes it.
    "runwright::resources::remove",
    // Whoever kills the run again knows it.
    "runwright::runs::forget_told",
    // The job's end removes it with all else.
    "executor_shell::stage_files::remove_script",
    // So does the run's.
    "job_runner::remove::parent",
    // Processes are found by their markers; told where it happens in the middle of a run.
    "process::cgroup::create",
    // Without it, nobody is told that the kernel killed for want of memory.
    "process::cgroup::delegate",
    // There are two ways of making a journal.
    "process::journal::publish",
    // Nobody answers at a socket that stays, and it goes with the directory of its run.
    "runwright::control::remove",
    // Of a run that was killed is told the next time.
    "runwright::runs::tell",
    // A kept job seems older than it is.
    "runwright::reuse::touch",
    // An old pipeline is removed by a later run.
    "runwright::state::prune",
];

/// One thing that happens in one scenario.
#[derive(Debug)]
struct Case {
    scenario: Scenario,
    point: String,
    what: String,
}

/// The environment variable with a text that chooses a third of the cases. Without it all are walked.
const SAMPLE: &str = "RUNWRIGHT_TEST_SAMPLE";

/// Returns whether a case is walked: with a sample, a third of them are, another third for another text.
fn is_in_sample(what: &str, sample: Option<&str>) -> bool {
    sample.is_none_or(|sample| {
        crc32fast::hash(format!("{sample} {what}").as_bytes()).is_multiple_of(3)
    })
}

/// Does all cases, some at a time, each thread in a project of its own.
///
/// `ways` says what happens at a point of so many visits.
fn walk(ways: impl Fn(&str, usize) -> Vec<String>, check: impl Fn(&Survey, &Stage, &Case) + Sync) {
    let Some(stage) = Stage::new() else {
        executor_testkit::not_tested("fail points", "making a cgroup for them needs root");
        return;
    };
    let survey = Survey::of(&stage);
    let cases = survey
        .points
        .iter()
        .flat_map(|(point, (scenario, visits))| {
            let ways = ways(point, *visits).into_iter();
            ways.map(|what| Case {
                scenario: *scenario,
                point: point.clone(),
                what,
            })
        });
    let sample = std::env::var(SAMPLE).ok();
    let cases = cases.filter(|case| is_in_sample(&case.what, sample.as_deref()));
    let cases: Vec<Case> = cases.collect();
    let number = cases.len();
    let started = Instant::now();
    let left = Mutex::new(cases.into_iter());
    let slowest = Mutex::new((Duration::ZERO, String::new()));
    let failed = Mutex::new(Vec::new());
    let one = |stage: &Stage, case: &Case| {
        stage.set(case.scenario);
        check(&survey, stage, case);
        stage.next_start(&case.what);
        stage.assert_nothing_left(&case.what);
        // The old one, or the new one.
        let cached = case.scenario != Scenario::Inputs || stage.caches().len() == 1;
        assert!(cached, "{}", case.what);
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut stage = Stage::new().expect("made before");
                loop {
                    let case = left.lock().next();
                    let Some(case) = case else { break };
                    let begun = Instant::now();
                    // All that fail are told, each with its own message.
                    if catch_unwind(AssertUnwindSafe(|| one(&stage, &case))).is_err() {
                        failed.lock().push(case.what);
                        stage = Stage::new().expect("made before");
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

/// Returns a visit in the middle: that is in a job, where the first is often before all jobs.
fn middle(point: &str, visits: usize) -> usize {
    let middle = visits.div_ceil(2);
    match point {
        // A slow machine stores in fewer pieces.
        "trace::spool::append" => middle.min(3),
        // Who waits for a group asks again and again.
        "runwright::resources::open" => middle.min(5),
        _ => middle,
    }
}

#[test]
fn killed_at_any_point_nothing_is_left() {
    let ways = |point: &str, visits| {
        vec![
            format!("kill before {point}"),
            format!("kill after {point} {}", middle(point, visits)),
        ]
    };
    let slowest = Mutex::new(Duration::ZERO);
    walk(ways, |survey, stage, case| {
        let what = &case.what;
        let output = stage.play(case.scenario, what);
        let died = Instant::now();
        let signal = output.status.signal();
        assert_eq!(signal, Some(9), "{what}: {:?}", Done::from(output));
        if what.starts_with("kill after") {
            // So the guardian dies too, and all is left to the next run.
            stage.cell.kill();
            stage.cell.wait_until_empty(what);
        } else if case.scenario != Scenario::AfterDeath {
            wait_until(what, || stage.cell.processes_of_jobs().is_empty());
            let mut slowest = slowest.lock();
            *slowest = died.elapsed().max(*slowest);
            drop(slowest);
            stage.cell.wait_until_empty(what);
        }
        if case.scenario == Scenario::Copies {
            for (name, log) in stage.logs() {
                let whole = &survey.logs[&name];
                assert!(whole.starts_with(&log), "{what}: {log:?} of {whole:?}");
            }
        }
        if case.scenario.is_whole() {
            let done = stage.resume(what);
            // Who goes on with it hears of it, unless he did before.
            let is_told = done.stderr.contains("run 12 was killed ");
            let hears = done.code == Some(0) && case.scenario == Scenario::Copies;
            assert!(is_told || !hears, "{what}: {done:?}");
        }
    });
    let slowest = slowest.into_inner();
    eprintln!("all processes of jobs were dead after {slowest:?} at most");
}

#[test]
fn failed_at_any_point_the_run_says_so_and_nothing_is_left() {
    let ways = |point: &str, visits| {
        let visits = BTreeSet::from([1, middle(point, visits)]);
        let ways = visits
            .iter()
            .map(|visit| format!("error at {point} {visit}"));
        ways.collect()
    };
    walk(ways, |_, stage, case| {
        let Case { point, what, .. } = case;
        let done = Done::from(stage.play(case.scenario, what));
        let among = |names: &[&str]| {
            let mut names = names.iter();
            names.any(|name| name == point || what.ends_with(name))
        };
        let made_up_for = among(MADE_UP_FOR);
        let goes_on = made_up_for || among(WARNED_OF);
        let expected = if goes_on { 0 } else { 3 };
        assert_eq!(done.code, Some(expected), "{what}: {done:?}");
        assert!(!done.all().contains("panicked"), "{what}: {done:?}");
        // The cause is told, and before it what was attempted.
        let cause = format!("fail point {point}");
        let told = done.all().lines().any(|line| {
            let attempt = line.split_once(&cause);
            attempt.is_some_and(|(attempt, _)| attempt.contains(' '))
        });
        assert!(told || made_up_for, "{what}: {done:?}");
        if case.scenario == Scenario::Resumed {
            stage.resume(what);
        }
    });
}
