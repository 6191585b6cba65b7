//! The filters that a repository's configuration names: programs through which git reads files of the working tree.

use crate::{Git, GitDir, GitError};
use process::StopSignal;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns the variables with which `git` runs no filter that the configuration of its repository names. The user's own
/// filters run: their settings replace those of the repository.
///
/// They do not hold for a command that enters submodules, whose filters have other names. Git is started only for a
/// configuration that may name filters. Names of filters are bytes: a changed one would be another filter.
pub(crate) async fn without_filters<S: StopSignal + ?Sized>(
    git: &Git<'_>,
    stop: &S,
) -> Result<Vec<(OsString, OsString)>, GitError> {
    let Some(git_dir) = GitDir::containing(git.directory()) else {
        return Ok(Vec::new());
    };
    if !may_have_filters(&git_dir.common) && !may_have_filters(&git_dir.own) {
        return Ok(Vec::new());
    }
    let args = ["config", "--list", "--show-scope", "--null"];
    let listed = git.output_of(&args, &[], stop).await?;
    let (mut foreign, mut own) = (BTreeSet::new(), BTreeMap::new());
    let mut parts = listed.split(|byte| *byte == 0);
    while let (Some(scope), Some(setting)) = (parts.next(), parts.next()) {
        // A key without a value means true.
        let end = setting.iter().position(|byte| *byte == b'\n');
        let (key, value) = end.map_or((setting, &b"true"[..]), |at| {
            (&setting[..at], &setting[at + 1..])
        });
        if !key.starts_with(b"filter.") {
            continue;
        }
        if matches!(scope, b"local" | b"worktree") {
            foreign.insert(key);
        } else {
            own.insert(key, value);
        }
    }
    let settings = foreign.into_iter().map(|key| {
        let off = if key.ends_with(b".required") {
            "false"
        } else {
            ""
        };
        let value = own.get(key).copied().unwrap_or(off.as_bytes());
        let owned = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        (owned(key), owned(value))
    });
    Ok(git.settings(settings))
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
