//! Reads the arguments as GitLab Runner's own commands do: `--name value`, `--name=value`, and switches.

use crate::duration;
use std::time::Duration;
use web::{Origin, Url};

/// The options of a command and their values.
#[derive(Debug)]
pub(super) struct Flags {
    command: &'static str,
    given: Vec<(&'static str, String)>,
}

/// Wrong arguments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HelperUsage {
    /// There is no such command.
    #[error("{name:?} is not a helper command; there are {}", super::HelperCommand::NAMES.join(", "))]
    Command {
        /// The name.
        name: String,
    },
    /// The command has no such option.
    #[error("{command} has no option {option:?}")]
    Option {
        /// The command.
        command: &'static str,
        /// The option.
        option: String,
    },
    /// A required option is missing.
    #[error("{command} needs --{option}")]
    Missing {
        /// The command.
        command: &'static str,
        /// The option without its dashes.
        option: &'static str,
    },
    /// An option lacks its value.
    #[error("{command}: --{option} needs a value")]
    Value {
        /// The command.
        command: &'static str,
        /// The option without its dashes.
        option: &'static str,
    },
    /// A value is invalid.
    #[error("{command}: invalid --{option}: expected {expected}, found {found:?}")]
    Invalid {
        /// The command.
        command: &'static str,
        /// The option without its dashes.
        option: &'static str,
        /// The expected value.
        expected: &'static str,
        /// The value.
        found: String,
    },
}

/// The options of all commands. Those of the last line are accepted for scripts of GitLab Runner and have no effect here.
const OPTIONS: [&str; 18] = [
    "url",
    "token",
    "id",
    "timeout",
    "response-header-timeout",
    "path",
    "exclude",
    "name",
    "expire-in",
    "artifact-format",
    "artifact-type",
    "file",
    "alternate-file",
    "env-file",
    "header",
    "metadata",
    "max-uploaded-archive-size",
    "compression-level",
];
const SWITCHES: [&str; 2] = ["untracked", "direct-download"];

impl Flags {
    pub(super) fn read(command: &'static str, arguments: &[String]) -> Result<Self, HelperUsage> {
        let mut given = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let name = name.strip_prefix("--").unwrap_or_default();
            let known = |names: &[&'static str]| names.iter().copied().find(|it| *it == name);
            if let Some(switch) = known(&SWITCHES) {
                given.push((switch, value.unwrap_or_else(|| "true".to_owned())));
            } else if let Some(option) = known(&OPTIONS) {
                let value = value.or_else(|| rest.next().cloned());
                given.push((option, value.ok_or(HelperUsage::Value { command, option })?));
            } else {
                // An unknown option may be followed by a secret.
                let option = argument.split('=').next().unwrap_or_default().to_owned();
                return Err(HelperUsage::Option { command, option });
            }
        }
        Ok(Self { command, given })
    }

    /// Returns all values of an option.
    pub(super) fn all(&mut self, option: &str) -> Vec<String> {
        let taken = self.given.extract_if(.., |(name, _)| *name == option);
        taken.map(|(_, value)| value).collect()
    }

    pub(super) fn is_set(&mut self, switch: &str) -> bool {
        self.all(switch)
            .last()
            .is_some_and(|value| value != "false")
    }

    /// Returns the last value of an option, if it is not empty.
    pub(super) fn optional(&mut self, option: &str) -> Option<String> {
        self.all(option).pop().filter(|value| !value.is_empty())
    }

    pub(super) fn required(&mut self, option: &'static str) -> Result<String, HelperUsage> {
        self.optional(option).ok_or_else(|| self.missing(option))
    }

    /// Returns the error about a missing option.
    pub(super) fn missing(&self, option: &'static str) -> HelperUsage {
        HelperUsage::Missing {
            command: self.command,
            option,
        }
    }

    pub(super) fn url(&mut self, option: &'static str) -> Result<Option<Url>, HelperUsage> {
        let Some(text) = self.optional(option) else {
            return Ok(None);
        };
        let url = Url::parse(&text).ok();
        let url = url.filter(|url| Origin::of(url).is_some());
        // The value may have a token.
        url.map(Some)
            .ok_or_else(|| self.invalid(option, "an address such as https://gitlab.com", ".."))
    }

    /// Returns a duration such as `1h0m0s`.
    pub(super) fn duration(
        &mut self,
        option: &'static str,
        default: Duration,
    ) -> Result<Duration, HelperUsage> {
        let Some(text) = self.optional(option) else {
            return Ok(default);
        };
        duration::parse(&text)
            .ok_or_else(|| self.invalid(option, "a duration such as 1h0m0s", &text))
    }

    /// Returns a number of minutes as a duration.
    pub(super) fn minutes(&mut self, option: &'static str) -> Result<Duration, HelperUsage> {
        let text = self.optional(option).unwrap_or_else(|| "10".to_owned());
        let minutes: Option<u32> = text.parse().ok();
        let minutes = minutes.ok_or_else(|| self.invalid(option, "a number of minutes", &text))?;
        Ok(Duration::from_mins(u64::from(minutes)))
    }

    pub(super) fn invalid(
        &self,
        option: &'static str,
        expected: &'static str,
        found: &str,
    ) -> HelperUsage {
        HelperUsage::Invalid {
            command: self.command,
            option,
            expected,
            found: found.to_owned(),
        }
    }
}
