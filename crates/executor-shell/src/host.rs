//! This host, as all jobs of one provider share it.

use crate::config::ShellConfig;
use crate::environment::RunnerEnvironment;
use crate::error::ShellError;
use executor_core::ShellInfo;
use process::{Settings, Supervisor};
use rustix::fs::{Access, access};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The settings, the runner's environment, and what starts processes.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) config: ShellConfig,
    pub(crate) environment: RunnerEnvironment,
    supervisor: Mutex<Option<Supervisor>>,
}

impl Host {
    /// Looks at the runner's environment. Starts nothing.
    pub(crate) fn new(config: ShellConfig) -> Self {
        let environment = RunnerEnvironment::capture(&config.inherit_environment);
        let supervisor = Mutex::new(config.supervisor.clone());
        Self {
            config,
            environment,
            supervisor,
        }
    }

    /// Returns what starts processes; starts it with the first job.
    pub(crate) fn supervisor(&self) -> Result<Supervisor, ShellError> {
        let mut supervisor = self
            .supervisor
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(supervisor) = &*supervisor {
            return Ok(supervisor.clone());
        }
        let settings = Settings {
            containment: self.config.containment,
            ..Settings::default()
        };
        Ok(supervisor.insert(Supervisor::start(settings)?).clone())
    }

    /// Returns the shell with the path of its program.
    ///
    /// It is found on the runner's `PATH`: a job may set its own to where there is no shell at all.
    pub(crate) fn find_shell(&self, shell: &ShellInfo) -> Result<ShellInfo, ShellError> {
        let name = shell.program.as_deref().unwrap_or(shell.dialect.as_str());
        if name.contains('/') {
            return Ok(shell.clone());
        }
        let path = self
            .environment
            .get("PATH")
            .unwrap_or("/usr/local/bin:/usr/bin:/bin".as_ref());
        let program = std::env::split_paths(path)
            .map(|directory| directory.join(name))
            .find(is_program)
            .and_then(|program| program.into_os_string().into_string().ok())
            .ok_or_else(|| ShellError::NoShell {
                shell: name.to_owned(),
            })?;
        Ok(ShellInfo {
            program: Some(program),
            ..shell.clone()
        })
    }

    /// Returns the host's name.
    pub(crate) fn name() -> String {
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    }
}

fn is_program(path: &PathBuf) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
