use clap::Args;
use runwright::includes::Fetching;
use runwright::local::ElsewhereOptions;

/// What is taken from GitLab and other servers, and when they are asked.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "GitLab and other servers")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct ElsewhereArgs {
    /// Ask no server: take what was fetched before, or what the lock file has
    #[arg(long, conflicts_with_all = ["refresh", "gitlab_variables", "prefer_api"])]
    offline: bool,
    /// Ask again for all that may have changed
    #[arg(long)]
    refresh: bool,
    /// The GitLab of the project; default: the one of its remote
    #[arg(long, value_name = "URL")]
    gitlab: Option<String>,
    /// Take the variables of the project and its groups from GitLab; needs a token
    #[arg(long)]
    gitlab_variables: bool,
    /// Let GitLab put the file together, through its CI lint; needs a token
    #[arg(long, env = "GLCI_PREFER_API", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    prefer_api: bool,
}

impl ElsewhereArgs {
    /// Returns what was asked for.
    pub(crate) fn options(&self) -> ElsewhereOptions {
        ElsewhereOptions {
            fetching: match (self.offline, self.refresh) {
                (true, _) => Fetching::Offline,
                (false, true) => Fetching::Refresh,
                (false, false) => Fetching::Usual,
            },
            unlocked: false,
            gitlab: self.gitlab.clone(),
            directory: None,
            variables: self.gitlab_variables,
            prefer_api: self.prefer_api,
        }
    }

    /// Returns the options that ask for the same again.
    pub(crate) fn words(&self) -> Vec<String> {
        let flags = [
            ("--offline", self.offline),
            ("--refresh", self.refresh),
            ("--gitlab-variables", self.gitlab_variables),
            ("--prefer-api", self.prefer_api),
        ];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set);
        let mut words: Vec<String> = flags.map(|(flag, _)| flag.to_owned()).collect();
        if let Some(gitlab) = &self.gitlab {
            words.extend(["--gitlab".to_owned(), gitlab.clone()]);
        }
        words
    }
}
