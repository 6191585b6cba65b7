use clap::Args;
use std::path::PathBuf;

/// Which project a command about its runs means.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceArgs {
    /// The directory to work in, instead of the current one
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}
