//! The words of a command with what settings say of options that it leaves out.
//!
//! Settings become options in front of the words, so that all that is true of options is true of them,
//! and a run that is gone on with finds in its record what held when it began.

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::error_line;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};
use runwright::local::{LocalError, LocalProject, Said, SettingValue, Settings, StateDir};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A command's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settled {
    /// With all settings.
    pub(crate) words: Vec<OsString>,
    /// With those that a run keeps when it is gone on with: not what is shown.
    pub(crate) kept: Vec<OsString>,
    is_changed: bool,
}

/// Which settings are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// All.
    All,
    /// Those about what is shown.
    Screen,
}

impl Settled {
    /// Returns the words, the first of which is the program's name, as the settings of their project
    /// complete them; `from` is where the command was given. Words that are no command stay as they are, and so do those of a command that is
    /// about no pipeline.
    pub(crate) fn of(words: Vec<OsString>, asked: Asked, from: &Path) -> Result<Self, Failure> {
        let root = Cli::command();
        let unsettled = |words: Vec<OsString>| Self {
            kept: words.clone(),
            words,
            is_changed: false,
        };
        let Ok(matches) = root.clone().try_get_matches_from(&words) else {
            return Ok(unsettled(words));
        };
        let (command, matches, depth) = leaf(&root, &matches);
        let means_pipeline = argument(command, "file").is_some_and(|it| is_named(it, "FILE"));
        if !means_pipeline {
            return Ok(unsettled(words));
        }
        let directory = matches.get_one::<PathBuf>("cwd");
        let settings = read(&directory.map_or(from.to_owned(), |it| from.join(it)))?;
        let meant = meant(&settings, command, matches);
        let meant = meant
            .into_iter()
            .filter(|(said, _)| asked == Asked::All || said.key.is_about_screen);
        let meant: Vec<_> = meant.collect();
        let with = |keep: &dyn Fn(&Said) -> bool| {
            let added = meant.iter().filter(|(said, _)| keep(said));
            let added = added.map(|(_, word)| OsString::from(word));
            let (before, after) = words.split_at(depth + 1);
            before
                .iter()
                .cloned()
                .chain(added)
                .chain(after.iter().cloned())
                .collect()
        };
        Ok(Self {
            words: with(&|_| true),
            kept: with(&|said| !said.key.is_about_screen),
            is_changed: !meant.is_empty(),
        })
    }

    /// Returns whether settings said anything.
    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed
    }
}

/// Reads the settings of the project in a directory, with what variables say, and warns of such variables
/// that say nothing.
pub(crate) fn read(directory: &Path) -> Result<Settings, Failure> {
    let failed = |error| Failure::from(LocalError::Settings(error));
    let home = std::env::home_dir();
    let state = StateDir::of_user().ok();
    let state = state.as_ref().map(StateDir::path);
    // What is wrong with the directory is said by the command.
    let project = LocalProject::find(directory, None).ok();
    let root = project.as_ref().map(LocalProject::root);
    let mut settings = Settings::default();
    if let Some(state) = state {
        settings = Settings::read(state, home.as_deref()).map_err(failed)?;
    }
    if let Some(root) = root {
        settings = settings.with_project(root).map_err(failed)?;
    }
    let variables: Vec<_> = std::env::vars_os().collect();
    for unknown in Settings::unknown_variables(variables.iter().map(|(name, _)| name.as_os_str())) {
        error_line(&format!("warning: {unknown}"));
    }
    settings.with_variables(variables).map_err(failed)
}

/// Returns the subcommand that is meant, with its arguments and how many words name it.
fn leaf<'a>(root: &'a Command, matches: &'a ArgMatches) -> (&'a Command, &'a ArgMatches, usize) {
    let (mut command, mut matches, mut depth) = (root, matches, 0);
    while let Some((name, below)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else {
            break;
        };
        (command, matches, depth) = (found, below, depth + 1);
    }
    (command, matches, depth)
}

fn argument<'c>(command: &'c Command, id: &str) -> Option<&'c Arg> {
    command.get_arguments().find(|it| it.get_id() == id)
}

/// Returns whether the value of an option has this name.
fn is_named(argument: &Arg, name: &str) -> bool {
    let names = argument.get_value_names().unwrap_or_default();
    names.iter().map(|it| it.as_str()).eq([name])
}

/// Returns what the options of `run` say, as a person gives them.
///
/// # Errors
///
/// When they are no such options.
pub(crate) fn of_options(options: &[String]) -> Result<Vec<(String, Vec<String>)>, clap::Error> {
    let words = ["runwright", "run"]
        .into_iter()
        .chain(options.iter().map(String::as_str));
    let matches = Cli::command().try_get_matches_from(words)?;
    let Some((_, matches)) = matches.subcommand() else {
        return Ok(Vec::new());
    };
    let given = matches
        .ids()
        .map(|id| id.as_str())
        .filter(|id| is_given(matches, id));
    let given = given.filter_map(|id| {
        let raw = matches.try_get_raw(id).ok().flatten();
        let values = raw.into_iter().flatten();
        let values = values
            .map(|value| value.to_string_lossy().into_owned())
            .collect();
        Some((id.replace('_', "-"), values))
    });
    Ok(given.collect())
}

/// Returns the words of the settings that count for a command.
fn meant<'s>(
    settings: &'s Settings,
    command: &Command,
    matches: &ArgMatches,
) -> Vec<(&'s Said, String)> {
    let mut said = settings.effective();
    said.retain(|said| said.section.name == "run");
    // What is stronger comes first, so that what contradicts it yields.
    said.sort_by_key(|said| std::cmp::Reverse(said.origin.rank()));
    let mut added: Vec<String> = Vec::new();
    let mut words = Vec::new();
    for said in said {
        let id = said.key.name.replace('-', "_");
        let Some(argument) = argument(command, &id).filter(|it| is_same(it)) else {
            continue;
        };
        let contradicts =
            |other: &&str| says(matches, other) || added.iter().any(|it| it == *other);
        if is_given(matches, &id) || said.key.yields_to.iter().any(|it| contradicts(&it)) {
            continue;
        }
        let option = words_of(said, argument);
        if !matches!(said.value, SettingValue::Flag(false)) {
            added.push(id);
        }
        words.extend(option.into_iter().map(|word| (said, word)));
    }
    words
}

/// Returns whether the option is the one that `run` has, and not another of its name.
fn is_same(argument: &Arg) -> bool {
    let root = Cli::command();
    let run = root.find_subcommand("run");
    let of_run = run.and_then(|run| crate::settled::argument(run, argument.get_id().as_str()));
    of_run.is_none_or(|of_run| of_run.get_value_names() == argument.get_value_names())
}

fn is_given(matches: &ArgMatches, id: &str) -> bool {
    let is_known = matches.try_contains_id(id).is_ok();
    is_known && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// Returns whether an option is given, and not as a no.
fn says(matches: &ArgMatches, id: &str) -> bool {
    let raw = || matches.try_get_raw(id).ok().flatten();
    is_given(matches, id) && !raw().is_some_and(|mut it| it.any(|value| value == "false"))
}

/// Returns the option that says what a setting says.
fn words_of(said: &Said, argument: &Arg) -> Vec<String> {
    let name = said.key.name;
    let may_say_no = !matches!(argument.get_action(), ArgAction::SetTrue);
    let option = |value: &str| format!("--{name}={value}");
    match &said.value {
        SettingValue::Flag(true) => vec![format!("--{name}")],
        SettingValue::Flag(false) if may_say_no => vec![option("false")],
        SettingValue::Flag(false) | SettingValue::Hidden | SettingValue::Unset => vec![],
        SettingValue::Text(text) => vec![option(text)],
        SettingValue::Count(count) => vec![option(&count.to_string())],
        SettingValue::Texts(texts) => texts.iter().map(|text| option(text)).collect(),
    }
}
