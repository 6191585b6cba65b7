use super::PlaceArgs;
use crate::completion;
use clap::Args;
use clap::builder::PossibleValuesParser;
use pipeline::config::REPORTS;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use workstation::StoredArtifact;

/// Arguments of `runwright history`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright history              the runs of this project, newest first
  runwright history -n 1 --json  the newest, with its jobs
  runwright history --all        the runs of all your projects

Exit codes: 0 shown, 2 usage error, 3 a record cannot be read")]
pub(crate) struct HistoryArgs {
    /// Show the runs of all projects
    #[arg(long, short)]
    pub(crate) all: bool,
    /// How many runs, child pipelines not counted
    #[arg(short = 'n', long, value_name = "N", value_parser = super::count::<NonZeroUsize>)]
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
  runwright times         the usual time of each job, and what became slower
  runwright times test    the recent times of one job
  runwright times --json  the same for programs

The last twenty successful attempts of each job count; a job with fewer than three has no usual time.

Exit codes: 0 shown, 2 usage error or no such job, 3 the times cannot be read")]
pub(crate) struct TimesArgs {
    /// Show the times of this job
    #[arg(add = completion::jobs(), value_name = "JOB")]
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
  runwright logs test              the log of `test` in the last run
  runwright logs 12 test           the log of `test` in run 12
  runwright logs -f deploy         follow it until the job ends
  runwright logs test --attempt 1  the log of the first attempt
  runwright logs 'test-*'          the logs of all matching jobs

Secrets are masked: logs contain no others.

Exit codes: 0 shown, 2 no such run, job or log")]
pub(crate) struct LogsArgs {
    /// The number of the run (default: the last), then the job; a terminal asks for the job
    /// if none is named
    #[arg(add = completion::jobs(), value_name = "[RUN] JOB", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
    /// Follow the log until the job ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// The number of the attempt, from 1, also across resumed runs; default: the last
    #[arg(long, value_name = "N")]
    pub(crate) attempt: Option<usize>,
    /// Show when each line was written, in UTC, and its stream: 00 is the runner, 01 the scripts; O standard output, E
    /// standard error; + continues the line before
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
  runwright artifacts                              the artifacts of the last run
  runwright artifacts 12 build                     those of `build` in run 12
  runwright artifacts build --output out           ... into the directory `out`
  runwright artifacts build --output build.zip     ... as a zip archive
  runwright artifacts test --type junit --output . a report

Exit codes: 0 shown or written; 2 no such run, job or artifact, or a file exists; 3 it cannot be read or \
written")]
pub(crate) struct ArtifactsArgs {
    /// The number of the run (default: the last), then the job (default: all)
    #[arg(add = completion::jobs(), value_name = "[RUN] [JOB]", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
    /// Only artifacts of this type: `archive` for files that are not reports, or `junit`, `dotenv` and so on
    #[arg(long = "type", value_name = "TYPE", value_parser = types(), hide_possible_values = true)]
    pub(crate) kind: Option<String>,
    /// Extract the files of a job into a directory, or into an archive whose name ends with .zip; other kinds of
    /// archives are not written
    #[arg(short, long, value_name = "DIR|FILE.zip", conflicts_with = "json")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Print them as a JSON array
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

/// Returns the types of artifacts.
fn types() -> PossibleValuesParser {
    let archive = [StoredArtifact::ARCHIVE].into_iter();
    PossibleValuesParser::new(archive.chain(REPORTS))
}
