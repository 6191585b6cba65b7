use super::{PlaceArgs, ProjectArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `runwright init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright init          write a .gitlab-ci.yml that fits the repository
  runwright init --print  show it only

It looks for Cargo.toml, package.json, pyproject.toml or setup.py, go.mod and a Makefile, in this order. An \
existing file is never overwritten.

Exit codes: 0 written or shown; 2 a pipeline file exists, or there is no repository; 3 it cannot be written")]
pub(crate) struct InitArgs {
    /// Show the file, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Where the project is.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

/// Arguments of `runwright lint`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright lint                            check .gitlab-ci.yml
  runwright lint ci/deploy.yml              check another file
  runwright lint --strict                   warnings are errors too
  runwright lint --format sarif > ci.sarif  for editors and code hosts

Exit codes: 0 valid, 2 invalid (with --strict also when there are warnings)")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct LintArgs {
    /// The pipeline file, as with --file
    #[arg(value_name = "FILE", conflicts_with = "file")]
    pub(crate) path: Option<PathBuf>,
    /// Treat warnings as errors, except those about what a local run does not support
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show notes as well: harmless facts
    #[arg(long, short = 'v', visible_alias = "verbose")]
    pub(crate) notes: bool,
    /// What to print
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    format: LintFormat,
    /// Short for `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Short for `--format sarif`
    #[arg(long, conflicts_with_all = ["format", "json"])]
    sarif: bool,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// What `runwright lint` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintFormat {
    /// Each finding with its lines, for people
    Text,
    /// {valid, errors, warnings, notes}
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
}

impl LintArgs {
    /// Returns what to print.
    pub(crate) fn format(&self) -> LintFormat {
        match self {
            Self { json: true, .. } => LintFormat::Json,
            Self { sarif: true, .. } => LintFormat::Sarif,
            Self { format, .. } => *format,
        }
    }
}

/// Arguments of `runwright show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright show                         the merged file, with origins
  runwright show test                    one job
  runwright show --no-origins > all.yml  the merged file alone
  runwright show test --json             the same for programs

Exit codes: 0 shown, 2 the file is invalid")]
pub(crate) struct ShowArgs {
    /// The jobs, by name or glob, also hidden ones; without any, the whole file
    #[arg(value_name = "JOB")]
    pub(crate) job: Vec<String>,
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
