//! What each command does.

mod again;
mod artifacts;
mod ask;
mod audience;
mod changed;
mod choose;
mod clean;
mod config;
mod containers;
mod control;
mod done;
mod environments;
mod executors;
mod expected;
mod explain;
mod failed;
mod garbage;
mod gitlab;
mod go_on;
mod history;
mod hook;
mod images;
mod init;
mod isolation;
mod lint;
mod list;
mod logs;
mod manual;
mod on_failure;
mod own_writes;
mod owner;
mod parallel;
mod past;
mod plan;
mod plan_times;
mod report_files;
mod run;
mod secrets;
mod shell;
mod show;
mod situated;
mod steps;
mod times;
mod variables;
mod vendor;
mod watch;
mod watch_changes;
mod words;

pub(crate) use artifacts::artifacts;
pub(crate) use ask::can_ask;
pub(crate) use choose::meant;
pub(crate) use clean::clean;
pub(crate) use config::config;
pub(crate) use control::{cancel, play};
pub(crate) use environments::environments;
pub(crate) use executors::executors;

pub(crate) use explain::explain;
pub(crate) use gitlab::gitlab;
pub(crate) use go_on::{resume, retry};
pub(crate) use history::history;
pub(crate) use hook::hook;
pub(crate) use init::init;
pub(crate) use lint::lint;
pub(crate) use list::list;
pub(crate) use logs::logs;
pub(crate) use manual::{completion, man};
pub(crate) use plan::plan;
pub(crate) use run::run;
pub(crate) use shell::shell;
pub(crate) use show::show;
pub(crate) use steps::steps;
pub(crate) use times::times;
pub(crate) use variables::variables;
pub(crate) use vendor::vendor;
pub(crate) use watch::watch;

use crate::args::{DialectArg, ProjectArgs};
use crate::failure::Failure;
use anyhow::Context;
use executor_core::variable::JobVariable;
use pipeline::Dialect;
use secrets::secrets;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use workstation::{LocalProject, PipelineOptions};

/// Prints text on standard output.
fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    console::print(text.as_ref())
        .context("write to standard output")
        .map_err(Failure::environment)
}

/// Prints a value as JSON for people and programs.
fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(serde_json::to_string_pretty(value).map_err(Failure::environment)? + "\n")
}

/// Finds the project the arguments mean.
fn find_project(args: &ProjectArgs) -> Result<LocalProject, Failure> {
    let directory = args.cwd.as_deref().unwrap_or(Path::new("."));
    Ok(LocalProject::find(directory, args.file.as_deref())?)
}

/// Returns which pipeline of the project the arguments mean.
fn pipeline_options(args: &ProjectArgs) -> Result<PipelineOptions, Failure> {
    let mut variables = Vec::new();
    for pair in &args.variable {
        check_name(pair.key())?;
        variables.push(JobVariable::public(pair.key(), pair.value()));
    }
    if args.elsewhere.overrules_preference() {
        let note = "the file is read here, as --offline says more than GLCI_PREFER_API";
        console::notes(&[note]);
    }
    let inputs = args.input.iter();
    let inputs = inputs.map(|pair| (pair.key().to_owned(), Value::from(pair.value())));
    Ok(PipelineOptions {
        situation: args.situation.options(),
        dialect: match args.dialect {
            DialectArg::Gitlab => Dialect::GitLab,
            DialectArg::Bitrab => Dialect::Bitrab,
        },
        inputs: inputs.collect(),
        variables,
        secrets: secrets(&args.secret)?,
        variables_files: args.variables_file.clone(),
        elsewhere: args.elsewhere.options(),
        ..PipelineOptions::default()
    })
}

/// Refuses names that no process can have in its environment, or no shell can read.
fn check_name(name: &str) -> Result<(), Failure> {
    if console::is_variable_name(name) {
        return Ok(());
    }
    Err(
        Failure::usage(anyhow::anyhow!("{name:?} is no name for a variable"))
            .with_help("use letters, digits and underscores, and no digit first"),
    )
}
