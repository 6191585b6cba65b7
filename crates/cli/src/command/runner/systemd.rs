//! What a service tells systemd (`sd_notify`).

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// Sends a state, such as `READY=1`, if this process is a service of systemd that is expected to.
pub(super) fn notify(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let sent = UnixDatagram::unbound().and_then(|it| it.send_to(state.as_bytes(), &socket));
    if let Err(error) = sent {
        tracing::debug!(%error, "systemd does not listen.");
    }
}

/// Returns how often systemd expects a sign of life, halved as its documentation advises.
pub(super) fn watchdog() -> Option<Duration> {
    let micros = std::env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
    let pid = std::env::var("WATCHDOG_PID").ok();
    let is_meant = pid.is_none_or(|it| it == std::process::id().to_string());
    (is_meant && micros > 1).then(|| Duration::from_micros(micros) / 2)
}
