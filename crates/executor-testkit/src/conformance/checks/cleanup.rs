//! Checks of the leftovers of a job.

use crate::conformance::check::{Outcome, ensure, failed};
use crate::conformance::leftover_probe::LeftoverProbe;
use crate::conformance::marked;
use crate::conformance::session::{Opening, Session};
use crate::conformance::suite::{Suite, within};
use executor_core::{BuildDirs, Cancellation, JobVariable};
use std::path::Path;
use std::sync::Arc;

/// An executor that was never prepared cleans up without an error.
pub(in super::super) async fn cleanup_without_prepare(suite: Arc<Suite>) -> Outcome {
    Opening::new(&suite).await?.end(Ok(())).await
}

/// Cleanup removes the resources of a failed preparation, whether it failed at once or halfway.
pub(in super::super) async fn cleanup_after_failed_prepare(suite: Arc<Suite>) -> Outcome {
    let probe = LeftoverProbe::learn(&suite).await?;
    for (what, hinder) in HINDRANCES {
        let mut opening = hinder(probe.open().await?);
        let outcome = match opening.attempt(&Cancellation::new()).await {
            // Not every executor needs these directories, but none may leave the builds directory.
            Ok(Ok(environment)) => expect_inside(environment.workspace.dirs()),
            Ok(Err(error)) if what == OUTSIDE && error.is_temporary() => {
                failed(format!("the error is temporary: {}", error.chain()))
            }
            Ok(Err(_)) => Ok(()),
            Err(stop) => Err(stop),
        };
        opening.end(outcome).await.map_err(|stop| stop.of(what))?;
        probe.expect_nothing(what).await?;
    }
    Ok(())
}

type Hindrance = (&'static str, fn(Opening) -> Opening);

const OUTSIDE: &str = "a project path that leads out of the builds directory";

/// The causes of a failed preparation: before it creates anything, or halfway.
///
/// No path below `/dev/null` can be created, in any environment.
const HINDRANCES: [Hindrance; 3] = [
    (OUTSIDE, |opening| {
        let path = "../../outside";
        let mut opening = opening.with_variable(JobVariable::public("CI_PROJECT_PATH", path));
        let job = Arc::make_mut(&mut opening.options.job);
        path.clone_into(&mut job.job_info.project_full_path);
        opening
    }),
    ("a cache directory that cannot be created", |opening| {
        opening.with_config(|config| config.cache_dir = Some("/dev/null/cache".to_owned()))
    }),
    ("a builds directory that cannot be created", |opening| {
        opening.with_config(|config| config.builds_dir = Some("/dev/null/builds".to_owned()))
    }),
];

fn expect_inside(dirs: &BuildDirs) -> Outcome {
    let leaves = Path::new(&dirs.project_dir)
        .components()
        .any(|part| part == std::path::Component::ParentDir);
    ensure!(!leaves, "the project's directory is {:?}", dirs.project_dir);
    Ok(())
}

/// A second and third cleanup have nothing to do and succeed.
pub(in super::super) async fn cleanup_twice(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let mut outcome = session.expect("echo hello", "hello\n").await;
    for _ in 0..2 {
        if outcome.is_ok() {
            let cleanup = session.executor.cleanup();
            outcome = match within(suite.options.deadline, "cleanup", cleanup).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => failed(format!("cleanup: {}", error.chain())),
                Err(stop) => Err(stop),
            };
        }
    }
    session.end(outcome).await
}

/// Cleanup removes the job's temporary files: scripts and file variables.
pub(in super::super) async fn cleanup_leaves_no_files(suite: Arc<Suite>) -> Outcome {
    for code in [0, 1] {
        let mut session = Session::open(&suite).await?;
        let command = session.command(format!("cat \"$SECRET\"; exit {code}"));
        let outcome = session
            .run(command.file("SECRET", *b"secret"))
            .await
            .map(drop);
        let temp_dir = session.dirs().temp_dir.clone();
        let is_local = session.is_local();
        let left = session.end_and_look(outcome).await?;
        ensure!(left.is_empty(), "resources remain: {}", left.join("; "));
        if is_local {
            let entries = std::fs::read_dir(&temp_dir).into_iter().flatten().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
            names.sort();
            ensure!(names.is_empty(), "{temp_dir} still holds {names:?}");
        }
    }
    Ok(())
}

/// No resources of the whole suite remain.
pub(in super::super) async fn nothing_is_left(suite: Arc<Suite>) -> Outcome {
    // Another job shows whether the suite can find leftovers.
    let session = Session::open(&suite).await?;
    let mut left = session.end_and_look(Ok(())).await?;
    left.extend(marked::wait_until_gone(&suite.mark, suite.options.promptness).await);
    ensure!(left.is_empty(), "resources remain: {}", left.join("; "));
    Ok(())
}
