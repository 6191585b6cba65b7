use crate::failure::Failure;
use anyhow::Context;
use serde::Serialize;

/// Prints text to standard output.
pub(super) fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    console::print(text.as_ref())
        .context("write to standard output")
        .map_err(Failure::environment)
}

/// Prints a value as indented JSON.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(serde_json::to_string_pretty(value).map_err(Failure::environment)? + "\n")
}
