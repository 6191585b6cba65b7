//! Jobs of the tests.

use super::sshd::Sshd;
use executor_core::prelude::*;
use executor_core::variable::JobVariable;
use executor_core::{PrepareOptions, StageResult, TraceStream};
use executor_ssh::{EngineChoice, SshConfig, SshOptions, SshProvider, provider};
use executor_testkit::{CommandBuilder, JobBuilder, OptionsBuilder, RecordingTrace};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Returns settings for this server through this port.
pub(crate) fn config(server: &Sshd, port: u16, engine: EngineChoice) -> SshConfig {
    let known = server.path(&format!("known-{port}"));
    fs::write(&known, server.known(port)).unwrap();
    config_with(port, engine, server.key(), known)
}

/// Returns settings for this server through another one, both from a client configuration.
pub(crate) fn config_through(server: &Sshd, gate: &Sshd, engine: EngineChoice) -> SshConfig {
    let file = server.path("client");
    let text = format!(
        "Host target\n  HostName 127.0.0.1\n  Port {}\n  IdentityFile {}\n  ProxyJump gate\n  ProxyCommand nc\n\
         Host gate\n  HostName 127.0.0.1\n  Port {}\n  User root\n  IdentityFile {}\n",
        server.port,
        server.key().display(),
        gate.port,
        gate.key().display()
    );
    fs::write(&file, text).unwrap();
    let known = server.path("known-target");
    fs::write(&known, server.known(server.port) + &gate.known(gate.port)).unwrap();
    SshConfig {
        host: Some("target".to_owned()),
        port: None,
        identity_file: None,
        config_file: Some(file),
        ..config_with(server.port, engine, server.key(), known)
    }
}

/// Returns settings with these files.
pub(crate) fn config_with(
    port: u16,
    engine: EngineChoice,
    key: PathBuf,
    known: PathBuf,
) -> SshConfig {
    SshConfig {
        host: Some("127.0.0.1".to_owned()),
        port: Some(port),
        user: Some("root".to_owned()),
        identity_file: Some(key),
        known_hosts_file: Some(known),
        config_file: Some(PathBuf::from("/dev/null")),
        engine,
        connect_timeout: Some(20),
        ..SshConfig::default()
    }
}

/// Returns options with these settings and nothing of the user's.
pub(crate) fn options(config: SshConfig) -> SshOptions {
    SshOptions {
        config,
        home: None,
        user: "root".to_owned(),
        auth_socket: None,
    }
}

/// Returns the runner's settings, with short deadlines.
pub(crate) fn runner_config() -> RunnerConfig {
    let mut config = RunnerConfig::new("test", "ssh");
    config.graceful_kill_timeout = Duration::from_secs(1);
    config
}

/// A job that is prepared.
pub(crate) struct Opened {
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) trace: RecordingTrace,
    pub(crate) environment: PreparedEnvironment,
}

/// An executor that is not prepared yet.
pub(crate) async fn create(provider: &SshProvider) -> Box<dyn Executor> {
    let acquired = provider
        .acquire(&runner_config(), &Cancellation::new())
        .await;
    provider.create(&acquired.unwrap()).unwrap()
}

pub(crate) fn prepare_options(trace: &RecordingTrace) -> PrepareOptions {
    let job = JobBuilder::new(1).name("test").build();
    let url = JobVariable::public("CI_PROJECT_URL", "https://gitlab.test/group/project");
    OptionsBuilder::new()
        .job(job)
        .variable(url)
        .config(runner_config())
        .trace(Arc::new(trace.clone()))
        .build()
}

/// Prepares a job; on failure it is cleaned up.
pub(crate) async fn open(config: SshConfig) -> Result<Opened, BuildError> {
    let provider = provider(options(config));
    let mut executor = create(&provider).await;
    let trace = RecordingTrace::new();
    let prepared = executor
        .prepare(prepare_options(&trace), &Cancellation::new())
        .await;
    match prepared {
        Ok(environment) => Ok(Opened {
            executor,
            trace,
            environment,
        }),
        Err(error) => {
            let _ = executor.cleanup().await;
            Err(error)
        }
    }
}

impl Opened {
    /// Runs a script in the builds directory.
    pub(crate) async fn run(&mut self, script: &str) -> Result<StageResult, BuildError> {
        self.run_until(script, &Cancellation::new()).await
    }

    pub(crate) async fn run_until(
        &mut self,
        script: &str,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        let directory = &self.environment.workspace.dirs().builds_dir;
        let command = CommandBuilder::new(script).working_dir(directory).build();
        self.executor.run(command, cancellation).await
    }

    pub(crate) fn output(&self) -> String {
        self.trace.text(TraceStream::STDOUT)
    }
}
