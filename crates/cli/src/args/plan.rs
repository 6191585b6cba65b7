use super::{ChangedArgs, JobsArgs, ProjectArgs};
use clap::{Args, ValueEnum};

/// Arguments of `runwright list`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(after_help = "\
Examples:
  runwright list                        the jobs of a push of the current branch
  runwright list --tag v1.0             the jobs of a tag
  runwright list --changed              the jobs that a change touches, and why
  runwright list --mr --all             of a merge request, and why not others
  runwright list 'test-*' 'deploy[ENV=qa]'  by glob, and by matrix variables

Exit codes: 0 listed, 2 the file is invalid, or no pipeline can be created from it")]
pub(crate) struct ListArgs {
    /// Which jobs.
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// Show the jobs that are left out as well, with the reason
    #[arg(long, short, help_heading = None::<&str>)]
    pub(crate) all: bool,
    /// Print the normalized jobs as a JSON array
    #[arg(long, help_heading = None::<&str>)]
    pub(crate) json: bool,
    /// Print a table with `;` between its columns, as gitlab-ci-local does
    #[arg(long, help_heading = None::<&str>, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// List the other jobs when an included file cannot be fetched, with a warning
    #[arg(long, help_heading = None::<&str>)]
    pub(crate) partial: bool,
    /// Which jobs a change touches.
    #[command(flatten)]
    pub(crate) changed: ChangedArgs,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Arguments of `runwright plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright plan                           a push of the current branch
  runwright plan --mr --changes src/a.rs   a merge request that changes one file
  runwright plan deploy --skip lint        what `run` would run for it
  runwright plan --source schedule         a scheduled pipeline
  runwright plan --changed=main            only jobs affected since main
  runwright plan --times                   how long it usually takes
  runwright plan --format mermaid          a diagram for Markdown
  runwright plan --format dot | dot -Tsvg  a diagram by Graphviz

Exit codes: 0 shown, also when no pipeline is created; 2 the file is invalid, or no pipeline can be created \
from it")]
pub(crate) struct PlanArgs {
    /// Which jobs, with what they need.
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// What to print
    #[arg(long, help_heading = None::<&str>, value_enum, default_value = "table", value_name = "FORMAT")]
    format: PlanFormat,
    /// Short for `--format json`
    #[arg(long, help_heading = None::<&str>, conflicts_with = "format")]
    json: bool,
    /// Estimate from earlier runs how long it takes, and which jobs decide that
    #[arg(long, help_heading = None::<&str>)]
    pub(crate) times: bool,
    /// Which jobs a change touches.
    #[command(flatten)]
    pub(crate) changed: ChangedArgs,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// What `runwright plan` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// The jobs by stage: when they start, what they need, and why
    Table,
    /// {created, reason, name, stages, variables, jobs}
    Json,
    /// A flowchart of Mermaid
    Mermaid,
    /// A graph of Graphviz
    Dot,
}

impl PlanArgs {
    /// Returns what to print.
    pub(crate) fn format(&self) -> PlanFormat {
        if self.json {
            PlanFormat::Json
        } else {
            self.format
        }
    }
}
