use super::{DirectoryArg, RemoteArgs, SituationArgs, heading, word_of};
use clap::{Args, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use workstation::{LayeredValue, SettingValue};

/// The pipeline: its file, its situation, its variables.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = heading::PIPELINE)]
pub(crate) struct ProjectArgs {
    /// The pipeline file, relative to the top of the repository, or else to the current directory;
    /// default: .bitrab-ci.yml where there is one, else .gitlab-ci.yml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cwd: DirectoryArg,
    /// Set a pipeline variable; it overrides those of the file
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) variable: Vec<KeyValue>,
    /// Take variables of the project from this file; later files win
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) variables_file: Vec<PathBuf>,
    /// Set a masked variable: NAME takes the value from the environment, NAME=@FILE from a file
    #[arg(long, value_name = "NAME[=@FILE]")]
    pub(crate) secret: Vec<String>,
    /// Remove a variable, except a secret and those of the runner itself
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub(crate) unset_variable: Vec<String>,
    /// Set an input of the pipeline; COMPONENT:NAME=VALUE sets one of an included component
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) input: Vec<KeyValue>,
    /// Take inputs from this file; default: .gitlab-ci-local-inputs.yml
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) inputs_file: Option<PathBuf>,
    /// Include at most this many files; default: 150, as GitLab
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = super::count::<NonZeroUsize>)]
    pub(crate) maximum_includes: Option<NonZeroUsize>,
    /// Whether an included file that cannot be fetched is only a warning.
    #[arg(skip)]
    pub(crate) is_partial: bool,
    /// The tool whose rules the file is read by
    #[arg(
        long,
        hide_short_help = true,
        value_enum,
        default_value = "gitlab",
        value_name = "WHOSE"
    )]
    pub(crate) dialect: DialectArg,
    /// The situation.
    #[command(flatten)]
    pub(crate) situation: SituationArgs,
    /// What comes from servers.
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

impl ProjectArgs {
    /// Sets the option of a setting.
    pub(super) fn fill(&mut self, setting: &LayeredValue) {
        match (setting.key.name, &setting.value) {
            ("file", SettingValue::Text(file)) => self.file = Some(file.into()),
            ("dialect", _) => self.dialect = word_of(setting).unwrap_or(self.dialect),
            _ => {}
        }
    }
}

/// The tool whose rules a pipeline file is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// As GitLab reads it
    Gitlab,
    /// As bitrab reads it
    Bitrab,
}

/// Which project a command about its runs means.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    pub(crate) cwd: DirectoryArg,
}

/// `KEY=VALUE` from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyValue {
    key: String,
    value: String,
}

impl KeyValue {
    /// Returns the part before the first equals sign; it is not empty.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the part after it.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }
}

impl FromStr for KeyValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("", _)) => Err("the name before `=` is empty".to_owned()),
            Some((key, value)) => Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            None => Err("expected NAME=VALUE".to_owned()),
        }
    }
}
