//! Lines that a driver sends for one job.

use crate::support::{TestJob, changed};
use executor_core::TraceStream;
use executor_core::prelude::*;
use executor_core::variable::JobVariable;
use executor_testkit::{CommandBuilder, JobBuilder, OptionsBuilder, RecordingTrace, runner_config};
use std::time::Duration;

/// Methods of the example that send a line in each call for a job. The second job says the secret of the first one too.
const TALKS: &str = r"
jobs = {}
secret = ''
def say(self, name, call, params, payload, *more):
    call.log(' '.join([name, self.jobs[params['environment']], *more]))
    return getattr(host.Host, 'call_' + name)(self, call, params, payload)
def call_prepare(self, call, params, payload):
    self.jobs[params['environment']] = str(params['job']['id'])
    self.secret = params['job']['variables'].get('TOKEN', self.secret)
    return self.say('prepare', call, params, payload, self.secret)
def call_run(self, *parts): return self.say('run', *parts)
def call_get(self, *parts): return self.say('get', *parts)
def call_cleanup(self, *parts): return self.say('cleanup', *parts)";

/// Returns the lines of the driver in a log.
fn lines(trace: &RecordingTrace) -> String {
    let text = trace.text(TraceStream::SYSTEM);
    let lines = text.split_inclusive('\n');
    lines.filter(|line| line.starts_with("driver: ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_log_has_the_lines_of_its_own_job() {
    let provider = executor_driver::provider(changed(TALKS));
    let (config, go_on) = (runner_config("driver"), Cancellation::new());
    let mut jobs = Vec::new();
    for id in [1, 2] {
        let data = provider.acquire(&config, &go_on).await.unwrap();
        let mut executor = provider.create(&data).unwrap();
        let trace = RecordingTrace::new();
        let mut options = OptionsBuilder::new()
            .job(JobBuilder::new(id).build())
            .trace(Arc::new(trace.clone()));
        if id == 1 {
            options = options.variable(JobVariable::masked("TOKEN", "hush-hush"));
        }
        executor.prepare(options.build(), &go_on).await.unwrap();
        jobs.push((id, executor, trace, data));
    }
    for (_, executor, ..) in &mut jobs {
        let command = CommandBuilder::new("true").working_dir("/");
        executor.run(command.build(), &go_on).await.unwrap();
        let files = executor.abilities().file_transfer.unwrap();
        let mut archive = files.get("/", &[], &go_on).await.unwrap();
        tokio::io::copy(&mut archive, &mut tokio::io::sink())
            .await
            .unwrap();
    }
    for (id, mut executor, trace, data) in jobs {
        executor.cleanup().await.unwrap();
        provider.release(&config, data).await;
        let expected = format!(
            "driver: prepare {id} [MASKED]\ndriver: run {id}\ndriver: get {id}\ndriver: cleanup {id}\n"
        );
        assert_eq!(lines(&trace), expected);
    }
    provider.shutdown(Duration::from_secs(20)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn log_is_limited_and_may_be_no_text() {
    let job = TestJob::prepared(changed(
        r"
def call_prepare(self, call, params, payload):
    call.connection.send({'id': call.id, 'log': {}})
    call.connection.send({'id': call.id, 'log': {}}, b'\xff odd\nno end')
    call.connection.send({'id': call.id, 'log': {}}, b'line\n' * 200000)
    call.connection.send({'id': call.id, 'log': {}}, b'x' * (1 << 20))
    return host.Host.call_prepare(self, call, params, payload)",
    ))
    .await;
    let text = lines(&job.trace);
    assert!(
        text.starts_with("driver: \u{fffd} odd\ndriver: no end\ndriver: line\n"),
        "{text:.200}"
    );
    assert!(text.ends_with("driver: (the rest of its lines is left out)\n"));
    // Each line has a prefix.
    assert!(text.len() < 200_000, "{}", text.len());
    job.end().await.unwrap();
}
