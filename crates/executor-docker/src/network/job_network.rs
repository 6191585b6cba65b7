use super::addresses::when_addresses_are_free;
use super::mode::NetworkMode;
use super::mtu;
use super::plan::NetworkPlan;
use crate::config::DockerConfig;
use crate::engine::Engine;
use crate::engine::labels::{Labels, Role};
use crate::engine::names::Names;
use crate::engine::pending_request::{PendingRequest, RemovalOutcome, unless_stopped};
use crate::error::DockerError;
use bollard::models::NetworkDisconnectRequest;
use bollard::query_parameters::ListNetworksOptions;
use executor_core::cancellation::Cancellation;
use executor_core::trace::{JobTrace, JobTraceExt};
use fail_point::fail_point;
use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Duration;

/// The time limit of a removal.
const REMOVAL: Duration = Duration::from_secs(30);

/// The network of a job's container and its services.
///
/// Either the job's own, created and removed with the job, or an existing one; see [`NetworkMode`].
#[derive(Debug)]
pub struct JobNetwork {
    engine: Engine,
    mode: NetworkMode,
    /// Its name or mode in the engine.
    name: String,
    /// The id of the job's own network, once it is created.
    id: OnceLock<String>,
    /// The state of the create request.
    pending: PendingRequest,
}

impl JobNetwork {
    /// Creates the network of a job, when it has its own.
    ///
    /// See [`choose_mtu`](super::choose_mtu) for the size of its packets.
    ///
    /// # Errors
    ///
    /// When the engine refuses. While many jobs use all ranges of addresses, the job waits up to 30 seconds.
    ///
    /// # Cancellation
    ///
    /// Stops soon and leaves nothing.
    pub async fn create(
        engine: &Engine,
        mode: NetworkMode,
        names: &Names,
        labels: &Labels,
        config: &DockerConfig,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<Self, DockerError> {
        let network = Self::named(engine, mode, names);
        if network.mode != NetworkMode::Own {
            return Ok(network);
        }
        let asking = async { Ok(network.mtu(config).await) };
        let plan = NetworkPlan {
            name: network.name.clone(),
            labels: labels.for_role(Role::Network),
            mtu: unless_stopped(cancellation, asking).await?,
            ipv6: config.enable_ipv6,
        };
        let created = network.create_own(&plan, trace, cancellation).await;
        let created = created.and_then(|()| Ok(cancellation.check()?));
        if let Err(error) = created {
            // It may exist or appear later, when the engine's answer was late or lost.
            let _ = network.remove().await;
            return Err(error);
        }
        Ok(network)
    }

    /// Returns the network of an attempt that another process started; creates nothing.
    pub fn named(engine: &Engine, mode: NetworkMode, names: &Names) -> Self {
        let name = match &mode {
            NetworkMode::Own => names.network(),
            NetworkMode::Links => "bridge".to_owned(),
            NetworkMode::Named(name) => name.clone(),
            NetworkMode::Host => "host".to_owned(),
            NetworkMode::None => "none".to_owned(),
            NetworkMode::Container(id) => format!("container:{id}"),
        };
        Self {
            engine: engine.clone(),
            mode,
            name,
            id: OnceLock::new(),
            pending: PendingRequest::default(),
        }
    }

    /// Returns its mode.
    pub fn mode(&self) -> &NetworkMode {
        &self.mode
    }

    /// Returns the value for a container's `NetworkMode`, and for `CI_BUILD_NETWORK_NAME` of the job's own network.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the engine resolves names of containers in it.
    pub fn resolves_names(&self) -> bool {
        matches!(self.mode, NetworkMode::Own | NetworkMode::Named(_))
    }

    async fn mtu(&self, config: &DockerConfig) -> Option<u32> {
        let setting = Some(config.network_mtu);
        if let Some(mtu) = mtu::choose_mtu(setting, None, None) {
            return Some(mtu);
        }
        let common = self.engine.api().inspect_network("bridge", None);
        // An engine may have no default network.
        let common = self.engine.call("inspect the network bridge", common).await;
        let common = common.ok().and_then(|network| {
            let options = network.options?;
            options.get("com.docker.network.driver.mtu")?.parse().ok()
        });
        let way_out = self.engine.is_local().then(mtu::of_default_route).flatten();
        mtu::choose_mtu(setting, common, way_out)
    }

    async fn create_own(
        &self,
        plan: &NetworkPlan,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        let report = || {
            trace.warning_line(
                "The container engine has no free range of addresses for the job's network; waiting for another network to end.",
            );
        };
        let create = || self.create_anew(plan, cancellation);
        when_addresses_are_free(report, cancellation, create).await
    }

    async fn create_anew(
        &self,
        plan: &NetworkPlan,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        match self.create_once(plan, cancellation).await {
            // An earlier process created it for the same attempt.
            Err(error) if error.is_conflict() => {
                self.remove().await?;
                self.create_once(plan, cancellation).await
            }
            created => created,
        }
    }

    async fn create_once(
        &self,
        plan: &NetworkPlan,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        let doing = format!("create network {}", plan.name);
        let creating = async {
            fail_point!(
                "executor_docker::network::create",
                self.engine
                    .call(doing, self.engine.api().create_network(plan.request()))
                    .await
            )
        };
        let created = self.pending.track(unless_stopped(cancellation, creating));
        // Set once: a failed request has no id.
        let _ = self.id.set(created.await?.id);
        Ok(())
    }

    /// Removes the job's own network; keeps any other.
    ///
    /// Disconnects remaining containers. May be called more than once, and after a removal from outside.
    ///
    /// # Errors
    ///
    /// When it still exists after 30 seconds.
    pub async fn remove(&self) -> Result<(), DockerError> {
        if self.mode != NetworkMode::Own {
            return Ok(());
        }
        let removed = async {
            match self.id.get() {
                Some(id) => self.remove_id(id).await,
                None => self.pending.settle(|| self.remove_by_name()).await,
            }
        };
        let removed = tokio::time::timeout(REMOVAL, removed).await;
        removed.unwrap_or_else(|_| {
            Err(DockerError::Deadline {
                doing: format!("remove network {}", self.name),
                after: REMOVAL,
            })
        })
    }

    /// Removes all networks of the name by id: older engines allow duplicates and refuse to remove them by name.
    async fn remove_by_name(&self) -> Result<RemovalOutcome, DockerError> {
        let filters = HashMap::from([("name".to_owned(), vec![self.name.clone()])]);
        let options = ListNetworksOptions {
            filters: Some(filters),
        };
        let doing = format!("find network {}", self.name);
        let listed = self.engine.api().list_networks(Some(options));
        let listed = self.engine.call(doing, listed).await?;
        // The engine's filter also matches parts of names.
        let ours = listed
            .into_iter()
            .filter(|network| network.name.as_deref() == Some(&self.name));
        let mut removal = RemovalOutcome::Absent;
        for id in ours.filter_map(|network| network.id) {
            self.remove_id(&id).await?;
            removal = RemovalOutcome::Removed;
        }
        Ok(removal)
    }

    async fn remove_id(&self, id: &str) -> Result<(), DockerError> {
        loop {
            let doing = format!("remove network {}", self.name);
            let removed = fail_point!(
                "executor_docker::network::remove",
                self.engine
                    .call(doing, self.engine.api().remove_network(id))
                    .await
            );
            match removed {
                Err(error) if error.is_not_found() => return Ok(()),
                // A container in removal may stay connected for a moment.
                Err(error) if is_in_use(&error) => self.disconnect_all(id).await?,
                removed => return removed,
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn disconnect_all(&self, id: &str) -> Result<(), DockerError> {
        let doing = format!("inspect network {}", self.name);
        let found = self.engine.api().inspect_network(id, None);
        let found = match self.engine.call(doing, found).await {
            Err(error) if error.is_not_found() => return Ok(()),
            found => found?,
        };
        for container in found.containers.unwrap_or_default().into_keys() {
            let request = NetworkDisconnectRequest {
                // The engine's name of an endpoint without a container.
                container: container.trim_start_matches("ep-").to_owned(),
                force: Some(true),
            };
            let doing = format!("disconnect {container} from network {}", self.name);
            let cut = self.engine.api().disconnect_network(id, request);
            match self.engine.call(doing, cut).await {
                // The container or its endpoint is gone.
                Err(error) if matches!(error.status(), Some(403 | 404 | 409 | 500)) => {}
                cut => cut?,
            }
        }
        Ok(())
    }
}

fn is_in_use(error: &DockerError) -> bool {
    let DockerError::Api {
        status, message, ..
    } = error
    else {
        return false;
    };
    matches!(status, 403 | 409 | 500) && message.contains("active endpoints")
}
