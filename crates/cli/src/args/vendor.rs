use super::ProjectArgs;
use clap::Args;

/// Arguments of `runwright vendor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright vendor                     fetch all that is included from elsewhere, and lock it
  runwright vendor --check             check that the lock file is whole and covers the pipeline
  runwright run --offline              run with the locked files, without a server

Commit .runwright.lock and .runwright/vendor, and every clone reads the same pipeline.

Exit codes: 0 written, or nothing differs; 1 something differs (--check);
  2 the pipeline is invalid, or a file cannot be had")]
pub(crate) struct VendorArgs {
    /// Write nothing and ask no server: list the differences
    #[arg(long)]
    pub(crate) check: bool,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}
