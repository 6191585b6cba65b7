//! Report files of jobs.

use crate::support::Bench;
use executor_core::job::{Artifact, ArtifactFormat, ArtifactWhen};
use executor_core::{ExitCode, FailureReason, JobOutcome, JobState, JobVariable};
use executor_testkit::JobBuilder;
use job_runner::{BuildRunnerOptions, StoredArtifacts};
use std::sync::Arc;
use tempfile::TempDir;

struct Run {
    _root: TempDir,
    store: StoredArtifacts,
    bench: Bench,
    outcome: JobOutcome,
}

fn report(kind: &str, paths: &[&str]) -> Artifact {
    Artifact {
        paths: paths.iter().map(ToString::to_string).collect(),
        when: ArtifactWhen::Always,
        artifact_type: kind.to_owned(),
        artifact_format: ArtifactFormat::Gzip,
        ..Artifact::default()
    }
}

async fn run(script: &[&str], reports: Vec<Artifact>) -> Run {
    let root = tempfile::tempdir().expect("a directory");
    let store = crate::support::artifacts_below(root.path());
    let options = BuildRunnerOptions {
        artifacts: Some(Arc::new(store.clone())),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let job = JobBuilder::new(1)
        .variable(JobVariable::masked("TOKEN", "hunter22secret"))
        .script(script.iter().copied())
        .with(|job| job.artifacts = reports);
    let outcome = bench.run(job.build()).await;
    Run {
        _root: root,
        store,
        bench,
        outcome,
    }
}

#[tokio::test]
async fn outcome_has_variables_tests_and_artifacts() {
    let run = run(
        &[
            "echo 'VERSION=1' > a.env; echo 'URL = https://x/$CI_JOB_ID' > b.env; echo 'VERSION=2' >> b.env",
            r#"echo '<testsuite name="s"><testcase name="one" time="1"/></testsuite>' > one.xml"#,
            r#"echo '<testsuite name="t"><testcase name="two"><failure message="no"/></testcase></testsuite>' > two.xml"#,
            "echo '{}' > sast.json; false",
        ],
        vec![
            report("dotenv", &["*.env"]),
            report("junit", &["*.xml"]),
            report("sast", &["sast.json"]),
        ],
    )
    .await;
    let log = run.bench.log();
    assert_eq!(run.outcome.exit_code(), Some(ExitCode(1)), "{log}");
    let products = &run.outcome.products;
    let variables: Vec<_> = products
        .dotenv
        .iter()
        .map(|it| (&*it.key, &*it.value))
        .collect();
    let expect = [("VERSION", "2"), ("URL", "https://x/$CI_JOB_ID")];
    assert_eq!(variables, expect, "{log}");
    let tests = products.tests.as_ref().expect("tests");
    assert_eq!((tests.total, tests.failed), (2, 1));
    assert_eq!(tests.failures[0].name, "two");
    let kept: Vec<_> = products
        .artifacts
        .iter()
        .map(|it| (&*it.artifact_type, it.files, it.bytes))
        .collect();
    assert_eq!(kept[0].0, "dotenv");
    assert_eq!(kept[2], ("sast", 1, 3));
}

#[tokio::test]
async fn invalid_dotenv_report_fails_the_job_and_is_not_saved() {
    let refused = |words: &str| format!("Job failed: the dotenv report is refused: {words}");
    for (script, words) in [
        (
            "head -c 5000000 /dev/zero | tr '\\0' x > a.env",
            "Dotenv Artifact Too Big. Maximum Allowable Size: 5120 (a.env)",
        ),
        ("echo A > a.env", "Invalid Format (a.env, line 1)"),
        (
            "printf 'B=1\\nexport A=1\\n' > a.env",
            "Validation failed: Key can contain only letters, digits and '_'. (a.env, line 2)",
        ),
        ("mkfifo b; ln -s b a.env", "a.env: it is not a plain file"),
    ] {
        let run = run(&[script], vec![report("dotenv", &["a.env"])]).await;
        let log = run.bench.log();
        assert!(log.contains(&refused(words)), "{script}\n{log}");
        assert_eq!(run.outcome.state, JobState::Failed);
        // As in GitLab, where the upload of the report exits with 1.
        let reason = run.outcome.failure_reason();
        assert_eq!(reason, Some(FailureReason::ScriptFailure));
        assert_eq!(run.outcome.exit_code(), Some(ExitCode(1)));
        assert!(run.outcome.products.dotenv.is_empty());
        assert!(run.outcome.products.artifacts.is_empty());
        assert!(crate::support::kept(&run.store, 1, "dotenv").is_empty());
    }
}

#[tokio::test]
async fn failed_job_logs_its_invalid_report() {
    let script = ["echo nonsense > a.env; exit 7"];
    let run = run(&script, vec![report("dotenv", &["a.env"])]).await;
    let log = run.bench.log();
    assert_eq!(run.outcome.exit_code(), Some(ExitCode(7)), "{log}");
    assert!(
        log.contains("the dotenv report is refused: Invalid Format"),
        "{log}"
    );
}

#[tokio::test]
async fn missing_dotenv_report_is_not_a_failure() {
    let run = run(&["true"], vec![report("dotenv", &["a.env"])]).await;
    assert_eq!(run.outcome.state, JobState::Success, "{}", run.bench.log());
    let script = ["echo CI_JOB_TOKEN=x > a.env"];
    let run = self::run(&script, vec![report("dotenv", &["a.env"])]).await;
    assert_eq!(run.outcome.state, JobState::Success, "{}", run.bench.log());
    assert_eq!(run.outcome.products.dotenv[0].key, "CI_JOB_TOKEN");
}

#[tokio::test]
async fn unreadable_junit_report_is_a_warning() {
    let run = run(
        &[
            "printf '<testsuite>\\n<testcase>' > bad.xml",
            "printf '<testsuite><testcase/></testsuite>' > good.xml",
        ],
        vec![report("junit", &["bad.xml", "good.xml"])],
    )
    .await;
    let log = run.bench.log();
    assert_eq!(run.outcome.state, JobState::Success, "{log}");
    assert!(
        log.contains("junit report bad.xml is ignored: line 2"),
        "{log}"
    );
    assert_eq!(
        run.outcome.products.tests.as_ref().map(|it| it.total),
        Some(1)
    );
    assert_eq!(run.outcome.products.artifacts[0].files, 2);
}

#[tokio::test]
async fn secrets_in_failed_tests_are_masked() {
    let run = run(
        &[
            "pad=$(printf 'x%.0s' $(seq 2040))",
            r#"echo "<testsuite name='$TOKEN'><testcase name='n $TOKEN' file='$TOKEN'><failure message='got $TOKEN'>$pad$TOKEN</failure></testcase></testsuite>" > t.xml"#,
        ],
        vec![report("junit", &["t.xml"])],
    )
    .await;
    let tests = run.outcome.products.tests.as_ref().expect("tests");
    let shown = format!("{tests:?}");
    assert!(shown.contains("got [MASKED]"), "{shown}");
    assert!(!shown.contains("hunter"), "{shown}");
    assert!(tests.failures[0].message.len() <= 2048);
}
