use super::PlaceArgs;
use clap::{Args, Subcommand};

/// Arguments of `runwright hook`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright hook install          a push runs the jobs it affects first
  runwright hook status           whether it is installed, and where
  runwright hook uninstall        remove it, and nothing else of the hook
  RUNWRIGHT_SKIP_HOOK=1 git push  push without running anything, once

An existing hook still runs, and its exit code counts. Without `runwright` in the PATH the hook warns, and \
the push continues.

Exit codes: 0 done; 2 no repository, or another program manages its hooks; 3 it cannot be written")]
pub(crate) struct HookArgs {
    /// What to do with the hook.
    #[command(subcommand)]
    pub(crate) action: HookAction,
}

/// What can be done with the hook.
#[derive(Debug, Subcommand)]
pub(crate) enum HookAction {
    /// Install a hook that runs the jobs that a push touches
    Install(PlaceArgs),
    /// Remove the hook
    Uninstall(PlaceArgs),
    /// Show whether it is installed, and where
    Status(PlaceArgs),
    /// The command that the hook calls: git passes the pushed references on standard input
    #[command(hide = true)]
    Run(HookRunArgs),
}

/// Arguments of `runwright hook run`: what git calls the hook with.
#[derive(Debug, Args)]
pub(crate) struct HookRunArgs {
    /// The name of the remote, and where it is.
    #[arg(hide = true, allow_hyphen_values = true)]
    pub(crate) remote: Vec<String>,
}
