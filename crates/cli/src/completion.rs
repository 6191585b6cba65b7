//! Completion of words that only the project or this build knows: jobs, stages and executors.
//!
//! The script of `runwright completion` calls the program for each word, with [`VARIABLE`] set.

use crate::args::Cli;
use crate::command::{environment_names, names_in, waiting_jobs};
use crate::executors::Setup;
use clap::CommandFactory;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use console::shell_quoted;
use executor_core::ProviderRegistry;
use executor_core::job::When;
use pipeline::{ResolvedJob, ResolvedPipeline};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// Names the shell that requests a completion.
const VARIABLE: &str = "_RUNWRIGHT_COMPLETE";

/// Set by the script for bash alone, which inserts words as they are; other shells quote them.
const OF_BASH: &str = "_CLAP_COMPLETE_COMP_TYPE";

/// Prints the completions of the words, if a shell requests them; returns whether it did.
pub(crate) fn complete(words: &[OsString]) -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let directory = std::env::current_dir().ok();
    let completed = CompleteEnv::with_factory(Cli::command)
        .var(VARIABLE)
        .try_complete(words, directory.as_deref());
    completed.unwrap_or_else(|error| error.exit())
}

/// Returns the script that a shell reads.
pub(crate) fn script(shell: clap_complete::Shell) -> io::Result<Vec<u8>> {
    let shells = Shells::builtins();
    let shell = shells.completer(&shell.to_string());
    let shell = shell.ok_or_else(|| io::Error::other("there is no completion for this shell"))?;
    let (name, mut script) = ("runwright", Vec::new());
    shell.write_registration(VARIABLE, name, name, name, &mut script)?;
    Ok(script)
}

/// Returns the completion of a job, or of the last one of a list.
pub(crate) fn jobs() -> ArgValueCompleter {
    of_pipeline(|pipeline| names_of_jobs(pipeline, |_| true))
}

/// Returns the completion of a job that can wait for the user.
pub(crate) fn manual_jobs() -> ArgValueCompleter {
    of_pipeline(|pipeline| {
        names_of_jobs(pipeline, |job| {
            let of_rules = job.rules.entries().iter().filter_map(|rule| rule.when);
            let mut when = of_rules.chain(job.when);
            when.any(|when| matches!(when, When::Manual | When::Delayed))
        })
    })
}

/// Returns the completion of a stage that has jobs.
pub(crate) fn stages() -> ArgValueCompleter {
    of_pipeline(|pipeline| {
        let has_job = |stage: &&String| {
            let mut jobs = pipeline.jobs.iter();
            jobs.any(|job| job.definition.stage == **stage)
        };
        pipeline.stages.iter().filter(has_job).cloned().collect()
    })
}

fn names_of_jobs(
    pipeline: &ResolvedPipeline,
    is_meant: impl Fn(&ResolvedJob) -> bool,
) -> Vec<String> {
    let jobs = pipeline.jobs.iter().filter(|job| is_meant(job));
    jobs.map(|job| job.name_in_file.to_string()).collect()
}

/// Returns the completion of a name in the pipeline.
fn of_pipeline(
    take: impl Fn(&ResolvedPipeline) -> Vec<String> + Send + Sync + 'static,
) -> ArgValueCompleter {
    of_project(move |directory, words| {
        let file = option(words, "-f", "--file");
        names_in(directory, file.as_deref(), &take)
    })
}

/// Returns the completion of a job that waits for the user, in the named run or the last one.
pub(crate) fn waiting() -> ArgValueCompleter {
    of_project(|directory, words| {
        let mut numbers = words.iter().rev().filter_map(|word| word.to_str());
        let number = numbers.find_map(|word| word.parse().ok());
        waiting_jobs(directory, number)
    })
}

/// Returns the completion of an environment that can be stopped.
pub(crate) fn environments() -> ArgValueCompleter {
    of_project(|directory, _| environment_names(directory))
}

/// Returns the completion of a name in the project, or of the last one of a list; `take` has its directory and the words
/// of the command line.
fn of_project(
    take: impl Fn(&Path, &[OsString]) -> Vec<String> + Send + Sync + 'static,
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |word: &OsStr| {
        let words: Vec<OsString> = std::env::args_os().collect();
        let directory = option(&words, "-C", "--cwd").unwrap_or_else(|| ".".into());
        let names = take(&directory, &words);
        let is_bash = std::env::var_os(OF_BASH).is_some();
        let quoted = |name: String| {
            if is_bash { shell_quoted(&name) } else { name }
        };
        let names = names.into_iter().map(quoted);
        let word = word.to_string_lossy();
        let listed = word.rfind(',').map_or("", |at| &word[..=at]);
        candidates(listed, &word, names)
    })
}

/// Returns the completion of an executor.
pub(crate) fn executors() -> ArgValueCompleter {
    ArgValueCompleter::new(|word: &OsStr| {
        let registry = crate::executors::registry(Setup::default()).ok();
        let names = registry.iter().flat_map(ProviderRegistry::names);
        candidates("", &word.to_string_lossy(), names.map(ToOwned::to_owned))
    })
}

/// Returns the names that continue a word, each behind the `listed` part of it.
fn candidates(
    listed: &str,
    word: &str,
    names: impl Iterator<Item = String>,
) -> Vec<CompletionCandidate> {
    let names = names.map(|name| format!("{listed}{name}"));
    // A quoted name begins with a quote that the user need not type.
    let typed = |name: &str| name.starts_with(word) || name.replacen('\'', "", 1).starts_with(word);
    let names = names.filter(|name| typed(name));
    names.map(CompletionCandidate::new).collect()
}

/// Returns the value of an option on a command line that may be incomplete.
fn option(words: &[OsString], short: &str, long: &str) -> Option<PathBuf> {
    let at = words
        .iter()
        .rposition(|word| word == short || word == long)?;
    words.get(at + 1).map(PathBuf::from)
}
