//! The part of this host that all jobs of a provider share.

use crate::config::ShellConfig;
use crate::environment::RunnerEnvironment;
use crate::error::ShellError;
use executor_core::{ShellDialect, ShellInfo};
use parking_lot::Mutex;
use process::{Settings, Supervisor};
use rustix::fs::{Access, access};
use std::ffi::OsStr;
use std::path::PathBuf;

/// The settings, the runner's environment, and the supervisor of processes.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) config: ShellConfig,
    pub(crate) environment: RunnerEnvironment,
    /// The default shell: the platform's, or `sh` without bash.
    pub(crate) default_dialect: ShellDialect,
    supervisor: Mutex<Option<Supervisor>>,
}

impl Host {
    /// Captures the runner's environment. Starts nothing.
    pub(crate) fn new(config: ShellConfig) -> Self {
        let environment = RunnerEnvironment::capture(&config.inherit_environment);
        let supervisor = Mutex::new(config.supervisor.clone());
        Self {
            config,
            default_dialect: default_dialect(path_of(&environment)),
            environment,
            supervisor,
        }
    }

    /// Returns the supervisor, which is started with the first job.
    pub(crate) fn supervisor(&self) -> Result<Supervisor, ShellError> {
        let mut supervisor = self.supervisor.lock();
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
    /// It is found on the runner's `PATH`, because a job's own `PATH` may have no shell.
    pub(crate) fn find_shell(&self, shell: &ShellInfo) -> Result<ShellInfo, ShellError> {
        let name = shell.program.as_deref().unwrap_or(shell.dialect.as_str());
        if name.contains('/') {
            return Ok(shell.clone());
        }
        let program = find_program(path_of(&self.environment), name)
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

/// Returns the search path for programs.
fn path_of(environment: &RunnerEnvironment) -> &OsStr {
    let usual = "/usr/local/bin:/usr/bin:/bin".as_ref();
    environment.get("PATH").unwrap_or(usual)
}

fn default_dialect(path: &OsStr) -> ShellDialect {
    let platform = ShellDialect::platform_default();
    let there = |dialect: ShellDialect| find_program(path, dialect.as_str()).is_some();
    // Without any shell, the error names the platform's.
    if platform == ShellDialect::Bash && !there(platform) && there(ShellDialect::Sh) {
        ShellDialect::Sh
    } else {
        platform
    }
}

fn find_program(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|directory| directory.join(name))
        .find(is_program)
}

fn is_program(path: &PathBuf) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn sh_is_the_default_only_without_bash() {
        let check = |names: &[&str], expect| {
            let directory = tempfile::tempdir().unwrap();
            for name in names {
                let path = directory.path().join(name);
                fs::write(&path, "").unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
            let dialect = default_dialect(directory.path().as_os_str());
            assert_eq!(dialect, expect, "{names:?}");
        };
        check(&["bash", "sh"], ShellDialect::Bash);
        check(&["bash"], ShellDialect::Bash);
        check(&["sh"], ShellDialect::Sh);
        check(&[], ShellDialect::platform_default());
    }
}
