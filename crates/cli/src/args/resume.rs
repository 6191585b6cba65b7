use super::{OutputArgs, PlaceArgs};
use clap::Args;

/// Arguments of `runwright resume`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright resume                  go on with the last run
  runwright resume 12               go on with run 12

The pipeline file is read again, as it is now. Jobs that had finished are not run again; those that were
running when the run ended begin anew. The options are those of the run.

Exit codes: as of `runwright run`; 2 when there is nothing to go on with")]
pub(crate) struct ResumeArgs {
    /// The run, by its number; default: the last
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
  runwright retry                   run again what failed in the last run, and go on
  runwright retry 12                the same for run 12
  runwright retry test lint         run these two again, however they ended
  runwright retry 12 test           the same in run 12
  runwright retry 'test[OS=debian]' copies of a job, by the variables of their matrix

The current pipeline file is read again, so that your fixes count. Jobs that succeeded are not
run again, unless they are named; with names, others that failed stay as they are. A run that still goes on
runs the named jobs again itself, with the file as it was when it began.

Exit codes: as of `runwright run`; 2 when nothing failed, or a job that is named did not run")]
pub(crate) struct RetryArgs {
    /// The run, by its number; without one, the last. Then the jobs; without any, all that failed
    #[arg(value_name = "[RUN] [JOB]...")]
    pub(crate) words: Vec<String>,
    /// The display and other outputs; options that are not given keep their values.
    #[command(flatten)]
    pub(crate) shown: OutputArgs,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
