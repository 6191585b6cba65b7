//! What an interactive shell in a job's environment begins with.

use crate::posix::{IMPORT_ENVIRONMENT, Posix};
use crate::quote::{refuse_nul, sh, sh_always};
use crate::user::UserCommand;
use crate::writer::Writer;
use crate::{ScriptError, ScriptOptions, ShellCommand};
use executor_core::shell::{ShellDialect, ShellInfo};
use std::fmt::Write as _;

/// An interactive sh or bash that knows which job it is in and what the job's script is.
///
/// It wants three files in a directory of its own, which only the job's user may read: the start
/// file with the text that [`start_file`](Self::start_file) returns, the script with that of
/// [`script_file`](Self::script_file), and an empty one for the history.
///
/// In it, `script` shows the commands of the job's script, `rerun` runs all of them in a new shell
/// as the job does, and `rerun 2` the second in this one, as if it was typed. In bash they are the
/// history, too. The user's own history is neither read nor written.
///
/// # Examples
///
/// ```
/// use executor_core::shell::{ShellDialect, ShellInfo};
/// use shells::InteractiveShell;
///
/// let shell = ShellInfo::new(ShellDialect::Bash);
/// let commands = ["make".to_owned(), "make check".to_owned()];
/// let interactive = InteractiveShell::new(&shell, "/tmp/job/shell", "job test", &commands)?;
/// assert_eq!(interactive.command().argv(), ["bash", "--noprofile", "--norc", "-i"]);
/// assert!(interactive.start_file().contains("history -s -- 'make check'"));
/// # Ok::<(), shells::ScriptError>(())
/// ```
#[derive(Debug, Clone)]
pub struct InteractiveShell<'a> {
    shell: &'a ShellInfo,
    directory: &'a str,
    title: String,
    commands: Vec<UserCommand<'a>>,
    /// Whether the start files of the user are read.
    pub profile: bool,
}

impl<'a> InteractiveShell<'a> {
    /// The name of the start file.
    pub const START_FILE: &'static str = "start";
    /// The name of the script.
    pub const SCRIPT_FILE: &'static str = "script";
    /// The name of the file for the history.
    pub const HISTORY_FILE: &'static str = "history";
    /// The name of a file with `export` lines, which the shell reads after the user's start files
    /// and removes. It need not be there.
    pub const EXPORTS_FILE: &'static str = "exports";

    /// Describes a shell whose files are in `directory`.
    ///
    /// Nothing in `title` and `commands` acts on the terminal that they are shown at.
    ///
    /// # Errors
    ///
    /// [`ScriptError::Nul`] for a NUL byte; [`ScriptError::NotInteractive`] for PowerShell.
    pub fn new(
        shell: &'a ShellInfo,
        directory: &'a str,
        title: &str,
        commands: &'a [String],
    ) -> Result<Self, ScriptError> {
        if !shell.dialect.is_posix() {
            return Err(ScriptError::NotInteractive);
        }
        refuse_nul(directory)?;
        commands.iter().try_for_each(|text| refuse_nul(text))?;
        Ok(Self {
            shell,
            directory,
            title: visible(title),
            commands: UserCommand::all(commands),
            profile: false,
        })
    }

    /// Returns the command that starts the shell.
    pub fn command(&self) -> ShellCommand {
        ShellCommand::interactive(self.shell)
    }

    /// Returns what the shell's environment needs besides the job's own.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let start = self.path(Self::START_FILE);
        let reads_start = match self.shell.dialect {
            // Before the first prompt, when bash has read its history; a file that it read as its
            // own start file would come after the one of the system.
            ShellDialect::Bash => ("PROMPT_COMMAND", format!(". {}", sh(&start))),
            _ => ("ENV", start),
        };
        vec![reads_start, ("HISTFILE", self.path(Self::HISTORY_FILE))]
    }

    /// Returns the text of the start file.
    pub fn start_file(&self) -> String {
        let mut text = String::new();
        let is_bash = self.shell.dialect == ShellDialect::Bash;
        text.push_str(if is_bash {
            "unset PROMPT_COMMAND\n"
        } else {
            "unset ENV\n"
        });
        if self.profile {
            text.push_str(if is_bash { BASH_PROFILE } else { SH_PROFILE });
        }
        let exports = sh(&self.path(Self::EXPORTS_FILE));
        let history = sh(&self.path(Self::HISTORY_FILE));
        let _ = writeln!(
            text,
            "if [ -r {exports} ]; then . {exports}; rm -f -- {exports}; fi\n\
             unset HISTFILE\nHISTFILE={history}"
        );
        text.push_str(IMPORT_ENVIRONMENT);
        if !self.title.is_empty() {
            // Through a variable: what comes out of it is not looked at again.
            let title = sh_always(&self.title);
            let _ = writeln!(text, "runwright_title={title}\nPS1='[$runwright_title] $ '");
        }
        self.write_functions(&mut text);
        if is_bash {
            // A `!` is one, as in the script. What has several lines keeps them, also when it comes
            // back from the history.
            text.push_str("set +H\nshopt -s cmdhist lithist\n");
            for command in &self.commands {
                let command = sh_always(&command.text);
                let _ = writeln!(text, "history -s -- {command}");
            }
        }
        self.write_greeting(&mut text);
        text
    }

    /// Returns the text of the script that `rerun` runs.
    pub fn script_file(&self) -> String {
        let mut script = Box::new(Posix::new(self.shell.dialect, ScriptOptions::default()));
        script.enter_project();
        script.commands(&self.commands);
        script.finish()
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    fn write_functions(&self, text: &mut String) {
        let mut list = String::new();
        let mut cases = String::new();
        for (number, command) in (1..).zip(&self.commands) {
            let lines = visible_lines(&command.text);
            let _ = writeln!(list, "{number:>4}  {}", lines.join("\n      "));
            let echo = sh_always(&visible(&command.echo()));
            let command = sh_always(&command.text);
            let _ = writeln!(
                cases,
                "    {number}) printf '\\033[32;1m%s\\033[0;m\\n' {echo}; eval {command} ;;"
            );
        }
        let list = sh_always(&list);
        let program = sh(self
            .shell
            .program
            .as_deref()
            .unwrap_or(self.shell.dialect.as_str()));
        let script = sh(&self.path(Self::SCRIPT_FILE));
        let _ = write!(
            text,
            "script() {{ printf %s {list}; }}\n\
             rerun() {{\n  case \"${{1-}}\" in\n\
             \x20   '') {program} {script} </dev/null; set -- \"$?\"\n\
             \x20     echo \"the script ended with exit code $1\" >&2; return \"$1\" ;;\n\
             {cases}\
             \x20   *) echo \"rerun: the script has no such line; see: script\" >&2; return 2 ;;\n\
             \x20 esac\n}}\n"
        );
    }

    fn write_greeting(&self, text: &mut String) {
        let count = self.commands.len();
        if count == 0 {
            return;
        }
        // Without a line editor there is no history to look at.
        if self.shell.dialect != ShellDialect::Bash {
            text.push_str("script\n");
        }
        text.push_str(
            "echo 'script: show its lines; rerun: run all of them; rerun 1: only that line'\n",
        );
    }
}

/// Reads what a login shell and an interactive one read of the user's.
const BASH_PROFILE: &str = r#"if [ -r /etc/profile ]; then . /etc/profile; fi
for runwright_file in ~/.bash_profile ~/.bash_login ~/.profile; do
  if [ -r "$runwright_file" ]; then . "$runwright_file"; break; fi
done
unset runwright_file
if [ -r ~/.bashrc ]; then . ~/.bashrc; fi
"#;

const SH_PROFILE: &str = "if [ -r /etc/profile ]; then . /etc/profile; fi
if [ -r ~/.profile ]; then . ~/.profile; fi
";

/// Returns the text with a sign in the place of each character that would act on a terminal.
fn visible(text: &str) -> String {
    let sign = |character: char| match character {
        '\t' => ' ',
        _ if character.is_control() || is_reordering(character) => '\u{fffd}',
        _ => character,
    };
    text.chars().map(sign).collect()
}

fn visible_lines(text: &str) -> Vec<String> {
    text.lines().map(visible).collect()
}

/// Returns whether a character changes the order in which others are shown.
fn is_reordering(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(dialect: ShellDialect, title: &str, commands: &[&str]) -> String {
        let shell = ShellInfo::new(dialect);
        let commands: Vec<_> = commands.iter().map(|&text| text.to_owned()).collect();
        let interactive = InteractiveShell::new(&shell, "/d", title, &commands).unwrap();
        interactive.start_file()
    }

    #[test]
    fn texts_of_the_user_are_data() {
        let text = start(
            ShellDialect::Bash,
            "job $(id) 'x' \x1b[2J",
            &["echo 'a'\necho b"],
        );
        assert!(
            text.contains("runwright_title='job $(id) '\\''x'\\'' \u{fffd}[2J'\n"),
            "{text}"
        );
        assert!(
            text.contains("history -s -- 'echo '\\''a'\\''\necho b'\n"),
            "{text}"
        );
        assert!(!text.contains('\x1b'), "{text}");
    }

    #[test]
    fn the_start_files_of_the_user_are_read_only_when_that_is_wanted() {
        let shell = ShellInfo::new(ShellDialect::Bash);
        let mut interactive = InteractiveShell::new(&shell, "/d", "", &[]).unwrap();
        assert!(!interactive.start_file().contains(".bashrc"));
        interactive.profile = true;
        assert!(interactive.start_file().contains(".bashrc"));
    }

    #[test]
    fn there_is_no_start_file_for_powershell() {
        let shell = ShellInfo::new(ShellDialect::Pwsh);
        let refused = InteractiveShell::new(&shell, "/d", "", &[]);
        assert_eq!(refused.unwrap_err(), ScriptError::NotInteractive);
    }
}
