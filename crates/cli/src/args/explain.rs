use super::ProjectArgs;
use crate::completion;
use clap::Args;

/// Arguments of `runwright explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright explain deploy             is it in the pipeline, and why?
  runwright explain deploy --tag v1.0  ... in the pipeline of a tag
  runwright explain 'test: [linux]'    one job of a matrix; `test` is all
  runwright explain 'test[OS=linux]'   the same, by its variables

Exit codes: 0 explained, 2 the file is invalid, or the job does not exist")]
pub(crate) struct ExplainArgs {
    /// The job; a terminal asks if none is named. The name of a `parallel` job means all its copies
    #[arg(add = completion::jobs(), value_name = "JOB")]
    pub(crate) job: Vec<String>,
    /// Show GitLab's predefined variables as well
    #[arg(long)]
    pub(crate) predefined: bool,
    /// Print a JSON array with an object for each job
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Arguments of `runwright variables`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright variables                     the variables that all jobs share
  runwright variables deploy --tag v1.0   those of `deploy` for a tag
  runwright variables deploy --explain    ... and where each variable comes from
  runwright variables --gitlab-variables  with those on GitLab

Exit codes: 0 shown, 2 the file is invalid, there is no such job, or GitLab does not show you its variables, \
3 GitLab does not respond")]
pub(crate) struct VariablesArgs {
    /// The job; the name of a `parallel` job means all its copies
    #[arg(add = completion::jobs(), value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Show where each comes from, what it overrides, and which are left out
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print a JSON array with an object for each job
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}
