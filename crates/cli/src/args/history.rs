use super::PlaceArgs;
use clap::Args;
use std::num::NonZeroUsize;

/// Arguments of `runwright history`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright history                 the runs of this project, newest first
  runwright history -n 1 --json     the newest, with its jobs
  runwright history --all           the runs of all your projects

Exit codes: 0 shown, 2 usage error, 3 something of it cannot be read")]
pub(crate) struct HistoryArgs {
    /// Show the runs of all projects
    #[arg(long, short)]
    pub(crate) all: bool,
    /// How many runs, child pipelines not counted
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) number: Option<NonZeroUsize>,
    /// Print them as a JSON array, with their jobs
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
