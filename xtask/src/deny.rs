//! Licences, bans and sources of the dependencies, by cargo-deny and `deny.toml`.

use std::process::{Command, Stdio};

use crate::run;
use crate::tool::Tool;
use crate::workspace::Workspace;

const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    features: None,
};

/// Checks the dependencies.
///
/// # Errors
///
/// Fails when cargo-deny cannot be built or reports an error.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    println!("ADVISORIES NOT CHECKED: no advisory database can be fetched here");
    let mut command = Command::new(CARGO_DENY.program(workspace)?);
    command.current_dir(&workspace.root).stdin(Stdio::null());
    // Duplicate versions of a crate are a warning that readers of this output cannot act on; `cargo deny check` shows
    // them.
    run::run(command.args([
        "--log-level",
        "error",
        "check",
        "bans",
        "licenses",
        "sources",
    ]))
}
