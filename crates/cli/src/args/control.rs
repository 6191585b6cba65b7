use super::{KeyValue, OutputArgs, PlaceArgs};
use crate::completion;
use clap::Args;

/// Arguments of `runwright play`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright play deploy                     start `deploy` of the last run
  runwright play 12 deploy                  the job `deploy` of run 12
  runwright play deploy --variable TO=blue  with a variable for it alone

A current run starts the job itself; a run that has ended is continued here.

Exit codes: 0 started; if the run is continued here, those of `runwright run`; 2 no such run or manual job")]
pub(crate) struct PlayArgs {
    /// The number of the run (default: the last), then the job; a terminal asks for the job
    /// if none is named
    #[arg(add = completion::waiting(), value_name = "[RUN] JOB", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
    /// Set a variable for the job, and for no other
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) variable: Vec<KeyValue>,
    /// The output, if the run is continued here.
    #[command(flatten)]
    pub(crate) shown: OutputArgs,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

/// Arguments of `runwright cancel`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright cancel              cancel the current run
  runwright cancel 12 test      cancel one job of run 12
  runwright cancel 12 'slow-*'  cancel some jobs of run 12
  runwright cancel --now        end everything at once

after_script and cleanup still run; with --now, only cleanup does.

Exit codes: 0 canceled; 2 no such run or job, or it has ended; 3 the run does not respond")]
pub(crate) struct CancelArgs {
    /// The number of the run (default: the current one), then a job to cancel it alone
    #[arg(add = completion::jobs(), value_name = "[RUN] [JOB]", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
    /// End everything at once
    #[arg(long)]
    pub(crate) now: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
