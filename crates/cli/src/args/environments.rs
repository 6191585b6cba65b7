use super::{OutputArgs, PlaceArgs};
use crate::completion;
use clap::{Args, Subcommand};

/// Arguments of `runwright environments`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  runwright environments                the environments and their deployments
  runwright environments stop review/x  run the job that stops the environment
  runwright environments stop --due     stop those that are due

Exit codes: 0 shown or stopped; if a job stops one, those of `runwright run`; 2 no such environment"
)]
pub(crate) struct EnvironmentsArgs {
    /// What to do; without it, they are listed.
    #[command(subcommand)]
    pub(crate) action: Option<EnvironmentsAction>,
    /// Print them as a JSON array
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

/// What is done with environments.
#[derive(Debug, Subcommand)]
pub(crate) enum EnvironmentsAction {
    /// Stop environments: run the job that `on_stop` names, if any
    Stop(Box<StopArgs>),
}

/// Arguments of `runwright environments stop`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright environments stop review/x  run the job that stops the environment
  runwright environments stop --due     stop those that are due

Exit codes: 0 stopped; if a job stops one, those of `runwright run`; 2 no such environment")]
pub(crate) struct StopArgs {
    /// The environments, by their names
    #[arg(add = completion::environments(), value_name = "NAME", required_unless_present = "due")]
    pub(crate) name: Vec<String>,
    /// Stop those that are due (`auto_stop_in`)
    #[arg(long, conflicts_with = "name")]
    pub(crate) due: bool,
    /// What is shown of the jobs, and where else it goes.
    #[command(flatten)]
    pub(crate) shown: OutputArgs,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
