//! `kill -9` of the runner, and of runner and guardian together: no leftovers.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::limits::OtherUser;
use crate::project::{Done, Project, processes_with, wait_until, wait_until_described};
use fail_point::VARIABLE;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A pipeline whose job leaves daemons and files everywhere and reports each stage it reaches. It stays there briefly,
/// or as long as a variable states.
fn nasty(marker: &str) -> String {
    format!(
        "job:
  variables: {{MARK: {marker}}}
  script:
    - setsid nohup sleep 600 >/dev/null 2>&1 &
    - (trap '' TERM HUP; sleep 600) &
    - mkdir -p kept && chmod 500 kept
    - echo in-script
    - sleep ${{IN_SCRIPT:-0.03}}
  after_script:
    - setsid sleep 600 &
    - echo in-after-script
    - sleep ${{IN_AFTER_SCRIPT:-0.03}}
"
    )
}

pub(crate) fn kill_9(pids: &[u32]) {
    let pids = pids.iter().map(ToString::to_string);
    Command::new("kill")
        .arg("-KILL")
        .args(pids)
        .status()
        .unwrap();
}

/// Returns the guardians of a project's runs; each has its journal on its command line.
pub(crate) fn guardians(project: &Project) -> Vec<u32> {
    processes_with(&project.home().join("journal").display().to_string())
}

/// Returns the cgroups that the journals of a project name.
pub(crate) fn cgroups(project: &Project) -> Vec<PathBuf> {
    let journals = fs::read_dir(project.home().join("journal"));
    let texts = journals
        .into_iter()
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok());
    let paths = |text: String| -> Vec<PathBuf> {
        let lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("cgroup\t"));
        lines.map(PathBuf::from).collect()
    };
    texts.flat_map(paths).collect()
}

pub(crate) fn assert_nothing_stays(project: &Project, marker: &str, cgroups: &[PathBuf]) {
    wait_until("all processes to be gone", || {
        processes_with(marker).is_empty()
    });
    let left = || {
        let cgroups = cgroups.iter().filter(|path| path.exists()).cloned();
        project
            .leftovers()
            .into_iter()
            .chain(cgroups)
            .collect::<Vec<_>>()
    };
    wait_until_described(|| format!("{:?} to be gone", left()), || left().is_empty());
    wait_until("all guardians to be gone", || guardians(project).is_empty());
}

/// Starts the binary once more, so that it cleans up.
fn next_start(project: &Project) {
    project
        .runwright(&["run", "--variable", "MARK=next"])
        .expect_code(0);
}

/// Waits for the guardian of the project's only run; the guardian starts concurrently with the run.
pub(crate) fn guardian(project: &Project) -> u32 {
    let mut found = Vec::new();
    wait_until("the guardian", || {
        found = guardians(project);
        found.len() == 1
    });
    found[0]
}

fn start(project: &Project) -> Child {
    project.start(&["run"])
}

/// Starts a run that stays where it prints `stage`.
fn start_staying(project: &Project, stage: &str) -> Child {
    let variable = stage.to_uppercase().replace('-', "_");
    project.start(&["run", "--variable", &format!("{variable}=600")])
}

#[test]
fn killing_the_runner_in_any_stage_leaves_nothing() {
    // fault 1
    for stage in ["in-script", "in-after-script"] {
        let marker = format!("runwright-test-{stage}-{}", std::process::id());
        let project = Project::with_pipeline(&nasty(&marker));
        let mut run = start_staying(&project, stage);
        project.wait_for(&format!("job | {stage}"));
        guardian(&project);
        let cgroups = cgroups(&project);
        kill_9(&[run.id()]);
        run.wait().unwrap();
        assert_nothing_stays(&project, &marker, &cgroups);
    }
}

#[test]
fn killing_runner_and_guardian_leaves_nothing_after_the_next_start() {
    for stage in ["in-script", "in-after-script"] {
        let marker = format!("runwright-test-both-{stage}-{}", std::process::id());
        let project = Project::with_pipeline(&nasty(&marker));
        let mut run = start_staying(&project, stage);
        project.wait_for(&format!("job | {stage}"));
        let cgroups = cgroups(&project);
        kill_9(&[guardian(&project), run.id()]);
        run.wait().unwrap();
        next_start(&project);
        assert_nothing_stays(&project, &marker, &cgroups);
    }
}

#[test]
fn commands_about_runs_end_the_processes_of_killed_runner_and_guardian() {
    for command in [&["clean"][..], &["history"], &["logs", "job"]] {
        let marker = format!("runwright-test-{}-{}", command[0], std::process::id());
        let project = Project::with_pipeline(&nasty(&marker));
        let mut run = start_staying(&project, "in-script");
        project.wait_for("job | in-script");
        let cgroups = cgroups(&project);
        kill_9(&[guardian(&project), run.id()]);
        run.wait().unwrap();
        let done = project.runwright(command).expect_code(0);
        done.expect_text("note: ended the processes of 1 killed run\n");
        assert_nothing_stays(&project, &marker, &cgroups);
    }
}

/// The pipeline of a job that writes to `RAN`, a file outside of all jobs, and of a job that needs its products.
const PRODUCTS: &str = "
job:
  script: [echo ran >> RAN, echo V=from-job > v.env, echo made > made]
  artifacts: {paths: [made], reports: {dotenv: v.env}}
next: {needs: [job], script: ['echo \"$(cat made) $V.\"']}
";

/// Runs the pipeline with this fault, which kills the runner, and resumes it.
fn resume_after(fault: &str, files: &[(&str, &str)]) -> (Done, Project) {
    let project = Project::with_pipeline("");
    let ran = project.scratch().join("ran").display().to_string();
    for (name, text) in files {
        project.write(name, &text.replace("RAN", &ran));
    }
    project.commit();
    let mut run = project.command(&["run"]);
    let killed = run.env(VARIABLE, fault).output().unwrap();
    let signal = killed.status.signal();
    assert_eq!(signal, Some(9), "{fault}: {:?}", Done::from(killed));
    (project.runwright(&["resume"]), project)
}

/// Returns how often the job ran.
fn times_run(project: &Project) -> usize {
    let ran = fs::read_to_string(project.scratch().join("ran")).unwrap();
    ran.lines().count()
}

#[test]
fn job_that_had_ended_is_not_run_again() {
    for fault in [
        "kill after job_runner::notes::publish",
        "kill before job_runner::remove::project",
        "kill after job_runner::remove::project",
        "kill before job_runner::notes::remove",
    ] {
        let (done, project) = resume_after(fault, &[(".gitlab-ci.yml", PRODUCTS)]);
        assert_eq!(times_run(&project), 1, "{fault}: {}", done.all());
        done.expect_code(0)
            .expect_text("next | made from-job.")
            .expect_text("pipeline 1: success (2 success)");
        // The journal may have the end of the job already.
        if fault != "kill before job_runner::notes::remove" {
            let log = project.runwright(&["logs", "job"]).expect_code(0).stdout;
            for once in [
                "succeeded when runwright was killed",
                "Running with",
                "Job succeeded",
            ] {
                assert_eq!(log.matches(once).count(), 1, "{once:?} of {fault}: {log}");
            }
        }
        assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());
    }
}

#[test]
fn failed_job_that_had_ended_keeps_its_exit_code_until_it_is_retried() {
    let pipeline = "job: {script: [echo ran >> RAN, exit 3]}";
    let fault = "kill before job_runner::remove::project";
    let (done, project) = resume_after(fault, &[(".gitlab-ci.yml", pipeline)]);
    assert_eq!(times_run(&project), 1, "{}", done.all());
    done.expect_code(1)
        .expect_text("failed with exit code 3 when runwright was killed")
        .expect_text("FAIL job failed in stage test with exit code 3");
    project.runwright(&["retry"]).expect_code(1);
    assert_eq!(times_run(&project), 2);
}

#[test]
fn job_of_a_child_pipeline_that_had_ended_is_not_run_again() {
    let parent = "child: {trigger: {include: child.yml, strategy: depend}}\n";
    let files = [(".gitlab-ci.yml", parent), ("child.yml", PRODUCTS)];
    let (done, project) = resume_after("kill before job_runner::remove::project", &files);
    assert_eq!(times_run(&project), 1, "{}", done.all());
    done.expect_code(0).expect_text("made from-job.");
}

/// Starts a run, and returns how long it takes until its guardian runs.
fn time_to_guardian(project: &Project) -> Duration {
    wait_until("the guardians before it to be gone", || {
        guardians(project).is_empty()
    });
    let begun = Instant::now();
    let mut run = start_staying(project, "in-script");
    wait_until("a guardian", || !guardians(project).is_empty());
    let soon = begun.elapsed();
    kill_9(&[run.id()]);
    run.wait().unwrap();
    soon
}

#[test]
fn two_hundred_random_kills_leave_nothing() {
    let marker = format!("runwright-test-random-{}", std::process::id());
    let project = Project::with_pipeline(&nasty(&marker));
    let mut cgroups_made = Vec::new();
    let mut guardians_killed = 0;
    // A fixed sequence makes failures repeatable; the machine's noise adds randomness.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    // The time until a run has a guardian on this machine, under its current load.
    let mut soon = Duration::ZERO;
    for round in 0..200 {
        if round % 5 == 0 {
            soon = time_to_guardian(&project);
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let mut run = start(&project);
        let latest = u64::try_from(2 * soon.as_micros()).unwrap() + 60_000;
        std::thread::sleep(Duration::from_micros(state % latest));
        cgroups_made.extend(cgroups(&project));
        let mut pids = vec![run.id()];
        if round % 2 == 1 {
            let found = guardians(&project);
            guardians_killed += found.len();
            pids.extend(found);
        }
        kill_9(&pids);
        run.wait().unwrap();
    }
    assert!(
        guardians_killed > 20,
        "only {guardians_killed} guardians were met"
    );
    next_start(&project);
    assert_nothing_stays(&project, &marker, &cgroups_made);
}

#[test]
fn daemon_without_environment_ends_without_cgroups_and_root() {
    for keeps_guardian in [true, false] {
        let daemon = format!("600.{}{}", u8::from(keeps_guardian), std::process::id());
        let project = Project::with_pipeline(&format!(
            "job:
  script:
    - if [ -n \"$NEXT\" ]; then exit; fi
    - (env -i setsid sleep {daemon} >/dev/null 2>&1 </dev/null &)
    - echo \"runner=$PPID\"
    - sleep 600
"
        ));
        let user = OtherUser::new(&project, 4);
        let run = ["run", "--executor", "shell"];
        let mut running = project.start_as(user.command(&project, &[], &run));
        project.wait_for("job | runner=");
        wait_until("the daemon", || !processes_with(&daemon).is_empty());
        let printed = project.printed();
        let (_, rest) = printed.split_once("job | runner=").unwrap();
        let runner = rest.split_whitespace().next().unwrap().parse().unwrap();
        let guardian = guardian(&project);
        if keeps_guardian {
            kill_9(&[runner]);
        } else {
            kill_9(&[guardian, runner]);
        }
        running.wait().unwrap();
        if !keeps_guardian {
            let next = [&run[..], &["--variable", "NEXT=1"]].concat();
            let next = user.command(&project, &[], &next).output().unwrap();
            assert!(next.status.success(), "{next:?}");
        }
        wait_until("the daemon to be gone", || {
            processes_with(&daemon).is_empty()
        });
    }
}
