use clap::Args;
use std::collections::BTreeSet;

/// Whether only jobs count that a change touches, and since when.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ChangedArgs {
    /// Only jobs that are touched by what changed since BASE; default: the branch's upstream, else the
    /// default branch
    #[arg(long, value_name = "BASE", num_args = 0..=1, require_equals = true)]
    changed: Option<Option<String>>,
    /// The BASE of --changed as a word of its own
    #[arg(
        long,
        value_name = "BASE",
        requires = "changed",
        allow_hyphen_values = true
    )]
    changes_base: Option<String>,
    /// The touched jobs of an earlier run that is gone on with: what changed since then is not asked.
    #[arg(skip)]
    pub(crate) among: Option<BTreeSet<String>>,
}

impl ChangedArgs {
    /// Returns whether a change decides, and of it the base if one is named.
    pub(crate) fn base(&self) -> Option<Option<&str>> {
        let named = self.changed.as_ref()?.as_deref();
        Some(named.or(self.changes_base.as_deref()))
    }
}
