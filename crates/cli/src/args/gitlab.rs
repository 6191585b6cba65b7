use super::ProjectArgs;
use clap::Args;

/// Arguments of `runwright gitlab`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright gitlab                                  the GitLab this repository was cloned from
  runwright gitlab --gitlab gitlab.example.com      another one
  GITLAB_TOKEN=... runwright gitlab                 with a token for it

Exit codes: 0 it answers, 2 no GitLab is known, 3 it does not answer, or not to you")]
pub(crate) struct GitLabArgs {
    /// Where the project is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
