use super::{
    ChangedArgs, DockerArgs, IsolationArgs, OutputArgs, ParallelArgs, ProjectArgs, heading, word_of,
};
use crate::completion;
use clap::{ArgAction, Args, ValueEnum};
use pipeline::plan::NeedsMode;
use pipeline::selector::split_list;
use std::num::NonZeroU32;
use workstation::{LayeredValue, ReuseMode, SettingValue};

/// Arguments of `runwright run`.
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  runwright run                  the whole pipeline
  runwright run test             one job and what it needs
  runwright run test --no-needs  that job alone

`--help` shows more options, examples and the exit codes.",
    after_long_help = "\
Examples:
  runwright run                              the whole pipeline
  runwright run test lint                    two jobs and what they need
  runwright run --stage build                one stage and what it needs
  runwright run 'test-*' 'deploy[ENV=qa]'    by glob, and by matrix variables
  runwright run --skip lint,'slow-*'         all but some
  runwright run --changed                    only jobs affected by changes
  runwright run --changed=origin/main test   `test`, if affected since then
  runwright run --choose                     choose from a list
  runwright run --only-failed                what failed in the last run
  runwright run --variable RELEASE=1         with a pipeline variable
  TOKEN=... runwright run --secret TOKEN     with a masked variable
  runwright run --secret TOKEN=@token.txt    ... from a file
  runwright run --shell-on-failure           a shell in each job that fails
  runwright run --reuse                      only jobs whose inputs changed
  runwright run --dry-run                    show what would run
  runwright run --warn-changes               report changed tracked files
  runwright run --output group               the log of each job in one block
  runwright run --executor docker --image debian:12  each job in a container
  runwright run --progress tui               on the full screen; ? shows keys

Ctrl-C cancels: after_script and cleanup still run. A second Ctrl-C ends everything at once.

Exit codes:
  0    success; also with allowed failures, no job to run, or a waiting job
  1    a job failed, or --timeout was reached
  2    usage or configuration error
  3    the environment failed
  130  stopped by a signal"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct RunArgs {
    /// The jobs to run, by name, glob or `NAME[KEY=VALUE]`; without any, the whole pipeline
    #[arg(add = completion::jobs(), value_name = "JOB")]
    pub(crate) job: Vec<String>,
    /// The same as a list
    #[arg(add = completion::jobs(), long, help_heading = heading::JOBS, hide_short_help = true, value_name = "JOB,...")]
    pub(crate) jobs: Vec<String>,
    /// Leave these jobs out; jobs that need them do not wait for them
    #[arg(add = completion::jobs(), long, help_heading = heading::JOBS, value_name = "JOB,...")]
    pub(crate) skip: Vec<String>,
    /// Ask at the terminal which jobs to run
    #[arg(long, help_heading = heading::JOBS, conflicts_with_all = ["job", "jobs", "stage", "only_failed"])]
    pub(crate) choose: bool,
    /// Only the jobs that failed in the last run, and those skipped because of them
    #[arg(long, help_heading = heading::JOBS)]
    pub(crate) only_failed: bool,
    /// Only the jobs of this stage, and what they need unless --no-needs is given
    #[arg(add = completion::stages(), long, help_heading = heading::JOBS, value_name = "STAGE")]
    pub(crate) stage: Option<String>,
    /// Run the jobs that they need as well (default)
    #[arg(long, help_heading = heading::JOBS, hide_short_help = true, overrides_with = "no_needs")]
    pub(crate) needs: bool,
    /// Run the named jobs alone
    #[arg(long, help_heading = heading::JOBS)]
    pub(crate) no_needs: bool,
    /// Run the jobs that the named ones need, without those themselves
    #[arg(long, help_heading = heading::JOBS, hide_short_help = true, conflicts_with_all = ["needs", "no_needs"])]
    pub(crate) only_needs: bool,
    /// Start this manual job
    #[arg(add = completion::manual_jobs(), long, help_heading = heading::JOBS, value_name = "JOB")]
    pub(crate) manual: Vec<String>,

    /// Run jobs without the artifacts that they need of other projects, and leave out those that start the
    /// pipeline of a project that your settings do not name; each with a warning
    #[arg(long, help_heading = heading::JOBS, hide_short_help = true)]
    pub(crate) ignore_other_projects: bool,

    /// Which of them a change touches.
    #[command(flatten)]
    pub(crate) changed: ChangedArgs,

    /// Where jobs run: `docker`, `kubernetes`, `shell` (this machine), or `auto`: docker for jobs with an image,
    /// shell for all others; see `runwright executors`
    #[arg(add = completion::executors(), long, help_heading = heading::PLACE, value_name = "NAME", default_value = "auto")]
    pub(crate) executor: String,
    /// With `--executor shell`: remember that jobs of this project may run on this machine where no container
    /// engine answers
    #[arg(long, help_heading = heading::PLACE, hide_short_help = true)]
    pub(crate) remember: bool,
    /// What jobs in containers run in.
    #[command(flatten)]
    pub(crate) docker: DockerArgs,
    /// How many jobs run at once; default: the number of processors
    #[arg(long, help_heading = None::<&str>, value_name = "N", value_parser = super::count::<NonZeroU32>)]
    pub(crate) concurrency: Option<NonZeroU32>,
    /// The longest the whole pipeline may take: `90 minutes`, `1h 30m`
    #[arg(long, help_heading = None::<&str>, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
    /// Reuse the results of earlier jobs with the same inputs, with their logs and
    /// artifacts; `refresh` runs all and replaces the kept results
    #[arg(
        long,
        help_heading = None::<&str>,
        value_name = "WHEN",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on",
        default_value = "off",
        hide_default_value = true
    )]
    pub(crate) reuse: ReuseArg,
    /// Show what would run, in order, and run nothing
    #[arg(long, help_heading = None::<&str>, conflicts_with = "report")]
    pub(crate) dry_run: bool,
    /// What keeps jobs apart.
    #[command(flatten)]
    pub(crate) isolation: IsolationArgs,
    /// Copy the artifacts of jobs into the working tree when the run ends, over existing files
    #[arg(long, help_heading = heading::OUTPUT, hide_short_help = true)]
    pub(crate) artifacts_to_source: bool,
    /// Warn when a job changes tracked files that it did not declare
    #[arg(long, help_heading = None::<&str>, hide_short_help = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", default_value_t = false, hide_default_value = true,
          hide_possible_values = true, value_name = "BOOL")]
    pub(crate) warn_changes: bool,
    /// When a job fails, open a shell in its environment
    #[arg(long, help_heading = None::<&str>, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", default_value_t = false, hide_default_value = true,
          hide_possible_values = true, value_name = "BOOL")]
    pub(crate) shell_on_failure: bool,
    /// Start shells as login shells, so that they read your profile
    #[arg(long, help_heading = heading::PLACE, hide_short_help = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", default_value_t = false, hide_default_value = true,
          hide_possible_values = true, value_name = "BOOL")]
    pub(crate) login: bool,

    /// What is shown, and where else it goes.
    #[command(flatten)]
    pub(crate) shown: OutputArgs,
    /// How jobs run beside each other.
    #[command(flatten)]
    pub(crate) parallel: ParallelArgs,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

impl RunArgs {
    /// Sets the option of a setting.
    pub(super) fn fill(&mut self, setting: &LayeredValue) {
        match (setting.key.name, &setting.value) {
            ("executor", SettingValue::Text(name)) => self.executor.clone_from(name),
            ("concurrency", SettingValue::Count(count)) => self.concurrency = Some(*count),
            ("serial", SettingValue::Flag(is_so)) => self.parallel.serial = Some(*is_so),
            ("timeout", SettingValue::Text(duration)) => self.timeout = Some(duration.clone()),
            ("skip", SettingValue::Texts(jobs)) => self.skip.clone_from(jobs),
            ("reuse", _) => self.reuse = word_of(setting).unwrap_or(self.reuse),
            ("login", SettingValue::Flag(is_so)) => self.login = *is_so,
            ("warn-changes", SettingValue::Flag(is_so)) => self.warn_changes = *is_so,
            ("shell-on-failure", SettingValue::Flag(is_so)) => self.shell_on_failure = *is_so,
            _ => {}
        }
        self.docker.fill(setting);
        self.isolation.fill(setting);
        self.shown.fill(setting);
    }

    /// Returns the jobs named by position and by `--jobs`, in that order.
    pub(crate) fn job_names(&self) -> Vec<String> {
        let listed = self.jobs.iter().flat_map(|list| split_list(list));
        let names = self.job.iter().map(String::as_str).chain(listed);
        names.map(ToOwned::to_owned).collect()
    }

    /// Returns the jobs that are left out.
    pub(crate) fn skipped(&self) -> Vec<String> {
        let names = self.skip.iter().flat_map(|list| split_list(list));
        names.map(ToOwned::to_owned).collect()
    }

    /// Returns whether the jobs that the named jobs need run as well, or alone.
    pub(crate) fn needs_mode(&self) -> NeedsMode {
        if self.only_needs {
            NeedsMode::Only
        } else if self.no_needs {
            NeedsMode::Without
        } else {
            NeedsMode::With
        }
    }
}

/// Arguments of `runwright watch`.
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  runwright watch       all jobs, then those a change affects
  runwright watch test  only this job, with what it needs

`--help` shows more options and examples, and the exit codes.",
    after_long_help = "\
Examples:
  runwright watch                 all jobs, then those a change affects
  runwright watch lint 'test-*'   only these jobs, with what they need
  runwright watch --restart test  a change cancels the current run
  runwright watch --changed       start with the changes since upstream

The affected jobs are found as for `runwright run --changed`. Ignored files do not count, nor do temporary \
files of editors, nor files written with the same content.

Ctrl-C ends it with exit code 0 while it waits. During a run it cancels the run, and the second ends \
everything at once, with exit code 130.

Exit codes: 0 ended while it waited; 2 usage, 3 the environment failed; 130 stopped in a run"
)]
pub(crate) struct WatchArgs {
    /// When a change affects its jobs, cancel the current run and start again, instead of letting it end first
    #[arg(long)]
    pub(crate) restart: bool,
    /// Clear the terminal before each round
    #[arg(long)]
    pub(crate) clear: bool,
    /// Look for changes every second instead of relying on notifications of the system: for file
    /// systems that other machines write to
    #[arg(long)]
    pub(crate) poll: bool,
    /// What is run, and how.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Whether jobs are taken from earlier runs that began with the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReuseArg {
    /// All jobs run.
    #[default]
    Off,
    /// Known results are reused; the results of jobs that run are kept.
    On,
    /// All jobs run, and their results replace the kept ones.
    Refresh,
}

impl ReuseArg {
    /// Returns what it means.
    pub(crate) fn mode(self) -> ReuseMode {
        match self {
            Self::Off => ReuseMode::Off,
            Self::On => ReuseMode::On,
            Self::Refresh => ReuseMode::Refresh,
        }
    }
}
