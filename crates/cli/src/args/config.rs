use super::PlaceArgs;
use clap::{Args, Subcommand};

/// Arguments of `runwright config`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright config show --origin   all settings, and the origin of each
  runwright config init --project  a .runwright.toml to start from
  runwright config schema          a JSON schema of it, for an editor")]
pub(crate) struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) action: ConfigAction,
}

/// What is done with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Show all settings
    Show(ConfigShowArgs),
    /// Write a file with all settings as comments; an existing file is not changed
    Init(ConfigInitArgs),
    /// Print the JSON schema of a settings file
    Schema(ConfigSchemaArgs),
}

/// Arguments of `runwright config show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright config show                       the settings of this project
  runwright config show --origin              ... and the origin of each
  runwright config show --origin -- --serial  ... with options of run

From lowest to highest precedence: built in, your config.toml, the project's .runwright.toml, variables \
RUNWRIGHT_*, options.

Exit codes: 0 shown, 2 a setting is invalid")]
pub(crate) struct ConfigShowArgs {
    /// Show the origin of each setting
    #[arg(long)]
    pub(crate) origin: bool,
    /// Print a JSON array of {name, value, origin}
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Options of `runwright run` to apply
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) options: Vec<String>,
}

/// Arguments of `runwright config init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright config init            ~/.runwright/config.toml
  runwright config init --project  the project's .runwright.toml, in its root

Exit codes: 0 written, 2 the file exists, or it cannot be written")]
pub(crate) struct ConfigInitArgs {
    /// Write the project's file, `.runwright.toml`
    #[arg(long)]
    pub(crate) project: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

/// Arguments of `runwright config schema`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright config schema > runwright.schema.json
  runwright config schema --user                   that of your config.toml")]
pub(crate) struct ConfigSchemaArgs {
    /// Print the schema of your own file, `config.toml`
    #[arg(long)]
    pub(crate) user: bool,
}
