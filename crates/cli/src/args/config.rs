use super::PlaceArgs;
use clap::{Args, Subcommand};

/// Arguments of `runwright config`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright config show --origin            all settings, and where each is from
  runwright config init --project           write a .runwright.toml to begin with
  runwright config schema                   a JSON schema of it, for an editor")]
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
    /// Write a file with all settings as comments; one that is there stays as it is
    Init(ConfigInitArgs),
    /// Print the JSON schema of the settings' files
    Schema(ConfigSchemaArgs),
}

/// Arguments of `runwright config show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright config show                             what holds in this project
  runwright config show --origin                    ... and where it is from
  runwright config show --origin -- --serial        ... with these options of `runwright run`

What is weaker first: built in, your config.toml, the project's .runwright.toml, variables RUNWRIGHT_*,
options.

Exit codes: 0 shown, 2 a setting is wrong")]
pub(crate) struct ConfigShowArgs {
    /// Say of each setting where it is from
    #[arg(long)]
    pub(crate) origin: bool,
    /// Print a JSON array of {name, value, origin}
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Options of `runwright run` that are to count
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) options: Vec<String>,
}

/// Arguments of `runwright config init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright config init                     your own: config.toml in ~/.runwright or $RUNWRIGHT_HOME
  runwright config init --project           the project's: .runwright.toml at its top

Exit codes: 0 written, 2 there is one already, or it cannot be written")]
pub(crate) struct ConfigInitArgs {
    /// Write that of the project, `.runwright.toml`
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
  runwright config schema --user            that of your own config.toml")]
pub(crate) struct ConfigSchemaArgs {
    /// That of the user's file, `config.toml`
    #[arg(long)]
    pub(crate) user: bool,
}
