use clap::Args;
use pipeline::selector::split_list;
use workstation::{LayeredValue, SettingValue};

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
