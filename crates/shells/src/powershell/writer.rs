use super::parts::{self, notice};
use super::{git, helper};
use crate::ScriptOptions;
use crate::git::GitPlan;
use crate::helper::HelperStage;
use crate::quote::pwsh;
use crate::user::UserCommand;
use crate::writer::{Writer, via};
use executor_core::shell::ShellDialect;

/// Writes scripts for PowerShell.
pub(crate) struct PowerShell {
    dialect: ShellDialect,
    options: ScriptOptions,
    body: String,
}

/// Checks the status of the command before it, native or not.
const CHECK: &str = "Exit-RunwrightOnFailure $?\n";

impl PowerShell {
    pub(crate) fn new(dialect: ShellDialect, options: ScriptOptions) -> Self {
        Self {
            dialect,
            options,
            body: String::new(),
        }
    }

    fn command(&mut self, command: &UserCommand<'_>) {
        self.body.push_str(&notice(&command.echo()));
        self.body.push_str(&command.text);
        self.body.push('\n');
        self.body.push_str(CHECK);
    }
}

impl Writer for PowerShell {
    fn greet(&mut self, runner: &str) {
        let via = pwsh(&via(runner));
        let parts = ["'Running on ' + [Environment]::MachineName + ", &via, "\n"];
        self.body.extend(parts);
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
        self.body.push_str(parts::VARIABLES);
        for command in commands {
            self.command(command);
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
        let shebang = match self.dialect {
            ShellDialect::PowerShell => "",
            _ => "#!/usr/bin/env pwsh\n\n",
        };
        let trace = if self.options.debug_trace {
            "Set-PSDebug -Trace 2\n"
        } else {
            ""
        };
        let (prologue, body, epilogue) = (parts::PROLOGUE, &self.body, parts::EPILOGUE);
        let text = format!("{shebang}{prologue}{trace}{body}{epilogue}");
        match self.dialect {
            // A file without a byte order mark is read in the machine's legacy code page.
            ShellDialect::PowerShell => format!("\u{feff}{text}").replace('\n', "\r\n"),
            _ => text,
        }
    }
}
