use super::raw_diff;
use crate::project::repository::{
    BlockingGit, BlockingGitError, NEW_FILES, diff, is_of_local_tool, merge_base, verified,
};
use git::{GitDir, RepositoryRefs, toplevel};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The changes of a working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeChanges {
    /// The changed paths, sorted, with `/` as separator and after a submodule. `None` if unknown, so that everything
    /// counts as changed.
    pub files: Option<Vec<String>>,
    /// What the tree was compared with, for the user.
    pub since: Option<String>,
    /// Why the changes are unknown.
    pub unknown: Option<String>,
}

/// The form of a diff that [`raw_diff`] reads.
const RAW: [&str; 3] = ["--raw", "--no-color", "--no-abbrev"];

/// The likely default branches if it is unknown.
const LIKELY_DEFAULT_BRANCHES: [&str; 2] = ["main", "master"];

impl TreeChanges {
    /// Returns these files, which the user named.
    pub fn named(files: &[String]) -> Self {
        let files: BTreeSet<&String> = files.iter().collect();
        Self {
            files: Some(files.into_iter().cloned().collect()),
            since: Some("the named files".to_owned()),
            unknown: None,
        }
    }

    /// Returns the changes since `base`, default what the branch will be pushed to.
    pub(crate) fn since(git: &BlockingGit, base: Option<&str>, default_branch: &str) -> Self {
        let found = Self::find(git, base, default_branch);
        found.unwrap_or_else(|unknown| Self {
            unknown: Some(unknown),
            ..Self::default()
        })
    }

    fn find(git: &BlockingGit, base: Option<&str>, default_branch: &str) -> Result<Self, String> {
        if toplevel(git.root()).is_none() {
            return Err("not a Git repository".to_owned());
        }
        if verified(git, "HEAD").is_none() {
            return Err("there is no commit yet".to_owned());
        }
        let (name, commit) = match base {
            Some(name) => {
                let commit = verified(git, name).or_else(|| {
                    // A branch of the server without a local one.
                    RepositoryRefs::of(git.root())?.remote_branch(name)
                });
                let unknown =
                    || format!("unknown branch, tag or commit {name:?}; it may not be fetched");
                (name.to_owned(), commit.ok_or_else(unknown)?)
            }
            None => default_base(git, default_branch)?,
        };
        let cannot = |error: BlockingGitError| format!("git failed: {error}");
        let Some(begin) = merge_base(git, &commit).map_err(cannot)? else {
            return Err(format!(
                "{name:?} and the current commit have no common ancestor, at least not in what was \
                 fetched"
            ));
        };
        Ok(Self {
            files: Some(changed(git, &begin)?),
            since: Some(name),
            unknown: None,
        })
    }
}

/// Returns what the branch will be pushed to: its upstream, else the default branch.
fn default_base(git: &BlockingGit, default_branch: &str) -> Result<(String, String), String> {
    if let Some(commit) = verified(git, "@{upstream}") {
        return Ok((upstream_name(git), commit));
    }
    let refs = RepositoryRefs::of(git.root());
    let refs = refs.as_ref();
    let on_server = [default_branch].into_iter().chain(LIKELY_DEFAULT_BRANCHES);
    for branch in on_server {
        if let Some(commit) = refs.and_then(|refs| refs.remote_branch(branch)) {
            return Ok((format!("origin/{branch}"), commit));
        }
    }
    // A branch compared with itself has no changed commits.
    let is_other = git
        .read(&["symbolic-ref", "--quiet", "HEAD"])
        .map_or(true, |head| {
            String::from_utf8_lossy(&head).trim() != format!("refs/heads/{default_branch}")
        });
    let local = format!("refs/heads/{default_branch}");
    let commit = verified(git, &local).filter(|_| is_other);
    commit
        .map(|commit| (default_branch.to_owned(), commit))
        .ok_or_else(|| {
            "the branch has no upstream, and no default branch to compare with is known (name a base, \
             as in --changed=HEAD)"
                .to_owned()
        })
}

/// Returns the upstream's name for the user.
fn upstream_name(git: &BlockingGit) -> String {
    let args = ["rev-parse", "--abbrev-ref", "--verify", "@{upstream}"];
    let name = git.read(&args).unwrap_or_default();
    let name = String::from_utf8_lossy(&name).trim().to_owned();
    if name.is_empty() {
        "the upstream".to_owned()
    } else {
        name
    }
}

/// Returns the paths that commits since `begin` changed, and those with uncommitted changes.
fn changed(git: &BlockingGit, begin: &str) -> Result<Vec<String>, String> {
    let cannot = |error: BlockingGitError| format!("git failed: {error}");
    let mut found = BTreeSet::new();
    for sides in [&[begin, "HEAD"][..], &["--cached", "HEAD"], &[]] {
        let listing = git.read(&diff(&RAW, sides)).map_err(cannot)?;
        let paths = raw_diff::paths(&listing);
        found.extend(paths.ok_or("git printed an unknown format")?);
    }
    let new = git.read(&NEW_FILES).map_err(cannot)?;
    let new = new.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let new = new.map(|name| String::from_utf8_lossy(name).into_owned());
    found.extend(new.filter(|path| !is_of_local_tool(path)));
    for path in submodules(git, Path::new("")).map_err(cannot)? {
        if has_changes(git, &path).map_err(cannot)? {
            found.insert(format!("{}/", path.display()));
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns the submodules of a repository below the root that are checked out, relative to the root.
fn submodules(git: &BlockingGit, directory: &Path) -> Result<Vec<PathBuf>, BlockingGitError> {
    let listing = git.read_in(directory, &["ls-files", "-z", "--stage"])?;
    let entries = listing.split(|byte| *byte == 0);
    let paths = entries.filter_map(|entry| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let name = OsStr::from_bytes(&entry[tab + 1..]);
        entry.starts_with(raw_diff::SUBMODULE).then_some(name)
    });
    let paths = paths.map(|name| directory.join(name));
    Ok(paths
        .filter(|path| GitDir::at(&git.root().join(path)).is_some())
        .collect())
}

/// Returns whether a submodule, or one inside it, has uncommitted changes.
fn has_changes(git: &BlockingGit, submodule: &Path) -> Result<bool, BlockingGitError> {
    for args in [&*diff(&RAW, &["--cached"]), &*diff(&RAW, &[]), &NEW_FILES] {
        if !git.read_in(submodule, args)?.is_empty() {
            return Ok(true);
        }
    }
    for inner in submodules(git, submodule)? {
        if has_changes(git, &inner)? {
            return Ok(true);
        }
    }
    Ok(false)
}
