//! Artifacts from one job to the next.

use crate::support::{Bench, artifacts_below, kept};
use executor_core::job::{Artifact, ArtifactWhen, Dependency, Job};
use executor_core::{FailureReason, JobId, JobState, JobVariable};
use executor_testkit::JobBuilder;
use jiff::{SignedDuration, Timestamp};
use job_runner::{BuildRunnerOptions, StoredArtifacts};
use std::sync::Arc;
use tempfile::TempDir;

fn bench() -> (TempDir, StoredArtifacts, Bench) {
    let root = tempfile::tempdir().expect("a directory");
    let store = artifacts_below(root.path());
    let options = BuildRunnerOptions {
        artifacts: Some(Arc::new(store.clone())),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    (root, store, bench)
}

fn artifact(paths: &[&str], exclude: &[&str]) -> Artifact {
    let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    Artifact {
        paths: owned(paths),
        exclude: owned(exclude),
        ..Artifact::default()
    }
}

fn after(id: u64) -> Dependency {
    Dependency {
        id: JobId(id),
        name: "build".to_owned(),
        ..Dependency::default()
    }
}

#[tokio::test]
async fn dependent_job_gets_artifacts() {
    let (_root, store, bench) = bench();
    let job = JobBuilder::new(1)
        .variable(JobVariable::public("OUT", "dist"))
        .script([
            "mkdir -p dist/deep && echo one > dist/a && echo two > dist/deep/b.map",
            "printf '#!/bin/sh\\necho ran\\n' > run.sh && chmod 755 run.sh && ln -s run.sh link",
            "mkdir dist/empty",
        ])
        .with(|job| {
            job.artifacts.push(artifact(
                &["$OUT/", "run.sh", "link", "nope/*"],
                &["**/*.map"],
            ));
        });
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert!(
        bench.log().contains("nope/*: no matching files"),
        "{}",
        bench.log()
    );
    let found = ["dist/a", "dist/empty", "link", "run.sh"];
    assert_eq!(kept(&store, 1, "archive"), found);

    let job = JobBuilder::new(2)
        .script([
            "cat dist/a && test -x run.sh && sh run.sh && test -L link && test -d dist/empty",
            "test ! -e dist/deep",
        ])
        .with(|job| job.dependencies = vec![after(1), after(99)]);
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    let stages: Vec<_> = outcome
        .stages
        .iter()
        .map(|report| report.stage.to_string())
        .collect();
    assert!(
        stages.contains(&"download_artifacts".to_owned()),
        "{stages:?}"
    );
}

#[tokio::test]
async fn times_and_modes_are_kept() {
    let (_root, _store, bench) = bench();
    let job = JobBuilder::new(1)
        .script([
            "mkdir -p dist/closed dist/empty && echo x > dist/closed/file && echo y > dist/plain",
            "chmod 640 dist/plain && chmod 555 dist/closed && chmod 711 dist/empty",
            "touch -d 2001-02-03T04:05:06Z dist/closed/file dist/plain dist/closed dist/empty dist",
        ])
        .with(|job| job.artifacts.push(artifact(&["dist"], &[])));
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    bench.observer.output().clear();
    let all = "stat -c '%n %a %Y' dist/closed/file dist/plain dist/closed dist/empty; \
               stat -c '%n %Y' dist";
    // Twice: the second run saves the same files again.
    let job = JobBuilder::new(2)
        .script([all])
        .with(|job| job.dependencies = vec![after(1), after(1)]);
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    let stdout = bench.stdout();
    for line in [
        "dist/plain 640 981173106",
        "dist/closed 555 981173106",
        "dist/empty 711 981173106",
        "dist 981173106",
    ] {
        assert!(stdout.contains(line), "{line}: {stdout}");
    }
    assert!(stdout.contains("dist/closed/file"), "{stdout}");
    assert_eq!(stdout.matches(" 981173106").count(), 5, "{stdout}");
}

#[tokio::test]
async fn artifacts_when_selects_the_result() {
    let (_root, store, bench) = bench();
    let when = |when, name: &str| Artifact {
        when,
        artifact_type: name.to_owned(),
        ..artifact(&["file"], &[])
    };
    let job = |id, end: &str| {
        JobBuilder::new(id)
            .script(["echo x > file", end])
            .with(|job| {
                job.artifacts = vec![
                    when(ArtifactWhen::OnSuccess, "success"),
                    when(ArtifactWhen::OnFailure, "failure"),
                    when(ArtifactWhen::Always, "always"),
                ];
            })
    };
    bench.run(job(1, "true").build()).await;
    bench.run(job(2, "false").build()).await;
    let kept = |id, name| kept(&store, id, name) == ["file"];
    assert_eq!(
        (kept(1, "success"), kept(1, "failure"), kept(1, "always")),
        (true, false, true)
    );
    assert_eq!(
        (kept(2, "success"), kept(2, "failure"), kept(2, "always")),
        (false, true, true)
    );
}

#[tokio::test]
async fn invalid_exclude_pattern_publishes_nothing() {
    let (_root, store, bench) = bench();
    let job = |id, end: &str| {
        JobBuilder::new(id)
            .script(["echo x > file; echo x > secret.key", end])
            .with(|job| {
                let report = Artifact {
                    artifact_type: "report".to_owned(),
                    ..artifact(&["file"], &[])
                };
                job.artifacts = vec![artifact(&["*"], &["*.{key"]), report];
                for artifact in &mut job.artifacts {
                    artifact.when = ArtifactWhen::Always;
                }
            })
            .build()
    };
    for (id, end) in [(1, "true"), (2, "exit 3")] {
        let outcome = bench.run(job(id, end)).await;
        assert_eq!(outcome.state, JobState::Failed, "{}", bench.log());
        let reason = match id {
            1 => FailureReason::RunnerConfigurationError,
            _ => FailureReason::ScriptFailure,
        };
        assert_eq!(outcome.failure_reason(), Some(reason), "{}", bench.log());
        let kept = |name| !kept(&store, id, name).is_empty();
        assert_eq!((kept("archive"), kept("report")), (false, true));
        // Once for each job: as its error, or as a warning besides its error.
        let log = bench.log();
        let told = log.matches("\"*.{key\" of artifacts:exclude").count();
        assert_eq!(told, usize::try_from(id).expect("small"), "{log}");
    }
}

#[tokio::test]
async fn pattern_expands_a_file_variable_to_its_path() {
    let (_root, store, bench) = bench();
    let job = JobBuilder::new(1)
        .variable(JobVariable::file("NAME", "secret.key"))
        .script(["echo x > file; echo x > secret.key"])
        .with(|job| job.artifacts.push(artifact(&["$NAME", "file"], &[])));
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert_eq!(kept(&store, 1, "archive"), ["file"]);
}

#[tokio::test]
async fn new_attempt_replaces_artifacts() {
    let (_root, store, bench) = bench();
    for file in ["old", "new"] {
        let script = format!("echo x > {file}");
        let job = JobBuilder::new(1).script([script]);
        bench
            .run(
                job.with(|job| job.artifacts.push(artifact(&["*"], &[])))
                    .build(),
            )
            .await;
    }
    assert_eq!(kept(&store, 1, "archive"), ["new"]);
}

#[tokio::test]
async fn next_attempt_discards_artifacts_of_a_failed_one() {
    let (_root, store, bench) = bench();
    for (end, expect) in [("false", vec!["trace"]), ("true", vec![])] {
        let job = JobBuilder::new(1).script(["echo x > trace", end]);
        let job = job.with(|job| {
            job.artifacts.push(Artifact {
                when: ArtifactWhen::OnFailure,
                ..artifact(&["trace"], &[])
            });
        });
        bench.run(job.build()).await;
        assert_eq!(kept(&store, 1, "archive"), expect, "{}", bench.log());
    }
}

#[tokio::test]
async fn job_with_missing_inputs_fails() {
    let (root, store, bench) = bench();
    let build = |id| {
        let job = JobBuilder::new(id).script(["echo x > file"]);
        let brief = |job: &mut Job| {
            let expire_in = if id == 1 { "1 second" } else { "" };
            job.artifacts.push(Artifact {
                expire_in: expire_in.to_owned(),
                ..artifact(&["file"], &[])
            });
        };
        job.with(brief).build()
    };
    for id in [1, 2, 3] {
        bench.run(build(id)).await;
    }
    let later = Timestamp::now() + SignedDuration::from_mins(1);
    let live = store.expire(later).expect("expired");
    assert_eq!(live.len(), 2);
    // No artifact was saved, which is not an error.
    let check = async |id, expect: Option<&str>| {
        let job = JobBuilder::new(9).script(["cat file || true"]);
        let job = job.with(|job| job.dependencies = vec![after(id), after(7)]);
        let outcome = bench.run(job.build()).await;
        let reason = outcome.failure_reason().map(FailureReason::as_str);
        assert_eq!(reason, expect, "{}", bench.log());
    };
    let missing = Some("missing_dependency_failure");
    check(1, missing).await;
    let told = "this job depends on other jobs with expired/erased artifacts: build";
    assert!(bench.log().contains(told), "{}", bench.log());
    check(2, None).await;
    check(8, None).await;
    // Another build saves artifacts again.
    bench.run(build(1)).await;
    check(1, None).await;
    store.erase().expect("erased");
    assert_eq!(store.of_job(JobId(3)).expect("read"), []);
    check(3, missing).await;
    // A list exists, but its trees do not.
    bench.run(build(2)).await;
    std::fs::remove_dir_all(store.store().path().join("trees")).expect("removed");
    check(2, missing).await;
    drop(root);
}

#[tokio::test]
async fn artifacts_stay_in_the_project_directory() {
    let (root, store, bench) = bench();
    let outside = root.path().join("outside");
    std::fs::create_dir(&outside).expect("made");
    std::fs::write(outside.join("secret"), "s3cret").expect("written");
    let job = JobBuilder::new(1)
        .variable(JobVariable::public(
            "OUTSIDE",
            outside.to_str().expect("text"),
        ))
        .script(["ln -s $OUTSIDE way; mkdir -p deep; echo x > deep/file"])
        .with(|job| {
            let paths = [
                "../../../outside/*",
                "$OUTSIDE/secret",
                "way/secret",
                "way",
                "deep",
            ];
            job.artifacts.push(artifact(&paths, &[]));
        });
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert_eq!(kept(&store, 1, "archive"), ["deep/file", "way"]);
    assert!(
        bench.log().contains("is outside of the project directory"),
        "{}",
        bench.log()
    );

    // A later job has a link where the archive has a directory.
    let job = JobBuilder::new(2)
        .script(["mkdir way; echo evil > way/secret"])
        .with(|job| job.artifacts.push(artifact(&["way"], &[])));
    bench.run(job.build()).await;
    let job = JobBuilder::new(3).script(["true"]);
    let outcome = bench
        .run(
            job.with(|job| job.dependencies = vec![after(1), after(2)])
                .build(),
        )
        .await;
    assert_eq!(outcome.state, JobState::Failed, "{}", bench.log());
    let secret = std::fs::read_to_string(outside.join("secret")).expect("still there");
    assert_eq!(secret, "s3cret");
}
