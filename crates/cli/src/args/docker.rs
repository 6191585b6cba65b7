use super::heading;
use crate::failure::Failure;
use anyhow::anyhow;
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use workstation::{LayeredValue, SettingValue};

/// What jobs in containers and pods run in.
///
/// No file of a project sets more than the image and its pull policy.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = heading::PLACE)]
pub(crate) struct DockerArgs {
    /// The image of jobs in containers or pods that name none
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// When to pull images, in the order to try: always, if-not-present, never
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHEN,...", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(["always", "if-not-present", "never"]))]
    pub(crate) pull_policy: Vec<String>,
    /// Mount a directory, a file or a volume in containers, as `docker run --volume`
    #[arg(long, hide_short_help = true, value_name = "SOURCE:TARGET[:ro]")]
    pub(crate) volume: Vec<String>,
    /// The network of containers, as `docker run --network`
    #[arg(long, hide_short_help = true, value_name = "NETWORK")]
    pub(crate) network: Option<String>,
    /// Add a line to /etc/hosts of containers
    #[arg(long, hide_short_help = true, value_name = "HOST:ADDRESS")]
    pub(crate) extra_host: Vec<String>,
    /// Give containers of jobs and services all permissions on this machine
    #[arg(long, hide_short_help = true)]
    pub(crate) privileged: bool,
    /// Run scripts in containers as root instead of the image's user
    #[arg(long, hide_short_help = true)]
    pub(crate) umask: bool,
    /// Limit the processes in containers: `nofile=1024:4096`; a number alone is that of open files
    #[arg(long, hide_short_help = true, value_name = "[NAME=]SOFT[:HARD]")]
    pub(crate) ulimit: Vec<String>,
    /// Trust the CA certificates of this file in containers
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// The context of the kubeconfig file, for jobs in a cluster
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The namespace of the pods of jobs in a cluster
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
}

/// Refuses options if there are any.
fn refuse(options: &DockerArgs, why: &str) -> Result<(), Failure> {
    let words = options.words();
    let names: Vec<_> = words.iter().filter(|it| it.starts_with("--")).collect();
    match names.first() {
        None => Ok(()),
        Some(name) => Err(Failure::usage(anyhow!("{why} the option {name}"))),
    }
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

    /// Refuses the options of a cluster for jobs that run elsewhere.
    pub(crate) fn refuse_without_cluster(&self) -> Result<(), Failure> {
        let only = Self {
            context: self.context.clone(),
            namespace: self.namespace.clone(),
            ..Self::default()
        };
        refuse(&only, "only `--executor kubernetes` has")
    }

    /// Refuses the options that pods do not have.
    pub(crate) fn refuse_for_pods(&self) -> Result<(), Failure> {
        let others = Self {
            image: None,
            pull_policy: Vec::new(),
            context: None,
            namespace: None,
            ..self.clone()
        };
        refuse(&others, "`--executor kubernetes` does not have")
    }

    /// Returns the options that express these arguments.
    pub(crate) fn words(&self) -> Vec<String> {
        let ca_file = self.ca_file.as_ref();
        let ca_file = ca_file.map(|file| file.display().to_string());
        let with_values = [
            ("--image", self.image.as_slice()),
            ("--pull-policy", &self.pull_policy),
            ("--volume", &self.volume),
            ("--network", self.network.as_slice()),
            ("--extra-host", &self.extra_host),
            ("--ulimit", &self.ulimit),
            ("--ca-file", ca_file.as_slice()),
            ("--context", self.context.as_slice()),
            ("--namespace", self.namespace.as_slice()),
        ];
        let with_values = with_values.into_iter().flat_map(|(option, values)| {
            let values = values.iter();
            values.flat_map(move |value| [option.to_owned(), value.clone()])
        });
        let flags = [("--privileged", self.privileged), ("--umask", self.umask)];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set);
        let flags = flags.map(|(flag, _)| flag.to_owned());
        with_values.chain(flags).collect()
    }
}
