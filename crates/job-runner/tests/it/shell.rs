//! Jobs as processes of this host.

use crate::support::{Bench, files_below};
use executor_core::trace::TraceStream;
use executor_core::{CancelCause, FailureReason, JobState, JobVariable};
use executor_testkit::JobBuilder;
use job_runner::BuildRunnerOptions;
use std::path::PathBuf;
use tempfile::TempDir;

fn bench() -> (TempDir, Bench) {
    let root = tempfile::tempdir().expect("a directory");
    let bench = Bench::shell(root.path(), BuildRunnerOptions::default());
    (root, bench)
}

#[tokio::test]
async fn exit_codes_become_results() {
    let check = async |script: &str, reason: Option<FailureReason>, code: Option<i32>| {
        let (_root, bench) = bench();
        let outcome = bench.run(JobBuilder::new(1).script([script]).build()).await;
        assert_eq!(
            outcome.failure_reason(),
            reason,
            "{script}: {}",
            bench.log()
        );
        assert_eq!(outcome.exit_code().map(|code| code.0), code, "{script}");
    };
    check("true", None, Some(0)).await;
    check("exit 7", Some(FailureReason::ScriptFailure), Some(7)).await;
    check("false; true", Some(FailureReason::ScriptFailure), Some(1)).await;
    check("kill -9 $$", Some(FailureReason::ScriptFailure), Some(137)).await;
    check(
        "no-such-command",
        Some(FailureReason::ScriptFailure),
        Some(127),
    )
    .await;
}

#[tokio::test]
async fn job_gets_variables_and_directories() {
    let (root, bench) = bench();
    let job = JobBuilder::new(1)
        .variable(JobVariable::public("GREETING", "hello $WHO"))
        .variable(JobVariable::public("WHO", "wörld \"'\n second line"))
        .variable(JobVariable::file("CONFIG", "content\nof the file"))
        .variable(JobVariable::public("USES", "--config=$CONFIG"))
        .timeout(600)
        .script([
            "echo \"$GREETING\"",
            "cat \"$CONFIG\"; echo; stat -c %a \"$CONFIG\"",
            "test \"$USES\" = \"--config=$CONFIG\"",
            "test \"$PWD\" = \"$CI_PROJECT_DIR\"",
            "echo \"$CI_JOB_STATUS $CI_JOB_TIMEOUT $CI_SERVER $CI_SHARED_ENVIRONMENT\"",
            "echo $CI_BUILDS_DIR",
            "test \"$RUNNER_TEMP_PROJECT_DIR\" = \"$CI_PROJECT_DIR.tmp\"",
        ])
        .build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    let stdout = bench.stdout();
    assert!(stdout.contains("hello wörld \"'\n second line"), "{stdout}");
    assert!(stdout.contains("content\nof the file\n600"), "{stdout}");
    assert!(stdout.contains("running 600 yes true"), "{stdout}");
    assert!(
        stdout.contains(root.path().join("builds").to_str().expect("text")),
        "{stdout}"
    );
    assert_eq!(
        files_below(root.path()),
        Vec::<PathBuf>::new(),
        "nothing is left"
    );
}

#[tokio::test]
async fn secrets_are_masked_in_all_encodings() {
    let (_root, bench) = bench();
    let job = JobBuilder::new(1)
        .variable(JobVariable::masked("PASSWORD", "correct-horse-battery"))
        .variable(JobVariable::public("URL", "https://u:$PASSWORD@host"))
        .with(|job| job.token = "the-token-of-the-job".into())
        .script([
            "echo \"is $PASSWORD here\"",
            "printf 'split: correct-'; sleep 0.2; printf 'horse-bat'; sleep 0.2; echo tery",
            "echo \"error $PASSWORD\" >&2",
            "echo $URL; echo the-token-of-the-job",
        ])
        .after_script(["echo after $PASSWORD"])
        .build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    let log = bench.log();
    assert!(!log.contains("correct-horse-battery"), "{log}");
    assert!(!log.contains("the-token-of-the-job"), "{log}");
    let stdout = bench.stdout();
    for expect in ["is [MASKED] here", "split: [MASKED]", "after [MASKED]"] {
        assert!(stdout.contains(expect), "{expect} in {stdout}");
    }
    let stderr = bench.observer.output().text(TraceStream::STDERR);
    assert!(stderr.contains("error [MASKED]"), "{stderr}");
}

#[tokio::test]
async fn later_stages_get_variables_from_the_export_file() {
    let (_root, bench) = bench();
    let job = JobBuilder::new(1)
        .script([
            "echo \"FROM_SCRIPT=it came\" >> \"$GITLAB_ENV\"",
            "export LOST=1",
            "cd /",
        ])
        .after_script(["echo \"got: $FROM_SCRIPT, lost: ${LOST:-yes}, status: $CI_JOB_STATUS\""])
        .build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert!(
        bench
            .stdout()
            .contains("got: it came, lost: yes, status: success"),
        "{}",
        bench.log()
    );
}

#[tokio::test]
async fn cancel_ends_all_processes_of_the_script() {
    let (root, bench) = bench();
    let pids = root.path().join("pids");
    let job = JobBuilder::new(1)
        .variable(JobVariable::public("PIDS", pids.to_str().expect("text")))
        .script([
            "sleep 1000 & echo $! >> $PIDS; setsid sleep 1000 & echo $! >> $PIDS",
            "echo ready; wait",
        ])
        .after_script(["echo status $CI_JOB_STATUS"])
        .build();
    let cancel = async {
        bench
            .observer
            .output()
            .wait_for(TraceStream::STDOUT, "ready\n")
            .await;
        bench.cancellation.cancel(CancelCause::User);
    };
    let (outcome, ()) = tokio::join!(bench.run(job), cancel);
    assert_eq!(outcome.state, JobState::Canceled);
    assert!(
        bench.stdout().contains("status canceled"),
        "{}",
        bench.log()
    );
    let pids = std::fs::read_to_string(pids).expect("the script wrote them");
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!command.contains("sleep"), "{pid} lives on: {command}");
    }
}

#[tokio::test]
async fn spool_is_complete_when_the_shown_log_is_cut() {
    let root = tempfile::tempdir().expect("a directory");
    let options = BuildRunnerOptions {
        spool_dir: Some(root.path().join("logs")),
        timestamps: false,
        ..BuildRunnerOptions::default()
    };
    let mut bench = Bench::shell(root.path(), options);
    bench.config.output_limit = 4096;
    let job = JobBuilder::new(5).script(["seq 1 5000"]).build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success);
    assert!(outcome.trace.truncated);
    let path = bench
        .runner
        .spool_path(executor_core::JobId(5), 1)
        .expect("a spool");
    let kept = std::fs::read_to_string(path).expect("the spool is there");
    assert!(
        kept.contains("\n5000\n") && kept.contains("Job succeeded"),
        "{}",
        kept.len()
    );
    assert!(!bench.log().contains("\n5000\n"));
}

#[tokio::test]
async fn output_past_the_limit_is_drained_with_one_warning() {
    let root = tempfile::tempdir().expect("a directory");
    let mut bench = Bench::shell(root.path(), BuildRunnerOptions::default());
    // The limit is inside a character at every alignment.
    for limit in [1 << 20, (1 << 20) + 1] {
        bench.config.output_limit = limit;
        bench.observer = executor_testkit::RecordingObserver::new();
        let script = [
            "letters=$(printf 'é%.0s' $(seq 30000))",
            "for _ in $(seq 3000); do printf %s \"$letters\"; done",
            "touch \"$CI_BUILDS_DIR/end\"",
        ];
        let outcome = bench.run(JobBuilder::new(6).script(script).build()).await;
        assert_eq!(outcome.state, JobState::Success);
        assert!(root.path().join("builds/end").exists(), "the job went on");
        std::fs::remove_file(root.path().join("builds/end")).expect("removed");
        assert!(outcome.trace.truncated);
        let shown = String::from_utf8(bench.observer.output().all()).expect("no letter is cut");
        assert_eq!(shown.matches("The log passed its limit").count(), 1);
        let most = usize::try_from(limit).expect("small") + 1000;
        assert!(shown.len() < most, "{} bytes", shown.len());
    }
}

#[tokio::test]
async fn last_line_of_a_stage_precedes_the_next_stage() {
    let root = tempfile::tempdir().expect("a directory");
    let options = BuildRunnerOptions {
        spool_dir: Some(root.path().join("logs")),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let job = JobBuilder::new(5)
        .script(["printf 'last words'"])
        .after_script(["echo later >&2"])
        .build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    let path = bench.runner.spool_path(executor_core::JobId(5), 1);
    let kept = std::fs::read_to_string(path.expect("a spool")).expect("the spool is there");
    let place = |text: &str| kept.find(text).unwrap_or_else(|| panic!("{text}: {kept}"));
    let end_of_stage = kept.find("last words").and_then(|words| {
        let rest = &kept[words..];
        rest.find("Running after_script").map(|at| words + at)
    });
    assert!(place("last words") < place("later"), "{kept}");
    assert!(end_of_stage.is_some(), "{kept}");
}

#[tokio::test]
async fn observer_gets_stages_in_order() {
    let (_root, bench) = bench();
    let job = JobBuilder::new(1)
        .script(["true"])
        .after_script(["false"])
        .build();
    bench.run(job).await;
    assert_eq!(
        bench.observer.timeline().lines(),
        [
            "observer.started",
            "observer.stage_started(prepare_script)",
            "observer.stage_finished(prepare_script, success)",
            "observer.stage_started(step_script)",
            "observer.stage_finished(step_script, success)",
            "observer.stage_started(after_script)",
            "observer.stage_finished(after_script, failed)",
            "observer.stage_started(cleanup_file_variables)",
            "observer.stage_finished(cleanup_file_variables, success)",
        ]
    );
}
