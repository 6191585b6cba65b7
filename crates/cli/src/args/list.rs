use super::{ChangedArgs, JobsArgs, ProjectArgs};
use clap::Args;

/// Arguments of `runwright list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright list                            the jobs of a push of the current branch
  runwright list --tag v1.0                 the jobs of a tag
  runwright list --changed                  those that a change touches, and why
  runwright list --mr --all                 those of a merge request, and why the others are not
  runwright list 'test-*' 'deploy[ENV=qa]'  some jobs, by a glob, by the variables of a matrix

Exit codes: 0 listed, 2 the file is invalid, or the pipeline cannot be made of it")]
pub(crate) struct ListArgs {
    /// Which jobs.
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// Show the jobs that are left out as well, with the reason
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Print the normalized jobs as a JSON array
    #[arg(long)]
    pub(crate) json: bool,
    /// Which jobs a change touches.
    #[command(flatten)]
    pub(crate) changed: ChangedArgs,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}
