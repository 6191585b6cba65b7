//! A panic of the inner provider in any call, through any layer three deep.

use crate::stacks::stack;
use crate::support::options;
use executor_core::panics::catch_panic;
use executor_core::prelude::*;
use executor_layers::ConcurrencyLimitLayer;
use executor_testkit::{
    CommandBuilder, Directive, Failure, Moment, ScriptedProvider, runner_config,
};

/// Drives one job as a worker and a job runner do, past every panic; returns how many there were.
async fn run_job(provider: &dyn ExecutorProvider) -> usize {
    let (config, go_on) = (runner_config("scripted"), Cancellation::new());
    let data = match catch_panic(provider.acquire(&config, &go_on)).await {
        Ok(acquired) => acquired.unwrap(),
        Err(_) => return 1,
    };
    let mut panics = 0;
    if let Ok(created) = catch_panic(async { provider.create(&data) }).await {
        let mut executor = created.unwrap();
        panics += drive(&mut *executor).await;
        while catch_panic(executor.cleanup()).await.is_err() {
            panics += 1;
        }
    } else {
        panics += 1;
    }
    panics + usize::from(catch_panic(provider.release(&config, data)).await.is_err())
}

/// Prepares, runs a stage and finishes; returns how many of these panicked.
async fn drive(executor: &mut dyn Executor) -> usize {
    let go_on = Cancellation::new();
    if catch_panic(executor.prepare(options().0, &go_on))
        .await
        .is_err()
    {
        return 1;
    }
    let command = CommandBuilder::new("true").stage(BuildStage::script());
    let ran = catch_panic(executor.run(command.build(), &go_on)).await;
    let finished = catch_panic(executor.finish(&JobOutcome::success())).await;
    usize::from(ran.is_err()) + usize::from(finished.is_err())
}

#[tokio::test(start_paused = true)]
async fn after_a_panic_of_any_call_through_any_layer_there_is_room_again() {
    for name in [
        "concurrency limit",
        "fallback",
        "metrics",
        "retry",
        "route",
        "timeout",
        "tracing",
    ] {
        for moment in [
            Moment::Acquire,
            Moment::Create,
            Moment::Prepare,
            Moment::Stage(BuildStage::script()),
            Moment::Finish,
            Moment::Cleanup,
            Moment::Release,
        ] {
            let scripted = ScriptedProvider::new();
            let panics = Directive::fail(Failure::panic("a bug")).times(1);
            scripted.on(moment.clone(), panics);
            let one = ConcurrencyLimitLayer::concurrent(1);
            let provider = one.layer(stack(scripted.shared(), [name; 3]));
            assert_eq!(run_job(&*provider).await, 1, "{moment:?} below {name}");
            assert_eq!(scripted.leased(), 0, "{moment:?} below {name}");
            assert_eq!(run_job(&*provider).await, 0, "{moment:?} below {name}");
            assert_eq!(scripted.leased(), 0, "{moment:?} below {name}");
        }
    }
}
