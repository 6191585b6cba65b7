//! Asks at the terminal which jobs to run.

use super::created_pipeline::CreatedPipeline;
use super::list::remarks;
use super::plan::present;
use super::prompt::{can_ask, one_of, some_of};
use super::run::run_words;
use crate::args::RunArgs;
use crate::failure::{Exit, Failure};
use anyhow::anyhow;
use console::{ProgressMode, columns, counted, error_line, shell_quoted, shown_name};
use std::ffi::OsString;
use std::path::Path;
use workstation::{LocalError, LocalProject, RunCommand, StateDir};

/// The option that starts the questions.
const OPTION: &str = "--choose";

/// Returns the effective arguments: without any, and with a terminal and a pipeline, `run --choose`.
pub(crate) fn meant(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_bare = arguments.len() == 1;
    if !is_bare || !can_ask() || !has_pipeline() {
        return arguments;
    }
    let asking = ["run", OPTION].map(OsString::from);
    arguments.into_iter().chain(asking).collect()
}

fn has_pipeline() -> bool {
    let project = LocalProject::find(Path::new("."), None);
    project.is_ok_and(|project| project.root().join(project.file()).is_file())
}

/// Asks which jobs to run, prints the equivalent command and runs it; `words` are the words of the asking
/// command.
pub(crate) fn choose(args: &RunArgs, words: &[String]) -> Result<Exit, Failure> {
    if !can_ask() || args.shown.progress() == ProgressMode::Json {
        let error = anyhow!("choosing jobs needs a terminal");
        return Err(Failure::usage(error).with_help("name the jobs; `runwright list` shows them"));
    }
    let Some(created) = CreatedPipeline::read_silently(&args.project)? else {
        return Ok(Exit::Usage);
    };
    if !RunCommand::is_exact(words) {
        let error =
            anyhow!("the command has a word that is not UTF-8, which --choose cannot pass on");
        return Err(Failure::usage(error).with_help("name the jobs; `runwright list` shows them"));
    }
    let Some(chosen) = ask(&created)? else {
        return Ok(Exit::Interrupted);
    };
    let words = chosen.words(words);
    let line: Vec<_> = words.iter().map(|word| shell_quoted(word)).collect();
    error_line(&format!("runwright {}", line.join(" ")));
    run_words(&words)
}

/// The user's choice.
#[derive(Debug, PartialEq, Eq)]
enum Chosen {
    Whole,
    Failed,
    Jobs(Vec<String>),
}

impl Chosen {
    /// Returns the words of the command that runs the choice without asking.
    fn words(&self, asking: &[String]) -> Vec<String> {
        let mut words: Vec<String> = asking.to_vec();
        words.retain(|word| word != OPTION);
        match self {
            Self::Whole => {}
            Self::Failed => words.insert(1.min(words.len()), "--only-failed".to_owned()),
            Self::Jobs(names) if names.iter().any(|name| name.starts_with('-')) => {
                if !words.iter().any(|word| word == "--") {
                    words.push("--".to_owned());
                }
                words.extend(names.iter().cloned());
            }
            Self::Jobs(names) => {
                let at = 1.min(words.len());
                words.splice(at..at, names.iter().cloned());
            }
        }
        words
    }
}

fn ask(created: &CreatedPipeline) -> Result<Option<Chosen>, Failure> {
    let jobs = present(&created.creation);
    if jobs.is_empty() {
        // The run reports why the pipeline has no jobs.
        return Ok(Some(Chosen::Whole));
    }
    let mut rows = vec![
        format!("the whole pipeline: {}", counted(jobs.len(), "job")),
        "some of its jobs".to_owned(),
    ];
    rows.extend(failed(created));
    match one_of("What to run?", &rows)? {
        None => return Ok(None),
        Some(0) => return Ok(Some(Chosen::Whole)),
        Some(1) => {}
        Some(_) => return Ok(Some(Chosen::Failed)),
    }
    let stages = jobs.iter().map(|job| shown_name(&job.definition.stage));
    let stages: Vec<_> = stages.collect();
    let width = stages.iter().map(|stage| columns(stage)).max().unwrap_or(0);
    let rows: Vec<_> = jobs
        .iter()
        .zip(&stages)
        .map(|(job, stage)| {
            let padding = " ".repeat(width - columns(stage));
            let name = shown_name(job.name());
            let row = format!("{stage}{padding}  {name}  {}", remarks(created, job, None));
            row.trim_end().to_owned()
        })
        .collect();
    let places = some_of("Which jobs? The jobs they need run as well.", &rows)?;
    Ok(places.map(|places| {
        let names = places.into_iter().map(|at| jobs[at].name().to_owned());
        Chosen::Jobs(names.collect())
    }))
}

/// Returns the row that offers the failed jobs of the last run, if there are any.
fn failed(created: &CreatedPipeline) -> Option<String> {
    let state = StateDir::of_user().map_err(LocalError::from).ok()?;
    let runs = state.project(created.project.root()).runs();
    let run = runs.latest().ok()?;
    let history = run.history().ok()?;
    history.end?;
    let count = history.failed().len();
    (count > 0).then(|| {
        let jobs = counted(count, "job");
        format!("what failed in run {}: {jobs}", run.id())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_command_does_not_ask() {
        let check = |chosen: &Chosen, asking: &str, expect: &str| {
            let asking: Vec<_> = asking.split(' ').map(ToOwned::to_owned).collect();
            assert_eq!(chosen.words(&asking).join(" "), expect);
        };
        let jobs = |names: &[&str]| Chosen::Jobs(names.iter().map(ToString::to_string).collect());
        check(&Chosen::Whole, "run --choose", "run");
        check(&Chosen::Failed, "run --choose -v", "run --only-failed -v");
        check(
            &jobs(&["a", "b"]),
            "run --choose --changes x",
            "run a b --changes x",
        );
        check(&jobs(&["-a"]), "run --choose -v", "run -v -- -a");
    }
}
