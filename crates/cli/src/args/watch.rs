use super::RunArgs;
use clap::Args;

/// Arguments of `runwright watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright watch                           run the pipeline, and what is touched by each change
  runwright watch lint 'test-*'             only these jobs, with what they need
  runwright watch --restart test            a change cancels a run that goes on
  runwright watch --changed                 begin with what changed since the branch's upstream

Which jobs a change touches is told like for `runwright run --changed`. Files that are ignored do not
count, nor what editors keep beside files, nor what is written with the same contents.

Ctrl-C ends it while it waits, with exit code 0; it cancels a run, and ends everything at once if it
comes twice, with exit code 130.

Exit codes: 0 ended while it waited; 2 usage, 3 the environment failed; 130 stopped in a run")]
pub(crate) struct WatchArgs {
    /// Cancel a run when files change that touch its jobs, and begin anew; else it ends first
    #[arg(long)]
    pub(crate) restart: bool,
    /// Clear the terminal before each round
    #[arg(long)]
    pub(crate) clear: bool,
    /// Look for changes every second, rather than rely on the system to tell of them: for file
    /// systems that others write to
    #[arg(long)]
    pub(crate) poll: bool,
    /// What is run, and how.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
