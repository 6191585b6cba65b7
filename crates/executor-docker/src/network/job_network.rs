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

/// How long the removal of a network may take.
const REMOVAL: Duration = Duration::from_secs(30);

/// The network that a job's container and its services are in.
///
/// It is one of their own, made with the job and removed after it, or one that was there before; see
/// [`NetworkMode`].
#[derive(Debug)]
pub struct JobNetwork {
    engine: Engine,
    mode: NetworkMode,
    /// What the engine knows it by.
    name: String,
    /// The id of a network of the job's own, once it is made.
    id: OnceLock<String>,
    /// Whether it may come into being later.
    pending: PendingRequest,
}

impl JobNetwork {
    /// Makes the network of a job, where it has one of its own.
    ///
    /// Its packets are as large as the settings say, else as the way out of the host carries: see
    /// [`choose_mtu`](super::choose_mtu).
    ///
    /// # Errors
    ///
    /// When the engine refuses. While it has no range of addresses left, because many jobs run, the
    /// job waits up to 30 seconds for one to end.
    ///
    /// # Cancellation
    ///
    /// Stops soon, with nothing left.
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
            // It may be there all the same, or come, when the engine's answer was late or got lost.
            let _ = network.remove().await;
            return Err(error);
        }
        Ok(network)
    }

    /// Returns the network of an attempt that another process began, without making anything.
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

    /// Returns which kind of network it is.
    pub fn mode(&self) -> &NetworkMode {
        &self.mode
    }

    /// Returns what a container's `NetworkMode` is to be, and of a network of the job's own the value
    /// of `CI_BUILD_NETWORK_NAME`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the engine resolves the names of containers in it.
    pub fn resolves_names(&self) -> bool {
        matches!(self.mode, NetworkMode::Own | NetworkMode::Named(_))
    }

    async fn mtu(&self, config: &DockerConfig) -> Option<u32> {
        let setting = Some(config.network_mtu);
        if let Some(mtu) = mtu::choose_mtu(setting, None, None) {
            return Some(mtu);
        }
        let common = self.engine.api().inspect_network("bridge", None);
        // An engine without a common network has nothing to say about it.
        let common = self.engine.call("look at the network bridge", common).await;
        let common = common.ok().and_then(|network| {
            let options = network.options?;
            options.get("com.docker.network.driver.mtu")?.parse().ok()
        });
        let way_out = self.engine.is_local().then(mtu::of_the_way_out).flatten();
        mtu::choose_mtu(setting, common, way_out)
    }

    async fn create_own(
        &self,
        plan: &NetworkPlan,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        let told = || {
            trace.warning_line(
                "The container engine has no range of addresses free for the job's network; waiting for another to end.",
            );
        };
        let create = || self.create_anew(plan, cancellation);
        when_addresses_are_free(told, cancellation, create).await
    }

    async fn create_anew(
        &self,
        plan: &NetworkPlan,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        match self.create_once(plan, cancellation).await {
            // Only an earlier process with the same names can have made it, for this very attempt.
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
        let created = self
            .pending
            .until_answered(unless_stopped(cancellation, creating));
        // It is set once: what fails has no id.
        let _ = self.id.set(created.await?.id);
        Ok(())
    }

    /// Removes a network of the job's own; any other stays.
    ///
    /// What is still connected to it is disconnected. It may be called more than once, and after
    /// somebody else has removed it.
    ///
    /// # Errors
    ///
    /// When it is still there after 30 seconds.
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

    /// Older engines let several networks have one name, and then refuse to remove any by it.
    async fn remove_by_name(&self) -> Result<RemovalOutcome, DockerError> {
        let filters = HashMap::from([("name".to_owned(), vec![self.name.clone()])]);
        let options = ListNetworksOptions {
            filters: Some(filters),
        };
        let doing = format!("look for network {}", self.name);
        let listed = self.engine.api().list_networks(Some(options));
        let listed = self.engine.call(doing, listed).await?;
        // The engine's filter finds parts of names too.
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
                // A container that is being removed may be connected a moment longer.
                Err(error) if is_in_use(&error) => self.disconnect_all(id).await?,
                removed => return removed,
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn disconnect_all(&self, id: &str) -> Result<(), DockerError> {
        let doing = format!("look at network {}", self.name);
        let found = self.engine.api().inspect_network(id, None);
        let found = match self.engine.call(doing, found).await {
            Err(error) if error.is_not_found() => return Ok(()),
            found => found?,
        };
        for container in found.containers.unwrap_or_default().into_keys() {
            let request = NetworkDisconnectRequest {
                // An endpoint without a container is called so.
                container: container.trim_start_matches("ep-").to_owned(),
                force: Some(true),
            };
            let doing = format!("disconnect {container} from network {}", self.name);
            let cut = self.engine.api().disconnect_network(id, request);
            match self.engine.call(doing, cut).await {
                // It is gone, or is going.
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
