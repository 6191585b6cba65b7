//! The project and the pipeline that the arguments of a command name.

use crate::args::{DialectArg, ProjectArgs};
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use console::{is_variable_name, print_notes};
use executor_core::variable::JobVariable;
use pipeline::Dialect;
use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use workstation::{LocalProject, PipelineOptions};

/// The greatest size of a secret, in bytes; no environment has room for more.
const MAX_SECRET: u64 = 1 << 20;

/// Finds the project that the arguments name.
pub(super) fn find_project(args: &ProjectArgs) -> Result<LocalProject, Failure> {
    let directory = args.cwd.as_deref().unwrap_or(Path::new("."));
    if let Some(file) = &args.file {
        return Ok(LocalProject::find(directory, Some(file))?);
    }
    match std::env::var_os("GCL_FILE").filter(|file| !file.is_empty()) {
        Some(file) => {
            let project = LocalProject::find(directory, Some(Path::new(&file)))?;
            Ok(project.named_by("GCL_FILE"))
        }
        None => Ok(LocalProject::find(directory, None)?),
    }
}

/// Returns a variable of the environment that is an option of gitlab-ci-local.
fn gcl_option((name, value): (OsString, OsString)) -> Option<(String, String)> {
    let name = name.into_string().ok()?;
    let is_option = name.starts_with("GCL_");
    is_option.then_some(())?;
    Some((name, value.into_string().ok()?))
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
        unset_variables: args.unset_variable.clone(),
        inputs_file: args.inputs_file.clone(),
        maximum_includes: args.maximum_includes.map(NonZeroUsize::get),
        is_partial: args.is_partial,
        environment: std::env::vars_os().filter_map(gcl_option).collect(),
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

/// Reads the file of a secret, which may be a pipe.
fn read_secret(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_SECRET + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_SECRET {
        let error = format!("it has more than {} MiB", MAX_SECRET >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, error));
    }
    Ok(bytes)
}

/// Returns the error of a secret that is not text; it does not show the secret.
fn not_text() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text")
}

fn secret(text: &str) -> Result<JobVariable, Failure> {
    let (name, place) = text
        .split_once('=')
        .map_or((text, None), |(name, place)| (name, Some(place)));
    check_name(name)?;
    let read = |from: &str, found: io::Result<Vec<u8>>| {
        let text = found.and_then(|bytes| String::from_utf8(bytes).map_err(|_| not_text()));
        text.with_context(|| format!("--secret {name}: read {from}"))
            .map_err(Failure::usage)
    };
    let value = match place {
        None => {
            let found = std::env::var_os(name).ok_or_else(|| {
                let error =
                    anyhow!("--secret {name}: there is no such variable in the environment");
                Failure::usage(error).with_help(format!("set {name}, or use --secret {name}=@FILE"))
            })?;
            read("the variable from the environment", Ok(found.into_vec()))?
        }
        Some(place) => match place.strip_prefix('@') {
            Some(path) => {
                let text = read(path, read_secret(Path::new(path)))?;
                text.strip_suffix('\n').unwrap_or(&text).to_owned()
            }
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
