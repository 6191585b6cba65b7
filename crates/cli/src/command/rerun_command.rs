use crate::args::{DialectArg, RunArgs};
use crate::executors::AUTO;
use console::{shell_argument, shell_quoted};
use pipeline::Plan;
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

/// Returns the options that decide which jobs exist and where they run.
fn for_a_job(args: &RunArgs) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    let path = |path: &Path| path.display().to_string();
    let project = &args.project;
    if let Some(directory) = &project.cwd {
        option("-C", path(directory));
    }
    if let Some(file) = &project.file {
        option("-f", path(file));
    }
    if args.executor != AUTO {
        option("--executor", args.executor.clone());
    }
    words.extend(args.docker.words());
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
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
    words.extend(project.situation.words());
    words.extend(project.remote.words());
    words.extend(args.isolation.words().into_iter().map(ToOwned::to_owned));
    if args.login {
        words.push("--login".to_owned());
    }
    words
}
