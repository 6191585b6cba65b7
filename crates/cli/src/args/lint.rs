use super::ProjectArgs;
use clap::{Args, ValueEnum};

/// Arguments of `runwright lint`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright lint                            check .gitlab-ci.yml
  runwright lint --strict                   let warnings fail, too
  runwright lint --format sarif > ci.sarif  for tools that show findings in the code

Exit codes: 0 valid, 2 invalid (with --strict also when there are warnings)")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct LintArgs {
    /// Treat warnings as errors, but for those about what a local run does not honour
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show notes as well: harmless facts that are good to know
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
