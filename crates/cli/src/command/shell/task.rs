use crate::failure::Failure;
use anyhow::{Context, anyhow};
use console::shell_quoted;
use console::terminal::OwnTerminal;
use std::io::{self, IsTerminal, Read};

/// The longest accepted script: a longer one is a mistake.
const LONGEST_SCRIPT: u64 = 16 << 20;

/// The task to do in the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellTask {
    /// Open a shell at the terminal.
    Shell,
    /// Run these commands.
    Commands(Vec<String>),
}

impl ShellTask {
    /// Selects the task: a named command, a shell at a terminal, or a script from standard input.
    pub(super) fn find(command: &[String]) -> Result<Self, Failure> {
        if !command.is_empty() {
            let words: Vec<String> = command.iter().map(|word| shell_quoted(word)).collect();
            return Ok(Self::Commands(vec![words.join(" ")]));
        }
        if OwnTerminal::is_there() {
            return Ok(Self::Shell);
        }
        let stdin = io::stdin();
        let mut script = String::new();
        if !stdin.is_terminal() {
            let read = stdin
                .lock()
                .take(LONGEST_SCRIPT)
                .read_to_string(&mut script);
            read.context("read the script from standard input")
                .map_err(Failure::usage)?;
        }
        if script.trim().is_empty() {
            return Err(Failure::usage(anyhow!("a shell needs a terminal")).with_help(
                "name a command: `runwright shell JOB -- COMMAND`, or give a script to standard input",
            ));
        }
        Ok(Self::Commands(vec![script]))
    }
}
