//! A program that runs pipelines.

use std::ffi::{OsStr, OsString};

use process::Command;

use crate::{Action, Bench, Project};

/// Starts a program with a memory limit, with or without its output.
///
/// `ulimit -d` limits writable memory. The address space, `ulimit -v`, cannot be limited: V8 reserves many gigabytes
/// of it and uses little.
const LAUNCH: &str = r#"ulimit -d "$1" && shift && exec "$@""#;
const LAUNCH_SILENT: &str = r#"ulimit -d "$1" && shift && exec "$@" >/dev/null 2>&1"#;

/// A program that runs the pipeline in its working directory.
#[derive(Debug, Clone)]
pub struct Tool {
    name: String,
    program: OsString,
    environment: Vec<(OsString, OsString)>,
    run: Vec<OsString>,
    list: Vec<OsString>,
}

/// The destination of a tool's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The bench, which reads and discards it.
    Pipe,
    /// `/dev/null`.
    Null,
}

impl Tool {
    /// Creates a tool from a program, given by path or name on `PATH`.
    pub fn new(name: &str, program: impl AsRef<OsStr>) -> Self {
        Self {
            name: name.to_owned(),
            program: program.as_ref().to_owned(),
            environment: Vec::new(),
            run: Vec::new(),
            list: Vec::new(),
        }
    }

    /// Sets the arguments for running the pipeline.
    pub fn run_with(mut self, arguments: &[impl AsRef<OsStr>]) -> Self {
        self.run = owned(arguments);
        self
    }

    /// Sets the arguments for listing its jobs.
    pub fn list_with(mut self, arguments: &[impl AsRef<OsStr>]) -> Self {
        self.list = owned(arguments);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Returns a variant with one more argument for running, which its name includes.
    pub fn with(&self, argument: &str) -> Self {
        let mut variant = self.clone();
        variant.name = format!("{} {argument}", self.name);
        variant.run.push(argument.into());
        variant
    }

    /// Returns its name in tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the command that runs the pipeline of a project, without a shell or limits.
    pub fn command(&self, bench: &Bench, project: &Project) -> Command {
        let command = bench.command(&self.program).args(&self.run);
        self.placed(command, project)
    }

    /// Returns the command for `action` in a project. It limits the writable memory of each process, in bytes.
    pub fn limited(
        &self,
        bench: &Bench,
        project: &Project,
        action: Action,
        output: Output,
        memory: u64,
    ) -> Command {
        let launch = match output {
            Output::Pipe => LAUNCH,
            Output::Null => LAUNCH_SILENT,
        };
        let arguments = match action {
            Action::Run => &self.run,
            Action::List => &self.list,
        };
        let command = bench
            .command("sh")
            .args(["-c", launch, "sh"])
            .arg((memory / 1024).to_string())
            .arg(&self.program)
            .args(arguments);
        self.placed(command, project)
    }

    fn placed(&self, command: Command, project: &Project) -> Command {
        command
            .envs(self.environment.iter().cloned())
            .current_dir(project.root())
    }
}

fn owned(arguments: &[impl AsRef<OsStr>]) -> Vec<OsString> {
    arguments
        .iter()
        .map(|argument| argument.as_ref().to_owned())
        .collect()
}
