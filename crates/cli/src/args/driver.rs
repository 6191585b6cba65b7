use clap::{Args, Subcommand, ValueEnum};

/// Arguments of `runwright driver`.
#[derive(Debug, Args)]
pub(crate) struct DriverArgs {
    /// What to do with a driver.
    #[command(subcommand)]
    pub(crate) action: DriverAction,
}

/// What can be done with a driver.
#[derive(Debug, Subcommand)]
pub(crate) enum DriverAction {
    /// Run a driver through the conformance suite, and report what it gets wrong
    Check(DriverCheckArgs),
}

/// The protocol of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriverProtocol {
    /// One long-lived process that speaks frames over standard input and output
    Typed,
    /// Up to four programs, as GitLab Runner's custom executor calls them
    Custom,
}

/// Arguments of `runwright driver check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright driver check ./driver                     a program
  runwright driver check python3 driver.py --board 7  a program with arguments
  runwright driver check --only exit_codes ./driver   one check
  runwright driver check /opt/boards                  a directory of programs
  runwright driver check --protocol custom ./run.sh   its program `run`, alone
  runwright driver check --protocol custom boards {}  one program for all phases
  runwright driver check --protocol custom            the configured driver

The programs in a directory are named for the phases, config, prepare, run and cleanup, with any extension. In a \
command, {} becomes the phase.

Each check is a rule of the contract between the runner and a driver. A failed one is shown with the rule and \
with what the driver did instead. The jobs of the suite run in environments of the driver.

Exit codes: 0 every check passed or does not apply; 1 a check failed; 2 usage; 3 environment; 130 stopped by \
a signal")]
pub(crate) struct DriverCheckArgs {
    /// The protocol the driver speaks; without it, a directory is `custom` and a program `typed`
    #[arg(long, value_enum)]
    pub(crate) protocol: Option<DriverProtocol>,
    /// Run only this check; may be repeated
    #[arg(long, value_name = "CHECK")]
    pub(crate) only: Vec<String>,
    /// How many jobs run at once where a check starts several; a driver with less capacity fails it. With 1, the checks of
    /// concurrent jobs are skipped
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs: u32,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The driver and its arguments; without them, the driver of your settings
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<String>,
}
