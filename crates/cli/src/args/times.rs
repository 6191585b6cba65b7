use super::PlaceArgs;
use clap::Args;

/// Arguments of `runwright times`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright times            how long each job usually takes, and what got slower since when
  runwright times test       the last times of one job
  runwright times --json     the same for programs

What succeeded counts, the last twenty times of each job, and from three on something is said.

Exit codes: 0 shown, 2 usage error or no such job, 3 the times cannot be read")]
pub(crate) struct TimesArgs {
    /// Show the times of this job
    #[arg(value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
