use super::GitRoute;
use super::refusal::{refusal, server};
use super::repository::Repository;
use crate::shown::Bytes;
use crate::{Answer, LibraryError, Question};
use ::git::{Git, GitError, RemoteRefs, fetched_ref, is_commit, is_reference_name};
use executor_core::HumanDuration;
use process::NeverStop;
use std::time::Duration;
use tokio::time::Instant;

/// The longest a query may take, all of Git's processes together.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// The most bytes of a list of references or paths.
const MAX_LIST: usize = 64 << 20;

/// The most bytes of a file.
const MAX_FILE: usize = 16 << 20;

/// A question to one repository, with the route to it.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) question: &'a Question,
    pub(super) route: &'a GitRoute,
    pub(super) url: &'a str,
    pub(super) deadline: Instant,
}

/// What is wanted of a commit.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    File(&'a str),
    Tree,
}

/// Why a query failed.
pub(super) enum QueryError {
    Library(LibraryError),
    /// The repository in the cache is damaged; this is git's standard error.
    Damaged(String),
}

impl From<LibraryError> for QueryError {
    fn from(error: LibraryError) -> Self {
        Self::Library(error)
    }
}

impl Query<'_> {
    pub(super) async fn commit(
        &self,
        git: &Git<'_>,
        reference: Option<&str>,
    ) -> Result<Answer, QueryError> {
        let reference = reference.unwrap_or("HEAD");
        let unknown = || LibraryError::NoReference(reference.to_owned());
        if is_commit(reference) {
            // No server lists commits. Reading its files shows whether it exists.
            return Ok(body(reference.to_ascii_lowercase().into_bytes()));
        }
        if !is_reference_name(reference) {
            return Err(unknown().into());
        }
        let names = RemoteRefs::names(reference);
        let mut args = vec!["ls-remote", "--quiet", "--", self.url];
        args.extend(names.iter().map(String::as_str));
        let listing = self.list(git, &args).await?;
        let commit = RemoteRefs::new(&listing).commit(reference);
        Ok(body(commit.ok_or_else(unknown)?.as_bytes().to_vec()))
    }

    pub(super) async fn tags(&self, git: &Git<'_>) -> Result<Answer, QueryError> {
        let args = ["ls-remote", "--quiet", "--tags", "--", self.url];
        let listing = self.list(git, &args).await?;
        Ok(body(RemoteRefs::new(&listing).tags().into_bytes()))
    }

    async fn list(&self, git: &Git<'_>, args: &[&str]) -> Result<String, LibraryError> {
        let git = git.clone().with_limit(MAX_LIST);
        let listing = git.output(args, &NeverStop).await;
        let listing = listing.map_err(|error| self.explain(error))?;
        Ok(String::from_utf8_lossy(&listing).into_owned())
    }

    pub(super) async fn read(
        &self,
        git: &Git<'_>,
        repository: &Repository,
        sha: &str,
        wanted: Wanted<'_>,
    ) -> Result<Answer, QueryError> {
        if !repository.has(sha) {
            self.fetch(git, repository, sha).await?;
        }
        let directory = format!("--git-dir={}", repository.path().display());
        let lists = git.clone().with_limit(MAX_LIST);
        let list = async |args: &[&str]| {
            let listing = lists.output(args, &NeverStop).await;
            // The trees were fetched, so a failure means damage.
            listing.map_err(|error| match error {
                GitError::Failed { stderr, .. } => QueryError::Damaged(stderr),
                error => self.explain(error).into(),
            })
        };
        match wanted {
            Wanted::Tree => {
                let args = [
                    &*directory,
                    "ls-tree",
                    "-r",
                    "-z",
                    "--name-only",
                    "--full-tree",
                    sha,
                ];
                Ok(body(lines_of(&list(&args).await?)))
            }
            Wanted::File(path) => {
                let args = [&*directory, "ls-tree", "-z", "--full-tree", sha, "--", path];
                let Some(blob) = blob_in(&list(&args).await?) else {
                    return Ok(Answer::Absent);
                };
                let args = [&*directory, "cat-file", "blob", &blob];
                let files = git.clone().with_limit(MAX_FILE);
                let read = files.output(&args, &NeverStop).await;
                Ok(body(read.map_err(|error| self.damage_or_refusal(error))?))
            }
        }
    }

    /// Fetches one commit with the names of its files, but without their contents.
    async fn fetch(
        &self,
        git: &Git<'_>,
        repository: &Repository,
        sha: &str,
    ) -> Result<(), QueryError> {
        let directory = format!("--git-dir={}", repository.path().display());
        let refspec = format!("+{sha}:{}", fetched_ref(sha));
        let args = [
            &*directory,
            "fetch",
            "--quiet",
            "--depth=1",
            "--filter=blob:none",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--",
            "origin",
            &refspec,
        ];
        let fetched = git.output(&args, &NeverStop).await;
        fetched.map_err(|error| self.damage_or_refusal(error))?;
        Ok(())
    }

    /// Tells a damaged repository in the cache from a server that refuses.
    fn damage_or_refusal(&self, error: GitError) -> QueryError {
        match error {
            GitError::Failed { stderr, .. } if is_damage(&stderr) => QueryError::Damaged(stderr),
            error => self.explain(error).into(),
        }
    }

    fn explain(&self, error: GitError) -> LibraryError {
        let reference = match self.question {
            Question::Commit { reference, .. } => reference.as_deref().unwrap_or("HEAD"),
            Question::File { sha, .. } | Question::Tree { sha, .. } => sha,
            _ => "HEAD",
        };
        match error {
            GitError::Failed { stderr, .. } => refusal(&stderr, self.route, reference),
            GitError::Deadline { .. } => LibraryError::Unavailable(format!(
                "{} did not answer Git within {}",
                server(self.route),
                HumanDuration(DEADLINE)
            )),
            GitError::OutputTooLong { limit, .. } => LibraryError::TooLarge(format!(
                "{} answered Git with more than {}",
                server(self.route),
                Bytes(limit)
            )),
            GitError::Run(error) => LibraryError::Unavailable(format!("git: {error}")),
            error => LibraryError::Unavailable(error.to_string()),
        }
    }
}

/// Returns whether Git complains about the repository in the cache rather than a server.
fn is_damage(stderr: &str) -> bool {
    const SIGNS: [&str; 8] = [
        ".lock': File exists",
        "bad config",
        "bad object",
        "corrupt",
        "did not send all necessary objects",
        "missing",
        "not a git repository",
        "unable to read",
    ];
    SIGNS.iter().any(|sign| stderr.contains(sign)) && !stderr.contains("from remote repository")
}

fn body(bytes: Vec<u8>) -> Answer {
    Answer::Body {
        bytes: bytes.into(),
        etag: None,
    }
}

/// Returns the object of the file in a listing of one entry.
fn blob_in(listing: &[u8]) -> Option<String> {
    let entry = listing.split(|byte| *byte == 0).next()?;
    let entry = String::from_utf8_lossy(entry);
    let (fields, _) = entry.split_once('\t')?;
    let mut fields = fields.split(' ').skip(1);
    let is_file = fields.next() == Some("blob");
    fields.next().filter(|_| is_file).map(str::to_owned)
}

/// Returns a line for each path. A path with a line break is left out, since it would read as two.
fn lines_of(listing: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(listing.len());
    let paths = listing.split(|byte| *byte == 0);
    for path in paths.filter(|it| !it.is_empty() && !it.contains(&b'\n')) {
        lines.extend_from_slice(path);
        lines.push(b'\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_listing_have_a_blob() {
        let check = |listing: &str, expect: Option<&str>| {
            assert_eq!(blob_in(listing.as_bytes()).as_deref(), expect, "{listing}");
        };
        check("100644 blob abc\ta b.yml\0", Some("abc"));
        check("120000 blob abc\tlink\0", Some("abc"));
        check("040000 tree abc\tdir\0", None);
        check("160000 commit abc\tmodule\0", None);
        check("", None);
    }

    #[test]
    fn damage_differs_from_a_server_that_fails() {
        let check = |stderr: &str, expect: bool| assert_eq!(is_damage(stderr), expect, "{stderr}");
        check(
            "fatal: Unable to create '/c/shallow.lock': File exists.",
            true,
        );
        check("error: object file objects/a is corrupt", true);
        check("fatal: not a git repository: '/c'", true);
        check("fatal: Could not read from remote repository.", false);
        check("ssh: connect to host h port 22: Connection refused", false);
    }

    #[test]
    fn paths_become_lines() {
        assert_eq!(lines_of(b"a\0b c\0x\ny\0"), b"a\nb c\n");
        assert_eq!(lines_of(b""), b"");
    }
}
