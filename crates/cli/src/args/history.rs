use super::PlaceArgs;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

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
