use super::heading;
use crate::completion;
use clap::Args;
use pipeline::selector::split_list;
use std::collections::BTreeSet;
use workstation::{LayeredValue, SettingValue};

/// Which jobs are shown.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = heading::JOBS)]
pub(crate) struct JobsArgs {
    /// The jobs, by name, glob or `NAME[KEY=VALUE]`; without any, all
    #[arg(add = completion::jobs(), value_name = "JOB", help_heading = None::<&str>)]
    pub(crate) job: Vec<String>,
    /// Leave these jobs out
    #[arg(add = completion::jobs(), long, value_name = "JOB,...")]
    skip: Vec<String>,
}

impl JobsArgs {
    /// Sets the option of a setting.
    pub(super) fn fill(&mut self, setting: &LayeredValue) {
        if let ("skip", SettingValue::Texts(jobs)) = (setting.key.name, &setting.value) {
            self.skip.clone_from(jobs);
        }
    }

    /// Returns the jobs that are left out.
    pub(crate) fn skipped(&self) -> Vec<String> {
        let names = self.skip.iter().flat_map(|list| split_list(list));
        names.map(ToOwned::to_owned).collect()
    }
}

/// Whether only jobs count that a change touches, and since when.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = heading::JOBS)]
pub(crate) struct ChangedArgs {
    /// Only jobs touched by changes since BASE; default: the branch's upstream, else the
    /// default branch
    #[arg(long, value_name = "BASE", num_args = 0..=1, require_equals = true)]
    #[expect(
        clippy::option_option,
        reason = "whether it is there, and whether it names a base, are two things"
    )]
    changed: Option<Option<String>>,
    /// The BASE of --changed as a word of its own
    #[arg(
        long,
        hide_short_help = true,
        value_name = "BASE",
        requires = "changed",
        allow_hyphen_values = true
    )]
    changes_base: Option<String>,
    /// The touched jobs of the run that is continued; later changes do not count.
    #[arg(skip)]
    pub(crate) among: Option<BTreeSet<String>>,
}

impl ChangedArgs {
    /// Returns whether a change decides.
    pub(crate) fn is_asked(&self) -> bool {
        self.changed.is_some()
    }

    /// Returns what it is compared with, if that is named.
    pub(crate) fn base(&self) -> Option<&str> {
        let named = self.changed.as_ref().and_then(Option::as_deref);
        named.or(self.changes_base.as_deref())
    }
}
