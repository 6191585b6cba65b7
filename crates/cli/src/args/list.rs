use super::ProjectArgs;
use clap::Args;

/// Arguments of `runwright list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Print the normalized jobs as a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}
