use super::{ProjectArgs, heading};
use clap::Args;
use includes::FetchPolicy;
use workstation::RemoteOptions;

/// The variable equivalent to `--prefer-api`.
const PREFER_API: &str = "GLCI_PREFER_API";

/// What is taken from GitLab and other servers, and when they are asked.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = heading::SERVERS)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct RemoteArgs {
    /// Send no requests: use files that were fetched before, or those of the lock file
    #[arg(long, conflicts_with_all = ["refresh", "gitlab_variables", "prefer_api"])]
    offline: bool,
    /// Fetch everything again that may have changed
    #[arg(long, hide_short_help = true)]
    refresh: bool,
    /// The GitLab of the project; default: the one of its remote
    #[arg(long, hide_short_help = true, value_name = "URL")]
    gitlab: Option<String>,
    /// Take the variables of the project and its groups from GitLab; needs a token
    #[arg(long)]
    gitlab_variables: bool,
    /// Let GitLab resolve the file, through its CI lint API; needs a token. GLCI_PREFER_API=1 means
    /// the same, unless --offline is given
    #[arg(long, hide_short_help = true)]
    prefer_api: bool,
}

impl RemoteArgs {
    /// Returns the selected mode.
    pub(crate) fn options(&self) -> RemoteOptions {
        RemoteOptions {
            fetching: match (self.offline, self.refresh) {
                (true, _) => FetchPolicy::Offline,
                (false, true) => FetchPolicy::Refresh,
                (false, false) => FetchPolicy::Usual,
            },
            unlocked: false,
            gitlab: self.gitlab.clone(),
            directory: None,
            variables: self.gitlab_variables,
            prefer_api: self.prefers_api(),
        }
    }

    /// Returns whether GitLab resolves the file. The command line overrides the variable.
    fn prefers_api(&self) -> bool {
        self.prefer_api || (!self.offline && is_preferred())
    }

    /// Returns whether the command line contains the option.
    pub(crate) fn demands_api(&self) -> bool {
        self.prefer_api
    }

    /// Returns whether the environment prefers the API, and the command line forbids it.
    pub(crate) fn overrules_preference(&self) -> bool {
        self.offline && is_preferred()
    }

    /// Returns the options that ask for the same again.
    pub(crate) fn words(&self) -> Vec<String> {
        let flags = [
            ("--offline", self.offline),
            ("--refresh", self.refresh),
            ("--gitlab-variables", self.gitlab_variables),
            ("--prefer-api", self.prefers_api()),
        ];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set);
        let mut words: Vec<String> = flags.map(|(flag, _)| flag.to_owned()).collect();
        if let Some(gitlab) = &self.gitlab {
            words.extend(["--gitlab".to_owned(), gitlab.clone()]);
        }
        words
    }
}

/// Returns whether the environment prefers the API.
fn is_preferred() -> bool {
    std::env::var_os(PREFER_API).is_some_and(|value| is_yes(&value.to_string_lossy()))
}

/// Returns whether a value switches something on.
fn is_yes(value: &str) -> bool {
    let no = ["", "0", "f", "false", "n", "no", "off"];
    !no.contains(&value.trim().to_ascii_lowercase().as_str())
}

/// Arguments of `runwright vendor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright vendor          fetch all files included from servers, and lock them
  runwright vendor --check  check that the lock file is complete
  runwright run --offline   run with the locked files, without a server

Commit .runwright.lock and .runwright/vendor, and every clone reads the same pipeline.

Exit codes: 0 written, or nothing differs; 1 something differs (--check); 2 the pipeline is invalid, or a \
file cannot be fetched")]
pub(crate) struct VendorArgs {
    /// Write nothing and send no requests: list the differences
    #[arg(long)]
    pub(crate) check: bool,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_says_yes_or_no() {
        for yes in ["1", "true", "YES", "on", "x"] {
            assert!(is_yes(yes), "{yes}");
        }
        for no in ["", " ", "0", "False", "no", "OFF", "n", "f"] {
            assert!(!is_yes(no), "{no}");
        }
    }
}
