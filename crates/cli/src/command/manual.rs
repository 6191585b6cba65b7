use super::print;
use crate::args::{Cli, CompletionArgs, ManArgs};
use crate::exit_code::Exit;
use crate::failure::Failure;
use anyhow::Context;
use clap::CommandFactory;
use std::fs;

/// Prints a completion script.
pub(crate) fn completion(args: &CompletionArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "runwright", &mut script);
    print(script)?;
    Ok(Exit::Success)
}

/// Writes the manual pages, or prints the main one.
pub(crate) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    if let Some(directory) = &args.output {
        fs::create_dir_all(directory)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
            .with_context(|| format!("write manual pages to {}", directory.display()))
            .map_err(Failure::environment)?;
        return Ok(Exit::Success);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(Failure::environment)?;
    print(page)?;
    Ok(Exit::Success)
}
