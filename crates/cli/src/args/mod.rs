//! The command line: what can be asked, and how it is explained.

mod clean;
mod config;
mod control;
mod deferred;
mod directory;
mod docker;
mod driver;
mod environments;
mod explain;
mod gitlab;
mod history;
mod hook;
mod isolation;
mod jobs;
mod kubernetes;
mod machines;
mod output;
mod parallel;
mod pipeline_file;
mod plan;
mod project;
mod remote;
mod report_file;
mod resume;
mod run;
mod runner;
mod shell;
mod simulate;
mod situation;
mod steps;

pub(crate) use clean::CleanArgs;
pub(crate) use config::{
    ConfigAction, ConfigArgs, ConfigInitArgs, ConfigSchemaArgs, ConfigShowArgs,
};
pub(crate) use control::{CancelArgs, PlayArgs};
pub(crate) use deferred::Deferred;
pub(crate) use directory::DirectoryArg;
pub(crate) use docker::DockerArgs;
pub(crate) use driver::{DriverAction, DriverArgs, DriverCheckArgs, DriverProtocol};
pub(crate) use environments::{EnvironmentsAction, EnvironmentsArgs, StopArgs};
pub(crate) use explain::{ExplainArgs, VariablesArgs};
pub(crate) use gitlab::GitLabArgs;
pub(crate) use history::{ArtifactsArgs, HistoryArgs, LogsArgs, TimesArgs};
pub(crate) use hook::{HookAction, HookArgs};
pub(crate) use isolation::IsolationArgs;
pub(crate) use jobs::{ChangedArgs, JobsArgs};
pub(crate) use kubernetes::{KubernetesAction, KubernetesArgs, KubernetesCheckArgs};
pub(crate) use machines::MachinesArgs;
pub(crate) use output::OutputArgs;
pub(crate) use parallel::{BackendArg, ParallelArgs};
pub(crate) use pipeline_file::{InitArgs, LintArgs, LintFormat, ShowArgs, ShowFormat};
pub(crate) use plan::{ListArgs, PlanArgs, PlanFormat};
pub(crate) use project::{DialectArg, KeyValue, PlaceArgs, ProjectArgs};
pub(crate) use remote::{RemoteArgs, VendorArgs};
pub(crate) use report_file::ReportFile;
pub(crate) use resume::{ResumeArgs, RetryArgs};
pub(crate) use run::{RunArgs, WatchArgs};
pub(crate) use runner::{
    RunnerAction, RunnerArgs, RunnerConfigArg, RunnerDefinitionArgs, RunnerInstallArgs,
    RunnerLintArgs, RunnerRegisterArgs, RunnerRunArgs, RunnerRunSingleArgs, RunnerSelectionArgs,
    RunnerStatusArgs, RunnerVerifyArgs,
};
pub(crate) use shell::ShellArgs;
pub(crate) use simulate::{SimulateAction, SimulateArgs, SimulateMachinesArgs};
pub(crate) use situation::SituationArgs;
pub(crate) use steps::{StepsAction, StepsArgs, StepsRunArgs};

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;
use workstation::{LayeredValue, SettingValue};

/// Headings of options in the help.
mod heading {
    pub(super) const JOBS: &str = "Which jobs";
    pub(super) const PLACE: &str = "Where jobs run";
    pub(super) const OUTPUT: &str = "Output";
    pub(super) const PIPELINE: &str = "Pipeline file and variables";
    pub(super) const SITUATION: &str = "Situation (default: a push of the current branch)";
    pub(super) const SERVERS: &str = "GitLab and other servers";
}

/// Runs the pipeline of a .gitlab-ci.yml on this machine.
#[derive(Debug, Parser)]
#[command(
    name = "runwright",
    version,
    after_help = "\
Examples:
  runwright run                run the whole pipeline
  runwright run test           run the job `test` and what it needs
  runwright shell test         a shell where its script would run
  runwright explain test       why it runs or not
  runwright logs test          the log of `test` in the last run
  runwright COMMAND --help     all about a command",
    after_long_help = "\
Examples:
  runwright run                   run the whole pipeline
  runwright run test              run the job `test` and what it needs
  runwright run test --no-needs   run that job alone
  runwright watch test            run it again whenever files change
  runwright shell test            a shell where its script would run
  runwright history               earlier runs and their results
  runwright times                 how long jobs take, and what became slower
  runwright logs test             the log of `test` in the last run
  runwright artifacts build       its artifacts; --output extracts them
  runwright resume                continue a run that was killed or canceled
  runwright retry                 run the failed jobs again
  runwright list                  show the jobs, in the order of their stages
  runwright plan --tag v1.0       show the pipeline of a tag
  runwright explain test          why it runs or not
  runwright variables test        show the variables of `test`
  runwright lint                  check the pipeline file
  runwright show                  show it with includes and extends resolved
  runwright gitlab                the project's GitLab, and whether it responds
  runwright init                  write a pipeline file to start from
  runwright hook install          run the jobs that a push touches before it
  runwright steps run ./greet     run a function of `run:`
  runwright vendor                lock the files included from servers
  runwright config show --origin  show all settings, and the origin of each

Exit codes:
  0  success       1  a job failed        2  usage or configuration error
  3  environment   130  stopped by a signal",
    propagate_version = true,
    // Global, so that its value reaches the commands that have it.
    arg = DirectoryArg::option().global(true)
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What `runwright` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the pipeline, or some of its jobs
    Run(Deferred<RunArgs>),
    /// Run the pipeline, then the affected jobs whenever files change
    Watch(Deferred<WatchArgs>),
    /// Open a shell in the environment of a job, or run a command there
    Shell(Deferred<ShellArgs>),
    /// Show earlier runs and their results
    History(Deferred<HistoryArgs>),
    /// Show how long jobs take, and what became slower
    Times(Deferred<TimesArgs>),
    /// Show the log of a job, of a current or an earlier run
    Logs(Deferred<LogsArgs>),
    /// Show the artifacts of a run, or extract them
    Artifacts(Deferred<ArtifactsArgs>),
    /// Continue a run that was killed or canceled
    Resume(Deferred<ResumeArgs>),
    /// Run the failed jobs again, and continue
    Retry(Deferred<RetryArgs>),
    /// Start a manual job of a run
    Play(Deferred<PlayArgs>),
    /// Cancel a current run, or one of its jobs
    Cancel(Deferred<CancelArgs>),
    /// Show what runs keep on this machine, and remove it
    Clean(Deferred<CleanArgs>),
    /// Show the environments that jobs deployed to, or stop some
    Environments(Deferred<EnvironmentsArgs>),
    /// Show the jobs of the pipeline
    List(Deferred<ListArgs>),
    /// Show which jobs a pipeline would have, in which order, and why
    Plan(Deferred<PlanArgs>),
    /// Explain a job: why it is in the pipeline or not, and the origin of its settings
    Explain(Deferred<ExplainArgs>),
    /// Show the variables of a job, or those that all jobs share
    Variables(Deferred<VariablesArgs>),
    /// Check the pipeline file
    Lint(Deferred<LintArgs>),
    /// Show the pipeline file with includes and extends resolved
    Show(Deferred<ShowArgs>),
    /// Run a function of the step language by hand
    Steps(Deferred<StepsArgs>),
    /// Fetch the files included from servers and lock their contents
    Vendor(Deferred<VendorArgs>),
    /// Show the project's GitLab, whether it responds, and who you are there
    #[command(name = "gitlab")]
    GitLab(Deferred<GitLabArgs>),
    /// Show the settings and their origins, or write a file to start from
    Config(Deferred<ConfigArgs>),
    /// Write a pipeline file for the contents of this repository
    Init(Deferred<InitArgs>),
    /// Install a git hook that runs the jobs that a push touches
    Hook(Deferred<HookArgs>),
    /// Check a driver: a program of yours that gives jobs an environment
    Driver(Deferred<DriverArgs>),
    /// Try settings of a runner before money is spent on them
    Simulate(Deferred<SimulateArgs>),
    /// Show the machines of a fleet, and why each is there
    Machines(Deferred<MachinesArgs>),
    /// Check whether jobs can run in a Kubernetes cluster
    Kubernetes(Deferred<KubernetesArgs>),
    /// Take jobs from a GitLab, in place of gitlab-runner
    Runner(Deferred<RunnerArgs>),
    /// Show the executors this build has
    Executors(Deferred<ExecutorsArgs>),
    /// Print a completion script for a shell
    Completion(Deferred<CompletionArgs>),
    /// Write the manual pages
    Man(Deferred<ManArgs>),
}

impl Command {
    /// Returns whether this is the runner at work, which is a service.
    pub(crate) fn is_service(&self) -> bool {
        matches!(self, Self::Runner(args) if matches!(args.action, RunnerAction::Run(_) | RunnerAction::RunSingle(_)))
    }

    /// Returns the arguments about the pipeline; `None` for a command that needs none.
    pub(crate) fn project_mut(&mut self) -> Option<&mut ProjectArgs> {
        match self {
            Self::Run(args) => Some(&mut args.project),
            Self::Watch(args) => Some(&mut args.run.project),
            Self::Shell(args) => Some(&mut args.project),
            Self::List(args) => Some(&mut args.project),
            Self::Plan(args) => Some(&mut args.project),
            Self::Explain(args) => Some(&mut args.project),
            Self::Variables(args) => Some(&mut args.project),
            Self::Lint(args) => Some(&mut args.project),
            Self::Show(args) => Some(&mut args.project),
            Self::Vendor(args) => Some(&mut args.project),
            _ => None,
        }
    }

    /// Sets the option of a setting, if the command has it.
    pub(crate) fn fill(&mut self, setting: &LayeredValue) {
        match self {
            Self::Run(args) => args.fill(setting),
            Self::Watch(args) => args.run.fill(setting),
            Self::Shell(args) => args.fill(setting),
            Self::List(args) => args.jobs.fill(setting),
            Self::Plan(args) => args.jobs.fill(setting),
            _ => {}
        }
        if let Some(project) = self.project_mut() {
            project.fill(setting);
        }
    }
}

/// Returns the value of an option that takes the words of the setting.
pub(crate) fn word_of<T: ValueEnum>(setting: &LayeredValue) -> Option<T> {
    match &setting.value {
        SettingValue::Text(word) => T::from_str(word, false).ok(),
        _ => None,
    }
}

/// Arguments of `runwright executors`.
#[derive(Debug, Args)]
pub(crate) struct ExecutorsArgs {
    /// Print them as a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `runwright completion`.
#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// The shell to complete in
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `runwright man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory to write the pages to; without it the main page goes to standard output
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// Parses a number of at least 1.
fn count<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse()
        .map_err(|_| "expected a whole number of at least 1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use pipeline::plan::NeedsMode;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    fn run_args(line: &str) -> RunArgs {
        match Cli::try_parse_from(line.split(' ')).unwrap().command {
            Command::Run(args) => args.into_inner(),
            other => panic!("expected run, got {other:?}"),
        }
    }

    #[test]
    fn jobs_come_by_position_or_in_a_list() {
        let args = run_args("runwright run lint --jobs build,test");
        assert_eq!(args.job_names(), ["lint", "build", "test"]);
        assert_eq!(args.needs_mode(), NeedsMode::With);
        let check = |line, expect| assert_eq!(run_args(line).needs_mode(), expect, "{line}");
        check("runwright run lint --no-needs", NeedsMode::Without);
        check("runwright run lint --no-needs --needs", NeedsMode::With);
        check("runwright run lint --only-needs", NeedsMode::Only);
    }

    #[test]
    fn a_variable_is_split_at_its_first_equals_sign() {
        let args = run_args("runwright run --variable A=b=c --variable EMPTY=");
        let pairs: Vec<_> = args
            .project
            .variable
            .iter()
            .map(|pair| (pair.key(), pair.value()))
            .collect();
        assert_eq!(pairs, [("A", "b=c"), ("EMPTY", "")]);
        assert!(Cli::try_parse_from(["runwright", "run", "--variable", "NOVALUE"]).is_err());
        assert!(Cli::try_parse_from(["runwright", "run", "--variable", "=x"]).is_err());
    }

    #[test]
    fn changes_are_all_files_up_to_the_next_option() {
        let changes = |line: &str| run_args(line).project.situation.options().changes;
        let files = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
        assert_eq!(changes("runwright run"), None);
        assert_eq!(changes("runwright run --changes --mr"), files(&[]));
        let line = "runwright run test --changes a b --changes c --mr";
        assert_eq!(changes(line), files(&["a", "b", "c"]));
        assert_eq!(run_args(line).job_names(), ["test"]);
    }

    #[test]
    fn situations_that_exclude_each_other_are_refused() {
        for line in [
            "--branch a --tag b",
            "--tag a --mr",
            "--tag a --target main",
            "--source cron",
            "--dialect other",
            "--offline --refresh",
            "--offline --gitlab-variables",
        ] {
            let words = "runwright plan".split(' ').chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_err(), "{line}");
        }
    }

    #[test]
    fn servers_are_asked_again_in_the_same_words() {
        let line = "runwright run --refresh --gitlab https://h --gitlab-variables --prefer-api";
        let remote = run_args(line).project.remote;
        let again = run_args(&format!("runwright run {}", remote.words().join(" ")));
        assert_eq!(again.project.remote.options(), remote.options());
        assert!(remote.options().prefer_api && remote.options().variables);
    }

    #[test]
    fn a_situation_is_asked_for_again_in_the_same_words() {
        let line = "runwright run --mr --branch a --target b --changes x y --default-branch d";
        let args = run_args(line);
        let words = args.project.situation.words().join(" ");
        let again = run_args(&format!("runwright run {words}"));
        assert_eq!(
            again.project.situation.options(),
            args.project.situation.options()
        );
    }
}
