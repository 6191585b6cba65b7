use super::{git, helper, parts};
use crate::ScriptOptions;
use crate::git::GitPlan;
use crate::helper::HelperStage;
use crate::quote::{sh, sh_always, sh_long};
use crate::user::UserCommand;
use crate::writer::{Writer, via};
use executor_core::shell::ShellDialect;

/// Writes scripts for sh and bash.
///
/// The body is one quoted string passed to `eval`, for three reasons: The shell reads the whole
/// script before its first command runs. With standard input replaced, no command can consume the
/// rest of the script. And since it runs in this shell and not in a subshell, bash does not print
/// all of it when a signal ends a command.
pub(crate) struct Posix {
    dialect: ShellDialect,
    options: ScriptOptions,
    body: String,
}

impl Posix {
    pub(crate) fn new(dialect: ShellDialect, options: ScriptOptions) -> Self {
        Self {
            dialect,
            options,
            body: String::new(),
        }
    }

    /// Writes one command of the user; the status of the last is that of the script.
    fn command(&mut self, number: usize, command: &UserCommand<'_>, is_last: bool) {
        let has_section = self.options.script_sections && command.is_multi_line();
        let echo = sh_always(&command.echo());
        if has_section {
            self.line(&format!(
                "printf \"section_start:%s:section_script_step_{number}\
                 [hide_duration=true,collapsed=true]\\r\\033[0K\" \"$(date +%s)\""
            ));
        }
        self.line(&format!("printf \"\\033[32;1m%s\\033[0;m\\n\" {echo}"));
        self.line(&command.text);
        if ends_in_continuation(&command.text) {
            // Otherwise the next line would become part of the command.
            self.line("");
        }
        let keeps_status = self.options.exit_code_check || (has_section && is_last);
        if keeps_status {
            self.line("runwright_status=$?");
        }
        if has_section {
            self.line(&format!(
                "printf \"section_end:%s:section_script_step_{number}\\r\\033[0K\" \"$(date +%s)\""
            ));
        }
        if keeps_status && is_last {
            self.line("exit \"$runwright_status\"");
        } else if keeps_status {
            self.line("[ \"$runwright_status\" -eq 0 ] || exit \"$runwright_status\"");
        }
    }

    fn line(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }
}

impl Writer for Posix {
    fn greet(&mut self, runner: &str) {
        let via = sh(&via(runner));
        self.line(&format!(
            "printf \"Running on %s%s\\n\" \"$(uname -n 2>/dev/null || echo this host)\" {via}"
        ));
    }

    fn make_directories(&mut self) {
        self.body.push_str(parts::MAKE_DIRECTORIES);
    }

    fn import_environment(&mut self) {
        self.body.push_str(parts::IMPORT_ENVIRONMENT);
    }

    fn enter_project(&mut self) {
        self.body.push_str(parts::ENTER_PROJECT);
    }

    fn commands(&mut self, commands: &[UserCommand<'_>]) {
        for (index, command) in commands.iter().enumerate() {
            self.command(index, command, index + 1 == commands.len());
        }
    }

    fn plan(&mut self, plan: &GitPlan) {
        git::write(plan, &mut self.body);
    }

    fn helper(&mut self, stage: &HelperStage) {
        helper::write(stage, &mut self.body);
    }

    fn remove_project(&mut self) {
        self.body.push_str(parts::REMOVE_PROJECT);
    }

    fn remove_private_directory(&mut self) {
        self.body.push_str(parts::REMOVE_PRIVATE_DIRECTORY);
    }

    fn finish(self: Box<Self>) -> String {
        let shell = self.dialect.as_str();
        let prologue = parts::PROLOGUE;
        let umask = match self.options.umask {
            Some(umask) => format!("umask {umask:04o}\n"),
            None => String::new(),
        };
        // Inside the body; before it, the trace would begin with the whole body as one word.
        let trace = if self.options.debug_trace {
            "set -o xtrace\n"
        } else {
            ""
        };
        let body = sh_long(&format!("{trace}{}", self.body));
        let epilogue = parts::EPILOGUE;
        format!("#!/usr/bin/env {shell}\n\n{prologue}{umask}eval {body} </dev/null\n{epilogue}")
    }
}

/// Returns whether a backslash at the end of `text` joins the next line to it.
fn ends_in_continuation(text: &str) -> bool {
    (text.len() - text.trim_end_matches('\\').len()) % 2 == 1
}
