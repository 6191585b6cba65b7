//! The arguments of a command, completed by the settings for options that are not given.
//!
//! Settings become options in front of the given arguments. The rules for options therefore apply to them,
//! and the record of a run holds the values in force when it started, for a later resume.

use crate::args::Cli;
use crate::command::can_ask;
use crate::failure::Failure;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};
use console::terminal::OwnTerminal;
use console::{ProgressMode, error_line};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use workstation::{LayeredValue, LocalError, LocalProject, SettingValue, Settings, StateDir};

/// The words of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedArgs {
    /// With all settings.
    pub(crate) words: Vec<OsString>,
    /// With the settings that a resumed run keeps: without those of the display.
    pub(crate) kept: Vec<OsString>,
    is_changed: bool,
}

/// Which settings to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// All settings.
    All,
    /// Settings of the display.
    Screen,
}

impl ResolvedArgs {
    /// Returns the words, which start with the program's name, completed by settings for options that are
    /// not given. `read` returns the settings for the directory that the words name, if any. Words that do
    /// not parse, and commands without a pipeline, stay unchanged.
    pub(crate) fn of(
        words: Vec<OsString>,
        asked: Asked,
        read: impl FnOnce(Option<&Path>) -> Result<Settings, Failure>,
    ) -> Result<Self, Failure> {
        let mut root = Cli::command();
        match root.try_get_matches_from_mut(&words) {
            Ok(matches) => Self::of_understood(words, (&root, &matches), asked, read),
            Err(_) => Ok(Self::unchanged(words)),
        }
    }

    /// Does the same for words that are already parsed.
    pub(crate) fn of_understood(
        words: Vec<OsString>,
        (root, matches): (&Command, &ArgMatches),
        asked: Asked,
        read: impl FnOnce(Option<&Path>) -> Result<Settings, Failure>,
    ) -> Result<Self, Failure> {
        let (command, matches, depth) = leaf(root, matches);
        let means_pipeline = argument(command, "file").is_some_and(|it| is_named(it, "FILE"));
        if !means_pipeline {
            return Ok(Self::unchanged(words));
        }
        let directory = matches.get_one::<PathBuf>("cwd");
        let settings = read(directory.map(PathBuf::as_path))?;
        let mut meant = meant(&settings, command, root, matches);
        meant.retain(|(said, _)| asked == Asked::All || said.key.is_about_screen);
        let with = |keep: &dyn Fn(&LayeredValue) -> bool| {
            let added = meant.iter().filter(|(said, _)| keep(said));
            let added = added.map(|(_, word)| OsString::from(word));
            let (before, after) = words.split_at(depth + 1);
            let before = before.iter().cloned();
            before.chain(added).chain(after.iter().cloned()).collect()
        };
        Ok(Self {
            words: with(&|_| true),
            kept: with(&|said| !said.key.is_about_screen),
            is_changed: !meant.is_empty(),
        })
    }

    fn unchanged(words: Vec<OsString>) -> Self {
        Self {
            kept: words.clone(),
            words,
            is_changed: false,
        }
    }

    /// Returns whether settings changed the words.
    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed
    }
}

/// Reads the settings of the project in a directory and of environment variables, and warns of unknown
/// variables.
pub(crate) fn read(directory: &Path) -> Result<Settings, Failure> {
    let failed = |error| Failure::from(LocalError::Settings(error));
    let home = std::env::home_dir();
    let state = StateDir::of_user().ok();
    let state = state.as_ref().map(StateDir::path);
    // The command reports any error with the directory.
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

/// Returns the innermost subcommand, its arguments, and the number of words that name it.
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
    names.iter().map(clap::builder::Str::as_str).eq([name])
}

/// An option of `run` as the user gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    /// The name, without leading dashes.
    pub(crate) name: String,
    /// The values.
    pub(crate) values: Vec<String>,
    /// Whether the option is negated: `--login=false`.
    pub(crate) is_no: bool,
}

/// Parses options of `run`.
///
/// # Errors
///
/// When one of them is not an option of `run`.
pub(crate) fn of_options(options: &[String]) -> Result<Vec<Given>, clap::Error> {
    let words = ["runwright", "run"].into_iter();
    let words = words.chain(options.iter().map(String::as_str));
    let matches = Cli::command().try_get_matches_from(words)?;
    let Some((_, matches)) = matches.subcommand() else {
        return Ok(Vec::new());
    };
    let ids = matches.ids().map(clap::Id::as_str);
    let given = ids.filter(|id| is_given(matches, id)).map(|id| {
        let raw = matches.try_get_raw(id).ok().flatten();
        let values = raw.into_iter().flatten();
        Given {
            name: id.replace('_', "-"),
            values: values.map(|it| it.to_string_lossy().into_owned()).collect(),
            is_no: !says(matches, id),
        }
    });
    Ok(given.collect())
}

/// Returns the settings that apply to a command, as options.
fn meant<'s>(
    settings: &'s Settings,
    command: &Command,
    root: &Command,
    matches: &ArgMatches,
) -> Vec<(&'s LayeredValue, String)> {
    let run = root.find_subcommand("run");
    let mut words = Vec::new();
    for said in settings.options(&|option| says(matches, &id(option))) {
        let id = id(said.key.name);
        // Another command may use the same option name for something else.
        let of_run = run.and_then(|run| argument(run, &id));
        let is_same = |it: &&Arg| {
            of_run.is_none_or(|of_run| of_run.get_value_names() == it.get_value_names())
        };
        let argument = argument(command, &id).filter(is_same);
        if let Some(argument) = argument.filter(|_| !is_given(matches, &id)) {
            let option = words_of(said, argument);
            words.extend(option.into_iter().map(|word| (said, word)));
        }
    }
    fit_screen(&mut words, matches, command.get_name() == "watch");
    let is_run = command.get_name() == "run";
    if !is_run || !can_ask() || !OwnTerminal::is_there() || !is_for_lines(&words, matches) {
        words.retain(|(said, _)| said.key.name != "shell-on-failure");
    }
    words
}

/// Returns whether a run writes lines for people, between which another program may use the terminal.
fn is_for_lines(words: &[(&LayeredValue, String)], matches: &ArgMatches) -> bool {
    let settled = words.iter().find(|(said, _)| said.key.name == "progress");
    if let Some((_, word)) = settled {
        return word != FULL_SCREEN && word != "--progress=json";
    }
    let given = matches
        .try_get_one::<ProgressMode>("progress")
        .ok()
        .flatten();
    !matches!(given, Some(ProgressMode::Json | ProgressMode::Tui))
}

/// Removes display settings that cannot apply, since the user did not ask for them in this command: the full
/// screen without a terminal or next to conflicting options, and conflicting settings with the full screen.
fn fit_screen(words: &mut Vec<(&LayeredValue, String)>, matches: &ArgMatches, is_watch: bool) {
    let asks = |id: &str| is_given(matches, id);
    let has_no_screen = is_watch || asks("output") || asks("shell_on_failure");
    words.retain(|(_, word)| {
        word != FULL_SCREEN || (ProgressMode::Tui.can_be_shown() && !has_no_screen)
    });
    let given = matches
        .try_get_one::<ProgressMode>("progress")
        .ok()
        .flatten();
    let has_screen = (asks("progress") && given == Some(&ProgressMode::Tui))
        || words.iter().any(|(_, word)| word == FULL_SCREEN);
    words
        .retain(|(said, _)| !has_screen || !matches!(said.key.name, "output" | "shell-on-failure"));
}

/// The option that requests the full screen.
const FULL_SCREEN: &str = "--progress=tui";

/// Returns the id of an option in clap.
fn id(option: &str) -> String {
    option.replace('-', "_")
}

fn is_given(matches: &ArgMatches, id: &str) -> bool {
    let is_known = matches.try_contains_id(id).is_ok();
    is_known && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// Returns whether an option is given and not negated.
fn says(matches: &ArgMatches, id: &str) -> bool {
    let raw = || matches.try_get_raw(id).ok().flatten();
    is_given(matches, id) && !raw().is_some_and(|mut it| it.any(|value| value == "false"))
}

/// Returns the options that express a setting.
fn words_of(said: &LayeredValue, argument: &Arg) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use workstation::{SECTIONS, SettingKey, SettingKind};

    fn settled(line: &str, user: &str) -> ResolvedArgs {
        let words = line.split(' ').map(OsString::from).collect();
        let read = |_: Option<&Path>| {
            let settings = Settings::parse(Path::new("config.toml"), user, None);
            settings.map_err(|error| Failure::from(LocalError::Settings(error)))
        };
        ResolvedArgs::of(words, Asked::All, read).unwrap()
    }

    fn joined(words: &[OsString]) -> String {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn settings_precede_given_arguments() {
        let check = |line: &str, user: &str, words: &str, kept: &str| {
            let settled = settled(line, &format!("[run]\n{user}"));
            let found = [joined(&settled.words), joined(&settled.kept)];
            assert_eq!(found, [words, kept], "{line} {user}");
        };
        let same = |line: &str, user: &str| check(line, user, line, line);
        check(
            "runwright run -- -a",
            "login = true\noutput = 'group'\ntimeout = '1 h'",
            "runwright run --timeout=1 h --login --output=group -- -a",
            "runwright run --timeout=1 h --login -- -a",
        );
        check(
            "runwright list",
            "file = 'a b'\nconcurrency = 2",
            "runwright list --file=a b",
            "runwright list --file=a b",
        );
        same(
            "runwright run -f x --concurrency 1",
            "file = 'y'\nserial = true",
        );
        same("runwright run --in-place", "isolation = 'worktree'");
        same("runwright run --no-worktrees", "isolation = 'worktree'");
        // A negated option does not conflict.
        check(
            "runwright run --serial=false",
            "serial = true\nconcurrency = 2",
            "runwright run --concurrency=2 --serial=false",
            "runwright run --concurrency=2 --serial=false",
        );
        // These commands have no pipeline, or use an option of that name for something else.
        same(
            "runwright artifacts build --output x",
            "output = 'group'\nverbose = true",
        );
        same("runwright resume", "output = 'group'");
        same("runwright no-such-command", "output = 'group'");
    }

    fn run_keys() -> &'static [SettingKey] {
        let run = SECTIONS.iter().find(|it| it.name == "run");
        run.unwrap().keys
    }

    #[test]
    fn each_run_setting_has_an_option() {
        let mut root = Cli::command();
        root.build();
        let run = root.find_subcommand("run").unwrap();
        for key in run_keys() {
            let name = key.name;
            let option = argument(run, &id(name)).unwrap_or_else(|| panic!("no option --{name}"));
            assert_eq!(option.get_long(), Some(name));
            let takes = |value: &str| {
                let words = [
                    "runwright".to_owned(),
                    "run".to_owned(),
                    format!("--{name}={value}"),
                ];
                Cli::command().try_get_matches_from(words).is_ok()
            };
            match key.kind {
                SettingKind::Flag => {
                    assert!(takes("false") && takes("true"), "--{name}=false");
                }
                SettingKind::Word(words) => {
                    let values = option.get_possible_values();
                    let values: Vec<_> = values
                        .iter()
                        .map(clap::builder::PossibleValue::get_name)
                        .collect();
                    assert_eq!(values, words, "--{name}");
                }
                _ => {}
            }
            let mut others = key.yields_to.iter();
            assert!(
                others.all(|it| argument(run, &id(it)).is_some()),
                "{name} yields"
            );
        }
    }

    #[test]
    fn of_options_returns_only_given_options() {
        let given = |line: &str| {
            let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
            let given = of_options(&words).unwrap();
            let told = given
                .iter()
                .map(|it| format!("{} {:?} {}", it.name, it.values, it.is_no));
            told.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(given("--concurrency 2"), "concurrency [\"2\"] false");
        assert_eq!(given("--login"), "login [\"true\"] false");
        assert_eq!(given("--login=false"), "login [\"false\"] true");
        assert!(of_options(&["--no-such".to_owned()]).is_err());
    }
}
