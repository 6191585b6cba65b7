use super::ProjectArgs;
use clap::Args;

/// Arguments of `runwright variables`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright variables                       what all jobs share
  runwright variables deploy --tag v1.0     what `deploy` gets in the pipeline of a tag
  runwright variables deploy --explain      ... and where each variable comes from
  runwright variables --gitlab-variables    with those of the project and its groups on GitLab

Exit codes: 0 shown, 2 the file is invalid, there is no such job, or GitLab does not
show you its variables, 3 GitLab does not answer")]
pub(crate) struct VariablesArgs {
    /// The job; one that `parallel` makes several of means all of them
    #[arg(value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Show where each comes from, what it wins over, and which are left out
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print a JSON array with an object for each job
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}
