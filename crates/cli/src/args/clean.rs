use super::PlaceArgs;
use clap::Args;

/// Arguments of `runwright clean`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright clean                               sizes, and what could go
  runwright clean --runs --older-than '1 week'  runs that ended a week ago
  runwright clean --cache                       caches and fetched functions
  runwright clean --reuse                       kept job results
  runwright clean --docker --dry-run            what jobs left in the engine
  runwright clean --all                         all but that, of all projects
  runwright clean --all --dry-run               what would be removed

Files that a current run uses are kept.

Exit codes: 0 shown or removed; 3 something could not be removed")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct CleanArgs {
    /// Remove runs that have ended: their records, logs and artifacts
    #[arg(long)]
    pub(crate) runs: bool,
    /// Remove the artifacts of runs that have ended, and nothing else of them
    #[arg(long)]
    pub(crate) artifacts: bool,
    /// Remove caches, and functions that steps fetched
    #[arg(long)]
    pub(crate) cache: bool,
    /// Remove the job results kept for `run --reuse`
    #[arg(long)]
    pub(crate) reuse: bool,
    /// Remove images and volumes that jobs added to the container engine and that exceed the limits
    #[arg(long)]
    pub(crate) docker: bool,
    /// Remove all of these for all projects, except images and volumes in the engine
    #[arg(long)]
    pub(crate) all: bool,
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only what ended or was last used longer ago than this: `2 days`, `1 week`
    #[arg(long, value_name = "DURATION")]
    pub(crate) older_than: Option<String>,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
