//! Why there is no pipeline, and a command that has one.

use super::rerun_command::project_words;
use crate::args::ProjectArgs;
use crate::failure::Failure;
use anyhow::anyhow;
use console::{Style, error_line, refusal_text, refused_jobs_text, shell_argument, shell_quoted};
use pipeline::create::{Creation, Refusal, RefusalReason};
use pipeline::expression::Expression;
use pipeline::pattern::Pattern;
use pipeline::rules::{RefPattern, Rule};
use pipeline::{PlanError, RefusedJob};
use std::collections::BTreeSet;
use workstation::{LocalError, LocalPipeline, SOURCES};

/// The maximum number of names from rules that are tried.
const MOST_NAMES: usize = 10;

/// Explains why a command finds no pipeline or job.
#[derive(Debug)]
pub(super) struct NoPipeline<'a> {
    pub(super) pipeline: &'a LocalPipeline,
    /// The options of the command.
    pub(super) project: &'a ProjectArgs,
    /// The words of the command, without those options.
    pub(super) command: Vec<String>,
    /// The words of a shell with the options of the command, without the name of the job.
    pub(super) shell: Vec<String>,
}

impl NoPipeline<'_> {
    /// Prints on standard error why there is no pipeline.
    pub(super) fn print(&self, refusal: &Refusal) {
        error_line(self.text(refusal, Style::of_stderr()).trim_end());
    }

    /// Returns why there is no pipeline, with the lines that decided.
    pub(super) fn text(&self, refusal: &Refusal, style: Style) -> String {
        let is_by_rules = refusal.reason != RefusalReason::SeedError;
        let help = is_by_rules.then(|| {
            let command = self.suggest(|creation| creation.refusal.is_none());
            let command = command.map(|command| format!("`{command}` creates a pipeline"));
            command.or_else(|| self.name_to_match())
        });
        let help = help.flatten();
        refusal_text(refusal, self.pipeline.sources(), help.as_deref(), style)
    }

    /// Returns the failure of a command whose plan was refused.
    pub(super) fn failure(&self, error: LocalError) -> Failure {
        match &error {
            LocalError::Plan(PlanError::NotCreated(refusal)) => {
                let text = self.text(refusal, Style::of_stderr());
                Failure::usage(anyhow!("no pipeline is created")).with_text(text)
            }
            LocalError::Plan(PlanError::NotLocal(jobs)) => {
                let of_project = |job: &RefusedJob| job.keyword == Some("needs:project");
                let help = if jobs.iter().all(of_project) {
                    "--ignore-other-projects runs without those artifacts"
                } else {
                    "select other jobs to run without them"
                };
                let style = Style::of_stderr();
                let text = refused_jobs_text(jobs, self.pipeline.sources(), help, style);
                Failure::from(error).with_text(text)
            }
            LocalError::Plan(PlanError::LeftOut { name, .. }) => {
                let has_job = |creation: &Creation| {
                    let mut jobs = creation.jobs.iter();
                    creation.refusal.is_none()
                        && jobs.any(|job| job.is_included && job.name() == name)
                };
                let shell = line(&self.shell);
                let mut help = format!("`{shell} {}` enters it anyway", shell_argument(name));
                if let Some(command) = self.suggest(has_job) {
                    help = format!("`{command}` includes it; {help}");
                }
                Failure::from(error).with_help(help)
            }
            _ => Failure::from(error),
        }
    }

    /// Returns help that names the regular expression for names of branches or tags that has no example.
    fn name_to_match(&self) -> Option<String> {
        conditions(self.pipeline).find_map(|condition| {
            let option = condition.variables().find_map(option_for)?;
            let mut patterns = condition.patterns();
            let pattern = patterns.find(|pattern| pattern.example().is_none())?;
            let name = if option == "--tag" {
                "a tag"
            } else {
                "a branch"
            };
            Some(format!(
                "try `{option}` with {name} that `{pattern}` matches"
            ))
        })
    }

    /// Returns the command in the first situation whose pipeline is accepted.
    ///
    /// The pipeline is read and created for each, without requests to servers.
    fn suggest(&self, is_accepted: impl Fn(&Creation) -> bool) -> Option<String> {
        let default_branch = &self.pipeline.context().ok()?.project.default_branch;
        let names = names_in_rules(self.pipeline);
        let candidates = self.project.situation.others(default_branch, &names);
        let found = candidates.into_iter().find(|candidate| {
            let read = self.pipeline.in_situation(candidate.options());
            let read = read.ok().and_then(|checked| checked.into_result().ok());
            let creation = read.and_then(|(pipeline, _)| pipeline.create().ok());
            creation.is_some_and(|creation| is_accepted(&creation))
        });
        let situation = found?.words();
        let options = [situation, project_words(self.project)].concat();
        Some(line(&[&*self.command, &options].concat()))
    }
}

/// Returns the command line of these words.
fn line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
    format!("runwright {}", words.join(" "))
}

/// Returns the texts that rules compare with, which may be names of branches, tags or sources, and examples of those that
/// their regular expressions match.
fn names_in_rules(pipeline: &LocalPipeline) -> Vec<String> {
    let texts = conditions(pipeline).flat_map(|condition| {
        let texts = condition.text().split(['"', '\'']).skip(1).step_by(2);
        let examples = condition.patterns().filter_map(Pattern::example);
        texts.map(str::to_owned).chain(examples)
    });
    let jobs = pipeline.resolved().jobs.iter();
    let only = jobs.filter_map(|job| job.only.as_ref()?.refs.as_ref());
    let refs = only.flatten().filter_map(|entry| match entry {
        RefPattern::Name(text) => {
            let name = text.split('@').next().unwrap_or_default();
            (!is_kind(name)).then(|| name.to_owned())
        }
        RefPattern::Pattern { pattern, .. } => pattern.example(),
    });
    let mut seen = BTreeSet::new();
    let names = texts.chain(refs);
    let names = names.filter(|text| !text.is_empty() && seen.insert(text.clone()));
    names.take(MOST_NAMES).collect()
}

/// Returns the option that sets a variable which is the name of a branch or tag.
fn option_for(variable: &str) -> Option<&'static str> {
    match variable {
        "CI_COMMIT_TAG" => Some("--tag"),
        "CI_COMMIT_BRANCH" | "CI_COMMIT_REF_NAME" => Some("--branch"),
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME" => Some("--mr --branch"),
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME" => Some("--mr --target"),
        _ => None,
    }
}

/// Returns whether a word of `only` means a kind of pipeline, such as `schedules`.
fn is_kind(name: &str) -> bool {
    let is_source = |source: &&str| {
        let end = name.strip_prefix(source.trim_end_matches("_event"));
        end.is_some_and(|end| ["", "s", "es"].contains(&end))
    };
    ["branches", "tags"].contains(&name) || SOURCES.iter().any(is_source)
}

fn conditions(pipeline: &LocalPipeline) -> impl Iterator<Item = &Expression> {
    let resolved = pipeline.resolved();
    let of_jobs = resolved.jobs.iter().flat_map(|job| job.rules.entries());
    let rules = resolved.workflow.rules.entries().iter().chain(of_jobs);
    rules.filter_map(|rule: &Rule| Some(&*rule.condition.as_ref()?.value))
}
