use super::environment::GitEnvironment;
use super::names::{is_commit, is_path, is_reference};
use super::process::{Failure, Git};
use super::refs::Refs;
use super::repository::{Repository, mark_of};
use super::said::{refusal, server};
use super::way::{GitWay, GitWays};
use crate::{Answer, Library, LibraryError, ProjectAddress, Question};
use ::process::{Containment, ProcessTree, Settings, Supervisor, make_private_dir};
use async_trait::async_trait;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// The longest one question may take, all of Git's processes together.
const DEADLINE: Duration = Duration::from_secs(30);

/// The most a list of references or paths may be long.
const LONGEST_LIST: usize = 64 << 20;

/// The most a file may be long.
const LONGEST_FILE: usize = 16 << 20;

/// Asks GitLabs about projects by Git, over SSH or HTTP.
///
/// Commits are kept in bare repositories below a directory, one for each project, and of their files
/// those that were asked for.
#[derive(Debug)]
pub struct GitServers {
    ways: Arc<dyn GitWays>,
    directory: PathBuf,
    /// The environment, if it is not the one of this program.
    environment: Option<Vec<(OsString, OsString)>>,
    /// The command of SSH in the user's settings of Git.
    ssh: OnceCell<String>,
}

impl GitServers {
    /// Returns one that keeps its repositories below `directory`. Nothing is made before it is asked.
    pub fn new(ways: Arc<dyn GitWays>, directory: impl Into<PathBuf>) -> Self {
        Self {
            ways,
            directory: directory.into(),
            environment: None,
            ssh: OnceCell::new(),
        }
    }

    /// Starts Git with these variables instead of those of this program.
    #[must_use]
    pub fn with_environment<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        self.environment = Some(variables.collect());
        self
    }

    fn environment(&self, processes: &ProcessTree) -> GitEnvironment {
        let mut environment = match &self.environment {
            Some(given) => {
                let given = given.iter();
                GitEnvironment::of_user(given.map(|(name, value)| (&**name, &**value)))
            }
            None => GitEnvironment::of_user(processes.environment().iter()),
        };
        // A repository around the directory, the project's for one, has no say.
        environment.stay_in(&self.directory);
        environment
    }

    async fn answer(&self, asked: Asked<'_>, processes: &ProcessTree) -> Result<Answer, Trouble> {
        make_private_dir(&self.directory)
            .map_err(|error| broken(&format!("{}: {error}", self.directory.display())))?;
        let environment = self.environment(processes);
        let mut git = Git {
            processes,
            directory: &self.directory,
            environment: environment.on(asked.way, "ssh"),
            until: asked.until,
        };
        let ssh = self.ssh_command(&environment, &git).await;
        git.environment = environment.on(asked.way, ssh);
        match asked.question {
            Question::Commit { reference, .. } => asked.commit(&git, reference.as_deref()).await,
            Question::Tags { .. } => asked.tags(&git).await,
            Question::File { sha, path, .. } => {
                if !is_path(path) {
                    return Ok(Answer::Absent);
                }
                self.at_commit(&asked, &git, sha, Wanted::File(path)).await
            }
            Question::Tree { sha, .. } => self.at_commit(&asked, &git, sha, Wanted::Tree).await,
            Question::Page { .. } => Err(LibraryError::NoWay.into()),
        }
    }

    /// Returns the user's command of SSH.
    async fn ssh_command<'s>(&'s self, environment: &'s GitEnvironment, git: &Git<'_>) -> &'s str {
        if let Some(ssh) = environment.ssh() {
            return ssh;
        }
        let find = || async {
            let found = git
                .run(&["config", "--get", "core.sshCommand"], 1 << 16)
                .await;
            // It fails when there is none.
            let found = found.ok().and_then(|found| String::from_utf8(found).ok());
            let found = found.map(|found| found.trim().to_owned());
            found
                .filter(|it| !it.is_empty())
                .unwrap_or_else(|| "ssh".to_owned())
        };
        self.ssh.get_or_init(find).await
    }

    async fn at_commit(
        &self,
        asked: &Asked<'_>,
        git: &Git<'_>,
        sha: &str,
        wanted: Wanted<'_>,
    ) -> Result<Answer, Trouble> {
        if !is_commit(sha) {
            return Err(LibraryError::NoReference(sha.to_owned()).into());
        }
        let sha = sha.to_ascii_lowercase();
        let repository = Repository::open(&self.directory, asked.url, asked.until).await;
        let repository = repository.map_err(|error| broken(&error.to_string()))?;
        match asked.read(git, &repository, &sha, &wanted).await {
            Err(Trouble::Damaged(said)) => {
                tracing::debug!(path = %repository.path().display(), %said, "A repository is made anew.");
                let renewed = repository.renew();
                renewed.map_err(|error| broken(&error.to_string()))?;
                asked.read(git, &repository, &sha, &wanted).await
            }
            answered => answered,
        }
    }
}

/// What is asked of whom, and until when.
#[derive(Clone, Copy)]
struct Asked<'a> {
    question: &'a Question,
    way: &'a GitWay,
    url: &'a str,
    until: Instant,
}

/// What is wanted of a commit.
enum Wanted<'a> {
    File(&'a str),
    Tree,
}

/// Why there is no answer.
enum Trouble {
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
    async fn commit(&self, git: &Git<'_>, reference: Option<&str>) -> Result<Answer, Trouble> {
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

    async fn tags(&self, git: &Git<'_>) -> Result<Answer, Trouble> {
        let args = ["ls-remote", "--quiet", "--tags", "--", self.url];
        let listed = git.run(&args, LONGEST_LIST).await;
        let listed = listed.map_err(|failure| self.explain(failure))?;
        let listed = String::from_utf8_lossy(&listed);
        Ok(body(Refs::new(&listed).tags().into_bytes()))
    }

    async fn read(
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
            Failure::TooLong(limit) => LibraryError::Unavailable(format!(
                "{} answers Git with more than {limit} bytes",
                server(self.way)
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

fn broken(what: &str) -> LibraryError {
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

fn project_of(question: &Question) -> Option<&ProjectAddress> {
    match question {
        Question::Commit { project, .. }
        | Question::Tags { project }
        | Question::File { project, .. }
        | Question::Tree { project, .. } => Some(project),
        Question::Page { .. } => None,
    }
}

#[async_trait]
impl Library for GitServers {
    async fn ask(&self, question: &Question, _etag: Option<&str>) -> Result<Answer, LibraryError> {
        let project = project_of(question).ok_or(LibraryError::NoWay)?;
        let way = self
            .ways
            .way(&project.instance)
            .ok_or(LibraryError::NoWay)?;
        let url = way.url(&project.path)?;
        let asked = Asked {
            question,
            way: &way,
            url: &url,
            until: Instant::now() + DEADLINE,
        };
        // Git stays in its group. What it changes here is whole or made anew.
        let settings = Settings {
            containment: Containment::ProcessGroup,
            ..Settings::default()
        };
        let started = Supervisor::start(settings);
        let supervisor = started.map_err(|error| broken(&error.to_string()))?;
        let processes = supervisor.tree();
        let answered = self.answer(asked, &processes).await;
        let ended = async {
            processes.close().await?;
            supervisor.shutdown().await
        };
        if let Err(error) = ended.await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "Processes of git may be left.");
        }
        answered.map_err(|trouble| match trouble {
            Trouble::Library(error) => error,
            Trouble::Damaged(said) => broken(&said),
        })
    }
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
