use super::PlaceArgs;
use clap::{Args, Subcommand};

/// Arguments of `runwright hook`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright hook install             from now on, a push runs what it touches, and stops if that fails
  runwright hook status              is it there, and where?
  runwright hook uninstall           take it away; what else the hook does stays as it was
  RUNWRIGHT_SKIP_HOOK=1 git push     push without running anything, once

A hook that is there already keeps running, and its exit code counts. Without `runwright` in the PATH
the hook warns, and the push goes on.

Exit codes: 0 done; 2 no repository, or another program writes its hooks; 3 it cannot be written")]
pub(crate) struct HookArgs {
    /// What to do with the hook.
    #[command(subcommand)]
    pub(crate) action: HookAction,
}

/// What can be done with the hook.
#[derive(Debug, Subcommand)]
pub(crate) enum HookAction {
    /// Run before each push what it touches
    Install(PlaceArgs),
    /// Do so no longer
    Uninstall(PlaceArgs),
    /// Show whether it is there, and where
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
