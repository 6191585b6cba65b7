//! Drivers that die or hang, in each phase.

use crate::support::{SHORT, TestJob, changed};
use executor_core::prelude::*;
use executor_core::variable::JobVariable;
use executor_core::{CancelCause, TraceStream, chain};
use executor_driver::DriverConfig;
use executor_testkit::{OptionsBuilder, runner_config};
use std::time::Duration;

/// The phases of a job up to the first error, with its message; `None` after success.
async fn first_error(config: DriverConfig) -> Option<(&'static str, String, bool)> {
    let mut job = match TestJob::open(config).await {
        Ok(job) => job,
        Err(error) => return Some(("acquire", chain(&error), false)),
    };
    let failed = async {
        let go_on = Cancellation::new();
        if let Err(error) = job.prepare(&go_on).await {
            return Some(("prepare", error));
        }
        job.run("echo hello")
            .await
            .err()
            .map(|error| ("run", error))
    };
    let failed = failed.await;
    let cleaned = job.end().await.err().map(|error| ("cleanup", error));
    let (phase, error) = failed.or(cleaned)?;
    Some((phase, error.chain(), error.is_temporary()))
}

async fn check(config: DriverConfig, phase: &str, words: &[&str]) {
    let (found, message, _) = first_error(config).await.unwrap();
    assert_eq!(found, phase, "{message}");
    for word in words {
        assert!(message.contains(word), "{word:?} in {message:?}");
    }
}

/// Returns the example with capacity and another body of a call.
fn with(call: &str, body: &str) -> DriverConfig {
    let body = body.replace('\n', "\n    ");
    changed(&format!(
        "capabilities = ['files', 'capacity']\n\
         def call_acquire(self, call, params, payload): return {{'lease': 'one'}}\n\
         def call_release(self, call, params, payload): pass\n\
         def call_{call}(self, call, params, payload):\n    {body}"
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn death_is_reported_with_the_last_words() {
    let dies = "print('out of fuel', file=sys.stderr); os._exit(3)";
    let words = ["exited with code 3", "out of fuel"];
    for (call, phase) in [
        ("describe", "acquire"),
        ("acquire", "acquire"),
        ("prepare", "prepare"),
        ("run", "run"),
        ("cleanup", "cleanup"),
    ] {
        check(with(call, dies), phase, &words).await;
    }
    let killed = with("run", "os.kill(os.getpid(), 9); time.sleep(600)");
    check(killed, "run", &["ended by signal 9"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_started_script_is_never_tried_again() {
    let (.., temporary) = first_error(with("prepare", "os._exit(3)")).await.unwrap();
    assert!(temporary, "nothing has run yet");
    let (.., temporary) = first_error(with("run", "os._exit(3)")).await.unwrap();
    assert!(!temporary, "the script may have run");
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_hangs_has_a_deadline() {
    for (call, phase) in [
        ("describe", "acquire"),
        ("acquire", "acquire"),
        ("prepare", "prepare"),
        ("cleanup", "cleanup"),
    ] {
        let mut config = with(call, "time.sleep(600)");
        match call {
            "describe" => config.start_timeout = SHORT,
            "cleanup" => config.cleanup_timeout = SHORT,
            _ => config.prepare_timeout = SHORT,
        }
        let answer = format!("did not answer {call:?} within 0.4");
        check(config, phase, &[&answer]).await;
    }
}

/// A driver that hung at its start is not asked again.
#[tokio::test(flavor = "multi_thread")]
async fn driver_that_does_not_describe_itself_is_replaced() {
    let once = tempfile::tempdir().unwrap();
    let mark = once.path().join("hung");
    let hangs_once = format!(
        "if not os.path.exists({mark:?}):\n    open({mark:?}, 'w').close(); time.sleep(600)\n\
         return host.Host.call_describe(self, call, params, payload)"
    );
    let mut config = with("describe", &hangs_once);
    config.start_timeout = Duration::from_secs(3);
    let provider = executor_driver::provider(config);
    let (runner, go_on) = (runner_config("driver"), Cancellation::new());
    let error = provider.acquire(&runner, &go_on).await.unwrap_err();
    let message = chain(&error);
    assert!(message.contains("did not answer \"describe\""), "{message}");
    let acquired = provider.acquire(&runner, &go_on).await.unwrap();
    provider.release(&runner, acquired).await;
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn driver_that_hangs_as_a_whole_is_killed() {
    let mut config = with("run", "os.kill(os.getpid(), 19); time.sleep(600)");
    config.call_timeout = SHORT;
    check(config, "run", &["was silent for"]).await;
}

/// A time that no test waits for.
const PATIENT: Duration = Duration::from_mins(2);

/// Returns the error of a driver that reads the first 8 bytes of a large `prepare`, and then does this.
async fn prepare_with_input(read: &str, call_timeout: Duration) -> String {
    let mut config = changed(&format!(
        "def call_describe(self, call, params, payload):\n    \
             call.connection.input = self; self.output = call.connection.output\n    \
             return host.Host.call_describe(self, call, params, payload)\n\
         def read(self, size):\n    \
             if size == 8: return sys.stdin.buffer.read(8)\n    {read}"
    ));
    config.call_timeout = call_timeout;
    config.cleanup_timeout = SHORT;
    let mut job = TestJob::open(config).await.unwrap();
    let large = JobVariable::public("LARGE", "x".repeat(1 << 20));
    let options = OptionsBuilder::new().variable(large).build();
    let prepared = job.executor.prepare(options, &Cancellation::new()).await;
    // The driver that is started for the cleanup is no better.
    job.end().await.unwrap_err();
    prepared.unwrap_err().chain()
}

/// It prints without an end, so it is not silent.
#[tokio::test(flavor = "multi_thread")]
async fn driver_that_does_not_read_is_killed() {
    let noise = "self.output.write(b'\\0\\x0f\\xff\\xff\\0\\0\\0\\0')\n    \
                 while True: time.sleep(0.05); self.output.write(b' ')";
    let message = prepare_with_input(noise, SHORT).await;
    assert!(
        message.contains("read nothing from its standard input for 0.4"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn driver_that_closes_its_input_is_killed() {
    let message = prepare_with_input("os.close(0); time.sleep(600)", PATIENT).await;
    assert!(message.contains("closed its standard input"), "{message}");
    let message = prepare_with_input("os.close(0); os._exit(3)", PATIENT).await;
    assert!(message.contains("exited with code 3"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn driver_that_closes_its_output_is_killed() {
    let closes = "call.connection.output.close(); os.dup2(2, 1); ";
    let silent = with("prepare", &format!("{closes}time.sleep(600)"));
    check(silent, "prepare", &["closed its standard output"]).await;
    let exits = with("prepare", &format!("{closes}os._exit(3)"));
    check(exits, "prepare", &["exited with code 3"]).await;
}

/// A driver prints there what its author needs to find a fault, also when nothing fails.
#[tokio::test(flavor = "multi_thread")]
async fn error_output_is_in_the_log_of_the_job() {
    let prints = "print('board', params['job']['variables'].get('TOKEN'), file=sys.stderr, flush=True)\n\
                  return host.Host.call_prepare(self, call, params, payload)";
    let mut job = TestJob::open(with("prepare", prints)).await.unwrap();
    let options = OptionsBuilder::new()
        .config(job.config.clone())
        .trace(Arc::new(job.trace.clone()))
        .variable(JobVariable::masked("TOKEN", "hush-hush"))
        .build();
    job.executor
        .prepare(options, &Cancellation::new())
        .await
        .unwrap();
    job.trace
        .wait_for(TraceStream::SYSTEM, "driver: board [MASKED]")
        .await;
    job.end().await.unwrap();
}

/// What a driver left behind holds its output open, which delays its end a little.
#[tokio::test(flavor = "multi_thread")]
async fn process_that_holds_the_output_does_not_hide_the_end() {
    let leaves = "host.subprocess.Popen(['sleep', '600'], stdout=call.connection.output, start_new_session=True)\nos._exit(3)";
    check(with("prepare", leaves), "prepare", &["exited with code 3"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_that_is_ignored_is_an_error() {
    let ignores = "call.when_stopped = lambda act: None\n\
                   return host.Host.call_run(self, call, params, payload)";
    let mut job = TestJob::prepared(with("run", ignores)).await;
    let stop = Cancellation::new();
    let trace = job.trace.clone();
    let (result, ()) = tokio::join!(job.run_until("echo ready; sleep 600", &stop), async {
        trace.wait_for(TraceStream::STDOUT, "ready").await;
        stop.cancel(CancelCause::User);
    });
    let message = result.unwrap_err().chain();
    assert!(message.contains("did not end a killed script"), "{message}");
    job.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn canceled_preparation_does_not_wait_for_the_driver() {
    let mut config = with("prepare", "time.sleep(600)");
    config.stop_timeout = SHORT;
    let mut job = TestJob::open(config).await.unwrap();
    let stop = Cancellation::new();
    let (result, ()) = tokio::join!(job.prepare(&stop), async {
        tokio::task::yield_now().await;
        stop.cancel(CancelCause::User);
    });
    assert!(
        matches!(result, Err(BuildError::Canceled(CancelCause::User))),
        "{result:?}"
    );
    job.end().await.unwrap();
}

/// After the death of a driver, a new process removes what is left and runs the next job.
#[tokio::test(flavor = "multi_thread")]
async fn dead_driver_is_started_again_for_the_next_job() {
    let once = tempfile::tempdir().unwrap();
    let mark = once.path().join("died");
    let dies_once = format!(
        "if not os.path.exists({mark:?}):\n    open({mark:?}, 'w').close(); os._exit(3)\n\
         return host.Host.call_run(self, call, params, payload)"
    );
    let mut job = TestJob::prepared(with("run", &dies_once)).await;
    assert!(job.run("echo hello").await.is_err());
    let error = job.run("echo hello").await.unwrap_err();
    let message = error.chain();
    assert!(message.contains("its environment is gone"), "{message}");
    assert!(!error.is_temporary());
    job.executor.cleanup().await.unwrap();

    // The lease was in the dead process, and the new one may give the same room to another job.
    job.executor = job.provider.create(&job.data).unwrap();
    let error = job.prepare(&Cancellation::new()).await.unwrap_err();
    let message = error.chain();
    assert!(message.contains("its lease is gone"), "{message}");
    assert!(!error.is_temporary());
    let lost = std::mem::take(&mut job.data);
    job.provider.release(&job.config, lost).await;
    let go_on = Cancellation::new();
    let acquired = job.provider.acquire(&job.config, &go_on);
    job.data = acquired.await.unwrap();

    job.executor = job.provider.create(&job.data).unwrap();
    job.prepare(&Cancellation::new()).await.unwrap();
    job.run("echo hello").await.unwrap();
    assert_eq!(job.output(), b"hello\n");
    job.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn command_that_does_not_exist_is_a_setting() {
    let config = DriverConfig::new(["no-such-driver"]);
    check(config, "acquire", &["start the driver \"no-such-driver\""]).await;
    let none = DriverConfig::new([""; 0]);
    check(none, "acquire", &["set `command` in `[driver]`"]).await;
}
