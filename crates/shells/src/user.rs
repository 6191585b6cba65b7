//! The user's commands, tidied the same way for every shell.

use std::borrow::Cow;

/// One command of the user's, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserCommand<'c> {
    /// What runs.
    pub(crate) text: Cow<'c, str>,
}

impl<'c> UserCommand<'c> {
    /// Tidies `command`; `None` when it is blank.
    ///
    /// A command all of whose lines end in CR LF was typed where lines end that way, and no shell
    /// of ours would run it: its lines get to end in LF. A CR elsewhere is data.
    pub(crate) fn new(command: &'c str) -> Option<Self> {
        let trimmed = command.trim_start().trim_end_matches(['\r', '\n']);
        if trimmed.trim().is_empty() {
            return None;
        }
        let breaks = trimmed.matches('\n').count();
        let text = if breaks > 0 && trimmed.matches("\r\n").count() == breaks {
            Cow::Owned(trimmed.replace("\r\n", "\n"))
        } else {
            Cow::Borrowed(trimmed)
        };
        Some(Self { text })
    }

    /// Returns every command of `commands` that is not blank.
    pub(crate) fn all(commands: &'c [String]) -> Vec<Self> {
        commands
            .iter()
            .filter_map(|command| Self::new(command))
            .collect()
    }

    /// Returns whether it has several lines.
    pub(crate) fn is_multi_line(&self) -> bool {
        self.text.contains('\n')
    }

    /// Returns the line the log shows before the command runs.
    pub(crate) fn echo(&self) -> String {
        match self.text.split_once('\n') {
            Some((first, _)) => format!("$ {first} # collapsed multi-line command"),
            None => format!("$ {}", self.text),
        }
    }
}

/// Returns the line the log shows before `command` runs; `None` for a blank command.
///
/// # Examples
///
/// ```
/// assert_eq!(shells::command_echo("make all").as_deref(), Some("$ make all"));
/// assert_eq!(
///     shells::command_echo("for i in 1 2; do\necho $i\ndone").as_deref(),
///     Some("$ for i in 1 2; do # collapsed multi-line command"),
/// );
/// ```
pub fn command_echo(command: &str) -> Option<String> {
    UserCommand::new(command).map(|command| command.echo())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expect: Option<&str>) {
        let text = UserCommand::new(command).map(|command| command.text.into_owned());
        assert_eq!(text.as_deref(), expect, "command {command:?}");
    }

    #[test]
    fn blank_commands_vanish() {
        check("", None);
        check(" \r\n\t\n", None);
    }

    #[test]
    fn line_ends_of_another_system_become_ours() {
        check("a\r\nb\r\n", Some("a\nb"));
        check("a\r", Some("a"));
    }

    #[test]
    fn a_carriage_return_that_is_data_stays() {
        check("a\rb", Some("a\rb"));
        check("printf 'a\r\n'\necho b", Some("printf 'a\r\n'\necho b"));
    }

    #[test]
    fn an_escaped_space_at_the_end_stays() {
        check("  echo a\\ \n", Some("echo a\\ "));
    }
}
