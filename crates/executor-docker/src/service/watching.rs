//! What becomes of services while the job runs.

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
    /// Says in the log, from now on, when a service ends while the job runs.
    ///
    /// That is no failure of the job, unless it cannot do without the service: then [`lost`](Self::lost)
    /// tells.
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
                services.tell_end(index, &ended).await;
            });
        }
    }

    async fn tell_end(&self, index: usize, ended: &Ended) {
        let Some(service) = self.shared.services.get(index) else {
            return;
        };
        let Some(running) = service.running.get() else {
            return;
        };
        if service.told.swap(true, Ordering::SeqCst) {
            return;
        }
        let title = service.plan.title();
        if ended.is_success() {
            let text = format!("The service {title} is done: {ended}.");
            self.shared.options.trace.system_line(&text);
            return;
        }
        let message = format!("The service {title} does not run any more: {ended}.");
        let required = Probes::new(&service.plan.variables, &running.facts);
        if required.is_ok_and(|probes| probes.required) {
            let message = format!("the job needs the service {title}: {ended}");
            self.shared.lost.send_replace(Some(message));
        }
        self.tell(service, running, &message).await;
    }

    /// Waits until a service that the job cannot do without has ended; call [`watch`](Self::watch)
    /// before. It may never return.
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

    /// Says in the log what is wrong with a service, and what it wrote last.
    pub(super) async fn tell(&self, service: &Service, running: &Running, message: &str) {
        let options = &self.shared.options;
        options.trace.warning_line(message);
        if options.capture_logs {
            return;
        }
        options
            .trace
            .system_line(&format!("What {} wrote last:", service.plan.title()));
        let index = number(service.index);
        logs::show_tail(&options.engine, &running.id, &*options.trace, index).await;
    }
}

/// Waits until what happens to services matters no more.
pub(super) async fn is_over(over: &mut watch::Receiver<bool>) {
    // Without a sender it matters no more either.
    let _ = over.wait_for(|over| *over).await;
}

/// Services past the last number of a stream share it.
pub(super) fn number(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}
