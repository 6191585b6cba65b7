//! The crates as the registry would have them.

use crate::run;
use crate::workspace::Workspace;

/// Packs every crate that is published, with its readme and only the files that belong to it. Nothing is built: that
/// takes as long as all tests, and `cargo package --workspace` does it before a release.
///
/// # Errors
///
/// Fails when a manifest lacks what the registry requires, or a file cannot be packed.
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
