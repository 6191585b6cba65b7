use super::asked::{Asked, DEADLINE, Trouble, Wanted, broken};
use super::environment::GitEnvironment;
use super::names::{is_commit, is_path};
use super::process::Git;
use super::repository::Repository;
use super::said::{refusal, server};
use super::way::{GitWay, GitWays};
use crate::{Answer, Library, LibraryError, ProjectAddress, Question};
use ::process::{Containment, ProcessTree, Settings, Supervisor, make_private_dir};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

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
    /// Servers that let nobody in with what the user has: they are not asked again.
    closed: Mutex<HashMap<String, LibraryError>>,
    turns: Semaphore,
    /// Whether what others left was looked for.
    recovered: OnceCell<()>,
}

/// How many questions are asked at once: servers of SSH turn away whoever comes too often.
const TURNS: usize = 4;

impl GitServers {
    /// Returns one that keeps its repositories below `directory`. Nothing is made before it is asked.
    pub fn new(ways: Arc<dyn GitWays>, directory: impl Into<PathBuf>) -> Self {
        Self {
            ways,
            directory: directory.into(),
            environment: None,
            ssh: OnceCell::new(),
            closed: Mutex::default(),
            turns: Semaphore::new(TURNS),
            recovered: OnceCell::new(),
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

    /// Ends what programs left that were ended together with their guardians.
    async fn recover(&self) {
        let directory = self.directory.clone();
        let recovered = tokio::task::spawn_blocking(move || ::process::recover(&directory)).await;
        if let Ok(Err(error)) = recovered {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(error, "What others left is left for now.");
        }
    }

    fn is_open(&self, way: &GitWay) -> Result<(), LibraryError> {
        let closed = self.closed.lock();
        closed.get(&server(way)).cloned().map_or(Ok(()), Err)
    }

    /// Notes a server that lets nobody in: a key or a host key is wrong for all its projects.
    fn note(&self, way: &GitWay, error: LibraryError) -> LibraryError {
        let is_over_ssh = matches!(way, GitWay::Ssh { .. });
        let is_closed = match &error {
            LibraryError::Refused { .. } => true,
            LibraryError::Denied { .. } => is_over_ssh,
            _ => false,
        };
        if is_closed {
            let mut closed = self.closed.lock();
            closed.insert(server(way), error.clone());
        }
        error
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
            Question::Page { .. } | Question::Template { .. } => Err(LibraryError::NoWay.into()),
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

fn project_of(question: &Question) -> Option<&ProjectAddress> {
    match question {
        Question::Commit { project, .. }
        | Question::Tags { project }
        | Question::File { project, .. }
        | Question::Tree { project, .. } => Some(project),
        Question::Page { .. } | Question::Template { .. } => None,
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
        // It is never closed, and without a turn it would only be faster.
        let _turn = self.turns.acquire().await;
        self.is_open(&way)?;
        let asked = Asked {
            question,
            way: &way,
            url: &url,
            until: Instant::now() + DEADLINE,
        };
        make_private_dir(&self.directory)
            .map_err(|error| broken(&format!("{}: {error}", self.directory.display())))?;
        self.recovered.get_or_init(|| self.recover()).await;
        // Git stays in its group. What it changes here is whole or made anew. It waits for a silent server for as
        // long as that pleases, so a guardian ends it when this program is ended.
        let settings = Settings {
            containment: Containment::ProcessGroup,
            state_dir: Some(self.directory.clone()),
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
            Trouble::Library(error) => self.note(&way, error),
            // It is so twice, and the second time nothing was here: the server's is damaged.
            Trouble::Damaged(said) => refusal(&said, &way, "HEAD"),
        })
    }
}
