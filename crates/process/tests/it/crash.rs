//! The runner is killed, with or without its guardian.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use executor_core::{CancelCause, Cancellation};
use process::{
    Containment, Recovered, Settings, Stream, Supervisor, Timing, recover, wait_for_guardians,
};
use tokio::task::spawn_blocking;

use crate::runner::{Runner, guardian, journals, left, mounts_below, nested, state};
use crate::support::{BOTH, PATIENCE, lives, noted, processes, run, sh, tree, until, until_or};

#[tokio::test]
async fn guardian_cleans_up_after_a_killed_runner() {
    for containment in BOTH {
        let work = tempfile::tempdir().unwrap();
        let mut runner = Runner::start(work.path(), containment);
        until("the job and the guardian", || {
            runner.job().is_some() && runner.guardian().is_some()
        })
        .await;
        let runs = journals(work.path());
        assert_eq!(runs.len(), 1);
        let state_dir = state(work.path());
        let waits = wait_for_guardians(&state_dir, Duration::ZERO).unwrap_err();
        assert_eq!(waits.kind(), ErrorKind::TimedOut);
        runner.kill();
        let waiting = spawn_blocking(move || wait_for_guardians(&state_dir, PATIENCE));
        waiting.await.unwrap().unwrap();
        assert_eq!(left(work.path(), &runs), Vec::<String>::new());
        until("the guardian to leave", || runner.guardian().is_none()).await;
        assert!(recover(&state(work.path())).unwrap().is_empty());
    }
}

#[tokio::test]
async fn next_start_cleans_up_after_runner_and_guardian() {
    for containment in BOTH {
        let work = tempfile::tempdir().unwrap();
        let mut runner = Runner::start(work.path(), containment);
        until("the job and the guardian", || {
            runner.job().is_some() && runner.guardian().is_some()
        })
        .await;
        let guardian = runner.guardian().unwrap();
        let job = runner.job().unwrap();
        assert!(kill("-STOP", guardian));
        runner.kill();
        assert!(kill("-KILL", guardian));
        until("the guardian's death", || !lives(guardian, work.path())).await;
        assert!(
            job.iter().all(|pid| lives(*pid, work.path())),
            "it survived without a guardian"
        );

        // As if the machine had stopped in the middle of a line.
        let runs = journals(work.path());
        let journal = state(work.path()).join("journal").join(&runs[0]);
        fs::OpenOptions::new()
            .append(true)
            .open(journal)
            .unwrap()
            .write_all(b"dir\t/etc")
            .unwrap();
        let recovered = recover(&state(work.path())).unwrap();
        assert_eq!(recovered.len(), 1);
        assert_eq!(recovered[0].run, runs[0]);
        assert_eq!(recovered[0].failures, Vec::<String>::new());
        assert_eq!(recovered[0].directories.len(), 1);
        until("the dead to be collected", || {
            left(work.path(), &runs).is_empty()
        })
        .await;
        drop(recovered);
        assert!(recover(&state(work.path())).unwrap().is_empty());
    }
}

#[tokio::test]
async fn moment_of_the_kill_does_not_matter() {
    for containment in BOTH {
        for moment in 0..12 {
            let work = tempfile::tempdir().unwrap();
            let mut runner = Runner::start_restless(work.path(), containment);
            // A random pause, to hit different moments.
            tokio::time::sleep(Duration::from_millis(3 * moment)).await;
            runner.kill();
            let runs = journals(work.path());
            if moment % 2 == 0
                && let Some(guardian) = runner.guardian()
            {
                // The guardian may have finished already.
                kill("-KILL", guardian);
            }
            until("guardian", || runner.guardian().is_none()).await;
            let mut recovered = Vec::new();
            // Only unreported resources may remain for an hour.
            let mut remains = Vec::new();
            let gone = || {
                // Processes that the guardian started may hold a copy of the lock for a moment.
                recovered.extend(recover(&state(work.path())).unwrap());
                remains = left(work.path(), &runs);
                remains.retain(|name| !name.starts_with('.'));
                remains.is_empty()
            };
            until_or("nothing to be left", gone).await.unwrap_or_else(|what| {
                panic!("{containment:?}, moment {moment}: {what}: {remains:?}, runs {runs:?}, recovered {recovered:?}")
            });
            assert!(
                recovered.iter().all(|run| run.failures.is_empty()),
                "{recovered:?}"
            );
        }
    }
}

#[tokio::test]
async fn journal_of_a_live_twin_is_left_alone() {
    let state = tempfile::tempdir().unwrap();
    let settings = Settings {
        state_dir: Some(state.path().to_owned()),
        ..Settings::default()
    };
    let supervisor = Supervisor::start(settings).unwrap();
    let directory = supervisor.temp_dir(state.path(), "job-").unwrap();
    let tree = supervisor.tree();
    // A child that inherited the lock would hide the runner's death.
    let holder = tree
        .spawn(&sh("sleep 600").env("STATE", state.path()))
        .unwrap();
    assert!(recover(state.path()).unwrap().is_empty());
    assert!(directory.path().exists());
    // The kernel shows the environment a moment after the start of the program.
    until("the child to be seen alive", || {
        lives(holder.id(), state.path())
    })
    .await;
    drop(holder);
    directory.remove().await.unwrap();
    tree.close().await.unwrap();
    supervisor.shutdown().await.unwrap();
    assert_eq!(
        fs::read_dir(state.path().join("journal")).unwrap().count(),
        0
    );
}

#[tokio::test]
async fn shutdown_leaves_nothing_and_prevents_starts() {
    for containment in BOTH {
        let state = tempfile::tempdir().unwrap();
        let state_dir = Some(state.path().to_owned());
        let settings = Settings {
            containment,
            state_dir,
            ..Settings::default()
        };
        let supervisor = Supervisor::start(settings).unwrap();
        let tree = supervisor.tree();
        let (outcome, _) = run(&tree, &sh("exit 0")).await;
        assert!(outcome.success());
        let runs = vec![supervisor.id().to_owned()];
        supervisor.shutdown().await.unwrap();
        assert!(tree.spawn(&sh("exit 0")).is_err());
        let guardian = format!("{}/journal/", state.path().display());
        until("the guardian to leave", || {
            processes("cmdline", &guardian).is_empty()
        })
        .await;
        assert_eq!(left(state.path(), &runs), Vec::<String>::new());
    }
}

#[tokio::test]
async fn guardian_ends_a_run_that_is_dropped_without_shutdown() {
    for containment in BOTH {
        let work = tempfile::tempdir().unwrap();
        fs::create_dir(work.path().join("temp")).unwrap();
        let state_dir = Some(state(work.path()));
        let supervisor = Supervisor::start(Settings {
            containment,
            state_dir,
            ..Settings::default()
        })
        .unwrap();
        let runs = vec![supervisor.id().to_owned()];
        // Dropped without shutdown, as by an early return.
        std::mem::forget(
            supervisor
                .temp_dir(&work.path().join("temp"), "job-")
                .unwrap(),
        );
        until("the guardian", || guardian(work.path()).is_some()).await;
        drop(supervisor);
        until("the end of everything", || {
            left(work.path(), &runs).is_empty()
        })
        .await;
    }
}

#[tokio::test]
async fn guardian_ignores_revoked_records() {
    let work = tempfile::tempdir().unwrap();
    let [kept, again, removed] = ["kept", "again", "removed"].map(|name| work.path().join(name));
    let supervisor = Supervisor::start(Settings {
        containment: Containment::NoCgroup,
        state_dir: Some(state(work.path())),
        ..Settings::default()
    })
    .unwrap();
    let journal = supervisor.journal().unwrap();
    for directory in [&kept, &again, &removed] {
        fs::create_dir(directory).unwrap();
        journal.record_dir(directory).unwrap();
    }
    journal.forget_dir(&kept).unwrap();
    journal.forget_dir(&again).unwrap();
    journal.record_dir(&again).unwrap();
    journal.record("container", "c1").unwrap();
    journal.forget("container", "c1").unwrap();
    until("the guardian", || guardian(work.path()).is_some()).await;
    drop(supervisor);
    until("the guardian's end", || {
        guardian(work.path()).is_none() && !removed.exists()
    })
    .await;
    assert!(kept.exists() && !again.exists());
    assert_eq!(journals(work.path()), Vec::<String>::new());
}

/// Returns the remaining run. A process that another test starts may hold a copy of its lock for a moment.
async fn recovered(work: &Path) -> Recovered {
    let mut found = None;
    until("a run that is left", || {
        found = recover(&state(work)).unwrap().pop();
        found.is_some()
    })
    .await;
    found.unwrap()
}

#[tokio::test]
async fn surviving_directories_are_reported_to_the_next_start() {
    let work = tempfile::tempdir().unwrap();
    let [left, other, gone] = ["left", "other", "gone"].map(|name| work.path().join(name));
    let below = left.join("below");
    let supervisor = Supervisor::start(Settings {
        containment: Containment::NoCgroup,
        state_dir: Some(state(work.path())),
        ..Settings::default()
    })
    .unwrap();
    let journal = supervisor.journal().unwrap();
    for directory in [&left, &below, &other, &gone] {
        fs::create_dir(directory).unwrap();
        journal.record_dir(directory).unwrap();
    }
    journal.record_kept(&left).unwrap();
    journal.record_kept(&gone).unwrap();
    journal.forget_kept(&gone).unwrap();
    until("the guardian", || guardian(work.path()).is_some()).await;
    drop(supervisor);
    until("the guardian's end", || {
        guardian(work.path()).is_none() && !other.exists() && !gone.exists()
    })
    .await;
    assert!(below.exists());
    // A job is resumed: the directory is reported and kept.
    let run = recovered(work.path()).await;
    assert_eq!(
        (run.kept.as_slice(), run.directories.len()),
        ([left.clone()].as_slice(), 0)
    );
    drop(run);
    assert!(below.exists());
    // No job is resumed.
    let mut run = recovered(work.path()).await;
    run.remove_kept();
    assert_eq!(run.failures, Vec::<String>::new());
    run.forget().unwrap();
    assert!(!left.exists());
    assert_eq!(journals(work.path()), Vec::<String>::new());
}

#[tokio::test]
async fn runner_inside_a_job_dies_with_the_job() {
    let outer = tree(Containment::NoCgroup);
    let work = tempfile::tempdir().unwrap();
    let asked = Cancellation::new();
    let process = outer.spawn(&nested(work.path())).unwrap();
    let mut sink = |_: Stream, _: &[u8]| {};
    let timing = Timing::default();
    let wait = process.run(&mut sink, &asked, &timing);
    let notes = work.path().join("notes");
    let end = async {
        until("the inner job and its guardian", || {
            noted(&notes).len() == 5 && guardian(work.path()).is_some()
        })
        .await;
        // Only the outer runner may end the inner job.
        assert!(kill("-KILL", guardian(work.path()).unwrap()));
        asked.abort(CancelCause::User);
    };
    let (outcome, ()) = tokio::join!(wait, end);
    assert!(!outcome.unwrap().success());
    outer.close().await.unwrap();
    // The kernel needs a moment for processes whose parents are gone.
    until("the end of all of the inner job", || {
        processes("environ", &notes.display().to_string()).is_empty()
    })
    .await;
    // Files are left to the next start of the inner runner.
    drop(recovered(work.path()).await);
    assert_eq!(mounts_below(work.path()), Vec::<String>::new());
}

#[tokio::test]
async fn other_records_are_reported_until_forgotten() {
    let work = tempfile::tempdir().unwrap();
    let directory = state(work.path()).join("journal");
    fs::create_dir_all(&directory).unwrap();
    let text = "container\tc1\ncontainer\tc2\n-container\tc1\nvm\t";
    fs::write(directory.join("dead"), text).unwrap();
    let mut recovered = recover(&state(work.path())).unwrap();
    let run = recovered.pop().unwrap();
    assert_eq!(run.others, [("container".to_owned(), b"c2".to_vec())]);
    // The lock is held until the report is dropped.
    assert!(recover(&state(work.path())).unwrap().is_empty());
    drop(run);
    let run = recover(&state(work.path())).unwrap().pop().unwrap();
    run.forget().unwrap();
    assert!(recover(&state(work.path())).unwrap().is_empty());
    assert_eq!(journals(work.path()), Vec::<String>::new());
}

fn kill(signal: &str, pid: u32) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "the guardian is not a process of a tree"
    )]
    let status = std::process::Command::new("kill")
        .arg(signal)
        .arg(pid.to_string())
        .status();
    status.unwrap().success()
}
