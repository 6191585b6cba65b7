use clap::Args;
use pipeline::selector::split_list;

/// Which jobs are shown.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct JobsArgs {
    /// The jobs, by name, glob or `NAME[KEY=VALUE]`; without any, all
    #[arg(value_name = "JOB")]
    pub(crate) job: Vec<String>,
    /// Leave these jobs out
    #[arg(long, value_name = "JOB,...")]
    skip: Vec<String>,
}

impl JobsArgs {
    /// Returns the jobs that are left out.
    pub(crate) fn skipped(&self) -> Vec<String> {
        let names = self.skip.iter().flat_map(|list| split_list(list));
        names.map(ToOwned::to_owned).collect()
    }
}
