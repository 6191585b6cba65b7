//! The test doubles follow their directives and record violations of the contract.

use executor_core::prelude::*;
use executor_testkit::{
    CommandBuilder, Directive, Event, Failure, Gate, Lease, Moment, OptionsBuilder, RecordingTrace,
    ScriptedProvider, runner_config,
};
use std::time::Duration;

fn command(stage: BuildStage) -> StageCommand {
    CommandBuilder::new("true").stage(stage).build()
}

#[tokio::test]
async fn directives_of_a_stage_apply_in_order() {
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::GetSources, Directive::exit(1).times(2));
    provider.on(BuildStage::GetSources, Directive::oom().times(1));
    let never = Cancellation::new();
    let mut executor = provider.create(&ExecutorData::new()).unwrap();
    executor
        .prepare(OptionsBuilder::new().build(), &never)
        .await
        .unwrap();
    let mut ends = Vec::new();
    for _ in 0..4 {
        let result = executor
            .run(command(BuildStage::GetSources), &never)
            .await
            .unwrap();
        ends.push((result.status.exit_code().0, result.oom_killed));
    }
    executor.cleanup().await.unwrap();
    assert_eq!(ends, [(1, false), (1, false), (137, true), (0, false)]);
    assert_eq!(provider.stages(), ["get_sources"; 4]);
    provider.assert_obeyed();
}

#[tokio::test]
async fn prepare_fails_the_requested_number_of_times_across_executors() {
    let provider = ScriptedProvider::new();
    provider.on(
        Moment::Prepare,
        Directive::fail(Failure::temporary("pull")).times(1),
    );
    provider.on(
        Moment::Prepare,
        Directive::fail(Failure::permanent("denied")).times(1),
    );
    let mut ends = Vec::new();
    for _ in 0..3 {
        let mut executor = provider.create(&ExecutorData::new()).unwrap();
        let prepared = executor
            .prepare(OptionsBuilder::new().build(), &Cancellation::new())
            .await;
        ends.push(prepared.map_err(|error| error.is_temporary()).err());
        executor.cleanup().await.unwrap();
    }
    assert_eq!(ends, [Some(true), Some(false), None]);
    provider.assert_obeyed();
}

#[tokio::test]
async fn output_and_directives_of_one_job_affect_only_its_log() {
    let provider = ScriptedProvider::new();
    provider.on(
        BuildStage::script(),
        Directive::exit(2)
            .stdout("out")
            .stderr("err")
            .for_job("unit"),
    );
    for (job, code) in [("other", 0), ("unit", 2)] {
        let trace = RecordingTrace::new();
        let options = OptionsBuilder::new()
            .job(executor_testkit::JobBuilder::new(1).name(job).build())
            .trace(Arc::new(trace.clone()));
        let mut executor = provider.create(&ExecutorData::new()).unwrap();
        executor
            .prepare(options.build(), &Cancellation::new())
            .await
            .unwrap();
        let result = executor
            .run(command(BuildStage::script()), &Cancellation::new())
            .await;
        assert_eq!(result.unwrap().status.exit_code(), ExitCode(code));
        let expect = if code == 0 { ("", "") } else { ("out", "err") };
        assert_eq!(trace.text(TraceStream::STDOUT), expect.0);
        assert_eq!(trace.text(TraceStream::STDERR), expect.1);
        executor.cleanup().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn cancel_waits_for_the_termination_and_abort_does_not() {
    let provider = ScriptedProvider::new();
    let stubborn = Directive::hang().termination(Duration::from_mins(1));
    provider.on(BuildStage::script(), stubborn);
    let mut executor = provider.create(&ExecutorData::new()).unwrap();
    executor
        .prepare(OptionsBuilder::new().build(), &Cancellation::new())
        .await
        .unwrap();
    for (abort, seconds) in [(false, 60), (true, 0)] {
        let cancellation = Cancellation::new();
        if abort {
            cancellation.abort(CancelCause::Shutdown);
        } else {
            cancellation.cancel(CancelCause::Shutdown);
        }
        let start = tokio::time::Instant::now();
        let error = executor
            .run(command(BuildStage::script()), &cancellation)
            .await
            .unwrap_err();
        assert!(
            matches!(error, BuildError::Canceled(CancelCause::Shutdown)),
            "{error}"
        );
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
    executor.cleanup().await.unwrap();
    provider.assert_obeyed();
}

#[tokio::test]
async fn a_gate_holds_a_stage_until_it_is_opened() {
    let provider = ScriptedProvider::new();
    let gate = Gate::new();
    provider.on(
        BuildStage::script(),
        Directive::succeed().until(gate.clone()),
    );
    let mut executor = provider.create(&ExecutorData::new()).unwrap();
    let cell = executor.stage_cell();
    executor
        .prepare(OptionsBuilder::new().build(), &Cancellation::new())
        .await
        .unwrap();
    let never = Cancellation::new();
    let (result, ()) = tokio::join!(executor.run(command(BuildStage::script()), &never), async {
        provider
            .timeline()
            .wait_for_line("executor(1).run(step_script)")
            .await;
        assert_eq!(cell.get(), ExecutorStage::RUN);
        gate.open();
    });
    assert!(result.unwrap().status.is_success());
    executor.cleanup().await.unwrap();
}

#[tokio::test]
async fn calls_that_break_the_contract_are_reported() {
    let provider = ScriptedProvider::new();
    let never = Cancellation::new();
    let mut executor = provider.create(&ExecutorData::new()).unwrap();
    let _ = executor.run(command(BuildStage::script()), &never).await;
    drop(executor);
    assert_eq!(
        provider.violations(),
        [
            "executor(1): run(step_script) before prepare",
            "executor(1): dropped without cleanup"
        ]
    );
}

#[tokio::test]
async fn a_call_dropped_before_its_end_is_reported() {
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::script(), Directive::hang());
    let mut executor = provider.create(&ExecutorData::new()).unwrap();
    executor
        .prepare(OptionsBuilder::new().build(), &Cancellation::new())
        .await
        .unwrap();
    let never = Cancellation::new();
    tokio::select! {
        _ = executor.run(command(BuildStage::script()), &never) => panic!("it must hang"),
        () = provider.timeline().wait_for(|event| matches!(event, Event::Run { .. })) => {}
    }
    executor.cleanup().await.unwrap();
    assert_eq!(
        provider.violations(),
        ["executor(1): run(step_script) was dropped before its end"]
    );
}

#[tokio::test]
async fn leases_are_limited_and_tracked() {
    let provider = ScriptedProvider::new();
    provider.set_capacity(Some(1));
    let config = runner_config("scripted");
    let never = Cancellation::new();
    let data = provider.acquire(&config, &never).await.unwrap();
    assert_eq!(data.get(), Some(&Lease { number: 1 }));
    let refused = provider.acquire(&config, &never).await.unwrap_err();
    assert!(matches!(refused, AcquireError::NoFreeExecutor));

    let mut executor = provider.create(&data).unwrap();
    executor
        .prepare(OptionsBuilder::new().build(), &never)
        .await
        .unwrap();
    provider.release(&config, data.clone()).await;
    provider.release(&config, data).await;
    executor.cleanup().await.unwrap();
    assert_eq!(
        provider.violations(),
        [
            "executor(1): its lease was released before cleanup",
            "provider: lease 1 was released twice"
        ]
    );
    assert_eq!(provider.leased(), 0);
}

#[tokio::test]
async fn a_requested_panic_leaves_the_records_readable() {
    let provider = ScriptedProvider::new();
    provider.on(
        BuildStage::script(),
        Directive::fail(Failure::panic("on order")),
    );
    let driven = provider.clone();
    let mut task = tokio::task::JoinSet::new();
    task.spawn(async move {
        let mut executor = driven.create(&ExecutorData::new()).unwrap();
        executor
            .prepare(OptionsBuilder::new().build(), &Cancellation::new())
            .await
            .unwrap();
        executor
            .run(command(BuildStage::script()), &Cancellation::new())
            .await
    });
    assert!(task.join_next().await.unwrap().unwrap_err().is_panic());
    assert_eq!(
        provider.violations(),
        ["executor(1): dropped without cleanup"]
    );
    assert_eq!(provider.counts().create, 1);
}
