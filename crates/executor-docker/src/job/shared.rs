//! The state that all jobs of one provider share.

use crate::config::DockerConfig;
use crate::config::DockerOptions;
use crate::engine::{DockerHost, Engine, HostSettings};
use crate::error::DockerError;
use crate::garbage::JobLeases;
use crate::image::Images;
use executor_core::{BuildError, Cancellation, Endpoint, RunnerConfig};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many connected engines are kept.
const ENGINES: usize = 64;

/// The options, the run's id, and the connections to engines.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: DockerOptions,
    owner: String,
    /// The connected engines by address, the one that was used last at the end. Each reconnects when a connection broke.
    engines: Mutex<Vec<(String, (Engine, Images))>>,
    /// The reasons, already reported, why stages run without the agent.
    reported: Mutex<HashSet<String>>,
}

impl Shared {
    /// Returns the state without any connection.
    pub(crate) fn new(options: DockerOptions) -> Self {
        let owner = options.owner.clone().unwrap_or_else(new_owner);
        Self {
            options,
            owner,
            engines: Mutex::default(),
            reported: Mutex::default(),
        }
    }

    /// Returns the id of this run.
    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns whether this reason was not reported yet, and remembers it.
    pub(crate) fn is_news(&self, reason: &str) -> bool {
        let mut reported = self.reported.lock();
        reported.insert(reason.to_owned())
    }

    /// Returns a number that is unique in this process.
    pub(crate) fn next_attempt() -> u32 {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the leases of a job in this engine, when there is a ledger of it.
    pub(crate) fn leases(&self, engine: &Engine, job: &str) -> Option<JobLeases> {
        let ledger = self.options.ledger.as_ref();
        let ledger = ledger.filter(|ledger| ledger.is_of(engine))?;
        Some(JobLeases::new(ledger.clone(), job))
    }

    /// Returns the settings of a runner.
    pub(crate) fn settings<'s>(&'s self, config: &'s RunnerConfig) -> &'s DockerConfig {
        config.settings.get().unwrap_or(&self.options.config)
    }

    /// Returns the settings for a job that has an engine of its own, from a layer.
    pub(crate) fn settings_on(
        &self,
        config: &RunnerConfig,
        endpoint: &Endpoint,
    ) -> Result<DockerConfig, BuildError> {
        let Endpoint::Engine {
            host,
            tls_cert_path,
        } = endpoint
        else {
            let message =
                format!("the docker executor needs an engine, but its machine is {endpoint:?}");
            return Err(BuildError::config(message));
        };
        Ok(DockerConfig {
            host: Some(host.clone()),
            tls_verify: tls_cert_path.is_some(),
            tls_cert_path: tls_cert_path
                .as_ref()
                .map(|path| path.display().to_string()),
            // A container that waits for the next job would be lost with its machine.
            warm: 0,
            ..self.settings(config).clone()
        })
    }

    /// Connects to the engine of the settings, or returns the connected one.
    pub(crate) async fn engine(
        &self,
        settings: &DockerConfig,
        cancellation: &Cancellation,
    ) -> Result<(Engine, Images), DockerError> {
        let host = DockerHost::find(&HostSettings {
            host: settings.host.as_deref(),
            tls_verify: settings.tls_verify,
            tls_cert_path: settings.tls_cert_path.as_deref().map(Path::new),
        })?;
        let key = format!(
            "{host} {} {}",
            settings.tls_verify,
            settings.tls_cert_path.as_deref().unwrap_or_default()
        );
        if let Some(engine) = self.known(&key) {
            return Ok(engine);
        }
        let engine = tokio::select! {
            connected = Engine::connect(&host) => connected?,
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        let mut engines = self.engines.lock();
        // Shared, so that the jobs join pulls in progress.
        let images = Images::new(engine.clone());
        engines.retain(|(it, _)| *it != key);
        engines.push((key, (engine.clone(), images.clone())));
        // Machines come and go. Jobs keep what they use.
        if engines.len() > ENGINES {
            engines.remove(0);
        }
        Ok((engine, images))
    }

    fn known(&self, key: &str) -> Option<(Engine, Images)> {
        let mut engines = self.engines.lock();
        let index = engines.iter().position(|(it, _)| it == key)?;
        engines[index..].rotate_left(1);
        engines.last().map(|(_, engine)| engine.clone())
    }
}

fn new_owner() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |since| since.as_nanos());
    format!("{:x}-{nanos:x}", std::process::id())
}

/// The shared state.
pub(crate) type SharedHost = Arc<Shared>;
