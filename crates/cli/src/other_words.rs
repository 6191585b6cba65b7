//! Words that users of other tools type, and their meaning here.
//!
//! | typed | meaning |
//! |---|---|
//! | `help [COMMAND]` | the help, as in git and cargo |
//! | `-C DIR COMMAND` | `COMMAND -C DIR`, as in git and make |
//! | `--list`, `run --list` | `list`: it starts nothing, so a wrong guess does no harm |
//! | `-q`, `--quiet` | an option of the commands that run jobs; before a command an error that names it |
//! | `JOB` | an error that names `run JOB`. It is not accepted: a job called `lint` would not run, and a mistyped command may be the name of a job |
//! | `status`, `validate` and other [foreign commands](COMMANDS) | an error that names the command |
//! | an option before the command, or without one, or of another command | an error that names the command with the option |
//! | an option of gitlab-ci-local | an error that names the counterpart |

use crate::args::Cli;
use crate::command::job_names;
use crate::failure::Failure;
use crate::parsed_args::ParsedArgs;
use anyhow::anyhow;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory};
use console::shell_quoted;
use std::ffi::{OsStr, OsString};
use std::iter::once;
use std::path::PathBuf;
use workstation::advice_on_option;
use yaml::suggest::nearest;

/// Commands of other tools, the command here, and what it does.
const COMMANDS: [(&str, &str, &str); 11] = [
    ("check", "lint", "checks the pipeline file"),
    ("exec", "run JOB", "runs a job"),
    ("jobs", "list", "shows the jobs"),
    ("kill", "cancel", "cancels a run"),
    ("ls", "list", "shows the jobs"),
    ("ps", "history", "shows the runs, also the current ones"),
    ("rerun", "retry", "runs the failed jobs again"),
    ("status", "history", "shows the runs, also the current ones"),
    ("stop", "cancel", "cancels a run"),
    ("validate", "lint", "checks the pipeline file"),
    ("version", "--version", "prints the version"),
];

/// Returns the words that the program understands; the first is its name.
pub(crate) fn translated(mut words: Vec<OsString>) -> Vec<OsString> {
    let Some(at) = command_index(&words) else {
        return words;
    };
    if words[at] == "--list" {
        words[at] = "list".into();
    } else if words[at] == "run" {
        let options = words.iter().skip(at).take_while(|word| *word != "--");
        if let Some(option) = options.into_iter().position(|word| word == "--list") {
            words.remove(at + option);
            words[at] = "list".into();
        }
    }
    words
}

/// Returns the index of the first word behind the program's name and `-C DIR`.
fn command_index(words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let word = word.to_string_lossy();
        at += match &*word {
            "-C" | "--cwd" => 2,
            word if word.starts_with("-C") || word.starts_with("--cwd=") => 1,
            _ => return Some(at),
        };
    }
    None
}

/// Returns the error for words that the parser refuses, where the parser's own words do not help.
pub(crate) fn explained(
    mut error: clap::Error,
    words: &[OsString],
) -> Result<Failure, clap::Error> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let at = command_index(words).filter(|&at| words[at] != "--");
    match error.kind() {
        ErrorKind::InvalidSubcommand if at.is_some_and(|at| !is_command(&words[at])) => {
            Ok(no_command(
                &text(ContextKind::InvalidSubcommand),
                at.unwrap_or(1),
                words,
            ))
        }
        ErrorKind::InvalidSubcommand if at.is_some_and(|at| words[at] == "help") => {
            let at = at.unwrap_or(1);
            let words = [&words[..at], &words[at + 1..]].concat();
            Ok(no_command(
                &text(ContextKind::InvalidSubcommand),
                at,
                &words,
            ))
        }
        ErrorKind::UnknownArgument => {
            let option = text(ContextKind::InvalidArg);
            let commands = commands_with(&option);
            if commands.is_empty()
                && let Some(advice) = advice_on_option(&option)
            {
                let failure = Failure::usage(anyhow!("there is no option `{option}`"));
                let help = format!("an option of gitlab-ci-local: {advice}");
                return Ok(failure.with_help(help));
            }
            match at {
                Some(at) if !option.starts_with('-') && words[at] == "history" => {
                    let failure = Failure::usage(anyhow!("`history` takes no name: `{option}`"));
                    let name = shell_quoted(&option);
                    Ok(failure.with_help(format!(
                        "`runwright logs {name}` shows the log of a job, or the jobs of a run"
                    )))
                }
                Some(at) if !is_command(&words[at]) => Ok(no_command_of_option(&option, at, words)),
                Some(at) if !commands.is_empty() && !has_subcommands(&words[at]) => {
                    let command = words[at].to_string_lossy();
                    let error = anyhow!("`{command}` has no option `{option}`");
                    let help = format!("commands that have it: {}", commands.join(", "));
                    Ok(Failure::usage(error).with_help(help))
                }
                _ => {
                    // A job or file whose name begins with dashes is rarer than a mistyped option.
                    error.insert(ContextKind::Suggested, ContextValue::None);
                    Err(error)
                }
            }
        }
        ErrorKind::TooManyValues => {
            let (value, expected) = (
                text(ContextKind::InvalidValue),
                text(ContextKind::InvalidArg),
            );
            let failure = Failure::usage(anyhow!("unexpected argument `{value}`"));
            let expected = expected.trim_end_matches("...");
            let expected = expected
                .strip_prefix('[')
                .and_then(|it| it.strip_suffix(']'));
            Ok(failure.with_help(match expected {
                Some(words) => format!("expected {words}; a name with spaces needs quotes"),
                None => "a name with spaces needs quotes".to_owned(),
            }))
        }
        _ => Err(error),
    }
}

/// Returns the directory that the words before a command name.
fn directory(words: &[OsString]) -> PathBuf {
    let run = OsString::from("run");
    let command = line(words.iter().chain([&run]));
    let parsed = ParsedArgs::parse(command).ok();
    let named = parsed.and_then(|mut it| (*it.command.project_mut()?.cwd).clone());
    named.unwrap_or_else(|| PathBuf::from("."))
}

fn is_command(word: &OsStr) -> bool {
    word == "help" || Cli::command().find_subcommand(word).is_some()
}

/// Returns whether an option may belong to a command below this one.
fn has_subcommands(word: &OsStr) -> bool {
    let mut root = Cli::command();
    root.build();
    let command = root.find_subcommand(word);
    command.is_none_or(clap::Command::has_subcommands)
}

/// Returns the error for a first word that is not a command.
fn no_command(word: &str, at: usize, words: &[OsString]) -> Failure {
    let jobs = job_names(&directory(&words[1..at]), None);
    if jobs.iter().any(|job| job == word) {
        let run = OsString::from("run");
        let whole = line(once(&run).chain(&words[1..]));
        let command = if ParsedArgs::parse(&whole).is_ok() {
            shown(&whole)
        } else {
            format!("runwright run {}", shell_quoted(word))
        };
        return Failure::usage(anyhow!("`{word}` is a job, not a command"))
            .with_help(format!("`{command}` runs it"));
    }
    let failure = Failure::usage(anyhow!("there is no command `{word}`"));
    if let Some((_, command, effect)) = COMMANDS.iter().find(|(foreign, ..)| *foreign == word) {
        return failure.with_help(format!("`runwright {command}` {effect}"));
    }
    let root = Cli::command();
    let command = nearest(word, root.get_subcommands().map(clap::Command::get_name));
    let job = nearest(word, jobs.iter().map(String::as_str));
    let job = job.map(|job| format!("`runwright run {}`", shell_quoted(job)));
    let similar = command.map(|name| format!("`runwright {name}`"));
    let similar: Vec<String> = similar.into_iter().chain(job).collect();
    failure.with_help(if similar.is_empty() {
        "`runwright help` lists the commands; `runwright run JOB` runs a job".to_owned()
    } else {
        format!("did you mean {}?", similar.join(" or "))
    })
}

/// Returns the error for an unknown option before the command, or without one.
fn no_command_of_option(option: &str, at: usize, words: &[OsString]) -> Failure {
    let run = OsString::from("run");
    let given = (at..words.len()).find(|&given| is_command(&words[given]));
    let command = match given {
        Some(given) => line(
            words[given..=given]
                .iter()
                .chain(&words[1..given])
                .chain(&words[given + 1..]),
        ),
        None => line(once(&run).chain(&words[1..])),
    };
    let failure = Failure::usage(anyhow!("there is no option `{option}` before a command"));
    if ParsedArgs::parse(&command).is_ok() {
        return failure.with_help(format!("did you mean `{}`?", shown(&command)));
    }
    let having = commands_with(option);
    failure.with_help(if having.is_empty() {
        "`runwright help` lists the commands".to_owned()
    } else {
        format!("put it after a command that has it: {}", having.join(", "))
    })
}

/// Returns the commands that have an option, in backticks.
fn commands_with(option: &str) -> Vec<String> {
    let mut root = Cli::command();
    root.build();
    let having = root.get_subcommands().filter(|command| {
        let mut options = command.get_arguments();
        options.any(|it| is_option(it, option))
    });
    having.map(|it| format!("`{}`", it.get_name())).collect()
}

fn is_option(argument: &Arg, option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        return argument.get_long() == Some(long);
    }
    let short = option.strip_prefix('-').and_then(|it| it.chars().next());
    short.is_some() && argument.get_short() == short
}

/// Returns a command line of the program.
fn line<'w>(words: impl IntoIterator<Item = &'w OsString>) -> Vec<OsString> {
    once("runwright".into())
        .chain(words.into_iter().cloned())
        .collect()
}

fn shown(line: &[OsString]) -> String {
    let words = line
        .iter()
        .map(|word| shell_quoted(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_that_start_nothing_are_translated() {
        let check = |typed: &str, expect: &str| {
            let words = typed.split(' ').map(OsString::from).collect();
            let words: Vec<String> = translated(words)
                .into_iter()
                .map(|word| word.into_string().unwrap())
                .collect();
            assert_eq!(words.join(" "), expect);
        };
        check("runwright --list", "runwright list");
        check("runwright -C a --list --all", "runwright -C a list --all");
        check("runwright run test --list", "runwright list test");
        check("runwright run -- --list", "runwright run -- --list");
        check("runwright logs --list", "runwright logs --list");
        check("runwright -C", "runwright -C");
        check("runwright", "runwright");
    }
}
