//! Waits until all services are ready.

use super::probe::Probes;
use super::ready::{self, NotReady};
use super::running::Running;
use super::services::{Service, Services};
use crate::error::DockerError;
use executor_core::cancellation::Cancellation;
use executor_core::trace::JobTraceExt;
use futures_util::future::join_all;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Services {
    /// Waits until all services are ready, in parallel; see [`Probes`].
    ///
    /// The log reports services that are not ready in time, with the reason and their last output.
    ///
    /// # Errors
    ///
    /// When a required service is not ready. Any other may become ready later, or never.
    ///
    /// # Cancellation
    ///
    /// Stops at once.
    pub async fn ready(&self, cancellation: &Cancellation) -> Result<(), DockerError> {
        let waits = self.shared.services.iter();
        let waits = waits.filter_map(|service| Some((service, service.running.get()?)));
        let waits = waits.map(|(service, running)| self.ready_one(service, running, cancellation));
        join_all(waits).await.into_iter().collect()
    }

    async fn ready_one(
        &self,
        service: &Service,
        running: &Running,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        let options = &self.shared.options;
        let probes = Probes::new(&service.plan.variables, &running.facts)
            .map_err(|error| DockerError::config(error.to_string()))?;
        let seconds = options.config.wait_for_services_timeout;
        let setting = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let limit = probes.timeout.unwrap_or(setting);
        if probes.all.is_empty() || limit.is_zero() {
            return Ok(());
        }
        let waited = ready::wait(&options.engine, running, &probes, limit, cancellation).await;
        let title = service.plan.title();
        let why = match waited {
            Ok(true) => return Ok(()),
            Ok(false) => {
                options.trace.warning_line(&format!(
                    "The readiness of the service {title} is unknown: its container is not reachable from this host, and its image has no tools for a probe."
                ));
                return Ok(());
            }
            Err(NotReady::Canceled(cause)) => return Err(DockerError::Canceled(cause)),
            Err(why) => why,
        };
        if matches!(why, NotReady::Ended(_)) {
            service.end_reported.store(true, Ordering::SeqCst);
        }
        let message = format!("The service {title} is not ready: {why}.");
        self.warn(service, running, &message).await;
        if probes.required {
            return Err(DockerError::config(format!(
                "the required service {title} is not ready: {why}"
            )));
        }
        Ok(())
    }
}
