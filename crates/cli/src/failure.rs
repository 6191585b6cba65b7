//! Why a command failed, and the exit code that follows.

use console::{Style, Tone, error_line, strip_controls};
use executor_core::limit_hint;
use pipeline::PlanError;
use pipeline::selector::NoMatch;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use workstation::{
    Fault, LayeredValue, LocalError, ProcessError, RepositoryError, RunsError, SettingValue,
    SnapshotError, StateError,
};

/// The exit codes of `runwright`, for all its commands.
pub use scheduler::RunExit as Exit;

/// Converts the code to that of the standard library.
pub(crate) fn exit_code(exit: Exit) -> ExitCode {
    ExitCode::from(exit.code())
}

/// An error with its exit code, shown once when the program ends.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    error: anyhow::Error,
    help: Option<String>,
    /// What is shown in place of the error and the help.
    text: Option<String>,
}

impl Failure {
    /// Returns a failure caused by the command line or the pipeline.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Usage,
            error: error.into(),
            help: None,
            text: None,
        }
    }

    /// Returns a failure of the machine or of this program.
    pub(crate) fn environment(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Environment,
            error: error.into(),
            help: None,
            text: None,
        }
    }

    /// Returns the end of a command that the user left at a question; it is not reported.
    pub(crate) fn interrupted() -> Self {
        Self {
            exit: Exit::Interrupted,
            error: anyhow::anyhow!("interrupted"),
            help: None,
            text: None,
        }
    }

    /// Adds advice for the user.
    pub(crate) fn with_help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// Names the setting that leaves out jobs, if one of them does not exist.
    pub(crate) fn with_skip(mut self, skip: &LayeredValue) -> Self {
        let unknown = match self.error.downcast_ref::<LocalError>() {
            Some(LocalError::Plan(PlanError::UnknownJob(unknown))) => Some(unknown),
            _ => self.error.downcast_ref::<NoMatch>(),
        };
        let Some(NoMatch::Job { name, .. } | NoMatch::Glob { glob: name, .. }) = unknown else {
            return self;
        };
        if let SettingValue::Texts(jobs) = &skip.value
            && jobs.contains(name)
        {
            let place = match skip.origin.place() {
                Some(at) => format!("{}:{}:{}", at.file.display(), at.line, at.column),
                None => skip.origin.to_string(),
            };
            self.error = self.error.context(format!("{place}: `skip`"));
        }
        self
    }

    /// Shows a text, whose control characters are removed, in place of the message and of earlier advice.
    pub(crate) fn with_text(mut self, text: String) -> Self {
        self.text = Some(text);
        self.help = None;
        self
    }

    /// Returns the message with its causes.
    pub(crate) fn message(&self) -> String {
        format!("{:#}", self.error)
    }

    pub(crate) fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Prints the error with its causes and the advice.
    pub(crate) fn report(&self) {
        if self.exit == Exit::Interrupted {
            return;
        }
        let style = Style::of_stderr();
        // Message and advice may contain names from files, which may hold control characters.
        let error = style.paint(Tone::Bad, "error:");
        let (message, hint) = match &self.text {
            Some(text) => (text.trim_end().to_owned(), None),
            None => (stripped(&self.message()), limit_hint(self.error.as_ref())),
        };
        error_line(&format!("{error} {message}"));
        if let Some(help) = self.help.as_deref().or(hint) {
            let help = stripped(help);
            error_line(&format!("{} {help}", style.paint(Tone::Strong, "help:")));
        }
    }
}

fn stripped(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(strip_controls).collect();
    lines.join("\n")
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        let exit = match error.fault() {
            Fault::Usage => Exit::Usage,
            Fault::System => Exit::Environment,
        };
        let help = match &error {
            LocalError::Plan(PlanError::UnknownJob(error)) => error.help(),
            LocalError::Situation(error) => error.help(),
            LocalError::Variables(error) => error.help(),
            LocalError::ApiMode(error) => error.help(),
            LocalError::Settings(error) => error.help.clone(),
            LocalError::Session(error) => error.help(),
            LocalError::Export(error) => error.help().map(ToOwned::to_owned),
            LocalError::Hook(error) => error.help().map(ToOwned::to_owned),
            LocalError::Environments(error) => error.help().map(ToOwned::to_owned),
            LocalError::NoFile { file, root, .. } => Some(help_for_file(file, root)),
            error => help_for(error).map(ToOwned::to_owned),
        };
        Self {
            exit,
            error: error.into(),
            help,
            text: None,
        }
    }
}

/// Returns advice for a missing pipeline file.
fn help_for_file(file: &Path, root: &Path) -> String {
    let usual = Path::new(".gitlab-ci.yml");
    if file == usual && root.join(".gitlab-ci.yaml").exists() {
        "did you mean .gitlab-ci.yaml? GitLab reads only .gitlab-ci.yml; rename it, or use `-f .gitlab-ci.yaml`".to_owned()
    } else if file == usual {
        "`runwright init` writes one; --file names another".to_owned()
    } else if root.join(usual).exists() {
        "the default pipeline file, .gitlab-ci.yml, exists".to_owned()
    } else {
        "`runwright init` writes a .gitlab-ci.yml, the default file".to_owned()
    }
}

/// Returns advice for an error, if there is any.
fn help_for(error: &LocalError) -> Option<&'static str> {
    match error {
        LocalError::Repository(RepositoryError::None { .. }) => {
            Some("jobs see the commit they run for; make a repository with `git init`")
        }
        LocalError::NoCommit { .. } => {
            Some("commit the files, or use `--isolation snapshot`, which copies the working tree")
        }
        LocalError::Runs(RunsError::None { .. }) => Some("`runwright history` shows the runs"),
        LocalError::Runs(RunsError::NothingToDo { ended, verb, .. }) => match (*ended, *verb) {
            ("failed", "resume") => Some("`runwright retry` runs the failed jobs again"),
            (_, "resume" | "retry") if ended.contains("play") => {
                Some("`runwright play JOB` starts it")
            }
            (_, "retry") => Some("`runwright retry JOB` runs a job again, whatever its result"),
            _ => None,
        },
        LocalError::State(StateError::NoHome) => Some("set RUNWRIGHT_HOME to a directory"),
        LocalError::State(StateError::InPlace { .. }) => {
            Some("wait for it, or run in a copy, without --in-place")
        }
        LocalError::Process(ProcessError::UserNamespace { .. }) => {
            Some("this system lets only root mount overlays; leave out `--snapshot overlay`")
        }
        LocalError::Snapshot(SnapshotError::Overlay(_)) => {
            Some("leave out `--snapshot overlay`, or keep state elsewhere with RUNWRIGHT_HOME")
        }
        _ => None,
    }
}
