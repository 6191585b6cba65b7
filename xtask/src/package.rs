//! Packaging of the published crates.

use crate::run;
use crate::workspace::Workspace;

/// Packs every published crate, with its readme and only its own files. It builds nothing: that takes as long as all
/// tests, and `cargo package --workspace` does it before a release.
///
/// # Errors
///
/// Fails when a manifest lacks a field that the registry requires, or a file cannot be packed.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let mut command = run::cargo();
    command
        .args([
            "package",
            "--workspace",
            "--no-verify",
            "--quiet",
            "--allow-dirty",
        ])
        .current_dir(&workspace.root);
    let inner = workspace.packages.iter().filter(|it| !it.is_published());
    for package in inner {
        command.args(["--exclude", &package.name]);
    }
    run::run(&mut command)
}
