use super::DirectoryArg;
use clap::Args;
use includes::FetchPolicy;
use workstation::RemoteOptions;

/// Arguments of `runwright gitlab`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright gitlab                              the GitLab of this repository
  runwright gitlab --gitlab gitlab.example.com  another one
  GITLAB_TOKEN=... runwright gitlab             with a token for it

Exit codes: 0 it responds, 2 no GitLab is known, 3 it does not respond, or denies you access")]
pub(crate) struct GitLabArgs {
    #[command(flatten)]
    pub(crate) cwd: DirectoryArg,
    /// The GitLab; default: the one of the repository's remote
    #[arg(long, value_name = "URL")]
    gitlab: Option<String>,
    /// Send no requests: show what is known on this machine
    #[arg(long)]
    offline: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl GitLabArgs {
    /// Returns the selected mode.
    pub(crate) fn remote(&self) -> RemoteOptions {
        RemoteOptions {
            fetching: if self.offline {
                FetchPolicy::Offline
            } else {
                FetchPolicy::Usual
            },
            gitlab: self.gitlab.clone(),
            ..RemoteOptions::default()
        }
    }
}
