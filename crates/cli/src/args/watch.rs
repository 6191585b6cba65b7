use super::RunArgs;
use clap::Args;

/// Arguments of `runwright watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright watch                           run the pipeline, and the affected jobs after each change
  runwright watch lint 'test-*'             only these jobs, with what they need
  runwright watch --restart test            a change cancels the current run
  runwright watch --changed                 begin with what changed since the branch's upstream

The affected jobs are found as for `runwright run --changed`. Files that are ignored do not
count, nor what editors keep beside files, nor what is written with the same contents.

Ctrl-C ends it while it waits, with exit code 0; it cancels a run, and ends everything at once if it
comes twice, with exit code 130.

Exit codes: 0 ended while it waited; 2 usage, 3 the environment failed; 130 stopped in a run")]
pub(crate) struct WatchArgs {
    /// Cancel the current run when a change affects its jobs, and start again; without it, the run ends first
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
