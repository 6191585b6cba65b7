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
  runwright list                            the jobs of a push of the current branch
  runwright list --tag v1.0                 the jobs of a tag
  runwright list --changed                  the jobs that a change touches, and why
  runwright list --mr --all                 the jobs of a merge request, and why the others are left out
  runwright list 'test-*' 'deploy[ENV=qa]'  some jobs, by glob, and by the variables of a matrix

Exit codes: 0 listed, 2 the file is invalid, or no pipeline can be created from it")]
pub(crate) struct ListArgs {
    /// Which jobs.
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// Show the jobs that are left out as well, with the reason
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Print the normalized jobs as a JSON array
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a table with `;` between its columns, as gitlab-ci-local does
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// List the other jobs when an included file cannot be fetched, with a warning
    #[arg(long)]
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
  runwright plan                            what a push of the current branch does
  runwright plan --mr --changes src/a.rs    a merge request that changes one file
  runwright plan deploy --skip lint         what `runwright run deploy --skip lint` would run
  runwright plan --source schedule          a scheduled pipeline
  runwright plan --changed=main             only jobs affected by changes since main
  runwright plan --times                    how long each job and the pipeline usually take
  runwright plan --format mermaid           a diagram for Markdown
  runwright plan --format dot | dot -Tsvg   a diagram by Graphviz

Exit codes: 0 shown, also when no pipeline is created; 2 the file is invalid,
or no pipeline can be created from it")]
pub(crate) struct PlanArgs {
    /// Which jobs, with what they need.
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    /// What to print
    #[arg(long, value_enum, default_value = "table", value_name = "FORMAT")]
    format: PlanFormat,
    /// Short for `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Estimate from earlier runs how long it takes, and which jobs decide that
    #[arg(long)]
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
