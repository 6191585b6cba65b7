//! The files of an interactive shell in a job's environment.

use crate::feed::feed_exports;
use crate::posix::{IMPORT_ENVIRONMENT, Posix};
use crate::quote::{refuse_nul, sh, sh_always};
use crate::user::UserCommand;
use crate::writer::Writer;
use crate::{ScriptError, ScriptOptions, ShellCommand};
use executor_core::shell::{ShellDialect, ShellInfo};
use executor_core::{BuildError, StageVariables};
use std::fmt::Write as _;

/// An interactive sh or bash in a job, with commands that show and run the job's script.
///
/// It needs three files in its own directory, which only the job's user may read: the start file
/// with the text of [`start_file`](Self::start_file), the script with that of
/// [`script_file`](Self::script_file), and an empty history file.
///
/// In it, `script` shows the commands of the job's script, `rerun` runs all of them in a new shell
/// as the job does, and `rerun 2` runs the second in this shell, as if typed. In bash they are also
/// in the history. The user's own history is neither read nor written.
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
    /// Whether the user's start files are read.
    pub profile: bool,
}

impl<'a> InteractiveShell<'a> {
    /// The name of the start file.
    pub const START_FILE: &'static str = "start";
    /// The name of the script.
    pub const SCRIPT_FILE: &'static str = "script";
    /// The name of the history file.
    pub const HISTORY_FILE: &'static str = "history";
    /// The name of an optional file with `export` lines, which the shell reads after the user's
    /// start files and then removes.
    pub const EXPORTS_FILE: &'static str = "exports";

    /// Returns a shell whose files are in `directory`.
    ///
    /// Control characters in `title` and `commands` are replaced when they are shown.
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

    /// Returns the variables that the shell needs in addition to the job's.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let start = self.path(Self::START_FILE);
        let reads_start = match self.shell.dialect {
            // Before the first prompt, after bash has read its history. As bash's own start file it
            // would be read after the system's.
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
            // The value of a variable is not expanded again.
            let title = sh_always(&self.title);
            let _ = writeln!(text, "runwright_title={title}\nPS1='[$runwright_title] $ '");
        }
        self.write_functions(&mut text);
        if is_bash {
            // As in the script, `!` has no special meaning. Commands from the history keep their
            // lines.
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

    /// Returns the names and texts of the files in the shell's directory, with the variables for which the values of file variables
    /// are in `temp_dir`.
    ///
    /// # Errors
    ///
    /// When a value contains a NUL byte.
    pub fn files(
        &self,
        variables: &StageVariables,
        temp_dir: &str,
    ) -> Result<[(&'static str, String); 4], BuildError> {
        Ok([
            (Self::START_FILE, self.start_file()),
            (Self::SCRIPT_FILE, self.script_file()),
            (Self::HISTORY_FILE, String::new()),
            // In a file, not on a command line or in the environment, because the values are secret.
            (Self::EXPORTS_FILE, feed_exports(variables, temp_dir)?),
        ])
    }

    /// Returns a script for `sh` that creates the shell's directory with its [files](Self::files), and `temp_dir` with the file variables.
    ///
    /// It contains the values of variables, so pass it on standard input. A failure ends it with exit code 1.
    ///
    /// # Errors
    ///
    /// When a text contains a NUL byte.
    pub fn setup_script(
        &self,
        variables: &StageVariables,
        temp_dir: &str,
    ) -> Result<String, BuildError> {
        let mut script = format!(
            "umask 077\nmkdir -p {} {} || exit 1\n",
            sh(self.directory),
            sh(temp_dir)
        );
        let mut write = |path: &str, text: &str| {
            if text.contains('\0') {
                return Err(BuildError::config(format!("{path} contains a NUL byte")));
            }
            // Writing to a string does not fail.
            let _ = writeln!(script, "printf %s {} >{} || exit 1", sh(text), sh(path));
            Ok(())
        };
        for (file, text) in self.files(variables, temp_dir)? {
            write(&self.path(file), &text)?;
        }
        for file in variables.files.iter().filter(|it| it.is_file_name()) {
            let text = String::from_utf8_lossy(&file.content);
            write(&format!("{temp_dir}/{}", file.key), &text)?;
        }
        Ok(script)
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
        // Without a line editor there is no history.
        if self.shell.dialect != ShellDialect::Bash {
            text.push_str("script\n");
        }
        text.push_str(
            "echo 'script: show its lines; rerun: run all of them; rerun 1: only that line'\n",
        );
    }
}

/// Reads the user's start files of login shells and interactive shells.
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

/// Returns the text with each character that would affect a terminal replaced.
fn visible(text: &str) -> String {
    let replace = |character: char| match character {
        '\t' => ' ',
        _ if character.is_control() || is_reordering(character) => '\u{fffd}',
        _ => character,
    };
    text.chars().map(replace).collect()
}

fn visible_lines(text: &str) -> Vec<String> {
    text.lines().map(visible).collect()
}

/// Returns whether a character changes the order in which text is shown.
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
    fn the_users_texts_are_not_evaluated() {
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
    fn the_users_start_files_are_read_only_on_request() {
        let shell = ShellInfo::new(ShellDialect::Bash);
        let mut interactive = InteractiveShell::new(&shell, "/d", "", &[]).unwrap();
        assert!(!interactive.start_file().contains(".bashrc"));
        interactive.profile = true;
        assert!(interactive.start_file().contains(".bashrc"));
    }

    #[test]
    fn setup_script_quotes_what_it_writes() {
        use executor_testkit::CommandBuilder;

        let shell = ShellInfo::new(ShellDialect::Bash);
        let interactive = InteractiveShell::new(&shell, "/t/.shell 1", "", &[]).unwrap();
        let variables = |value: &str| {
            let command = CommandBuilder::new("").variable("A", "it's");
            command.file("F", value.as_bytes()).build().variables
        };
        let script = interactive.setup_script(&variables("$(id)"), "/t").unwrap();
        for expected in [
            "umask 077\nmkdir -p '/t/.shell 1' /t || exit 1\n",
            "\nprintf %s '' >'/t/.shell 1/history' || exit 1\n",
            "\nprintf %s '$(id)' >/t/F || exit 1\n",
        ] {
            assert!(script.contains(expected), "{script}");
        }
        let refused = interactive.setup_script(&variables("a\0b"), "/t");
        assert_eq!(refused.unwrap_err().to_string(), "/t/F contains a NUL byte");
    }

    #[test]
    fn powershell_has_no_interactive_sessions() {
        let shell = ShellInfo::new(ShellDialect::Pwsh);
        let refused = InteractiveShell::new(&shell, "/d", "", &[]);
        assert_eq!(refused.unwrap_err(), ScriptError::NotInteractive);
    }
}
