//! The log of the runner at work: events of jobs and runners, for an operator or a program.

use runner::Metrics;
use runner::config::Settings;
use std::sync::{Arc, OnceLock};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt};

/// Counts lines of the log in the metrics, once there are some.
#[derive(Debug, Clone, Default)]
pub(super) struct LineCounter(Arc<OnceLock<Metrics>>);

impl LineCounter {
    pub(super) fn count_for(&self, metrics: &Metrics) {
        // The first manager of the process counts.
        let _ = self.0.set(metrics.clone());
    }
}

impl<S: Subscriber> Layer<S> for LineCounter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if let Some(metrics) = self.0.get() {
            metrics.logged(*event.metadata().level());
        }
    }
}

/// Starts the log on standard error, as `log_level` and `log_format` say; `RUNWRIGHT_LOG` has precedence over the level.
pub(super) fn start(settings: &Settings) -> LineCounter {
    let level = match settings.log_level.as_deref() {
        Some("debug") => "debug",
        Some("warn" | "warning") => "warn",
        Some("error" | "fatal" | "panic") => "error",
        _ => "info",
    };
    let filter = std::env::var("RUNWRIGHT_LOG").ok();
    let filter = filter.unwrap_or_else(|| format!("{level},kube_runtime=error,kube_client=off"));
    let is_json = settings.log_format.as_deref() == Some("json");
    let lines = fmt::layer().with_target(false).with_ansi(false);
    let lines = lines.with_writer(|| console::ErrorStream);
    let lines = if is_json {
        lines.json().flatten_event(true).boxed()
    } else {
        lines.boxed()
    };
    let counter = LineCounter::default();
    let log = tracing_subscriber::registry()
        .with(EnvFilter::new(filter))
        .with(counter.clone())
        .with(lines);
    // A second call in one process fails, since the log has already started; that is harmless.
    let _ = log.try_init();
    counter
}
