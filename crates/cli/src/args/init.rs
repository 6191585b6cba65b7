use super::PlaceArgs;
use clap::Args;

/// Arguments of `runwright init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright init             write a .gitlab-ci.yml for the contents of this repository
  runwright init --print     show it only

It looks for Cargo.toml, package.json, pyproject.toml or setup.py, go.mod and a Makefile, in this order.
A file that is there is never written over.

Exit codes: 0 written or shown; 2 there is a pipeline file already, or no repository; 3 it cannot be written")]
pub(crate) struct InitArgs {
    /// Show the file, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
