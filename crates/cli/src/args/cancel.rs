use super::PlaceArgs;
use clap::Args;

/// Arguments of `runwright cancel`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright cancel                  cancel the current run
  runwright cancel 12 test          cancel one job of run 12
  runwright cancel 12 'slow-*'      cancel some jobs of it
  runwright cancel --now            end everything at once

after_script and cleanup still run; with --now, only cleanup does.

Exit codes: 0 it was told; 2 no such run or job, or it has ended; 3 it does not answer")]
pub(crate) struct CancelArgs {
    /// The number of the run, without it the current one; then a job, to cancel only that
    #[arg(value_name = "[RUN] [JOB]", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
    /// End everything at once
    #[arg(long)]
    pub(crate) now: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
