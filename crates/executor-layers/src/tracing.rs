//! Spans for the attempts of a job and for calls.

use crate::forward::{forward_executor, forward_provider};
use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, Cancellation, Executor, ExecutorData, ExecutorProvider, JobOutcome,
    PrepareOptions, PreparedEnvironment, ProviderError, ProviderLayer, RunnerConfig, StageCommand,
    StageResult,
};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::field::{Empty, display};
use tracing::{Instrument, Span, info_span};

/// Adds a span for each attempt of a job and, inside it, one for each call.
///
/// # What it changes
///
/// Nothing; all calls are forwarded. Log messages of inner layers and the executor during a call are
/// inside its span, which names the job. The layer logs nothing itself: the caller that handles an error
/// logs it.
///
/// | span | fields |
/// | --- | --- |
/// | `attempt` | `job`, `runner`, `executor` (from `prepare` on), `outcome`, `duration` |
/// | `prepare`, `finish`, `cleanup`, inside of `attempt` | `outcome`, `duration` |
/// | `run`, inside of `attempt` | `stage`, `outcome`, `duration` |
/// | `acquire` | `runner`, `executor`, `outcome`, `duration` |
/// | `release` | `runner`, `executor`, `duration` |
///
/// `outcome` is a state (`success`), an exit code or signal, `ok`, or GitLab's failure reason;
/// `duration` is in seconds. Both are recorded at the end. No field contains scripts or variables.
///
/// # Examples
///
/// Right: next to the executor, inside a [`RetryLayer`](crate::RetryLayer), so that each attempt has a
/// span. Wrong: outside it, where all attempts and pauses share one span.
///
/// ```
/// use executor_core::prelude::*;
/// use executor_layers::{RetryLayer, TracingLayer};
/// use executor_testkit::{Directive, Failure, Moment, OptionsBuilder, ScriptedProvider};
/// # use parking_lot::Mutex;
/// # use tracing::subscriber::DefaultGuard;
/// # use tracing_subscriber::fmt::format::FmtSpan;
/// #
/// # #[derive(Clone, Default)]
/// # struct Lines(Arc<Mutex<Vec<u8>>>);
/// #
/// # impl std::io::Write for Lines {
/// #     fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
/// #         self.0.lock().extend_from_slice(bytes);
/// #         Ok(bytes.len())
/// #     }
/// #     fn flush(&mut self) -> std::io::Result<()> {
/// #         Ok(())
/// #     }
/// # }
/// #
/// # struct Spans(Lines, DefaultGuard);
/// #
/// # impl Spans {
/// #     fn listen() -> Self {
/// #         let lines = Lines::default();
/// #         let writer = lines.clone();
/// #         let subscriber = tracing_subscriber::fmt()
/// #             .with_span_events(FmtSpan::NEW)
/// #             .with_ansi(false)
/// #             .with_writer(move || writer.clone())
/// #             .finish();
/// #         Self(lines, tracing::subscriber::set_default(subscriber))
/// #     }
/// #     fn count(&self, name: &str) -> usize {
/// #         let bytes = self.0.0.lock();
/// #         String::from_utf8_lossy(&bytes).matches(&format!(":{name}")).count()
/// #     }
/// # }
///
/// /// Fails twice, then succeeds.
/// fn host() -> ScriptedProvider {
///     let host = ScriptedProvider::new();
///     host.on(Moment::Prepare, Directive::fail(Failure::temporary("connect")).times(2));
///     host
/// }
///
/// /// Returns the number of attempts with a span.
/// async fn attempts(provider: Arc<dyn ExecutorProvider>) -> Result<usize, BuildError> {
///     let spans = Spans::listen(); // a subscriber that records the spans of this thread
///     let mut executor = provider.create(&ExecutorData::new())?;
///     executor.prepare(OptionsBuilder::new().build(), &Cancellation::new()).await?;
///     executor.cleanup().await?;
///     Ok(spans.count("prepare"))
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), BuildError> {
/// let (tracing, retry) = (TracingLayer::new(), RetryLayer::new());
/// let right = ProviderStack::new(host()).layer(&tracing).layer(&retry).build();
/// assert_eq!(attempts(right).await?, 3);
///
/// let wrong = ProviderStack::new(host()).layer(&retry).layer(&tracing).build();
/// assert_eq!(attempts(wrong).await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct TracingLayer {
    _private: (),
}

impl TracingLayer {
    /// Returns the layer.
    pub fn new() -> Self {
        Self::default()
    }
}

impl ProviderLayer for TracingLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        Arc::new(TracingProvider { inner })
    }
}

/// A provider wrapped in a [`TracingLayer`].
#[derive(Debug)]
pub struct TracingProvider {
    inner: Arc<dyn ExecutorProvider>,
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for TracingProvider {
    forward_provider!(inner: can_create);

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let attempt = Call::begin(info_span!(
            "attempt",
            job = Empty,
            runner = Empty,
            executor = Empty,
            outcome = Empty,
            duration = Empty,
        ));
        let created = attempt.span.in_scope(|| self.inner.create(data));
        if let Err(error) = &created {
            attempt.note(error.failure_reason());
        }
        Ok(Box::new(TracingExecutor {
            inner: created?,
            attempt,
        }))
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let call = Call::begin(info_span!(
            "acquire",
            runner = config.name,
            executor = config.executor,
            outcome = Empty,
            duration = Empty,
        ));
        let acquire = self.inner.acquire(config, cancellation);
        let acquired = acquire.instrument(call.span.clone()).await;
        call.note(match &acquired {
            Ok(_) => "ok",
            Err(AcquireError::NoFreeExecutor) => "no_free_executor",
            Err(AcquireError::Canceled(_)) => "canceled",
            Err(_) => "failed",
        });
        acquired
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        let call = Call::begin(info_span!(
            "release",
            runner = config.name,
            executor = config.executor,
            duration = Empty,
        ));
        let release = self.inner.release(config, data);
        release.instrument(call.span.clone()).await;
    }

    forward_provider!(inner: features, config_info, default_shell, init);

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.inner.shutdown(deadline).await
    }
}

/// An executor of a [`TracingProvider`].
#[derive(Debug)]
pub struct TracingExecutor {
    inner: Box<dyn Executor>,
    /// The span of the attempt, which ends with the executor.
    attempt: Call,
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for TracingExecutor {
    forward_executor!(inner: shell);

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        let attempt = &self.attempt.span;
        attempt.record("job", display(options.job.id));
        attempt.record("runner", options.config.name.as_str());
        attempt.record("executor", options.config.executor.as_str());
        let call = Call::begin(info_span!(
            parent: attempt,
            "prepare",
            outcome = Empty,
            duration = Empty,
        ));
        let prepare = self.inner.prepare(options, cancellation);
        let prepared = prepare.instrument(call.span.clone()).await;
        match &prepared {
            Ok(_) => call.note("ok"),
            Err(error) => {
                call.note(error.failure_reason());
                // No `finish` follows.
                self.attempt.note(error.failure_reason());
            }
        }
        prepared
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        let call = Call::begin(info_span!(
            parent: &self.attempt.span,
            "run",
            stage = %command.stage,
            outcome = Empty,
            duration = Empty,
        ));
        let run = self.inner.run(command, cancellation);
        let result = run.instrument(call.span.clone()).await;
        match &result {
            Ok(result) => call.note(result.status),
            Err(error) => call.note(error.failure_reason()),
        }
        result
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        let call = Call::begin(info_span!(
            parent: &self.attempt.span,
            "finish",
            outcome = %outcome.state,
            duration = Empty,
        ));
        let finish = self.inner.finish(outcome);
        finish.instrument(call.span.clone()).await;
        match outcome.failure_reason() {
            None => self.attempt.note(outcome.state),
            Some(reason) => self.attempt.note(reason),
        }
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        let call = Call::begin(info_span!(
            parent: &self.attempt.span,
            "cleanup",
            outcome = Empty,
            duration = Empty,
        ));
        let cleanup = self.inner.cleanup();
        let cleaned = cleanup.instrument(call.span.clone()).await;
        match &cleaned {
            Ok(()) => call.note("ok"),
            Err(error) => call.note(error.failure_reason()),
        }
        cleaned
    }

    forward_executor!(inner: current_stage, set_current_stage, stage_cell, abilities);
}

/// A span that records its duration at its end, also after a panic.
#[derive(Debug)]
struct Call {
    span: Span,
    start: Instant,
}

impl Call {
    fn begin(span: Span) -> Self {
        Self {
            span,
            start: Instant::now(),
        }
    }

    fn note(&self, outcome: impl Display) {
        self.span.record("outcome", display(outcome));
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.span
            .record("duration", self.start.elapsed().as_secs_f64());
    }
}
