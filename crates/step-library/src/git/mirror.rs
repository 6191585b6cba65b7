use super::program::{Failure, Git};
use super::revision::is_commit;
use super::said::is_unadvertised;
use crate::cache::Hold;
use crate::error::Error;
use process::{make_private_dir, remove_tree};
use std::fs;
use std::io;
use std::path::Path;

/// What no file of a repository says for itself: it is taken as it is, by no filter and in no other encoding.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding\n";

/// A repository that keeps what was fetched from another one. Nobody else uses it meanwhile.
#[derive(Debug)]
pub(super) struct Mirror<'a> {
    git: &'a Git<'a>,
    hold: &'a Hold,
    directory: String,
}

impl<'a> Mirror<'a> {
    /// Opens the repository, and makes it if it is not there or not whole; `commit` is any that it is to hold.
    pub(super) async fn open(
        git: &'a Git<'a>,
        hold: &'a Hold,
        commit: &str,
    ) -> Result<Self, Error> {
        let mirror = Self {
            git,
            hold,
            directory: format!("--git-dir={}", hold.path().display()),
        };
        if !mirror.is_whole() {
            mirror.renew(commit).await?;
        }
        mirror.remove_scraps();
        Ok(mirror)
    }

    pub(super) fn path(&self) -> &Path {
        self.hold.path()
    }

    /// Makes it anew, with nothing in it.
    pub(super) async fn renew(&self, commit: &str) -> Result<(), Error> {
        let path = self.path();
        let failed = || Error::cache("make", path);
        match remove_tree(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed()(error)),
            _ => {}
        }
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
        let made = self.git.try_run(&args).await;
        made.map_err(|failure| self.git.explain(failure))?;
        let info = path.join("info");
        make_private_dir(&info).map_err(failed())?;
        // What is there without it is not whole.
        fs::write(info.join("attributes"), ATTRIBUTES).map_err(failed())
    }

    fn is_whole(&self) -> bool {
        let path = self.path();
        path.join("HEAD").is_file() && path.join("info/attributes").is_file()
    }

    /// Removes what a git left that was ended.
    fn remove_scraps(&self) {
        let objects = fs::read_dir(self.path().join("objects/pack"));
        let top = fs::read_dir(self.path());
        for file in objects.into_iter().chain(top).flatten().flatten() {
            let name = file.file_name();
            let name = name.as_encoded_bytes();
            let is_scrap = name.starts_with(b"tmp_") || name.ends_with(b".lock");
            if is_scrap || name == b"runwright-index" {
                // What cannot be removed now does no harm.
                let _ = fs::remove_file(file.path());
            }
        }
        // A git that was killed while it changed a reference has left that locked.
        let mut open = vec![self.path().join("refs")];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(entry.path());
                } else if entry.file_name().as_encoded_bytes().ends_with(b".lock") {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Returns whether a commit was fetched, with all its files.
    pub(super) fn has(&self, sha: &str) -> bool {
        let mark = fs::read_to_string(self.path().join(mark_of(sha)));
        mark.is_ok_and(|mark| mark.trim() == sha)
    }

    /// Fetches a commit: alone, or with all the others where the server gives none alone.
    pub(super) async fn fetch(&self, url: &str, sha: &str) -> Result<(), Failure> {
        let refspec = format!("+{sha}:{}", mark_of(sha));
        match self.fetch_refs(url, &["--depth=1"], &[&refspec]).await {
            Err(Failure::Said(said)) if is_unadvertised(&said) => {}
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
        self.git.try_run(&args).await?;
        let mark = mark_of(sha);
        let args = [&*self.directory, "update-ref", "--no-deref", &mark, sha];
        self.git.try_run(&args).await?;
        Ok(())
    }

    /// Fetches all that branches and tags have.
    pub(super) async fn fetch_all(&self, url: &str) -> Result<(), Failure> {
        let refspecs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
        let shallow = self.path().join("shallow").is_file();
        let depth: &[&str] = if shallow { &["--unshallow"] } else { &[] };
        let options = [depth, &["--prune"]].concat();
        self.fetch_refs(url, &options, &refspecs).await
    }

    async fn fetch_refs(&self, url: &str, more: &[&str], refs: &[&str]) -> Result<(), Failure> {
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
        self.git.try_run(&args).await.map(drop)
    }

    /// Returns the commits here that begin with these digits.
    pub(super) async fn commits(&self, digits: &str) -> Result<Vec<String>, Failure> {
        let option = format!("--disambiguate={digits}");
        let args = [&*self.directory, "rev-parse", &option];
        let listed = self.git.try_run(&args).await?;
        let mut commits = Vec::new();
        for id in listed.lines().filter(|id| is_commit(id)).take(100) {
            let args = [&*self.directory, "cat-file", "-t", id];
            if self.git.try_run(&args).await?.trim() == "commit" {
                commits.push(id.to_owned());
            }
        }
        Ok(commits)
    }

    /// Writes the files of a commit into a directory. Submodules are empty directories.
    pub(super) async fn check_out(&self, sha: &str, into: &Path) -> Result<(), Failure> {
        let tree = format!("--work-tree={}", into.display());
        let index = self.path().join("runwright-index");
        let args = [&*self.directory, &tree, "read-tree", "--reset", "-u", sha];
        let more = [("GIT_INDEX_FILE", &*index)];
        let written = self.git.run_in(into, &more, &args).await;
        // One that is left is written anew by the next one.
        let _ = fs::remove_file(&index);
        written.map(drop)
    }
}

/// Returns the name of the reference that tells that a commit is there.
fn mark_of(sha: &str) -> String {
    format!("refs/runwright/{sha}")
}
