use super::raw_diff;
use crate::project::repository::{BlockingGit, BlockingGitError, merge_base, verified};
use git::{RepositoryRefs, toplevel};
use std::collections::BTreeSet;

/// What changed in a working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeChanges {
    /// The paths, sorted, with `/` between their parts and at the end of a folder of which nobody knows
    /// which files changed. `None` when nobody can know, so that everything counts.
    pub files: Option<Vec<String>>,
    /// What the tree was compared with, in a few words.
    pub since: Option<String>,
    /// Why nobody can know.
    pub unknown: Option<String>,
}

/// The branches that are taken for the default one where nothing says which it is.
const USUAL_BRANCHES: [&str; 2] = ["main", "master"];

impl TreeChanges {
    /// Returns these files, which somebody named.
    pub fn named(files: &[String]) -> Self {
        let files: BTreeSet<&String> = files.iter().collect();
        Self {
            files: Some(files.into_iter().cloned().collect()),
            since: Some("what was named".to_owned()),
            unknown: None,
        }
    }

    /// Asks git what changed since `base`, or else since what the branch will be pushed to.
    pub(crate) fn ask(git: &BlockingGit, base: Option<&str>, default_branch: &str) -> Self {
        let asked = Self::find(git, base, default_branch);
        asked.unwrap_or_else(|unknown| Self {
            unknown: Some(unknown),
            ..Self::default()
        })
    }

    fn find(git: &BlockingGit, base: Option<&str>, default_branch: &str) -> Result<Self, String> {
        if toplevel(git.root()).is_none() {
            return Err("this is no git repository".to_owned());
        }
        if verified(git, "HEAD").is_none() {
            return Err("there is no commit yet".to_owned());
        }
        let (name, commit) = match base {
            Some(name) => {
                let commit = verified(git, name).or_else(|| {
                    // A branch that only the server has.
                    RepositoryRefs::of(git.root())?.remote_branch(name)
                });
                let unknown =
                    || format!("there is no branch, tag or commit {name:?}, or it was not fetched");
                (name.to_owned(), commit.ok_or_else(unknown)?)
            }
            None => default_base(git, default_branch)?,
        };
        let cannot = |error: BlockingGitError| format!("git cannot say: {error}");
        let Some(begin) = merge_base(git, &commit).map_err(cannot)? else {
            return Err(format!(
                "the histories of {name:?} and of what is checked out do not meet, at least not in \
                 what was fetched"
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
    let on_server = [default_branch].into_iter().chain(USUAL_BRANCHES);
    for branch in on_server {
        if let Some(commit) = refs.and_then(|refs| refs.remote_branch(branch)) {
            return Ok((format!("origin/{branch}"), commit));
        }
    }
    // Compared with itself, no commit of the branch would count.
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
            "the branch has no upstream, and there is no other default branch to compare with (name a \
             base, as in --changed=HEAD)"
                .to_owned()
        })
}

/// Returns the upstream's name for people.
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

/// Returns the paths that commits since `begin` changed, and those that are not as in the newest commit.
fn changed(git: &BlockingGit, begin: &str) -> Result<Vec<String>, String> {
    let cannot = |error: BlockingGitError| format!("git cannot say: {error}");
    let mut found = BTreeSet::new();
    for sides in [&[begin, "HEAD"][..], &["--cached", "HEAD"], &[]] {
        let mut args = vec![
            "diff",
            "--raw",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--no-relative",
            "--no-color",
            "--no-abbrev",
            "--ignore-submodules=none",
        ];
        args.extend(sides);
        args.push("--");
        let listing = git.read(&args).map_err(cannot)?;
        let paths = raw_diff::paths(&listing);
        found.extend(paths.ok_or("git says what is not understood")?);
    }
    let new = git
        .read(&["ls-files", "-z", "--others", "--exclude-standard"])
        .map_err(cannot)?;
    let new = new.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    found.extend(new.map(|name| String::from_utf8_lossy(name).into_owned()));
    Ok(found.into_iter().collect())
}
