//! The log of the runner at work: events of jobs and runners, for an operator or a program.

use runner::config::Settings;
use tracing_subscriber::EnvFilter;

/// Starts the log on standard error, as `log_level` and `log_format` say; `RUNWRIGHT_LOG` has precedence over the level.
pub(super) fn start(settings: &Settings) {
    let level = match settings.log_level.as_deref() {
        Some("debug") => "debug",
        Some("warn" | "warning") => "warn",
        Some("error" | "fatal" | "panic") => "error",
        _ => "info",
    };
    let filter = std::env::var("RUNWRIGHT_LOG").ok();
    let filter = filter.unwrap_or_else(|| format!("{level},kube_runtime=error,kube_client=off"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_target(false)
        .with_ansi(false)
        .with_writer(|| console::ErrorStream);
    // A second call in one process fails, since the log has already started; that is harmless.
    let _ = if settings.log_format.as_deref() == Some("json") {
        log.json().flatten_event(true).try_init()
    } else {
        log.try_init()
    };
}
