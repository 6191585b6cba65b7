use super::check_name;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use executor_core::variable::JobVariable;
use std::fs;

/// Returns the masked variables that `--secret` names, with their values from where it says.
pub(super) fn secrets(names: &[String]) -> Result<Vec<JobVariable>, Failure> {
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
                    "everybody can see it there; use --secret {name} or --secret {name}=@FILE"
                )));
            }
        },
    };
    Ok(JobVariable::masked(name, value))
}
