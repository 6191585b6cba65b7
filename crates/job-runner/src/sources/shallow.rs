//! Cuts the history of a copied repository, as `GIT_DEPTH` requests.

use executor_core::{BoxError, Cancellation};
use git::{Git, is_commit};
use process::ProcessTree;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;

/// How many commits are read for each commit of the depth at first.
const READ_FOR_EACH: u64 = 16;

/// Cuts the history of `HEAD` in `project` to `depth` commits on each line of descent. 0 keeps all.
///
/// The objects remain: git finds them in the user's repository. A directory without a repository is left unchanged.
pub(crate) async fn cut(
    project: &Path,
    depth: u32,
    processes: &ProcessTree,
    cancellation: &Cancellation,
) -> Result<(), BoxError> {
    let git_dir = project.join(".git");
    let head = match fs::read_to_string(git_dir.join("HEAD")) {
        Ok(head) if depth > 0 => head.trim().to_owned(),
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if !is_commit(&head) {
        return Ok(());
    }
    let shallow = git_dir.join("shallow");
    let known = match fs::read_to_string(&shallow) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        known => known.unwrap_or_default(),
    };
    let mut boundary = if depth == 1 {
        vec![head]
    } else {
        boundary(project, &head, depth, processes, cancellation).await?
    };
    if boundary.is_empty() {
        // The whole history is shorter.
        return Ok(());
    }
    boundary.extend(known.lines().map(str::to_owned));
    boundary.sort();
    boundary.dedup();
    fs::write(&shallow, boundary.join("\n") + "\n")?;
    Ok(())
}

async fn boundary(
    project: &Path,
    head: &str,
    depth: u32,
    processes: &ProcessTree,
    cancellation: &Cancellation,
) -> Result<Vec<String>, BoxError> {
    let git = Git::local(processes, project);
    let mut count = u64::from(depth) * READ_FOR_EACH;
    loop {
        let limit = format!("--max-count={count}");
        let args = ["rev-list", "--parents", &limit, head];
        let listed = git.output(&args, cancellation).await?;
        let listed = String::from_utf8_lossy(&listed);
        let parents = parents(&listed);
        let is_whole = (parents.len() as u64) < count;
        if let Some(boundary) = at_depth(&parents, head, depth) {
            return Ok(boundary.into_iter().map(str::to_owned).collect());
        }
        if is_whole {
            return Err("its history has a gap".into());
        }
        // Commits are listed by date, and a needed one may be old.
        count *= READ_FOR_EACH;
    }
}

/// Reads lines of a commit and its parents.
fn parents(listed: &str) -> HashMap<&str, Vec<&str>> {
    let commits = listed.lines().filter_map(|line| {
        let mut ids = line.split(' ');
        Some((ids.next()?, ids.collect()))
    });
    commits.collect()
}

/// Returns the last commits of a history of this depth; `None` when a commit is missing.
fn at_depth<'l>(
    parents: &HashMap<&'l str, Vec<&'l str>>,
    head: &'l str,
    depth: u32,
) -> Option<Vec<&'l str>> {
    let mut seen = HashSet::from([head]);
    let mut level = vec![head];
    for _ in 1..depth {
        let mut next = Vec::new();
        for commit in &level {
            next.extend(parents.get(commit)?.iter().filter(|it| seen.insert(it)));
        }
        if next.is_empty() {
            return Some(next);
        }
        level = next;
    }
    Some(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boundary_is_at_the_depth_on_each_line() {
        let listed = "m a b\na o\nb c\nc o\no r\nr\n";
        let check = |depth, expect: Option<&[&str]>| {
            assert_eq!(
                at_depth(&parents(listed), "m", depth).as_deref(),
                expect,
                "{depth}"
            );
        };
        check(1, Some(&["m"]));
        check(2, Some(&["a", "b"]));
        check(3, Some(&["o", "c"]));
        check(4, Some(&["r"]));
        check(5, Some(&[]));
        let partial = parents("m a b\nb c\n");
        assert_eq!(at_depth(&partial, "m", 2).as_deref(), Some(&["a", "b"][..]));
        assert_eq!(at_depth(&partial, "m", 3), None);
    }
}
