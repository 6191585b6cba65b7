//! The order of calls in all cases.

use crate::support::{Bench, job, supervisor, with_git};
use executor_core::job::StepWhen::{Always, OnFailure, OnSuccess};
use executor_core::{
    ActiveJobs, BuildStage, Cancellation, ErrorPolicy, ExecutorStage, FailureReason, JobSlots,
    JobState, Worker,
};
use executor_testkit::{
    Directive, Failure, Gate, JobBuilder, Moment, RecordingJobSource, ScriptedProvider, Timeline,
    runner_config,
};
use job_runner::{BuildRunner, BuildRunnerOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const WHOLE_LIFE: [&str; 10] = [
    "provider.create(1)",
    "executor(1).shell",
    "executor(1).prepare",
    "executor(1).run(prepare_script)",
    "executor(1).run(get_sources)",
    "executor(1).run(step_script)",
    "executor(1).run(after_script)",
    "executor(1).run(cleanup_file_variables)",
    "executor(1).finish(success)",
    "executor(1).cleanup",
];

#[tokio::test]
async fn successful_job_runs_all_stages() {
    // R-EXEC-22 R-EXEC-23 R-EXEC-24
    let provider = ScriptedProvider::new();
    let bench = Bench::scripted(&provider, with_git());
    let outcome = bench.run(job().build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert_eq!(provider.timeline().order(), WHOLE_LIFE);
    let script = &provider.commands()[2];
    assert_eq!(script.stage, BuildStage::script());
    assert!(script.script.contains("make"), "{}", script.script);
    assert_eq!(provider.prepared()[0].job.id.0, 7);
    let reported: Vec<_> = outcome
        .stages
        .iter()
        .map(|report| report.stage.to_string())
        .collect();
    assert_eq!(reported, provider.stages());
    provider.assert_obeyed();
}

#[tokio::test]
async fn finish_and_cleanup_follow_a_failure() {
    // R-EXEC-25 R-EXEC-26
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::script(), Directive::exit(3));
    let bench = Bench::scripted(&provider, with_git());
    let outcome = bench.run(job().build()).await;
    assert_eq!(outcome.failure_reason(), Some(FailureReason::ScriptFailure));
    assert_eq!(outcome.exit_code().map(|code| code.0), Some(3));
    let mut expect = WHOLE_LIFE;
    expect[8] = "executor(1).finish(failed)";
    assert_eq!(provider.timeline().order(), expect);
    assert!(
        bench.log().contains("Job failed: exit code 3"),
        "{}",
        bench.log()
    );
    provider.assert_obeyed();
}

#[tokio::test]
async fn executor_is_created_after_the_job_arrives() {
    // R-EXEC-34
    let timeline = Timeline::new();
    let provider = ScriptedProvider::with_timeline(&timeline);
    let source = Arc::new(RecordingJobSource::with_timeline(&timeline));
    source.hand_out(JobBuilder::new(1).script(["make"]).build());
    source.hand_out(JobBuilder::new(2).script(["make"]).build());
    let worker = Worker {
        config: Arc::new(runner_config("scripted")),
        provider: provider.shared(),
        source: source.clone(),
        runner: Arc::new(BuildRunner::new(
            BuildRunnerOptions::default(),
            supervisor(),
        )),
        active: ActiveJobs::new(),
        slots: JobSlots::default(),
        pause: Worker::DEFAULT_PAUSE,
        on_error: ErrorPolicy::default(),
    };
    worker
        .run(&Cancellation::new())
        .await
        .expect("the worker ends");
    let order = timeline.lines_of(&[
        "provider.acquire",
        "provider.create",
        "provider.release",
        "source.",
    ]);
    let one = |number| {
        let create = format!("provider.create({number})");
        let finished = format!("source.finished({number}, success)");
        [
            "provider.acquire".to_owned(),
            "source.next".to_owned(),
            create,
            finished,
            "provider.release".to_owned(),
        ]
    };
    assert_eq!(order[..10], [one(1), one(2)].concat());
    provider.assert_obeyed();
}

#[tokio::test]
async fn empty_stage_is_not_run() {
    let provider = ScriptedProvider::new();
    let bench = Bench::scripted(&provider, BuildRunnerOptions::default());
    let job = JobBuilder::new(1)
        .script(["", "  "])
        .after_script(Vec::<String>::new())
        .with(|job| job.features.trace_sections = true)
        .build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success);
    assert_eq!(
        provider.stages(),
        ["prepare_script", "get_sources", "cleanup_file_variables"]
    );
    assert!(!bench.log().contains("step_script"), "{}", bench.log());
    assert!(bench.log().contains("section_start"), "{}", bench.log());
}

#[tokio::test]
async fn steps_run_by_condition() {
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::Step("lint".to_owned()), Directive::exit(1));
    provider.on(BuildStage::Step("build".to_owned()), Directive::exit(2));
    let bench = Bench::scripted(&provider, BuildRunnerOptions::default());
    let step = |name: &str, when, allow_failure| executor_core::job::Step {
        name: name.to_owned(),
        script: vec!["true".to_owned()],
        when,
        allow_failure,
        timeout: 0,
    };
    let job = JobBuilder::new(1)
        .step(step("lint", OnSuccess, true))
        .step(step("early", OnFailure, false))
        .step(step("build", OnSuccess, false))
        .step(step("never", OnSuccess, false))
        .step(step("rescue", OnFailure, false))
        .step(step("report", Always, false))
        .build();
    let outcome = bench.run(job).await;
    let stages = provider.stages();
    let steps: Vec<_> = stages
        .iter()
        .filter(|name| name.starts_with("step_"))
        .collect();
    assert_eq!(
        steps,
        ["step_lint", "step_build", "step_rescue", "step_report"]
    );
    assert_eq!(outcome.exit_code().map(|code| code.0), Some(2));
}

#[tokio::test(start_paused = true)]
async fn prepare_is_retried_only_after_temporary_errors() {
    let check = async |directive: Directive, executors: u32, state: JobState| {
        let provider = ScriptedProvider::new();
        provider.on(Moment::Prepare, directive);
        let bench = Bench::scripted(&provider, BuildRunnerOptions::default());
        let begun = tokio::time::Instant::now();
        let outcome = bench.run(job().build()).await;
        assert_eq!(outcome.state, state, "{}", bench.log());
        assert_eq!(begun.elapsed(), Duration::from_secs(3) * (executors - 1));
        let order = provider.timeline().order();
        for executor in 1..=executors {
            let cleanup = format!("executor({executor}).cleanup");
            let cleaned = order
                .iter()
                .position(|line| *line == cleanup)
                .expect("cleaned up");
            let next = format!("provider.create({})", executor + 1);
            assert!(
                order
                    .iter()
                    .position(|line| *line == next)
                    .is_none_or(|next| cleaned < next)
            );
        }
        assert_eq!(provider.counts().create, executors as usize);
        provider.assert_obeyed();
    };
    check(
        Directive::fail(Failure::temporary("no route")).times(2),
        3,
        JobState::Success,
    )
    .await;
    check(
        Directive::fail(Failure::temporary("no route")),
        3,
        JobState::Failed,
    )
    .await;
    check(
        Directive::fail(Failure::permanent("no such image")),
        1,
        JobState::Failed,
    )
    .await;
    check(
        Directive::fail(Failure::panic("a bug")),
        1,
        JobState::Failed,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn cancel_ends_the_pause_between_attempts() {
    let provider = ScriptedProvider::new();
    provider.on(
        Moment::Prepare,
        Directive::fail(Failure::temporary("no route")),
    );
    let bench = Bench::scripted(&provider, BuildRunnerOptions::default());
    let cancel = async {
        provider
            .timeline()
            .wait_for_line("executor(1).cleanup")
            .await;
        bench.cancellation.cancel(executor_core::CancelCause::User);
    };
    let (outcome, ()) = tokio::join!(bench.run(job().build()), cancel);
    assert_eq!(outcome.state, JobState::Canceled);
    assert_eq!(provider.counts().create, 1);
    provider.assert_obeyed();
}

#[tokio::test]
async fn executor_panic_is_a_system_failure_with_cleanup() {
    // R-EXEC-26
    for moment in [
        Moment::Stage(BuildStage::script()),
        Moment::Finish,
        Moment::Cleanup,
    ] {
        let provider = ScriptedProvider::new();
        let expects_failure = matches!(moment, Moment::Stage(_));
        provider.on(
            moment.clone(),
            Directive::fail(Failure::panic("hunter2 is in here")),
        );
        let bench = Bench::scripted(&provider, with_git());
        let job = job().variable(executor_core::JobVariable::masked("PASSWORD", "hunter2"));
        let outcome = bench.run(job.build()).await;
        let order = provider.timeline().order();
        assert_eq!(
            order.last().map(String::as_str),
            Some("executor(1).cleanup"),
            "{moment:?}"
        );
        if expects_failure {
            assert_eq!(
                outcome.failure_reason(),
                Some(FailureReason::RunnerSystemFailure)
            );
            assert!(!provider.stages().contains(&"after_script".to_owned()));
        } else {
            assert_eq!(outcome.state, JobState::Success, "{moment:?}");
        }
        assert!(
            bench.log().contains("[MASKED] is in here"),
            "{}",
            bench.log()
        );
        assert!(!format!("{outcome:?}").contains("hunter2"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn active_jobs_show_the_current_stage() {
    // R-EXEC-27
    let provider = ScriptedProvider::new();
    let gate = Gate::new();
    provider.on(
        BuildStage::script(),
        Directive::succeed().until(gate.clone()),
    );
    let bench = Bench::scripted(&provider, with_git());
    let done = AtomicBool::new(false);
    let seen = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let scraper = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for job in bench.active.scrape() {
                    assert_eq!((job.id.0, job.runner.as_str()), (7, "testkit"));
                    assert!(!job.executor_stage.as_str().is_empty());
                    seen.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::yield_now();
            }
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let look = async {
                    provider
                        .timeline()
                        .wait_for_line("executor(1).run(step_script)")
                        .await;
                    let jobs = bench.active.scrape();
                    assert_eq!(jobs[0].stage, "step_script");
                    assert_eq!(jobs[0].state, JobState::Running);
                    assert_eq!(jobs[0].executor_stage, ExecutorStage::RUN);
                    while seen.load(Ordering::Relaxed) == 0 && !scraper.is_finished() {
                        tokio::task::yield_now().await;
                    }
                    gate.open();
                };
                let (outcome, ()) = tokio::join!(bench.run(job().build()), look);
                assert_eq!(outcome.state, JobState::Success);
            });
        });
        done.store(true, Ordering::Relaxed);
        scraper.join().expect("no scrape failed");
    });
    assert!(bench.active.scrape().is_empty());
}

#[tokio::test]
async fn credentials_are_only_in_the_environment_of_get_sources() {
    let provider = ScriptedProvider::new();
    provider.on(
        BuildStage::GetSources,
        Directive::succeed().stderr("denied for hunter2\n"),
    );
    let bench = Bench::scripted(&provider, with_git());
    let url = "https://gitlab-ci-token:hunter2@host.example/group/project.git";
    let job = job().with(|job| job.git_info.repo_url = url.into()).build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    for command in provider.commands() {
        assert!(!command.script.contains("hunter2"), "{}", command.stage);
        let values = command.variables.environment.iter();
        let told = values.filter(|(_, value)| value == "hunter2").count();
        assert_eq!(
            told,
            usize::from(command.stage == BuildStage::GetSources),
            "{}",
            command.stage
        );
    }
    assert!(
        bench.log().contains("denied for [MASKED]"),
        "{}",
        bench.log()
    );
}
