use crate::args::{DialectArg, ProjectArgs, RunArgs};
use crate::executors::AUTO;
use console::{shell_argument, shell_quoted};
use pipeline::Plan;
use pipeline::plan::NeedsMode;
use std::path::Path;

/// Command lines that run or play one job of a run again, with the same options.
pub(super) struct RerunCommand<'a> {
    settings: String,
    directory: String,
    plan: &'a Plan,
}

impl<'a> RerunCommand<'a> {
    pub(super) fn new(args: &RunArgs, plan: &'a Plan) -> Self {
        let words = settings(args);
        let words = words.iter().map(|word| format!(" {}", shell_quoted(word)));
        Self {
            settings: words.collect(),
            directory: args
                .project
                .cwd
                .as_ref()
                .map_or_else(String::new, |directory| {
                    format!(" -C {}", shell_quoted(&directory.display().to_string()))
                }),
            plan,
        }
    }

    /// Returns the command line that continues a run.
    pub(super) fn resume(&self, run: u64) -> String {
        format!("runwright resume{} {run}", self.directory)
    }

    /// Returns the command line that starts a manual job.
    pub(super) fn play(&self, run: u64, job: &str) -> String {
        let directory = &self.directory;
        format!("runwright play{directory} {run} {}", shell_argument(job))
    }

    /// Returns the command line; for a job that needs artifacts, it also runs the needed jobs.
    pub(super) fn command(&self, job: &str) -> String {
        let alone = self.plan.position(job).is_none_or(|at| {
            self.plan.jobs()[at]
                .needs
                .as_ref()
                .is_none_or(Vec::is_empty)
                && self.plan.dependencies(at).is_empty()
        });
        let needs = if alone { " --no-needs" } else { "" };
        let settings = &self.settings;
        if job.starts_with('-') {
            return format!("runwright run{needs}{settings} {}", shell_argument(job));
        }
        format!("runwright run {}{needs}{settings}", shell_quoted(job))
    }
}

/// Returns the options of a run without its jobs.
pub(super) fn settings(args: &RunArgs) -> Vec<String> {
    let mut words = for_a_job(args);
    words.extend(args.parallel.words().into_iter().map(ToOwned::to_owned));
    if args.warn_changes {
        words.push("--warn-changes".to_owned());
    }
    words
}

/// Returns the words of `runwright shell` with the same options, without the name of the job.
pub(super) fn shell_words(args: &RunArgs) -> Vec<String> {
    let mut words = vec!["shell".to_owned()];
    words.extend(for_a_job(args));
    words
}

/// Returns the words of `runwright shell` with the same options, for a command that runs no jobs.
pub(super) fn shell_of_project(project: &ProjectArgs) -> Vec<String> {
    let mut words = vec!["shell".to_owned()];
    words.extend(situation_words(project));
    words
}

/// Returns the words of `command`, which runs jobs, with the same options, without the situation.
pub(super) fn words_of_run(command: &str, args: &RunArgs) -> Vec<String> {
    let mut words = vec![command.to_owned()];
    words.extend(args.job_names());
    if let Some(stage) = &args.stage {
        words.extend(["--stage".to_owned(), stage.clone()]);
    }
    for job in args.skipped() {
        words.extend(["--skip".to_owned(), job]);
    }
    match args.needs_mode() {
        NeedsMode::With => {}
        NeedsMode::Without => words.push("--no-needs".to_owned()),
        NeedsMode::Only => words.push("--only-needs".to_owned()),
    }
    words.extend(place_words(args));
    words
}

/// Returns the options that decide which jobs exist and where they run.
fn for_a_job(args: &RunArgs) -> Vec<String> {
    let mut words = place_words(args);
    words.extend(situation_words(&args.project));
    if args.ignore_other_projects {
        words.push("--ignore-other-projects".to_owned());
    }
    words
}

/// Returns the options that decide which jobs exist.
fn situation_words(project: &ProjectArgs) -> Vec<String> {
    let mut words = project_words(project);
    words.extend(project.situation.words());
    words.extend(project.remote.words());
    words
}

/// Returns the options that decide where jobs run.
fn place_words(args: &RunArgs) -> Vec<String> {
    let mut words = Vec::new();
    if args.executor != AUTO {
        words.extend(["--executor".to_owned(), args.executor.clone()]);
    }
    words.extend(args.docker.words());
    words.extend(args.isolation.words().into_iter().map(ToOwned::to_owned));
    if args.login {
        words.push("--login".to_owned());
    }
    words
}

/// Returns the options of a pipeline file and its variables.
pub(super) fn project_words(project: &ProjectArgs) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    let path = |path: &Path| path.display().to_string();
    if let Some(directory) = &*project.cwd {
        option("-C", path(directory));
    }
    if let Some(file) = &project.file {
        option("-f", path(file));
    }
    for pair in &project.variable {
        option("--variable", format!("{}={}", pair.key(), pair.value()));
    }
    for file in &project.variables_file {
        option("--variables-file", path(file));
    }
    for secret in &project.secret {
        option("--secret", secret.clone());
    }
    for pair in &project.input {
        option("--input", format!("{}={}", pair.key(), pair.value()));
    }
    for name in &project.unset_variable {
        option("--unset-variable", name.clone());
    }
    if let Some(file) = &project.inputs_file {
        option("--inputs-file", path(file));
    }
    if let Some(most) = project.maximum_includes {
        option("--maximum-includes", most.to_string());
    }
    if project.dialect == DialectArg::Bitrab {
        option("--dialect", "bitrab".to_owned());
    }
    words
}
