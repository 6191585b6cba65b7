use super::heading;
use clap::{Args, ValueEnum};
use workstation::ParallelBackend;

/// How jobs run beside each other, in the words of bitrab.
///
/// They override `[tool.bitrab]` of the project's `pyproject.toml`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ParallelArgs {
    /// Run one job at a time; with --dialect bitrab in the working tree itself
    #[arg(long, help_heading = None::<&str>, num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true, value_name = "BOOL")]
    pub(crate) serial: Option<bool>,
    /// With --dialect bitrab: run jobs in the working tree itself, also in parallel
    #[arg(long, help_heading = heading::PLACE, hide_short_help = true, conflicts_with_all = ["isolation", "snapshot", "in_place"])]
    pub(crate) no_worktrees: bool,
    /// What runs parallel jobs. Scripts are separate processes in both cases
    #[arg(long, help_heading = heading::PLACE, hide_short_help = true, value_enum, value_name = "WHAT")]
    pub(crate) parallel_backend: Option<BackendArg>,
}

/// What drives jobs that run beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendArg {
    /// A process for each job
    Process,
    /// A thread for each job, which waits for the process of its script
    Thread,
}

impl BackendArg {
    /// Returns the selected value.
    pub(crate) fn backend(self) -> ParallelBackend {
        match self {
            Self::Process => ParallelBackend::Process,
            Self::Thread => ParallelBackend::Thread,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Thread => "thread",
        }
    }
}

impl ParallelArgs {
    /// Returns the options that ask for the same again.
    pub(crate) fn words(&self) -> Vec<&'static str> {
        let mut words = Vec::new();
        words.extend(
            self.serial
                .map(|is_so| if is_so { "--serial" } else { "--serial=false" }),
        );
        words.extend(self.no_worktrees.then_some("--no-worktrees"));
        if let Some(backend) = self.parallel_backend {
            words.extend(["--parallel-backend", backend.word()]);
        }
        words
    }
}
