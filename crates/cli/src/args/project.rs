use super::KeyValue;
use clap::Args;
use std::path::PathBuf;

/// Which pipeline is meant, and with which variables.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProjectArgs {
    /// The pipeline file, relative to the top of the repository, or else to the current directory
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The directory to work in, instead of the current one
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a pipeline variable; it wins over those of the file
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) variable: Vec<KeyValue>,
    /// Set an input of the pipeline
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) input: Vec<KeyValue>,
}
