use super::ProjectArgs;
use clap::{Args, ValueEnum};

/// Arguments of `runwright show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright show                            the merged file, with where each value comes from
  runwright show --no-origins > all.yml     the merged file alone
  runwright show --format json | jq .test   one job

Exit codes: 0 shown, 2 the file is invalid")]
pub(crate) struct ShowArgs {
    /// What to print
    #[arg(long, value_enum, default_value = "yaml", value_name = "FORMAT")]
    format: ShowFormat,
    /// Short for `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Show where each value comes from (default for YAML)
    #[arg(long, overrides_with = "no_origins")]
    origins: bool,
    /// Show the values alone (default for JSON)
    #[arg(long, overrides_with = "origins")]
    no_origins: bool,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// What `runwright show` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    /// YAML; origins are comments
    Yaml,
    /// JSON; with --origins as {config, origins}, where the origins are by JSON pointer
    Json,
}

impl ShowArgs {
    /// Returns what to print.
    pub(crate) fn format(&self) -> ShowFormat {
        if self.json {
            ShowFormat::Json
        } else {
            self.format
        }
    }

    /// Returns whether origins are printed too.
    pub(crate) fn with_origins(&self) -> bool {
        match self.format() {
            ShowFormat::Yaml => !self.no_origins,
            ShowFormat::Json => self.origins,
        }
    }
}
