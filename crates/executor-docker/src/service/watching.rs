//! Watches services while the job runs.

use super::ended::Ended;
use super::probe::Probes;
use super::running::Running;
use super::services::{Service, Services};
use super::{logs, ready};
use crate::error::DockerError;
use executor_core::trace::JobTraceExt;
use std::sync::atomic::Ordering;
use tokio::sync::watch;

impl Services {
    /// Reports services that end while the job runs in the log.
    ///
    /// The end of a required service fails the job, through [`lost`](Self::lost).
    pub fn watch(&self) {
        for service in &self.shared.services {
            let Some(running) = service.running.get() else {
                continue;
            };
            let (services, index) = (self.clone(), service.index);
            let (mut end, mut over) = (running.end.clone(), self.shared.over.subscribe());
            self.spawn(async move {
                let ended = tokio::select! {
                    ended = ready::ended(&mut end) => ended,
                    () = is_over(&mut over) => return,
                };
                services.report_end(index, &ended).await;
            });
        }
    }

    async fn report_end(&self, index: usize, ended: &Ended) {
        let Some(service) = self.shared.services.get(index) else {
            return;
        };
        let Some(running) = service.running.get() else {
            return;
        };
        if service.end_reported.swap(true, Ordering::SeqCst) {
            return;
        }
        let title = service.plan.title();
        if ended.is_success() {
            let text = format!("The service {title} has finished: {ended}.");
            self.shared.options.trace.system_line(&text);
            return;
        }
        let message = format!("The service {title} has ended: {ended}.");
        let required = Probes::new(&service.plan.variables, &running.facts);
        if required.is_ok_and(|probes| probes.required) {
            let message = format!("the required service {title} has ended: {ended}");
            self.shared.lost.send_replace(Some(message));
        }
        self.warn(service, running, &message).await;
    }

    /// Waits until a required service has ended; call [`watch`](Self::watch) before. May never return.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    pub async fn lost(&self) -> DockerError {
        let mut lost = self.shared.lost.subscribe();
        let found = lost.wait_for(Option::is_some).await;
        match found.ok().and_then(|found| found.clone()) {
            Some(message) => DockerError::config(message),
            None => std::future::pending().await,
        }
    }

    /// Writes a warning about a service and its last output to the log.
    pub(super) async fn warn(&self, service: &Service, running: &Running, message: &str) {
        let options = &self.shared.options;
        options.trace.warning_line(message);
        if options.capture_logs {
            return;
        }
        let heading = format!("Last output of {}:", service.plan.title());
        let index = number(service.index);
        let trace = &*options.trace;
        logs::show_tail(&options.engine, &running.id, trace, &heading, index).await;
    }
}

/// Waits until the services are not needed any more.
pub(super) async fn is_over(over: &mut watch::Receiver<bool>) {
    // Without a sender, they are not needed either.
    let _ = over.wait_for(|over| *over).await;
}

/// Returns the stream number of a service; services past the last number share it.
pub(super) fn number(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}
