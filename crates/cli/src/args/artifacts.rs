use super::PlaceArgs;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `runwright artifacts`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright artifacts                              what the jobs of the last run left
  runwright artifacts 12 build                     what `build` left in run 12
  runwright artifacts build --output out           ... into the directory `out`
  runwright artifacts build --output build.zip     ... as a zip archive
  runwright artifacts test --type junit --output . a report

Exit codes: 0 shown or written; 2 no such run, job or artifact, or a file is in the way; 3 it cannot be read or
written")]
pub(crate) struct ArtifactsArgs {
    /// The run, by its number; without one, the last. Then the job; without one, all jobs
    #[arg(value_name = "[RUN] [JOB]", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
    /// Only this type: `archive` for files that are not reports, or `junit`, `dotenv` and so on
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Get the files of a job out: into a directory, or into an archive whose name ends with .zip
    #[arg(short, long, value_name = "DIR|FILE.zip", conflicts_with = "json")]
    pub(crate) output: Option<PathBuf>,
    /// Write over files that are there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Print them as a JSON array
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
