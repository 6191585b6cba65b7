//! The filters that a repository's configuration names: programs through which git reads files of the working tree.

use crate::{Git, GitDir, GitError};
use process::StopSignal;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The settings of a filter, each with the value that switches it off.
const SETTINGS: [(&str, &str); 4] = [
    ("clean", ""),
    ("smudge", ""),
    ("process", ""),
    ("required", "false"),
];

/// The most directories below which repositories of submodules are looked for.
const MAX_MODULES: usize = 10_000;

/// Returns the variables with which `git` runs no filter that the configuration of its repository, or of a submodule,
/// names. The user's own filters run: their settings replace those of the repository.
///
/// Git is started only for a configuration that may name filters.
pub(crate) async fn without_filters<S: StopSignal + ?Sized>(
    git: &Git<'_>,
    stop: &S,
) -> Result<Vec<(OsString, OsString)>, GitError> {
    let Some(git_dir) = GitDir::containing(git.directory()) else {
        return Ok(Vec::new());
    };
    let mut repositories = vec![git_dir.own.clone()];
    submodules(&git_dir.common.join("modules"), &mut repositories);
    let configurations = repositories.iter().chain([&git_dir.common]);
    if !configurations.into_iter().any(|it| may_have_filters(it)) {
        return Ok(Vec::new());
    }
    let mut names = BTreeSet::new();
    let mut own = BTreeMap::new();
    for repository in repositories {
        let place = format!("--git-dir={}", repository.display());
        let args = [&place, "config", "--list", "--show-scope", "--null"];
        let listed = git.output_of(&args, &[], stop).await?;
        read(&String::from_utf8_lossy(&listed), &mut names, &mut own);
    }
    let settings = names.iter().flat_map(|name| {
        SETTINGS.map(|(setting, off)| {
            let key = format!("filter.{name}.{setting}");
            let value = own.get(&key).map_or(off, String::as_str).to_owned();
            (key, value)
        })
    });
    Ok(git.settings(settings))
}

/// Reads a listing: the names of the repository's filters, and the user's settings of filters.
fn read(listing: &str, names: &mut BTreeSet<String>, own: &mut BTreeMap<String, String>) {
    let mut parts = listing.split('\0');
    while let (Some(scope), Some(setting)) = (parts.next(), parts.next()) {
        let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
        let name = key.strip_prefix("filter.");
        let Some((name, _)) = name.and_then(|name| name.rsplit_once('.')) else {
            continue;
        };
        if matches!(scope, "local" | "worktree") {
            names.insert(name.to_owned());
        } else {
            own.insert(key.to_owned(), value.to_owned());
        }
    }
}

/// Returns whether the configuration in a directory may name filters, itself or in other files.
fn may_have_filters(directory: &Path) -> bool {
    ["config", "config.worktree"].iter().any(|name| {
        let text = fs::read(directory.join(name)).unwrap_or_default();
        let text = text.to_ascii_lowercase();
        let has = |word: &str| text.windows(word.len()).any(|it| it == word.as_bytes());
        has("filter") || has("include")
    })
}

/// Adds the repositories of submodules below a directory; the names of submodules have slashes.
fn submodules(modules: &Path, found: &mut Vec<PathBuf>) {
    let mut pending = vec![modules.to_owned()];
    let mut left = MAX_MODULES;
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            left = left.saturating_sub(1);
            if left == 0 || !entry.file_type().is_ok_and(|it| it.is_dir()) {
                continue;
            }
            if path.join("HEAD").exists() {
                pending.push(path.join("modules"));
                found.push(path);
            } else {
                pending.push(path);
            }
        }
    }
}
