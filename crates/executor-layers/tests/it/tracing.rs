//! Which spans there are, what they say, and what they keep to themselves.

use executor_core::JobVariable;
use executor_core::prelude::*;
use executor_layers::TracingLayer;
use executor_testkit::{
    CommandBuilder, Directive, Failure, JobBuilder, Moment, OptionsBuilder, ScriptedProvider,
    runner_config,
};
use parking_lot::Mutex;
use std::io::Write;
use std::sync::LazyLock;
use std::time::Duration;
use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::Registry;
use tracing_subscriber::fmt::format::FmtSpan;

/// What a subscriber writes about spans that close, and about events.
#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Listens on this thread until the guard is dropped.
    fn listen(&self) -> DefaultGuard {
        // As long as there is one listener alone, a span that another test's thread meets first, where nobody listens,
        // counts as one that nobody wants.
        static OTHERS: LazyLock<[Dispatch; 2]> =
            LazyLock::new(|| [(); 2].map(|()| Dispatch::new(Registry::default())));
        LazyLock::force(&OTHERS);
        let writer = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_span_events(FmtSpan::CLOSE)
            .with_ansi(false)
            .with_target(false)
            .with_level(false)
            .without_time()
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }

    /// Returns each span with its fields, without the times the subscriber measured itself.
    fn spans(&self) -> Vec<String> {
        let text = self.text();
        let closed = text.lines().map(|line| line.split(": close").next());
        closed.map(|line| line.unwrap().trim().to_owned()).collect()
    }
}

const SECRET: &str = "hush-hush-4711";

/// Runs a job whose preparation, script and cleanup take a second each.
async fn run_job(scripted: &ScriptedProvider) {
    let second = Duration::from_secs(1);
    scripted.on(Moment::Prepare, Directive::succeed().delay(second));
    scripted.on(Moment::Cleanup, Directive::succeed().delay(second));
    let provider = TracingLayer::new().layer(scripted.shared());
    let (config, go_on) = (runner_config("scripted"), Cancellation::new());
    let data = provider.acquire(&config, &go_on).await.unwrap();
    let mut executor = provider.create(&data).unwrap();
    let job = JobBuilder::new(7)
        .script([SECRET])
        .variable(JobVariable::public("TOKEN", SECRET))
        .build();
    let options = OptionsBuilder::new().job(job).build();
    if executor.prepare(options, &go_on).await.is_ok() {
        let command = CommandBuilder::new(SECRET).variable("TOKEN", SECRET);
        let _ = executor.run(command.build(), &go_on).await;
        executor.finish(&JobOutcome::success()).await;
    }
    let _ = executor.cleanup().await;
    drop(executor);
    provider.release(&config, data).await;
}

#[tokio::test(start_paused = true)]
async fn each_call_is_a_span_inside_that_of_its_attempt() {
    let lines = Lines::default();
    let listening = lines.listen();
    let scripted = ScriptedProvider::new();
    let second = Duration::from_secs(1);
    scripted.on(BuildStage::script(), Directive::exit(3).delay(second));
    run_job(&scripted).await;
    drop(listening);
    let attempt = r#"attempt{job=7 runner="testkit" executor="scripted""#;
    assert_eq!(
        lines.spans(),
        [
            r#"acquire{runner="testkit" executor="scripted" outcome=ok duration=0.0}"#.to_owned(),
            format!("{attempt}}}:prepare{{outcome=ok duration=1.0}}"),
            format!("{attempt}}}:run{{stage=step_script outcome=exit code 3 duration=1.0}}"),
            format!("{attempt} outcome=success}}:finish{{outcome=success duration=0.0}}"),
            format!("{attempt} outcome=success}}:cleanup{{outcome=ok duration=1.0}}"),
            format!("{attempt} outcome=success duration=3.0}}"),
            r#"release{runner="testkit" executor="scripted" duration=0.0}"#.to_owned(),
        ]
    );
    scripted.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_a_word_in_its_span_and_no_line_of_the_log() {
    let lines = Lines::default();
    let listening = lines.listen();
    let scripted = ScriptedProvider::new();
    scripted.on(
        Moment::Prepare,
        Directive::fail(Failure::permanent("no daemon")),
    );
    run_job(&scripted).await;
    drop(listening);
    let spans = lines.spans();
    assert!(
        spans[1].contains("prepare{outcome=runner_system_failure"),
        "{spans:?}"
    );
    let attempt = &spans[3];
    assert!(
        attempt.contains("outcome=runner_system_failure"),
        "{attempt}"
    );
    assert!(!lines.text().contains("no daemon"), "{}", lines.text());
    assert_eq!(
        spans.len(),
        5,
        "there are spans and nothing else: {spans:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn no_span_tells_scripts_or_variables() {
    let lines = Lines::default();
    let listening = lines.listen();
    run_job(&ScriptedProvider::new()).await;
    drop(listening);
    assert!(lines.text().contains("step_script"));
    assert!(!lines.text().contains(SECRET), "{}", lines.text());
}

#[tokio::test(start_paused = true)]
async fn jobs_at_once_keep_their_spans_apart() {
    let lines = Lines::default();
    let listening = lines.listen();
    let (one, two) = (ScriptedProvider::new(), ScriptedProvider::new());
    // Each is suspended inside of its spans while the other one goes on.
    tokio::join!(run_job(&one), run_job(&two));
    drop(listening);
    let spans = lines.spans();
    let nested = spans
        .iter()
        .filter(|span| span.matches("attempt").count() > 1);
    assert_eq!(nested.count(), 0, "{spans:?}");
    assert_eq!(
        spans.iter().filter(|span| span.contains(":run{")).count(),
        2
    );
}
