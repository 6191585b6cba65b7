//! Starts services.

use super::ended::{Ended, ended};
use super::logs::{ServiceLabel, Start};
use super::running::{self, Running, ServiceStart};
use super::services::{Service, Services};
use super::watching::is_over;
use super::{logs, watching::number};
use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::job::create::{NetworkPlan, service_container};
use crate::network::{JobNetwork, NetworkMode};
use executor_core::cancellation::Cancellation;
use executor_core::trace::JobTraceExt;
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::watch;

impl Services {
    /// Creates and starts all containers, in parallel.
    ///
    /// # Errors
    ///
    /// When one of them does not start; the others are awaited, and [`remove`](Self::remove) removes them.
    ///
    /// # Cancellation
    ///
    /// Stops at once; [`remove`](Self::remove) also finds containers from dropped requests.
    pub async fn start(
        &self,
        network: &JobNetwork,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        for warning in &self.shared.warnings {
            self.shared.options.trace.warning_line(warning);
        }
        if self.is_empty() {
            return Ok(());
        }
        self.shared.begun.store(true, Ordering::SeqCst);
        let starts = self.shared.services.iter();
        let starts = starts.map(|service| self.start_one(service, network, cancellation));
        join_all(starts).await.into_iter().collect()
    }

    /// Takes over the containers that another process started.
    ///
    /// Missing ones count as ended earlier and are not reported. Earlier output is not shown again.
    pub(crate) async fn adopt(&self, network: &JobNetwork) {
        self.shared.begun.store(true, Ordering::SeqCst);
        let adoptions = self.shared.services.iter();
        join_all(adoptions.map(|service| self.adopt_one(service, network))).await;
    }

    async fn adopt_one(&self, service: &Service, network: &JobNetwork) {
        let name = self.shared.options.names.service(service.index);
        if let Err(error) = self.watch_started(service, name, Start::Now, network).await {
            tracing::debug!(%error, "A service is gone.");
        }
    }

    async fn start_one(
        &self,
        service: &Service,
        network: &JobNetwork,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        cancellation.check()?;
        let options = &self.shared.options;
        let (engine, plan, title) = (&options.engine, &service.plan, service.plan.title());
        let Some(image) = service.image.get() else {
            return Err(DockerError::config(format!(
                "the service {title} has no image: it was not pulled"
            )));
        };
        options
            .trace
            .system_line(&format!("Starting service {title} ..."));
        let aliases = if network.resolves_names() {
            plan.names.clone()
        } else {
            Vec::new()
        };
        let place = NetworkPlan {
            mode: Some(network.name().to_owned()),
            aliases,
        };
        let mut body = plan.container(&options.config, &options.labels, &image.id, place)?;
        body.binds.clone_from(&options.binds);
        body.mounts.clone_from(&options.mounts);
        let body = service_container(&options.config, &body);
        let name = options.names.service(service.index);
        let beginning = ServiceStart {
            engine,
            name: &name,
            title: &title,
            platform: plan.platform.as_deref(),
            pending: &service.pending,
        };
        let id = running::begin(beginning, body, cancellation).await?;
        let watching = self.watch_started(service, id, Start::Beginning, network);
        unless_stopped(cancellation, watching).await
    }

    /// Watches a container and stores the facts about it.
    async fn watch_started(
        &self,
        service: &Service,
        id: String,
        start: Start,
        network: &JobNetwork,
    ) -> Result<(), DockerError> {
        let options = &self.shared.options;
        let (engine, plan, title) = (&options.engine, &service.plan, service.plan.title());
        let (tell, end) = watch::channel(None);
        self.watch_end(id.clone(), tell);
        if options.capture_logs {
            self.capture(service.index, id.clone(), start, plan.name());
        }
        let on_host = *network.mode() == NetworkMode::Host;
        let found = running::inspect(engine, &id, &title, on_host).await?;
        let running = Running {
            id,
            facts: found.facts,
            address: found.address,
            access: found.access,
            end,
        };
        // A service starts once.
        let _ = service.running.set(running);
        Ok(())
    }

    fn watch_end(&self, id: String, tell: watch::Sender<Option<Ended>>) {
        let (engine, mut over) = (
            self.shared.options.engine.clone(),
            self.shared.over.subscribe(),
        );
        self.spawn(async move {
            tokio::select! {
                ended = ended(&engine, &id) => {
                    // The receivers may be gone.
                    let _ = tell.send(Some(ended));
                }
                () = is_over(&mut over) => {}
            }
        });
    }

    fn capture(&self, index: usize, id: String, start: Start, name: String) {
        let shared = Arc::clone(&self.shared);
        self.spawn(async move {
            let (engine, trace) = (&shared.options.engine, &*shared.options.trace);
            let label = ServiceLabel {
                index: number(index),
                name: &name,
            };
            logs::follow(engine, &id, start, trace, label).await;
        });
    }
}
