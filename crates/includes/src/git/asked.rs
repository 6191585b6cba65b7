use super::names::{is_commit, is_reference};
use super::process::{Failure, Git};
use super::refs::Refs;
use super::repository::{Repository, mark_of};
use super::said::{refusal, server};
use super::way::GitWay;
use crate::shown::Bytes;
use crate::{Answer, LibraryError, Question};
use std::time::Duration;
use tokio::time::Instant;

/// The longest one question may take, all of Git's processes together.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// The most a list of references or paths may be long.
const LONGEST_LIST: usize = 64 << 20;

/// The most a file may be long.
const LONGEST_FILE: usize = 16 << 20;

/// What is asked of whom, and until when.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) question: &'a Question,
    pub(super) way: &'a GitWay,
    pub(super) url: &'a str,
    pub(super) until: Instant,
}

/// What is wanted of a commit.
pub(super) enum Wanted<'a> {
    File(&'a str),
    Tree,
}

/// Why there is no answer.
pub(super) enum Trouble {
    /// There will be none.
    Library(LibraryError),
    /// What is kept here is not whole.
    Damaged(String),
}

impl From<LibraryError> for Trouble {
    fn from(error: LibraryError) -> Self {
        Self::Library(error)
    }
}

impl Asked<'_> {
    pub(super) async fn commit(
        &self,
        git: &Git<'_>,
        reference: Option<&str>,
    ) -> Result<Answer, Trouble> {
        let shown = reference.unwrap_or("HEAD");
        let unknown = || LibraryError::NoReference(shown.to_owned());
        if let Some(sha) = reference.filter(|it| is_commit(it)) {
            // No list has it. Whoever asks for what is in it finds out whether it is there.
            return Ok(body(sha.to_ascii_lowercase().into_bytes()));
        }
        if !reference.is_none_or(is_reference) {
            return Err(unknown().into());
        }
        let names = Refs::names(reference);
        let mut args = vec!["ls-remote", "--quiet", "--", self.url];
        args.extend(names.iter().map(String::as_str));
        let listed = git.run(&args, LONGEST_LIST).await;
        let listed = listed.map_err(|failure| self.explain(failure))?;
        let listed = String::from_utf8_lossy(&listed);
        let commit = Refs::new(&listed).commit(reference);
        let commit = commit.filter(|it| is_commit(it)).ok_or_else(unknown)?;
        Ok(body(commit.as_bytes().to_vec()))
    }

    pub(super) async fn tags(&self, git: &Git<'_>) -> Result<Answer, Trouble> {
        let args = ["ls-remote", "--quiet", "--tags", "--", self.url];
        let listed = git.run(&args, LONGEST_LIST).await;
        let listed = listed.map_err(|failure| self.explain(failure))?;
        let listed = String::from_utf8_lossy(&listed);
        Ok(body(Refs::new(&listed).tags().into_bytes()))
    }

    pub(super) async fn read(
        &self,
        git: &Git<'_>,
        repository: &Repository,
        sha: &str,
        wanted: &Wanted<'_>,
    ) -> Result<Answer, Trouble> {
        if !repository.has(sha) {
            self.fetch(git, repository, sha).await?;
        }
        let directory = format!("--git-dir={}", repository.path().display());
        // All of this is here already, so what fails is not whole.
        let local = |failure| match failure {
            Failure::Failed(said) => Trouble::Damaged(said),
            failure => self.explain(failure).into(),
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
                let listed = git.run(&args, LONGEST_LIST).await.map_err(local)?;
                Ok(body(lines_of(&listed)))
            }
            Wanted::File(path) => {
                let args = [&*directory, "ls-tree", "-z", "--full-tree", sha, "--", path];
                let listed = git.run(&args, LONGEST_LIST).await.map_err(local)?;
                let Some(blob) = blob_in(&listed) else {
                    return Ok(Answer::Absent);
                };
                let read = git
                    .run(&[&directory, "cat-file", "blob", &blob], LONGEST_FILE)
                    .await;
                Ok(body(read.map_err(|failure| self.fault(failure))?))
            }
        }
    }

    /// Fetches one commit, with the names of its files and not what is in them.
    async fn fetch(
        &self,
        git: &Git<'_>,
        repository: &Repository,
        sha: &str,
    ) -> Result<(), Trouble> {
        let directory = format!("--git-dir={}", repository.path().display());
        let mark = format!("+{sha}:{}", mark_of(sha));
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
            &mark,
        ];
        let fetched = git.run(&args, 1 << 20).await;
        fetched.map_err(|failure| self.fault(failure))?;
        Ok(())
    }

    /// Returns whose fault it is that something could not be fetched: the server's, mostly.
    fn fault(&self, failure: Failure) -> Trouble {
        if let Failure::Failed(said) = &failure
            && is_damage(said)
        {
            return Trouble::Damaged(said.clone());
        }
        self.explain(failure).into()
    }

    fn explain(&self, failure: Failure) -> LibraryError {
        let shown = match self.question {
            Question::Commit { reference, .. } => reference.as_deref().unwrap_or("HEAD"),
            Question::File { sha, .. } | Question::Tree { sha, .. } => sha,
            _ => "HEAD",
        };
        match failure {
            Failure::Failed(said) => refusal(&said, self.way, shown),
            Failure::Late => LibraryError::Unavailable(format!(
                "{} did not answer Git within {} s",
                server(self.way),
                DEADLINE.as_secs()
            )),
            Failure::TooLong(limit) => LibraryError::TooLarge(format!(
                "{} answers Git with more than {}",
                server(self.way),
                Bytes(limit)
            )),
            Failure::Start(error) => LibraryError::Unavailable(format!("git: {error}")),
        }
    }
}

/// Returns whether Git complains about what is here, and not about a server.
fn is_damage(said: &str) -> bool {
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
    SIGNS.iter().any(|sign| said.contains(sign)) && !said.contains("from remote repository")
}

pub(super) fn broken(what: &str) -> LibraryError {
    LibraryError::Unavailable(format!("git has no place to work: {what}"))
}

fn body(bytes: Vec<u8>) -> Answer {
    Answer::Body {
        bytes: bytes.into(),
        etag: None,
    }
}

/// Returns the id of the file in a listing of one entry.
fn blob_in(listed: &[u8]) -> Option<String> {
    let entry = listed.split(|byte| *byte == 0).next()?;
    let entry = String::from_utf8_lossy(entry);
    let (facts, _) = entry.split_once('\t')?;
    let mut facts = facts.split(' ').skip(1);
    let is_file = facts.next() == Some("blob");
    facts.next().filter(|_| is_file).map(str::to_owned)
}

/// Returns a line for each path. One with a line break in it could not be told from two.
fn lines_of(listed: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(listed.len());
    let paths = listed.split(|byte| *byte == 0);
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
    fn a_listing_tells_files_from_all_else() {
        let check = |listed: &str, expect: Option<&str>| {
            assert_eq!(blob_in(listed.as_bytes()).as_deref(), expect, "{listed}");
        };
        check("100644 blob abc\ta b.yml\0", Some("abc"));
        check("120000 blob abc\tlink\0", Some("abc"));
        check("040000 tree abc\tdir\0", None);
        check("160000 commit abc\tmodule\0", None);
        check("", None);
    }

    #[test]
    fn damage_is_told_from_a_server_that_fails() {
        let check = |said: &str, expect: bool| assert_eq!(is_damage(said), expect, "{said}");
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
