//! The filters that a repository's configuration names: programs through which git reads files of the working tree.

use crate::{Git, GitDir, GitError};
use process::StopSignal;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// The settings of filters in a repository's configuration, each with the user's own value if there is one.
///
/// Names of filters are bytes: a changed one would be another filter.
type FilterSettings = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Returns the variables with which `git` runs no filter that the configuration of its repository names. The user's own
/// filters run: their settings replace those of the repository.
///
/// They do not hold for a command that enters submodules, whose filters have other names.
pub(crate) async fn without_filters<S: StopSignal + ?Sized>(
    git: &Git<'_>,
    stop: &S,
) -> Result<Vec<(OsString, OsString)>, GitError> {
    let settings = filters_of_repository(git, stop).await?.into_iter();
    let settings = settings.map(|(key, own)| {
        let off = if key.ends_with(b".required") {
            b"false".to_vec()
        } else {
            Vec::new()
        };
        let value = OsString::from_vec(own.unwrap_or(off));
        (OsString::from_vec(key), value)
    });
    Ok(git.settings(settings))
}

/// Returns the names of the filters that `git` does not run in a checkout.
pub(crate) async fn ignored_filters<S: StopSignal + ?Sized>(
    git: &Git<'_>,
    stop: &S,
) -> Result<Vec<String>, GitError> {
    let settings = filters_of_repository(git, stop).await?;
    let foreign = settings.iter().filter(|(_, own)| own.is_none());
    let names = foreign.filter_map(|(key, _)| {
        let name = key.strip_prefix(b"filter.")?;
        let name = [&b".process"[..], b".smudge"]
            .iter()
            .find_map(|end| name.strip_suffix(*end))?;
        Some(String::from_utf8_lossy(name).into_owned())
    });
    let names: BTreeSet<String> = names.collect();
    Ok(names.into_iter().collect())
}

/// Git is started only for a configuration that may name filters.
async fn filters_of_repository<S: StopSignal + ?Sized>(
    git: &Git<'_>,
    stop: &S,
) -> Result<FilterSettings, GitError> {
    let Some(git_dir) = GitDir::containing(git.directory()) else {
        return Ok(FilterSettings::new());
    };
    if !may_have_filters(&git_dir.common) && !may_have_filters(&git_dir.own) {
        return Ok(FilterSettings::new());
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
        let own = own.get(key).map(|value| value.to_vec());
        (key.to_vec(), own)
    });
    Ok(settings.collect())
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
