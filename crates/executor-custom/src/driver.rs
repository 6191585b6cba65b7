//! The driver of one attempt: its directory, its environment, and calls of its programs.

use crate::config::{CustomConfig, Phase};
use crate::environment::DriverEnvironment;
use crate::error::CustomError;
use crate::exit::{Verdict, judge};
use crate::job_response::job_response;
use crate::provider::Host;
use crate::reported_config::{KEYS, LONGEST, ReportedConfig};
use crate::script;
use crate::stop::CallStop;
use executor_core::trace::JobTraceExt;
use executor_core::variable::without_secrets;
use executor_core::{
    BuildDirs, BuildError, Cancellation, ExitCode, FailureReason, PrepareOptions, ShellDialect,
    StageCommand, StageVariables,
};
use fail_point::fail_point;
use process::{
    Command, Ended, Outcome, OutputSink, ProcessError, ProcessTree, Stream, TempDir, Timing,
    TraceOutput,
};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How much of each stream of a cleanup is passed to the runner's log, in bytes.
const LONGEST_CLEANUP_OUTPUT: usize = 64 * 1024;

/// The driver of one attempt of a job, from its first call to the end of its cleanup.
#[derive(Debug)]
pub(crate) struct Driver {
    config: CustomConfig,
    options: PrepareOptions,
    timing: Timing,
    tree: ProcessTree,
    /// The private directory; `None` once it is removed.
    directory: Option<TempDir>,
    environment: DriverEnvironment,
    /// The variables of the last call, which the cleanup gets too.
    variables: Arc<StageVariables>,
    /// The number of scripts so far.
    scripts: u32,
    /// The variables that the log already named.
    warned: BTreeSet<String>,
    is_cleaned: bool,
}

impl Driver {
    /// Creates the private directory and writes the job to it.
    pub(crate) fn start(
        host: &Host,
        config: CustomConfig,
        options: PrepareOptions,
        variables: StageVariables,
    ) -> Result<Self, CustomError> {
        let supervisor = host.supervisor()?;
        let of_runner = supervisor.environment();
        let parent = of_runner.get("TMPDIR").filter(|path| !path.is_empty());
        let parent = parent.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let directory = supervisor.temp_dir(&parent, "custom-executor")?;
        let response = directory.path().join("response.json");
        let content = job_response(&options.job);
        let written = fail_point!(
            "executor_custom::driver::write_response",
            write_new(&response, 0o600, &content)
        );
        written.map_err(|source| CustomError::file("write", &response, source))?;
        let environment = DriverEnvironment::new(
            of_runner,
            directory.path(),
            &response,
            &options.job,
            &options.variables,
        );
        let runner = &options.config;
        let (graceful, force) = (config.graceful_kill_timeout, config.force_kill_timeout);
        let timing = Timing {
            terminate_grace: graceful.unwrap_or(runner.graceful_kill_timeout),
            kill_deadline: force.unwrap_or(runner.force_kill_timeout),
            pipe_grace: host.options.output_grace,
            ..Timing::default()
        };
        Ok(Self {
            config,
            options,
            timing,
            tree: supervisor.tree(),
            directory: Some(directory),
            environment,
            variables: Arc::new(variables),
            scripts: 0,
            warned: BTreeSet::new(),
            is_cleaned: false,
        })
    }

    /// Returns a path as seen from the private directory.
    pub(crate) fn absolute(&self, path: &str) -> String {
        let directory = self.directory.as_ref().map(TempDir::path);
        let path = directory.unwrap_or(Path::new("/")).join(path);
        path.to_string_lossy().into_owned()
    }

    /// Calls `config_exec`, if there is one.
    pub(crate) async fn configure(
        &mut self,
        cancellation: &Cancellation,
    ) -> Result<ReportedConfig, BuildError> {
        let overflow = CancellationToken::new();
        let trace = Arc::clone(&self.options.trace);
        let mut log = TraceOutput(&*trace);
        let mut output = Vec::new();
        let mut sink = |stream: Stream, bytes: &[u8]| match stream {
            Stream::Stdout if output.len() + bytes.len() <= LONGEST => {
                output.extend_from_slice(bytes);
            }
            Stream::Stdout => overflow.cancel(),
            Stream::Stderr => log.write(stream, bytes),
        };
        let called = self
            .call(Phase::Config, &[], &mut sink, Some(cancellation), &overflow)
            .await;
        if overflow.is_cancelled() {
            cancellation.check()?;
            let problem = format!("it is longer than {LONGEST} bytes");
            let output = String::new();
            return Err(CustomError::ConfigOutput { problem, output }.into());
        }
        if let Some(outcome) = called? {
            self.expect_success(Phase::Config, &outcome, cancellation)?;
        }
        let mut config = ReportedConfig::read(&output)?;
        for key in &config.unknown {
            self.options.trace.warning_line(&format!(
                "config_exec printed the key {key:?}, which has no meaning: expected one of {}",
                KEYS.join(", ")
            ));
        }
        let job_env = config.job_env.take().into_iter().flatten();
        let job_env = job_env.map(|(name, value)| (name, value.unwrap_or_default()));
        self.environment.set_job_env(job_env.collect());
        Ok(config)
    }

    /// Sets the job's variables of the next calls, a cleanup included.
    pub(crate) fn set_variables(&mut self, variables: StageVariables) {
        self.variables = Arc::new(variables);
    }

    /// Calls `prepare_exec`, if there is one.
    pub(crate) async fn prepare(&mut self, cancellation: &Cancellation) -> Result<(), BuildError> {
        let trace = Arc::clone(&self.options.trace);
        let mut sink = TraceOutput(&*trace);
        let overflow = CancellationToken::new();
        let outcome = self
            .call(
                Phase::Prepare,
                &[],
                &mut sink,
                Some(cancellation),
                &overflow,
            )
            .await?;
        match outcome {
            Some(outcome) => self.expect_success(Phase::Prepare, &outcome, cancellation),
            None => Ok(()),
        }
    }

    /// Writes the script of a stage, and calls `run_exec` for it.
    pub(crate) async fn run_stage(
        &mut self,
        command: &StageCommand,
        dialect: ShellDialect,
        dirs: &BuildDirs,
        cancellation: &Cancellation,
    ) -> Result<(Outcome, Verdict), BuildError> {
        self.variables = Arc::clone(&command.variables);
        let script = self.write_script(command, dialect, dirs)?;
        let arguments = [script.into(), script::stage_name(&command.stage).into()];
        let trace = Arc::clone(&self.options.trace);
        let mut sink = TraceOutput(&*trace);
        let overflow = CancellationToken::new();
        let outcome = self
            .call(
                Phase::Run,
                &arguments,
                &mut sink,
                Some(cancellation),
                &overflow,
            )
            .await?
            .ok_or(CustomError::NoDriver)?;
        let verdict = self.judge(Phase::Run, &outcome, Some(cancellation))?;
        Ok((outcome, verdict))
    }

    /// Calls `cleanup_exec`, ends all processes of the driver, and removes the private directory.
    ///
    /// A second call only does what the first could not.
    pub(crate) async fn clean(&mut self) -> Result<(), BuildError> {
        let cleaned = if self.is_cleaned {
            Ok(())
        } else {
            self.call_cleanup().await
        };
        // A failure is final: a driver is called once for each attempt.
        self.is_cleaned = true;
        let closed = self.tree.close().await.map_err(CustomError::from);
        let removed = match self.directory.take() {
            Some(directory) => directory.remove().await.map_err(CustomError::from),
            None => Ok(()),
        };
        cleaned?;
        closed?;
        Ok(removed?)
    }

    async fn call_cleanup(&mut self) -> Result<(), BuildError> {
        let mut output = [Vec::new(), Vec::new()];
        let mut sink = |stream: Stream, bytes: &[u8]| {
            let kept: &mut Vec<u8> = &mut output[stream as usize];
            let room = (LONGEST_CLEANUP_OUTPUT - kept.len()).min(bytes.len());
            kept.extend_from_slice(&bytes[..room]);
        };
        let overflow = CancellationToken::new();
        let outcome = self
            .call(Phase::Cleanup, &[], &mut sink, None, &overflow)
            .await;
        let [stdout, stderr] = output.map(|bytes| {
            without_secrets(&String::from_utf8_lossy(&bytes), &*self.options.variables)
        });
        let job = self.options.job.id;
        for line in stdout.lines() {
            tracing::debug!(%job, line, "Output of the driver's cleanup.");
        }
        for line in stderr.lines() {
            tracing::warn!(%job, line, "Error output of the driver's cleanup.");
        }
        let Some(outcome) = outcome? else {
            return Ok(());
        };
        match self.judge(Phase::Cleanup, &outcome, None)? {
            Verdict::Success => Ok(()),
            Verdict::BuildFailure(_) => Err(CustomError::Failed {
                phase: Phase::Cleanup,
                end: "reports a failure".to_owned(),
            }
            .into()),
        }
    }

    /// Calls a program and waits for its end; `None` if the driver has none.
    async fn call<S: OutputSink + ?Sized>(
        &mut self,
        phase: Phase,
        arguments: &[OsString],
        sink: &mut S,
        job: Option<&Cancellation>,
        overflow: &CancellationToken,
    ) -> Result<Option<Outcome>, CustomError> {
        let (program, own_arguments) = self.config.program(phase);
        let Some(directory) = self.directory.as_ref().filter(|_| !program.is_empty()) else {
            return Ok(None);
        };
        let variables = Arc::clone(&self.variables);
        let (environment, left_out) = self.environment.of_call(&variables);
        let command = Command::new(program)
            .args(own_arguments)
            .args(arguments)
            .envs(environment)
            .current_dir(directory.path())
            .keep_descendants();
        let started = self.tree.spawn(&command);
        let process = started.map_err(|error| explain(phase, program, error, &variables))?;
        let timeout = self.config.timeout(phase);
        let stop = CallStop {
            job,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            overflow,
        };
        let outcome = process.run(sink, &stop, &self.timing).await?;
        self.warn_of(
            &left_out,
            "does not fit into a process environment, so the driver does not get it",
        );
        Ok(Some(outcome))
    }

    /// Writes a script to a directory of its own.
    fn write_script(
        &mut self,
        command: &StageCommand,
        dialect: ShellDialect,
        dirs: &BuildDirs,
    ) -> Result<PathBuf, CustomError> {
        let script = script::driver_script(command, dialect, dirs).map_err(|source| {
            CustomError::Script {
                stage: command.stage.to_string(),
                source,
            }
        })?;
        self.warn_of(
            &script.left_out,
            "cannot be exported by a shell, so scripts do not get it",
        );
        self.scripts += 1;
        let directory = PathBuf::from(self.absolute(&format!("script{}", self.scripts)));
        let path = directory.join(script::file_name(dialect));
        let write = || {
            DirBuilder::new().mode(0o700).create(&directory)?;
            process::write_program(&path, script.text.as_bytes())
        };
        let written = fail_point!("executor_custom::driver::write_script", write());
        written.map_err(|source| CustomError::file("write", &path, source))?;
        Ok(path)
    }

    /// Warns of variables in the log, once of each.
    fn warn_of(&mut self, names: &[&str], why: &str) {
        for name in names {
            if self.warned.insert((*name).to_owned()) {
                self.options
                    .trace
                    .warning_line(&format!("variable {name} {why}"));
            }
        }
    }

    fn expect_success(
        &self,
        phase: Phase,
        outcome: &Outcome,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        match self.judge(phase, outcome, Some(cancellation))? {
            Verdict::Success => Ok(()),
            Verdict::BuildFailure(code) => Err(build_failure(phase, code)),
        }
    }

    fn judge(
        &self,
        phase: Phase,
        outcome: &Outcome,
        job: Option<&Cancellation>,
    ) -> Result<Verdict, BuildError> {
        if let Ended::Stopped { .. } = outcome.ended
            && let Some(cause) = job.and_then(Cancellation::cause)
        {
            return Err(BuildError::Canceled(cause));
        }
        let timeout = self.config.timeout(phase);
        Ok(judge(
            phase,
            outcome,
            timeout,
            &self.environment.exit_code_file,
        )?)
    }
}

/// Returns the failure of a job that the driver reports, in GitLab's terms.
pub(crate) fn build_failure(phase: Phase, code: i32) -> BuildError {
    BuildError::Recorded {
        reason: FailureReason::ScriptFailure,
        // A failure with the code 0 has none.
        exit_code: (code != 0).then_some(ExitCode(code)),
        message: format!(
            "{} reports that the job failed with exit code {code}",
            phase.key()
        ),
    }
}

/// Names the largest variable if the environment is too large for a process.
fn explain(
    phase: Phase,
    program: &str,
    error: ProcessError,
    variables: &StageVariables,
) -> CustomError {
    if let ProcessError::Spawn { source, .. } = &error
        && source.kind() == io::ErrorKind::ArgumentListTooLong
    {
        let plain = variables.environment.iter();
        let plain = plain.map(|(key, value)| (key, value.len()));
        let files = variables.files.iter();
        let files = files.map(|file| (&file.key, file.content.len()));
        if let Some((key, bytes)) = plain.chain(files).max_by_key(|(_, bytes)| *bytes) {
            let key = key.clone();
            return CustomError::EnvironmentTooLarge { phase, key, bytes };
        }
    }
    CustomError::Start {
        phase,
        program: program.to_owned(),
        source: error,
    }
}

fn write_new(path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    options.open(path)?.write_all(content)
}
