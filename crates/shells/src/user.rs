//! The user's commands, normalized the same way for every shell.

use std::borrow::Cow;

/// A normalized command of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserCommand<'c> {
    /// The text to run.
    pub(crate) text: Cow<'c, str>,
}

impl<'c> UserCommand<'c> {
    /// Normalizes `command`; returns `None` if it is blank.
    ///
    /// If all lines of a command end in CR LF, they get to end in LF, since the shells cannot run
    /// them otherwise. Any other CR is data.
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

    /// Returns the commands that are not blank.
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

    /// Returns the line printed before the command runs.
    pub(crate) fn echo(&self) -> String {
        match self.text.split_once('\n') {
            Some((first, _)) => format!("$ {first} # collapsed multi-line command"),
            None => format!("$ {}", self.text),
        }
    }
}

/// Returns the line printed before `command` runs; `None` if it is blank.
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
    fn blank_commands_are_ignored() {
        check("", None);
        check(" \r\n\t\n", None);
    }

    #[test]
    fn crlf_line_ends_are_normalized() {
        check("a\r\nb\r\n", Some("a\nb"));
        check("a\r", Some("a"));
    }

    #[test]
    fn other_carriage_returns_are_kept() {
        check("a\rb", Some("a\rb"));
        check("printf 'a\r\n'\necho b", Some("printf 'a\r\n'\necho b"));
    }

    #[test]
    fn an_escaped_space_at_the_end_is_kept() {
        check("  echo a\\ \n", Some("echo a\\ "));
    }
}
