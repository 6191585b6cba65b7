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
//! command line that runs it. [`GitPlan`] is the list of steps that fetch the sources; both a
//! script and a native run follow it.
//!
//! **Invariant:** nothing here reads a file, starts a process or asks for the time. And scripts
//! contain no values of variables: they name variables, whose values the executor passes in the
//! environment. The exceptions are [`export_prologue`], [`feed`] and [`write_files`], for environments
//! that can be passed only text.
//!
//! This crate's tests run the texts for sh and bash under dash, bash and busybox. Those for
//! PowerShell are only compared as text, since no PowerShell is available where the project is
//! built.

mod command;
mod end_line;
mod error;
mod export;
mod feed;
pub mod git;
mod helper;
mod interactive;
mod marked_line;
mod posix;
mod powershell;
mod quote;
mod script;
mod signal_tree;
mod user;
mod writer;

pub use command::{DETECT_SHELL, ShellCommand};
pub use end_line::EndLine;
pub use error::ScriptError;
pub use export::export_prologue;
pub use feed::{feed, write_files};
pub use git::{GitPlan, GitSettings};
pub use helper::{
    HELPER, HELPER_DIR, HelperArgument, HelperCall, HelperGroup, HelperRule, HelperStage,
};
pub use interactive::InteractiveShell;
pub use marked_line::MarkedLine;
pub use quote::{quote_pwsh, quote_sh, quote_sh_long};
pub use script::{JobScripts, Script};
pub use signal_tree::SIGNAL_TREE;
pub use user::command_echo;
pub use writer::ScriptOptions;

/// The variable with the path of the job's working tree.
pub const PROJECT_DIR: &str = "CI_PROJECT_DIR";
/// The variable with the path of the job's private directory, next to the working tree.
pub const TEMP_DIR: &str = "RUNNER_TEMP_PROJECT_DIR";
/// The variable with the path of the file whose `KEY=VALUE` lines later stages export.
pub const ENV_FILE: &str = "GITLAB_ENV";
/// The name of the file that [`ENV_FILE`] refers to, in the directory of [`TEMP_DIR`].
pub const ENV_FILE_NAME: &str = "gitlab_runner_env";
