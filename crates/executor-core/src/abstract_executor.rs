//! The part that executors share, held as a field.

use crate::ability::FileTransfer;
use crate::config::RunnerConfig;
use crate::error::BuildError;
use crate::executor::PrepareOptions;
use crate::job::Job;
use crate::result::JobOutcome;
use crate::shell::ShellInfo;
use crate::stage::{ExecutorStage, StageCell};
use crate::trace::{JobTrace, JobTraceExt};
use crate::variable::expand_with;
use crate::workspace::{BuildDirs, PreparedEnvironment, Workspace};
use std::borrow::Cow;
use std::sync::Arc;

/// The decisions an executor makes once, for all its jobs.
#[derive(Debug, Clone)]
pub struct AbstractExecutorOptions {
    /// The builds directory when the runner's settings name none.
    pub default_builds_dir: String,
    /// The cache directory when the runner's settings name none.
    pub default_cache_dir: String,
    /// Whether several jobs share the builds directory.
    pub shared_builds_dir: bool,
    /// The shell; the runner's settings may select another dialect.
    pub shell: ShellInfo,
    /// Whether the log names the host.
    pub show_hostname: bool,
}

/// The part every executor shares: directories, the choice of the shell, the log, the stage.
///
/// Hold it as a field named `base` and delegate to it in one line. The same settings then have the
/// same meaning for every executor.
#[derive(Debug)]
pub struct AbstractExecutor {
    options: AbstractExecutorOptions,
    shell: ShellInfo,
    stage: StageCell,
    prepared: Option<Prepared>,
}

#[derive(Debug)]
struct Prepared {
    options: PrepareOptions,
    dirs: BuildDirs,
}

impl AbstractExecutor {
    /// Returns the base of a new executor.
    pub fn new(options: AbstractExecutorOptions) -> Self {
        let shell = options.shell.clone();
        Self {
            options,
            shell,
            stage: StageCell::new(),
            prepared: None,
        }
    }

    /// Returns the shell: the executor's own, or one of the dialect in the runner's settings.
    pub fn shell(&self) -> &ShellInfo {
        &self.shell
    }

    /// Sets whether several jobs share the builds directory, for an executor that learns it before `prepare`.
    pub fn share_builds_dir(&mut self, shared: bool) {
        self.options.shared_builds_dir = shared;
    }

    /// Stores the options, selects the shell and computes the directories. Touches no file.
    ///
    /// # Errors
    ///
    /// [`BuildError::Config`] when the job's project path is not a relative path.
    pub fn prepare(&mut self, options: PrepareOptions) -> Result<&BuildDirs, BuildError> {
        self.set_current_stage(ExecutorStage::PREPARE);
        self.shell = choose_shell(&self.options.shell, &options.config);
        let dirs = build_dirs(&self.options, &options)?;
        let prepared = self.prepared.insert(Prepared { options, dirs });
        Ok(&prepared.dirs)
    }

    /// Returns the options passed to `prepare`.
    ///
    /// # Errors
    ///
    /// [`BuildError::System`] when `prepare` was not called.
    pub fn options(&self) -> Result<&PrepareOptions, BuildError> {
        Ok(&self.prepared()?.options)
    }

    /// Returns the directories `prepare` computed.
    ///
    /// # Errors
    ///
    /// [`BuildError::System`] when `prepare` was not called.
    pub fn dirs(&self) -> Result<&BuildDirs, BuildError> {
        Ok(&self.prepared()?.dirs)
    }

    /// Returns the job's log.
    ///
    /// # Errors
    ///
    /// [`BuildError::System`] when `prepare` was not called.
    pub fn trace(&self) -> Result<&Arc<dyn JobTrace>, BuildError> {
        Ok(&self.options()?.trace)
    }

    /// Returns the environment of an executor whose files are on this host.
    ///
    /// # Errors
    ///
    /// [`BuildError::System`] when `prepare` was not called.
    pub fn local_environment(&self, hostname: &str) -> Result<PreparedEnvironment, BuildError> {
        self.environment(hostname, Workspace::Local(self.dirs()?.clone()))
    }

    /// Returns the environment of an executor whose files are remote.
    ///
    /// # Errors
    ///
    /// [`BuildError::System`] when `prepare` was not called.
    pub fn remote_environment(
        &self,
        hostname: &str,
        transfer: Option<Arc<dyn FileTransfer>>,
    ) -> Result<PreparedEnvironment, BuildError> {
        self.environment(
            hostname,
            Workspace::Remote {
                dirs: self.dirs()?.clone(),
                transfer,
            },
        )
    }

    fn environment(
        &self,
        hostname: &str,
        workspace: Workspace,
    ) -> Result<PreparedEnvironment, BuildError> {
        if self.options.show_hostname {
            self.trace()?
                .system_line(&format!("Running on {hostname}..."));
        }
        Ok(PreparedEnvironment {
            shell: self.shell.clone(),
            workspace,
            hostname: hostname.to_owned(),
            variables: Vec::new(),
        })
    }

    /// Records that the job has ended.
    pub fn finish(&self, _outcome: &JobOutcome) {
        self.set_current_stage(ExecutorStage::FINISH);
    }

    /// Records the cleanup; the base itself created nothing to remove.
    pub fn cleanup(&self) {
        self.set_current_stage(ExecutorStage::CLEANUP);
    }

    /// Returns the executor's current stage.
    pub fn current_stage(&self) -> ExecutorStage {
        self.stage.get()
    }

    /// Sets the executor's current stage.
    pub fn set_current_stage(&self, stage: ExecutorStage) {
        self.stage.set(stage);
    }

    /// Returns the cell that holds the stage.
    pub fn stage_cell(&self) -> StageCell {
        self.stage.clone()
    }

    fn prepared(&self) -> Result<&Prepared, BuildError> {
        self.prepared
            .as_ref()
            .ok_or_else(|| BuildError::not_prepared("executor"))
    }
}

fn choose_shell(own: &ShellInfo, config: &RunnerConfig) -> ShellInfo {
    let mut shell = own.clone();
    if let Some(dialect) = config.shell
        && dialect != own.dialect
    {
        shell.dialect = dialect;
        // The program belongs to the other dialect.
        shell.program = None;
    }
    for (text, configured) in [
        (
            &mut shell.pre_get_sources_script,
            &config.pre_get_sources_script,
        ),
        (
            &mut shell.post_get_sources_script,
            &config.post_get_sources_script,
        ),
        (&mut shell.pre_build_script, &config.pre_build_script),
        (&mut shell.post_build_script, &config.post_build_script),
    ] {
        if !configured.is_empty() {
            text.clone_from(configured);
        }
    }
    shell
}

fn build_dirs(
    own: &AbstractExecutorOptions,
    options: &PrepareOptions,
) -> Result<BuildDirs, BuildError> {
    let config = &options.config;
    // A file variable holds a file's content, often a secret, and never part of a path.
    let look_up = |name: &str| {
        let variable = options.variables.variable(name)?;
        (!variable.file).then_some(Cow::Borrowed(variable.value.as_str()))
    };
    let pick = |configured: &Option<String>, default: &str| {
        expand_with(configured.as_deref().unwrap_or(default), look_up).into_owned()
    };
    let mut builds_dir = pick(&config.builds_dir, &own.default_builds_dir);
    let cache_dir = pick(&config.cache_dir, &own.default_cache_dir);
    let slot_dir = slot_dir(&builds_dir, own.shared_builds_dir, options);
    // On this host the job is in the user's own tree, whatever the variable says.
    let is_elsewhere = options.project_dir.is_some() && own.shared_builds_dir;
    let clone_path = options.variables.get(CLONE_PATH);
    let clone_path = clone_path.filter(|_| !is_elsewhere).unwrap_or_default();
    let own_dir = if clone_path.is_empty() {
        project_dir(&slot_dir, options)?
    } else {
        // Concurrent jobs may name the same directory.
        builds_dir.clone_from(&slot_dir);
        let in_builds_dir = |name: &str| match name {
            "CI_BUILDS_DIR" => Some(Cow::Borrowed(builds_dir.as_str())),
            _ => look_up(name),
        };
        checked_clone_path(&expand_with(clone_path, in_builds_dir), &builds_dir)?
    };
    // Next to the build even when the sources are in another directory: the runner does not write to
    // the parent of the user's own tree.
    let temp_dir = format!("{own_dir}.tmp");
    let project_dir = options.project_dir.clone().unwrap_or(own_dir);
    Ok(BuildDirs {
        builds_dir,
        cache_dir,
        project_dir,
        temp_dir,
        shared: own.shared_builds_dir,
    })
}

/// The variable with the job's own path for its sources.
const CLONE_PATH: &str = "GIT_CLONE_PATH";

/// Returns the path without double slashes, if it is below the builds directory.
fn checked_clone_path(path: &str, builds_dir: &str) -> Result<String, BuildError> {
    let below = path.strip_prefix(builds_dir.trim_end_matches('/'));
    let below = below.and_then(|below| below.strip_prefix('/'));
    let parts: Vec<_> = below
        .unwrap_or_default()
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.is_empty() || parts.contains(&"..") || path.contains('\0') {
        return Err(BuildError::config(format!(
            "invalid {CLONE_PATH} {path:?}: expected a path below CI_BUILDS_DIR, {builds_dir}"
        )));
    }
    Ok(format!(
        "{}/{}",
        builds_dir.trim_end_matches('/'),
        parts.join("/")
    ))
}

/// Returns the builds directory, or `<builds>/<short token>/<concurrent project id>` where builds share it.
fn slot_dir(builds_dir: &str, shared: bool, options: &PrepareOptions) -> String {
    let mut parts = vec![builds_dir.trim_end_matches('/').to_owned()];
    if shared {
        let token = options.config.short_token();
        if !token.is_empty() {
            parts.push(token.to_owned());
        }
        parts.push(options.slot.concurrent_project_id.to_string());
    }
    parts.join("/")
}

/// Returns `<slot's directory>/<namespace>/<project>`.
fn project_dir(slot_dir: &str, options: &PrepareOptions) -> Result<String, BuildError> {
    let path = project_path(&options.job);
    let leaves = path
        .split('/')
        .any(|part| part == ".." || part == "." || part.is_empty());
    if leaves || path.contains('\0') {
        return Err(BuildError::config(format!(
            "project path {path:?} is not a relative path"
        )));
    }
    Ok(format!("{slot_dir}/{path}"))
}

fn project_path(job: &Job) -> String {
    let from_variable = job
        .variables
        .iter()
        .rev()
        .find(|variable| variable.key == "CI_PROJECT_PATH");
    if let Some(variable) = from_variable {
        return variable.value.clone();
    }
    let info = &job.job_info;
    let path = if info.project_full_path.is_empty() {
        &info.project_name
    } else {
        &info.project_full_path
    };
    if path.is_empty() {
        "project".to_owned()
    } else {
        path.clone()
    }
}
