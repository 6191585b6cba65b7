//! Facts from Git about the tree under check.

use std::collections::BTreeSet;
use std::process::Command;

use crate::workspace::Workspace;

/// The commits that count as recent.
const LATELY: &str = "HEAD~40..HEAD";

/// Returns the hash of the checked-out commit; `None` outside of a repository.
pub(crate) fn head(workspace: &Workspace) -> Option<String> {
    git(workspace, &["rev-parse", "HEAD"]).map(|hash| hash.trim().to_owned())
}

/// Returns the folders with recently changed manifests; `None` when Git fails.
pub(crate) fn changed_manifests(workspace: &Workspace) -> Option<BTreeSet<String>> {
    let words = ["diff", "--name-only", LATELY, "--", "*Cargo.toml"];
    let names = git(workspace, &words)?;
    Some(
        names
            .lines()
            .filter_map(folder)
            .map(str::to_owned)
            .collect(),
    )
}

/// Returns the folder of a manifest below `crates`, or at the root.
fn folder(manifest: &str) -> Option<&str> {
    let path = manifest.strip_suffix("/Cargo.toml")?;
    Some(path.rsplit_once('/').map_or(path, |(_, name)| name))
}

fn git(workspace: &Workspace, words: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(words)
        .current_dir(&workspace.root)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_belong_to_their_folder() {
        assert_eq!(folder("crates/trace/Cargo.toml"), Some("trace"));
        assert_eq!(folder("xtask/Cargo.toml"), Some("xtask"));
        assert_eq!(folder("Cargo.toml"), None);
    }
}
