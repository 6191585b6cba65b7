use super::{ReportFile, heading, word_of};
use clap::{ArgAction, Args};
use console::{Layout, ProgressMode};
use std::path::PathBuf;
use workstation::{LayeredValue, SettingValue};

/// What of a run is shown, and where else it goes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = heading::OUTPUT)]
pub(crate) struct OutputArgs {
    /// The format of standard output; default: auto
    #[arg(long, value_enum, value_name = "WHO")]
    progress: Option<ProgressMode>,
    /// How logs are laid out; default: `live` on a terminal, `prefix` elsewhere and in CI
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub(crate) output: Option<Layout>,
    /// Show all messages of the runner, and fold nothing
    #[arg(short, long, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", default_value_t = false, hide_default_value = true,
          hide_possible_values = true, value_name = "BOOL")]
    pub(crate) verbose: bool,
    /// Show only the result: the failed jobs with their last lines, and the summary
    #[arg(short, long, conflicts_with_all = ["progress", "output", "verbose", "times"])]
    pub(crate) quiet: bool,
    /// Report expected and actual durations, also without a terminal
    #[arg(long, hide_short_help = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", default_value_t = false, hide_default_value = true,
          hide_possible_values = true, value_name = "BOOL")]
    pub(crate) times: bool,
    /// Write all events as JSON lines to this file
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Write a report of the run to this file: `.xml` is JUnit, else `.json` or `.txt`; may be repeated
    #[arg(long, value_name = "[FORMAT=]FILE")]
    pub(crate) report: Vec<ReportFile>,
}

impl OutputArgs {
    /// Sets the option of a setting.
    pub(super) fn fill(&mut self, setting: &LayeredValue) {
        match (setting.key.name, &setting.value) {
            ("progress", _) => self.progress = word_of(setting),
            ("output", _) => self.output = word_of(setting),
            ("verbose", SettingValue::Flag(is_so)) => self.verbose = *is_so,
            ("times", SettingValue::Flag(is_so)) => self.times = *is_so,
            _ => {}
        }
    }

    /// Returns who reads standard output.
    pub(crate) fn progress(&self) -> ProgressMode {
        self.progress.unwrap_or(ProgressMode::Auto)
    }

    /// Returns whether an option contradicts `--quiet`.
    fn has_view(&self) -> bool {
        self.progress.is_some() || self.output.is_some() || self.verbose || self.times
    }

    /// Returns what these options ask for, and what they leave open as an earlier run had it. Files
    /// are for that run alone.
    pub(crate) fn over(&self, earlier: &Self) -> Self {
        Self {
            progress: self.progress.or(earlier
                .progress
                .filter(|it| !self.quiet && it.can_be_shown())),
            output: self.output.or(earlier.output.filter(|_| !self.quiet)),
            verbose: !self.quiet && (self.verbose || earlier.verbose),
            quiet: self.quiet || (earlier.quiet && !self.has_view()),
            times: self.times || earlier.times,
            events: self.events.clone(),
            report: self.report.clone(),
        }
    }
}
