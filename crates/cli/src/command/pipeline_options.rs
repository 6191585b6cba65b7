//! The project and the pipeline that the arguments of a command name.

use crate::args::{DialectArg, ProjectArgs};
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use console::{is_variable_name, print_notes};
use executor_core::variable::JobVariable;
use pipeline::Dialect;
use serde_json::Value;
use std::fs;
use std::path::Path;
use workstation::{LocalProject, PipelineOptions};

/// Finds the project that the arguments name.
pub(super) fn find_project(args: &ProjectArgs) -> Result<LocalProject, Failure> {
    let directory = args.cwd.as_deref().unwrap_or(Path::new("."));
    Ok(LocalProject::find(directory, args.file.as_deref())?)
}

/// Returns the options of the pipeline that the arguments describe.
pub(super) fn pipeline_options(args: &ProjectArgs) -> Result<PipelineOptions, Failure> {
    let mut variables = Vec::new();
    for pair in &args.variable {
        check_name(pair.key())?;
        variables.push(JobVariable::public(pair.key(), pair.value()));
    }
    if args.remote.overrules_preference() {
        let note = "the file is read here, since --offline takes precedence over GLCI_PREFER_API";
        print_notes([note]);
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
        remote: args.remote.options(),
        ..PipelineOptions::default()
    })
}

/// Refuses names that cannot be in a process environment, or that no shell can read.
pub(super) fn check_name(name: &str) -> Result<(), Failure> {
    if is_variable_name(name) {
        return Ok(());
    }
    Err(
        Failure::usage(anyhow!("{name:?} is not a valid variable name"))
            .with_help("use letters, digits and underscores, and no digit first"),
    )
}

/// Returns the masked variables that `--secret` names, with values from the sources it names.
fn secrets(names: &[String]) -> Result<Vec<JobVariable>, Failure> {
    names.iter().map(|text| secret(text)).collect()
}

fn secret(text: &str) -> Result<JobVariable, Failure> {
    let (name, place) = text
        .split_once('=')
        .map_or((text, None), |(name, place)| (name, Some(place)));
    check_name(name)?;
    let value = match place {
        None => std::env::var(name)
            .with_context(|| format!("--secret {name}: read the variable from the environment"))
            .map_err(|error| {
                Failure::usage(error).with_help(format!("set {name}, or use --secret {name}=@FILE"))
            })?,
        Some(place) => match place.strip_prefix('@') {
            Some(path) => fs::read_to_string(path)
                .map(|text| text.strip_suffix('\n').unwrap_or(&text).to_owned())
                .with_context(|| format!("--secret {name}: read {path}"))
                .map_err(Failure::usage)?,
            None => {
                return Err(Failure::usage(anyhow!(
                    "--secret {name}: a secret on the command line"
                ))
                .with_help(format!(
                    "other users of this machine can see it there; use --secret {name} or --secret {name}=@FILE"
                )));
            }
        },
    };
    Ok(JobVariable::masked(name, value))
}
