use clap::Args;
use pipeline::selector::split_list;
use workstation::{LayeredValue, SettingValue};

/// What jobs in containers run in.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DockerArgs {
    /// The image of jobs in containers that name none
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// When to pull images, in the order to try: always, if-not-present, never
    #[arg(long, value_name = "WHEN,...")]
    pub(crate) pull_policy: Vec<String>,
}

impl DockerArgs {
    /// Sets the option of a setting.
    pub(super) fn fill(&mut self, setting: &LayeredValue) {
        match (setting.key.name, &setting.value) {
            ("image", SettingValue::Text(image)) => self.image = Some(image.clone()),
            ("pull-policy", SettingValue::Texts(policies)) => self.pull_policy.clone_from(policies),
            _ => {}
        }
    }

    /// Returns when images are pulled; empty if not set.
    pub(crate) fn pull_policy(&self) -> Vec<&str> {
        let lists = self.pull_policy.iter();
        lists.flat_map(|list| split_list(list)).collect()
    }

    /// Returns the options that express these arguments.
    pub(crate) fn words(&self) -> Vec<String> {
        let image = self.image.iter();
        let image = image.flat_map(|image| ["--image".to_owned(), image.clone()]);
        let policies = self.pull_policy.iter();
        let policies = policies.flat_map(|list| ["--pull-policy".to_owned(), list.clone()]);
        image.chain(policies).collect()
    }
}
