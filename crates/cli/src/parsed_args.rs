//! The arguments of a command, completed by the settings for options that are not given.
//!
//! A setting sets the field of its option, without the parser. It becomes a word only in the record of a run, for a
//! later resume with the values of its start, and in the command that `--choose` shows and runs.

use crate::args::{Cli, Command, OutputArgs, word_of};
use crate::command::can_ask;
use crate::failure::Failure;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use console::terminal::OwnTerminal;
use console::{ProgressMode, error_line};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use workstation::{LayeredValue, LocalError, LocalProject, SettingValue, Settings, StateDir};

/// A parsed command line.
#[derive(Debug)]
pub(crate) struct ParsedArgs {
    pub(crate) command: Command,
    /// The words of the command without the program. With settings, those of `run` contain the ones that a resumed run
    /// keeps: all but those of the display.
    pub(crate) words: Vec<String>,
    matches: ArgMatches,
    /// The setting that names the jobs to leave out, if it is applied.
    pub(crate) skip: Option<LayeredValue>,
}

/// Which settings to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingsScope {
    /// All settings.
    All,
    /// Settings of the display.
    Screen,
}

impl ParsedArgs {
    /// Parses words, the first of which is the program's name.
    ///
    /// # Errors
    ///
    /// If they are not a command, or request the help or the version.
    pub(crate) fn parse(
        words: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        // Built once: building all commands and options takes longer than parsing.
        let mut root = Cli::command();
        let mut matches = root.try_get_matches_from_mut(&words)?;
        let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut root))?;
        let (name, matches) = matches.remove_subcommand().unwrap_or_default();
        let words = words.iter().skip(1);
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let mut words: Vec<String> = words.collect();
        // Options before the command are moved behind it.
        if let Some(at) = words.iter().position(|word| *word == name) {
            words[..=at].rotate_right(1);
        }
        Ok(Self {
            command: cli.command,
            words,
            matches,
            skip: None,
        })
    }

    /// Sets the options that are not given to the values of settings. `read` returns the settings for the directory
    /// that the words name, if any; it is not called for commands without a pipeline.
    pub(crate) fn with_settings(
        mut self,
        scope: SettingsScope,
        read: impl FnOnce(Option<&Path>) -> Result<Settings, Failure>,
    ) -> Result<Self, Failure> {
        let Some(project) = self.command.project_mut() else {
            return Ok(self);
        };
        let settings = read(project.cwd.as_deref())?;
        let mut applicable = self.applicable(&settings);
        applicable.retain(|setting| scope == SettingsScope::All || setting.key.is_about_screen);
        for setting in &applicable {
            self.command.fill(setting);
        }
        let mut applied = applicable.iter().copied();
        self.skip = applied.find(|it| it.key.name == "skip").cloned();
        if let Command::Run(_) = self.command {
            let lasting = applicable.iter().filter(|it| !it.key.is_about_screen);
            let lasting = lasting.flat_map(|setting| words_of(setting));
            self.words.splice(1..1, lasting);
        }
        Ok(self)
    }

    /// Returns the settings of options that are not given.
    fn applicable<'s>(&self, settings: &'s Settings) -> Vec<&'s LayeredValue> {
        let mut applicable = settings.options(&|option| self.says(option));
        applicable.retain(|setting| !self.is_given(setting.key.name));
        match &self.command {
            Command::Run(args) => self.fit_screen(&mut applicable, &args.shown, false),
            Command::Watch(args) => self.fit_screen(&mut applicable, &args.run.shown, true),
            _ => {}
        }
        applicable
    }

    /// Removes display settings that cannot apply, since the user did not ask for them in this command: the full
    /// screen without a terminal or next to conflicting options, and conflicting settings with the full screen; a
    /// shell on failure unless the run writes lines for people, between which another program may use the terminal.
    fn fit_screen(&self, settings: &mut Vec<&LayeredValue>, shown: &OutputArgs, is_watch: bool) {
        let has_no_screen =
            is_watch || self.is_given("output") || self.is_given("shell-on-failure");
        let can_have_screen = || !has_no_screen && ProgressMode::Tui.can_be_shown();
        settings.retain(|it| progress_of(it) != Some(ProgressMode::Tui) || can_have_screen());
        let progress = settings.iter().find_map(|setting| progress_of(setting));
        let progress = progress.unwrap_or(shown.progress());
        let is_for_lines = !matches!(progress, ProgressMode::Json | ProgressMode::Tui);
        settings.retain(|setting| match setting.key.name {
            "output" => progress != ProgressMode::Tui,
            "shell-on-failure" => !is_watch && is_for_lines && can_ask() && OwnTerminal::is_there(),
            _ => true,
        });
    }

    /// Returns the options and the groups of options that the user gave, with their values.
    pub(crate) fn given(&self) -> impl Iterator<Item = (String, Vec<String>)> {
        let ids = self.matches.ids().map(|id| id.as_str().replace('_', "-"));
        let given = ids.filter(|option| self.is_given(option));
        given.map(|option| {
            let values = self
                .values(&option)
                .map(|it| it.to_string_lossy().into_owned());
            let values = values.collect();
            (option, values)
        })
    }

    fn is_given(&self, option: &str) -> bool {
        let id = &*id(option);
        let is_known = self.matches.try_contains_id(id).is_ok();
        is_known && self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// Returns whether an option is given and not negated, as `--login=false` is.
    pub(crate) fn says(&self, option: &str) -> bool {
        self.is_given(option) && self.values(option).all(|value| value != "false")
    }

    fn values(&self, option: &str) -> impl Iterator<Item = &OsStr> {
        let values = self.matches.try_get_raw(&id(option)).ok().flatten();
        values.into_iter().flatten()
    }
}

/// Reads the settings of the project in a directory and of environment variables, and warns of unknown
/// variables.
pub(crate) fn read(directory: &Path) -> Result<Settings, Failure> {
    let names: Vec<_> = std::env::vars_os().map(|(name, _)| name).collect();
    for unknown in Settings::unknown_variables(names.iter().map(OsString::as_os_str)) {
        error_line(&format!("warning: {unknown}"));
    }
    settings(directory)
}

/// Reads the same settings without warnings.
pub(crate) fn settings(directory: &Path) -> Result<Settings, Failure> {
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
    settings.with_variables(std::env::vars_os()).map_err(failed)
}

fn progress_of(setting: &LayeredValue) -> Option<ProgressMode> {
    let is_it = setting.key.name == "progress";
    is_it.then(|| word_of(setting)).flatten()
}

/// Returns the id of an option in clap.
fn id(option: &str) -> String {
    option.replace('-', "_")
}

/// Returns the options that express a setting.
fn words_of(setting: &LayeredValue) -> Vec<String> {
    let name = setting.key.name;
    let option = |value: &str| format!("--{name}={value}");
    match &setting.value {
        SettingValue::Flag(true) => vec![format!("--{name}")],
        SettingValue::Flag(false) => vec![option("false")],
        SettingValue::Hidden | SettingValue::Unset => vec![],
        SettingValue::Text(text) => vec![option(text)],
        SettingValue::Count(count) => vec![option(&count.to_string())],
        SettingValue::Texts(texts) => texts.iter().map(|text| option(text)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;
    use clap::builder::PossibleValue;
    use workstation::{SECTIONS, SettingKey, SettingKind, SettingOrigin, SettingSection};

    fn parsed(line: &str) -> ParsedArgs {
        ParsedArgs::parse(line.split(' ')).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Returns the command of a line, completed by a user's settings, and the words that are kept of it.
    fn completed(line: &str, user: &str) -> (String, String) {
        let read = |_: Option<&Path>| {
            let settings = Settings::parse(Path::new("config.toml"), user, None);
            settings.map_err(|error| Failure::from(LocalError::Settings(error)))
        };
        let completed = parsed(line)
            .with_settings(SettingsScope::All, read)
            .unwrap();
        (
            format!("{:?}", completed.command),
            completed.words.join(" "),
        )
    }

    #[test]
    fn settings_precede_given_arguments() {
        let check = |line: &str, user: &str, same_as: &str, kept: &str| {
            let (command, found) = completed(line, &format!("[run]\n{user}"));
            let expect = format!("{:?}", parsed(same_as).command);
            assert_eq!((command, &*found), (expect, kept), "{line} {user}");
        };
        let same = |line: &str, user: &str| {
            check(line, user, line, line.strip_prefix("runwright ").unwrap());
        };
        check(
            "runwright run -- -a",
            "login = true\noutput = 'group'\ntimeout = '1h'",
            "runwright run --timeout=1h --login --output=group -- -a",
            "run --timeout=1h --login -- -a",
        );
        check(
            "runwright list",
            "file = 'a-b'\nconcurrency = 2",
            "runwright list --file=a-b",
            "list",
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
            "run --concurrency=2 --serial=false",
        );
        // These commands have no pipeline, or use an option of that name for something else.
        same(
            "runwright artifacts build --output x",
            "output = 'group'\nverbose = true",
        );
        same("runwright resume", "output = 'group'");
        same("runwright plan", "times = true");
    }

    fn run_section() -> &'static SettingSection {
        SECTIONS.iter().find(|it| it.name == "run").unwrap()
    }

    fn option<'c>(command: &'c clap::Command, name: &str) -> Option<&'c Arg> {
        command
            .get_arguments()
            .find(|it| it.get_long() == Some(name))
    }

    /// Returns values of a setting: all, or one where any does.
    fn values(key: &SettingKey) -> Vec<SettingValue> {
        let text = |text: &str| SettingValue::Text(text.to_owned());
        match key.kind {
            SettingKind::Flag => vec![SettingValue::Flag(true), SettingValue::Flag(false)],
            SettingKind::Words(words) => {
                vec![SettingValue::Texts(
                    words.iter().copied().map(Into::into).collect(),
                )]
            }
            SettingKind::Word(words) => words.iter().map(|word| text(word)).collect(),
            SettingKind::Count => vec![SettingValue::Count(3.try_into().unwrap())],
            SettingKind::Texts => vec![SettingValue::Texts(vec!["-a b".into(), "c".into()])],
            _ => vec![text("-90 minutes")],
        }
    }

    #[test]
    fn setting_has_the_effect_of_its_option() {
        let mut root = Cli::command();
        root.build();
        let run = root.find_subcommand("run").unwrap();
        let mut pipeline_commands = 0;
        for command in root.get_subcommands() {
            let parse = |more: Vec<String>| {
                let words = ["runwright", command.get_name()].map(ToOwned::to_owned);
                ParsedArgs::parse(words.into_iter().chain(more))
            };
            let has_pipeline = |mut it: ParsedArgs| it.command.project_mut().is_some();
            if !parse(vec![]).is_ok_and(has_pipeline) {
                let file = option(command, "file");
                assert_eq!(file.map(Arg::get_id), None, "{}", command.get_name());
                continue;
            }
            pipeline_commands += 1;
            for key in run_section().keys {
                // Another command may use the same name for something else.
                let of_run = option(run, key.name).unwrap_or_else(|| panic!("--{}", key.name));
                let is_same = |it: &Arg| it.get_value_names() == of_run.get_value_names();
                let has_option = option(command, key.name).is_some_and(is_same);
                for value in values(key) {
                    let setting = LayeredValue {
                        section: run_section(),
                        key,
                        of: None,
                        value,
                        origin: SettingOrigin::BuiltIn,
                    };
                    let mut filled = parse(vec![]).unwrap().command;
                    filled.fill(&setting);
                    let words = if has_option {
                        words_of(&setting)
                    } else {
                        vec![]
                    };
                    let parsed = parse(words.clone()).unwrap_or_else(|it| panic!("{words:?} {it}"));
                    let (filled, parsed) = (format!("{filled:?}"), format!("{:?}", parsed.command));
                    assert_eq!(filled, parsed, "{} {words:?}", command.get_name());
                }
            }
        }
        assert_eq!(pipeline_commands, 10);
    }

    #[test]
    fn words_and_conflicts_of_settings_are_those_of_their_options() {
        let mut root = Cli::command();
        root.build();
        let run = root.find_subcommand("run").unwrap();
        for key in run_section().keys {
            let own = option(run, key.name).unwrap();
            if let SettingKind::Word(words) | SettingKind::Words(words) = key.kind {
                let values = own.get_possible_values();
                let values: Vec<_> = values.iter().map(PossibleValue::get_name).collect();
                assert_eq!(values, words, "--{}", key.name);
            }
            for other in run.get_arguments() {
                let conflicts = run.get_arg_conflicts_with(own);
                let is_refused = conflicts.iter().any(|it| it.get_id() == other.get_id())
                    || run.get_arg_conflicts_with(other).contains(&own);
                let yields = key.yields_to.iter().any(|it| id(it) == *other.get_id());
                assert!(yields || !is_refused, "{} {}", key.name, other.get_id());
            }
            let is_known = |it: &&str| run.get_arguments().any(|other| *other.get_id() == id(it));
            assert!(key.yields_to.iter().all(is_known), "{} yields", key.name);
        }
    }

    #[test]
    fn given_options_have_their_values() {
        let given = |line: &str| {
            let parsed = parsed(&format!("runwright run {line}"));
            let given = parsed.given().map(|(option, values)| {
                let says = parsed.says(&option);
                format!("{option} {values:?} {says}")
            });
            given.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(given("--concurrency 2"), "concurrency [\"2\"] true");
        assert_eq!(given("--login"), "login [\"true\"] true");
        assert_eq!(given("--login=false"), "login [\"false\"] false");
    }
}
