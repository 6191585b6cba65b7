use super::{OutputArgs, PlaceArgs};
use crate::completion;
use clap::Args;

/// Arguments of `runwright resume`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright resume     continue the last run
  runwright resume 12  continue run 12

The pipeline file is read again, as it is now. Finished jobs do not run again; jobs that were running when \
the run ended continue where their container, pod or host is still there, and start again otherwise. The options are those of the run.

Exit codes: those of `runwright run`; 2 if there is nothing to continue")]
pub(crate) struct ResumeArgs {
    /// The number of the run; default: the last
    pub(crate) run: Option<u64>,
    /// The display and other outputs; options that are not given keep their values.
    #[command(flatten)]
    pub(crate) shown: OutputArgs,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

/// Arguments of `runwright retry`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright retry                     the failed jobs of the last run
  runwright retry 12                  the same for run 12
  runwright retry test lint           run these two again, whatever their result
  runwright retry 12 test             run `test` of run 12 again
  runwright retry 'test[OS=debian]'  copies of a job, by their matrix

The pipeline file is read again, so that your fixes count. Jobs that succeeded run again only if they are \
named; if names are given, other failed jobs keep their result. A run that is still in progress runs the \
named jobs again itself, with the file as it was when it started.

Exit codes: those of `runwright run`; 2 if nothing failed, or a named job did not run")]
pub(crate) struct RetryArgs {
    /// The number of the run (default: the last), then the jobs (default: all that failed)
    #[arg(add = completion::jobs(), value_name = "[RUN] [JOB]...")]
    pub(crate) words: Vec<String>,
    /// The display and other outputs; options that are not given keep their values.
    #[command(flatten)]
    pub(crate) shown: OutputArgs,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
