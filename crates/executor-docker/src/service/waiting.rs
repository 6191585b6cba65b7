//! Waiting until services are ready.

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
    /// Waits until all services are ready, in parallel; see [`Probes`] for what that means.
    ///
    /// The log says which service is not ready in time, why, and what it wrote last.
    ///
    /// # Errors
    ///
    /// When one that the job cannot do without is not ready. Any other may come later, or never.
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
                    "It cannot be seen from here whether the service {title} is ready: its container is out of reach, and its image has no tools to look with."
                ));
                return Ok(());
            }
            Err(NotReady::Canceled(cause)) => return Err(DockerError::Canceled(cause)),
            Err(why) => why,
        };
        if matches!(why, NotReady::Ended(_)) {
            service.told.store(true, Ordering::SeqCst);
        }
        let message = format!("The service {title} is not ready: {why}.");
        self.tell(service, running, &message).await;
        if probes.required {
            return Err(DockerError::config(format!(
                "the job needs the service {title}, which is not ready: {why}"
            )));
        }
        Ok(())
    }
}
