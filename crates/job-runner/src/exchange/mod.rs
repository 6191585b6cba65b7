//! Files of a job in an environment that no file transfer reaches.
//!
//! The stages of sources, caches and artifacts are scripts there. They start the helper command, which fetches files
//! from an [`endpoint`] of this process and sends them there. What it sends goes to the same stores as the files
//! of other jobs. See `docs/design/helper-command.md`.

mod artifacts;
mod caches;
mod calls;
#[cfg(feature = "helper")]
mod endpoint;
#[cfg(not(feature = "helper"))]
#[path = "no_endpoint.rs"]
mod endpoint;
mod packing;
#[cfg(feature = "helper")]
mod receive;
mod sources;

pub(crate) use caches::{HelperCache, HelperCacheSettings};

use crate::build::Build;
use crate::options::HelperServer;
use crate::stages::Stages;
use calls::Calls;
use endpoint::Endpoint;
use executor_core::trace::JobTraceExt;
use executor_core::{
    BuildDirs, BuildError, BuildStage, Cancellation, JobTrace, Retryability, Workspace,
};
use process::TempDir;
use rustix::rand::{GetRandomFlags, getrandom};
use shells::HelperStage;
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The files that the current stage may fetch and send.
#[derive(Debug, Default)]
struct Slots {
    /// Files to fetch, by the path of their address.
    downloads: HashMap<String, PathBuf>,
    /// The addresses of uploads, each with the name for [`Upload::name`].
    uploads: HashMap<String, String>,
    /// What was sent, in this order.
    received: Vec<Upload>,
    /// Why files that were sent are not on this host's disk; the environment only learns that they are not.
    unwritten: Vec<String>,
}

/// A file that was sent completely.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Upload {
    /// The name of its slot, and for artifacts the type: `archive`, `junit`.
    name: String,
    file: PathBuf,
}

/// The endpoint of a job, and its directory on this host.
#[derive(Debug)]
pub(crate) struct Exchange {
    directory: TempDir,
    /// `None` when the job's GitLab keeps the files.
    endpoint: Option<Endpoint>,
}

impl Exchange {
    async fn create(build: &Build<'_>) -> Result<Self, BuildError> {
        let parent = build.context.config.host_builds_dir.as_ref();
        let parent = parent.map_or_else(std::env::temp_dir, PathBuf::from);
        let directory = build.processes.supervisor().temp_dir(&parent, "exchange-");
        let directory = directory.map_err(|source| {
            BuildError::system("runner", "create a directory for files", source)
        })?;
        let options = &build.options.helper;
        if let Some(program) = &options.program {
            symlink(program, directory.path().join(shells::HELPER))
                .map_err(failed("link the helper command"))?;
        }
        let endpoint = match options.server {
            HelperServer::GitLab => None,
            HelperServer::Endpoint => {
                let spool = directory.path().to_owned();
                let started =
                    Endpoint::start(options.address, token(), spool, options.largest_upload).await;
                Some(started.map_err(failed("listen for helper commands"))?)
            }
        };
        Ok(Self {
            directory,
            endpoint,
        })
    }

    /// Returns the directories on this host in which the sources are collected.
    pub(crate) fn host_dirs(&self, inside: &BuildDirs) -> BuildDirs {
        let root = self.directory.path().join("sources");
        let below = |name: &str| root.join(name).display().to_string();
        BuildDirs {
            builds_dir: root.display().to_string(),
            cache_dir: below("cache"),
            project_dir: below("project"),
            temp_dir: below("temp"),
            shared: inside.shared,
        }
    }

    /// Returns a path in the directory.
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Ends the endpoint and removes the directory.
    pub(crate) async fn remove(self) -> Result<(), BuildError> {
        if let Some(endpoint) = self.endpoint {
            endpoint.close().await;
        }
        let removed = self.directory.remove().await;
        removed.map_err(|source| BuildError::system("runner", "remove files", source))
    }
}

/// Returns an unguessable secret.
fn token() -> String {
    let mut bytes = [0_u8; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        // Small requests only fail when they are interrupted.
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty()).unwrap_or(0);
    }
    format!("rw-{}", blake3::hash(&bytes).to_hex())
}

fn failed(message: &'static str) -> impl FnOnce(io::Error) -> BuildError {
    move |source| BuildError::System {
        backend: "runner",
        message: message.to_owned(),
        source: Some(source.into()),
        retry: Retryability::Temporary,
    }
}

/// A stage that starts the helper command.
#[derive(Debug, Default)]
pub(crate) struct HelperWork {
    helper: HelperStage,
    /// Variables for this stage only, such as the token.
    environment: Vec<(String, String)>,
    slots: Slots,
}

impl Stages<'_, '_> {
    /// Returns whether the files of the job are reached by scripts only.
    pub(crate) fn needs_helper(&self) -> bool {
        let workspace = &self.environment.workspace;
        matches!(workspace, Workspace::Remote { transfer: None, .. })
    }

    async fn exchange(&mut self) -> Result<&Exchange, BuildError> {
        if self.build.exchange.is_none() {
            let exchange = Exchange::create(self.build).await?;
            if let Some(endpoint) = &exchange.endpoint {
                self.build.log.add_mask(endpoint.token());
            }
            self.build.exchange = Some(exchange);
        }
        self.build
            .exchange
            .as_ref()
            .ok_or_else(|| BuildError::config("no exchange"))
    }

    /// Returns the arguments of helper commands, and the variables that they refer to.
    async fn calls(&mut self) -> Result<Calls, BuildError> {
        let exchange = self.exchange().await?;
        let directory = exchange.directory.path().display().to_string();
        let endpoint = exchange.endpoint.as_ref();
        let server = endpoint.map(|it| (it.url(""), it.token().to_owned()));
        let is_endpoint = server.is_some();
        let mut calls = Calls::new(self.expanded.clone());
        calls.variable(shells::HELPER_DIR, directory);
        let (url, token) = server.unwrap_or_else(|| {
            let url = self.expanded.get("CI_SERVER_URL").unwrap_or_default();
            (url.to_owned(), self.build.job.token.expose().to_owned())
        });
        if is_endpoint {
            // The connection is faster than compression, and the stores pack anew.
            for name in ["ARTIFACT_COMPRESSION_LEVEL", "CACHE_COMPRESSION_LEVEL"] {
                if self.expanded.get(name).is_none() {
                    calls.variable(name, "fastest".to_owned());
                }
            }
        }
        calls.variable(calls::URL, url);
        calls.variable(calls::TOKEN, token);
        Ok(calls)
    }

    /// Runs a stage that starts the helper command, and returns what was sent meanwhile.
    async fn run_helper(
        &mut self,
        stage: BuildStage,
        work: HelperWork,
        cancellation: &Cancellation,
    ) -> (Result<(), BuildError>, Vec<Upload>) {
        self.set_helper(work);
        let ran = self.script_stage(stage, cancellation).await;
        let slots = self.clear_helper();
        for error in slots.unwritten {
            let text = format!("a file from the environment is not stored: {error}");
            self.build.log.warning_line(&text);
        }
        (ran, slots.received)
    }

    fn set_helper(&mut self, work: HelperWork) {
        self.scripts.helper = work.helper;
        self.helper_environment = work.environment;
        self.replace_slots(work.slots);
    }

    /// Ends the access to the files of a stage, and returns what became of it.
    fn clear_helper(&mut self) -> Slots {
        self.scripts.helper = HelperStage::default();
        self.helper_environment.clear();
        self.replace_slots(Slots::default())
    }

    fn replace_slots(&self, slots: Slots) -> Slots {
        let exchange = self.build.exchange.as_ref();
        let endpoint = exchange.and_then(|it| it.endpoint.as_ref());
        endpoint.map(|it| it.set(slots)).unwrap_or_default()
    }

    /// Runs a stage that fetches files, in as many attempts as the variable `attempts` allows.
    async fn fetch_by_helper(
        &mut self,
        stage: BuildStage,
        work: HelperWork,
        attempts: u32,
        setup: &Cancellation,
    ) -> Result<(), BuildError> {
        self.set_helper(work);
        let mut attempt = 1;
        let ran = loop {
            let ran = self.script_stage(stage.clone(), setup).await;
            match ran {
                Err(error) if attempt < attempts && !setup.is_canceled() => {
                    self.pause_after_failure(attempt, "fetch files", &error, setup)
                        .await;
                }
                other => break other,
            }
            attempt += 1;
        };
        self.clear_helper();
        ran
    }

    fn relative_to_project(&self, path: &Path) -> String {
        calls::relative(
            Path::new(&self.environment.workspace.dirs().project_dir),
            path,
        )
    }
}
