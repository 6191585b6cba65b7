use super::PlaceArgs;
use clap::Args;

/// Arguments of `runwright logs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright logs test               the log of `test` in the last run
  runwright logs 12 test            the same in run 12
  runwright logs -f deploy          while it runs, until it ends
  runwright logs test --attempt 1   the first of several attempts
  runwright logs 'test-*'           of all jobs that fit, one after the other

Secrets are masked, as they were when the log was written.

Exit codes: 0 shown, 2 no such run, job or log")]
pub(crate) struct LogsArgs {
    /// The run, by its number; without one, the last. Then the job; asked for at a terminal
    /// when none is named
    #[arg(value_name = "[RUN] JOB", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
    /// Go on until the job has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Which attempt, from 1, over all lives of the run; default: the last
    #[arg(long, value_name = "N")]
    pub(crate) attempt: Option<usize>,
    /// Show when each line was written
    #[arg(short, long)]
    pub(crate) timestamps: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
