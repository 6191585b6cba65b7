use clap::Args;
use std::path::PathBuf;

/// Arguments of `runwright machines`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright machines                       those of your settings
  runwright machines --config fleet.toml   those of another file
  runwright machines --remove              remove what a killed run left

Each machine is shown with what the pool will do with it, and why. A run removes its machines when it ends; after a \
`kill -9` they stay until the next run takes them over, or until `--remove`.

Exit codes: 0 success; 2 usage or settings; 3 the machines cannot be listed or removed")]
pub(crate) struct MachinesArgs {
    /// A file with settings of GitLab Runner, in place of `config` in `[machines]`
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The name of the [[runners]]; needed when several have machines
    #[arg(long, value_name = "NAME")]
    pub(crate) runner: Option<String>,
    /// Remove the machines, which no run may have now
    #[arg(long)]
    pub(crate) remove: bool,
    /// Print JSON, ages in seconds
    #[arg(long)]
    pub(crate) json: bool,
}
