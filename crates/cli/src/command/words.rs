use crate::args::{Cli, Command};
use crate::exit_code::Exit;
use crate::failure::Failure;
use crate::resolved_args::{Asked, ResolvedArgs, read};
use anyhow::anyhow;
use clap::Parser;
use std::ffi::OsString;
use std::path::Path;

/// Runs what these words of a command `run` ask for, with the settings of the project, as if the user had
/// written them.
pub(super) fn run_words(words: &[String]) -> Result<Exit, Failure> {
    let program = std::iter::once("runwright");
    let line = program.chain(words.iter().map(String::as_str));
    let line = line.map(OsString::from).collect();
    let settled = ResolvedArgs::of(line, Asked::All, |directory| {
        read(directory.unwrap_or(Path::new(".")))
    })?;
    let kept = settled.kept.iter().skip(1);
    let kept = kept.map(|word| word.to_string_lossy().into_owned());
    match Cli::try_parse_from(&settled.words).map(|cli| cli.command) {
        Ok(Command::Run(args)) => super::run(&args, kept.collect()),
        _ => Err(Failure::usage(anyhow!("no command runs these jobs"))),
    }
}
