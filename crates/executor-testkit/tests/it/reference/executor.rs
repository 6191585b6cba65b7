use super::fault::Fault;
use super::process::{Running, kill_marked};
use super::provider::Shared;
use executor_core::Placement;
use executor_core::ability::Abilities;
use executor_core::prelude::*;
use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs scripts with `sh` on this host. Keeps the contract, except for its fault.
#[derive(Debug)]
pub(crate) struct ReferenceExecutor {
    base: AbstractExecutor,
    fault: Option<Fault>,
    shared: Arc<Shared>,
    mark: String,
    temp_dir: Option<PathBuf>,
    prepared: bool,
    stopped: bool,
    cleanups: u32,
    /// A file that should not be open yet.
    pub(crate) held: Option<fs::File>,
}

impl ReferenceExecutor {
    pub(crate) fn new(
        options: AbstractExecutorOptions,
        fault: Option<Fault>,
        shared: Arc<Shared>,
    ) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self {
            base: AbstractExecutor::new(options),
            fault,
            mark: format!("{}{number}.", shared.mark),
            shared,
            temp_dir: None,
            prepared: false,
            stopped: false,
            cleanups: 0,
            held: None,
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn write_private(&self, path: &Path, content: &[u8]) -> std::io::Result<()> {
        use std::io::Write;
        // A file of an earlier stage may have other permissions.
        let _ = fs::remove_file(path);
        let mut file = fs::OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(path)?;
        if self.has(Fault::OpenFiles) {
            file.set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        file.write_all(content)
    }

    fn write_files(&self, command: &StageCommand) -> std::io::Result<Vec<(String, String)>> {
        let temp_dir = self.temp_dir.as_deref().expect("prepare came first");
        fs::create_dir_all(temp_dir)?;
        fs::set_permissions(temp_dir, fs::Permissions::from_mode(0o700))?;
        let mut script = command.script.clone();
        if self.has(Fault::JoinsLines) {
            script = script.replace('\n', " ");
        }
        if self.has(Fault::AsciiScripts) {
            script.retain(|character| character.is_ascii());
        }
        if self.has(Fault::KeepsShell) {
            let state = temp_dir.join("state");
            let state = state.display();
            script =
                format!("[ -e {state} ] && . {state}\ntrap 'export -p > {state}' EXIT\n{script}");
        }
        self.write_private(&temp_dir.join("script"), script.as_bytes())?;
        let mut paths = Vec::new();
        for file in &command.variables.files {
            let path = temp_dir.join(&file.key);
            let mut content = file.content.as_slice();
            if self.has(Fault::TrimsFiles) {
                content = content.strip_suffix(b"\n").unwrap_or(content);
            }
            self.write_private(&path, content)?;
            paths.push((
                file.key.clone(),
                path.to_str().expect("it is text").to_owned(),
            ));
        }
        Ok(paths)
    }

    fn shell_command(
        &self,
        command: &StageCommand,
        variables: Vec<(String, String)>,
    ) -> tokio::process::Command {
        let script = self
            .temp_dir
            .as_deref()
            .expect("prepare came first")
            .join("script");
        let mut shell = if self.has(Fault::ShowsVariables) {
            let mut env = tokio::process::Command::new("env");
            env.args(
                variables
                    .iter()
                    .map(|(key, value)| format!("{key}={value}")),
            );
            // The script stays visible as an argument of the process that waits for the shell.
            env.args(["sh", "-c", ". \"$0\"; exit $?"]);
            env.arg(&script);
            env.args(variables.iter().map(|(_, value)| value));
            env
        } else {
            tokio::process::Command::new("sh")
        };
        if self.has(Fault::FeedsScript) {
            let file = fs::File::open(&script).expect("it was just written");
            shell.stdin(file);
        } else {
            shell.stdin(std::process::Stdio::null());
            if self.has(Fault::ScriptAsArgument) {
                shell.arg("-c").arg(&command.script);
            } else if !self.has(Fault::ShowsVariables) {
                shell.arg(&script);
            }
        }
        shell.env_clear();
        shell.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        shell.envs(variables);
        shell.env("REFERENCE_MARK", &self.mark);
        let is_apart = self.has(Fault::SeparatesHelpers) && command.placement == Placement::Helper;
        let directory = if self.has(Fault::WrongDirectory) || is_apart {
            self.temp_dir.as_deref().expect("prepare came first")
        } else {
            Path::new(&command.working_dir)
        };
        shell.current_dir(directory);
        shell
    }
}

#[async_trait]
impl Executor for ReferenceExecutor {
    fn shell(&self) -> &ShellInfo {
        self.base.shell()
    }

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        if self.has(Fault::Hangs) {
            std::future::pending::<()>().await;
        }
        assert!(!self.has(Fault::Panics), "prepare is broken");
        let dirs = self.base.prepare(options)?.clone();
        let system = |error| BuildError::system("reference", "make directories", error);
        let temp_dir = self.temp_dir.insert(PathBuf::from(&dirs.temp_dir));
        fs::create_dir_all(temp_dir).map_err(system)?;
        tokio::task::yield_now().await;
        match cancellation.cause() {
            Some(_) if self.has(Fault::FailsWhenStopped) => {
                return Err(BuildError::config("somebody interfered"));
            }
            Some(cause) => return Err(BuildError::Canceled(cause)),
            None => {}
        }
        for directory in [&dirs.builds_dir, &dirs.cache_dir] {
            fs::create_dir_all(directory).map_err(system)?;
        }
        self.prepared = true;
        if self.shared.remote {
            return self.base.remote_environment("reference", None);
        }
        self.base.local_environment("reference")
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        if !self.has(Fault::StuckStage) {
            self.base.set_current_stage(ExecutorStage::RUN);
        }
        if let Some(cause) = cancellation.cause()
            && !self.has(Fault::IgnoresCancel)
        {
            if self.has(Fault::CancelIsSuccess) {
                return Ok(StageResult::exited(0));
            }
            return Err(BuildError::Canceled(cause));
        }
        if self.has(Fault::RefusesEmptyScripts) && command.script.is_empty() {
            return Err(BuildError::config("there is no script"));
        }
        if command.stage == BuildStage::StepRun && !self.has(Fault::RunsStepsAsScript) {
            return Err(BuildError::config("steps are not for this executor"));
        }
        if self.has(Fault::BreaksWithCancel) && self.stopped {
            let cause = std::io::Error::other("the environment is gone");
            return Err(BuildError::system("reference", "run the script", cause));
        }
        let system = |error| BuildError::system("reference", "start the script", error);
        let mut variables = command.variables.environment.clone();
        if self.has(Fault::LeaksVariables) {
            let mut leaked = self.shared.variables.lock();
            leaked.extend(variables.iter().filter(|(key, _)| key == "GIVEN").cloned());
            variables.extend(leaked.iter().cloned());
        }
        for (_, value) in &mut variables {
            if self.has(Fault::TrimsVariables) {
                *value = value.trim().to_owned();
            }
            if self.has(Fault::CutsVariables) {
                value.truncate(64 * 1024);
            }
        }
        variables.extend(self.write_files(&command).map_err(system)?);
        let shell = self.shell_command(&command, variables);
        let options = self.base.options()?;
        let running = Running {
            fault: self.fault,
            trace: Arc::clone(&options.trace),
            grace: options.config.graceful_kill_timeout,
            mark: self.mark.clone(),
        };
        let result = running.run(shell, cancellation).await;
        self.stopped |= matches!(result, Err(BuildError::Canceled(_)));
        result
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.base.finish(outcome);
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.base.cleanup();
        self.cleanups += 1;
        if self.has(Fault::CleansUpOnce) && self.cleanups > 1 {
            return Err(BuildError::config("there is nothing to clean up"));
        }
        if self.has(Fault::NeedsPrepare) && !self.prepared {
            return Err(BuildError::config("nothing was prepared"));
        }
        if self.has(Fault::ForgetsFailedPrepare) && !self.prepared {
            return Ok(());
        }
        if !self.has(Fault::LeaksChildren) && !self.has(Fault::LeaksDetachedChildren) {
            kill_marked(&self.mark);
        }
        if let Some(temp_dir) = &self.temp_dir
            && !self.has(Fault::ForgetsFiles)
            && temp_dir.exists()
        {
            fs::remove_dir_all(temp_dir)
                .map_err(|error| BuildError::system("reference", "remove files", error))?;
        }
        Ok(())
    }

    fn current_stage(&self) -> ExecutorStage {
        self.base.current_stage()
    }

    fn set_current_stage(&self, stage: ExecutorStage) {
        if !self.has(Fault::StuckStage) {
            self.base.set_current_stage(stage);
        }
    }

    fn stage_cell(&self) -> StageCell {
        self.base.stage_cell()
    }

    fn abilities(&self) -> Abilities {
        Abilities::none()
    }
}
