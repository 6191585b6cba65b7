//! Script text for every stage of a build: sh, bash, PowerShell.
//!
//! ```
//! use executor_core::job::{Job, Step};
//! use executor_core::shell::{ShellDialect, ShellInfo};
//! use executor_core::stage::BuildStage;
//! use shells::JobScripts;
//!
//! let mut job = Job::default();
//! job.steps.push(Step {
//!     name: Step::SCRIPT.to_owned(),
//!     script: vec!["echo hello".to_owned()],
//!     ..Step::default()
//! });
//! let scripts = JobScripts::new(&ShellInfo::new(ShellDialect::Bash), &job);
//! let script = scripts.script(&BuildStage::script())?.expect("the job has a script");
//! assert!(script.text().contains("echo hello"));
//! // No `after_script`: nothing to run, so the stage is skipped.
//! assert!(scripts.script(&BuildStage::AfterScript)?.is_none());
//! # Ok::<(), shells::ScriptError>(())
//! ```
//!
//! Start at [`JobScripts`], which writes a [`Script`] for each stage, and [`ShellCommand`], the
//! command line that runs it. [`GitPlan`] is the list of steps that bring the sources; a script
//! and a native run are two readings of the same list.
//!
//! **Invariant:** nothing here reads a file, starts a process or asks for the time. And no
//! variable's value gets into a script: scripts name variables, the executor hands the values over
//! beside the script. The one exception is [`export_prologue`], for drivers that have no side.
//!
//! The texts for sh and bash are run under dash, bash and busybox by this crate's tests. Those for
//! PowerShell are compared as text only: no PowerShell runs where the project is built.

mod command;
mod error;
mod export;
pub mod git;
mod interactive;
mod options;
mod posix;
mod powershell;
mod quote;
mod script;
mod user;
mod writer;

pub use command::{DETECT_SHELL, ShellCommand};
pub use error::ScriptError;
pub use export::export_prologue;
pub use git::{GitPlan, GitSettings};
pub use interactive::InteractiveShell;
pub use options::ScriptOptions;
pub use quote::{quote_pwsh, quote_sh};
pub use script::{JobScripts, Script};
pub use user::command_echo;

/// The variable that holds the path of the job's working tree.
pub const PROJECT_DIR: &str = "CI_PROJECT_DIR";
/// The variable that holds the path of the job's private directory, beside the working tree.
pub const TEMP_DIR: &str = "RUNNER_TEMP_PROJECT_DIR";
/// The variable that holds the path of the file whose `KEY=VALUE` lines later stages export.
pub const ENV_FILE: &str = "GITLAB_ENV";
/// The name of the file that [`ENV_FILE`] points at, in the directory of [`TEMP_DIR`].
pub const ENV_FILE_NAME: &str = "gitlab_runner_env";
