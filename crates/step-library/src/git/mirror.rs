use super::repository_git::RepositoryGit;
use crate::cache::{Hold, remove};
use crate::error::Error;
use ::git::{GitError, RemoteFailure, fetched_ref, has_fetched, is_commit, remove_leftovers};
use process::{NeverStop, make_private_dir};
use std::fs;
use std::path::{Path, PathBuf};

/// Overrides the attributes of all files: they are written as they are, without filters and conversions.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding\n";

/// A bare repository in the cache with commits of another one. It is locked.
#[derive(Debug)]
pub(super) struct Mirror<'a> {
    git: &'a RepositoryGit<'a>,
    hold: &'a Hold,
    directory: String,
}

impl<'a> Mirror<'a> {
    /// Opens the repository, and creates it if it is absent or incomplete. The length of `commit`, any commit of it, tells
    /// its object format.
    pub(super) async fn open(
        git: &'a RepositoryGit<'a>,
        hold: &'a Hold,
        commit: &str,
    ) -> Result<Self, Error> {
        let mirror = Self {
            git,
            hold,
            directory: format!("--git-dir={}", hold.path().display()),
        };
        if !mirror.is_complete() {
            mirror.create(commit).await?;
        }
        remove_leftovers(mirror.path());
        // A checkout that was killed leaves its index.
        let _ = fs::remove_file(mirror.index());
        Ok(mirror)
    }

    pub(super) fn path(&self) -> &Path {
        self.hold.path()
    }

    /// Creates it, empty, in place of an earlier one.
    pub(super) async fn create(&self, commit: &str) -> Result<(), Error> {
        let path = self.path();
        let failed = || Error::cache("make", path);
        remove(path).map_err(failed())?;
        make_private_dir(path).map_err(failed())?;
        let format = if commit.len() == 64 {
            "--object-format=sha256"
        } else {
            "--object-format=sha1"
        };
        let shown = path.to_string_lossy();
        let args = [
            "init",
            "--quiet",
            "--bare",
            "--template=",
            format,
            "--",
            &shown,
        ];
        let created = self.git.output(&args).await;
        created.map_err(|error| self.git.explain(error))?;
        let info = path.join("info");
        make_private_dir(&info).map_err(failed())?;
        // Last: a repository without it is incomplete.
        fs::write(info.join("attributes"), ATTRIBUTES).map_err(failed())
    }

    fn is_complete(&self) -> bool {
        let path = self.path();
        path.join("HEAD").is_file() && path.join("info/attributes").is_file()
    }

    fn index(&self) -> PathBuf {
        self.path().join("runwright-index")
    }

    /// Returns whether a commit was fetched with all its files.
    pub(super) fn has(&self, sha: &str) -> bool {
        has_fetched(self.path(), sha)
    }

    /// Fetches a commit: alone, or with all branches and tags where the server serves none alone.
    pub(super) async fn fetch(&self, url: &str, sha: &str) -> Result<(), GitError> {
        let refspec = format!("+{sha}:{}", fetched_ref(sha));
        match self.fetch_refs(url, &["--depth=1"], &[&refspec]).await {
            Err(error) if error.remote_failure() == Some(RemoteFailure::NoReference) => {}
            fetched => return fetched,
        }
        self.fetch_all(url).await?;
        let whole = format!("{sha}^{{commit}}");
        let args = [
            &*self.directory,
            "cat-file",
            "-e",
            "--end-of-options",
            &whole,
        ];
        self.git.output(&args).await?;
        let mark = fetched_ref(sha);
        let args = [&*self.directory, "update-ref", "--no-deref", &mark, sha];
        self.git.output(&args).await?;
        Ok(())
    }

    /// Fetches all branches and tags.
    pub(super) async fn fetch_all(&self, url: &str) -> Result<(), GitError> {
        let refspecs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
        let shallow = self.path().join("shallow").is_file();
        let depth: &[&str] = if shallow { &["--unshallow"] } else { &[] };
        let options = [depth, &["--prune"]].concat();
        self.fetch_refs(url, &options, &refspecs).await
    }

    async fn fetch_refs(&self, url: &str, more: &[&str], refs: &[&str]) -> Result<(), GitError> {
        let mut args = vec![
            &*self.directory,
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
        ];
        args.extend(more);
        args.extend(["--", url]);
        args.extend(refs);
        self.git.output(&args).await.map(drop)
    }

    /// Returns the fetched commits that begin with these digits.
    pub(super) async fn commits(&self, digits: &str) -> Result<Vec<String>, GitError> {
        let option = format!("--disambiguate={digits}");
        let args = [&*self.directory, "rev-parse", &option];
        let listed = self.git.output(&args).await?;
        let mut commits = Vec::new();
        for id in listed.lines().filter(|id| is_commit(id)).take(100) {
            let args = [&*self.directory, "cat-file", "-t", id];
            if self.git.output(&args).await?.trim() == "commit" {
                commits.push(id.to_owned());
            }
        }
        Ok(commits)
    }

    /// Writes the files of a commit into a directory. Submodules are empty directories.
    pub(super) async fn check_out(&self, sha: &str, into: &Path) -> Result<(), GitError> {
        let tree = format!("--work-tree={}", into.display());
        let index = self.index();
        let args = [&*self.directory, &tree, "read-tree", "--reset", "-u", sha];
        let git = self.git.git.clone().in_directory(into);
        let git = git.with_variable("GIT_INDEX_FILE", index.as_path());
        let written = git.output(&args, &NeverStop).await;
        // The next checkout replaces one that remains.
        let _ = fs::remove_file(&index);
        written.map(drop)
    }
}
