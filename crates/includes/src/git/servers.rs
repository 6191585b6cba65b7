use super::query::{DEADLINE, Query, QueryError, Wanted};
use super::refusal::{refusal, server};
use super::repository::Repository;
use super::{GitRoute, GitRoutes};
use crate::{Answer, Library, LibraryError, ProjectAddress, Question};
use ::git::{Git, GitProcesses, Protocols, RemoteEnvironment, is_commit, is_file_path};
use async_trait::async_trait;
use parking_lot::Mutex;
use process::{NeverStop, ProcessTree, make_private_dir};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

/// A library of projects on GitLabs, read with Git over SSH or HTTP.
///
/// Commits are cached in bare repositories below a directory, one for each project, with the files that were requested.
#[derive(Debug)]
pub struct GitServers {
    routes: Arc<dyn GitRoutes>,
    directory: PathBuf,
    /// The environment, if it is not the one of this program.
    environment: Option<Vec<(OsString, OsString)>>,
    /// The command of SSH in the user's settings of Git.
    ssh_command: OnceCell<String>,
    /// Servers that refuse this user's keys or logins, or whose host key is wrong. They are not asked again.
    closed: Mutex<HashMap<String, LibraryError>>,
    queries: Semaphore,
    /// Set once the processes of earlier programs were ended.
    recovered: OnceCell<()>,
}

/// The most queries at a time: SSH servers reject clients that connect too often.
const MAX_QUERIES: usize = 4;

impl GitServers {
    /// Returns one that keeps its repositories below `directory`. Nothing is created before the first query.
    pub fn new(routes: Arc<dyn GitRoutes>, directory: impl Into<PathBuf>) -> Self {
        Self {
            routes,
            directory: directory.into(),
            environment: None,
            ssh_command: OnceCell::new(),
            closed: Mutex::default(),
            queries: Semaphore::new(MAX_QUERIES),
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

    /// Ends processes of programs that were killed together with their guardians.
    async fn recover(&self) {
        let directory = self.directory.clone();
        let recovered = tokio::task::spawn_blocking(move || process::recover(&directory)).await;
        if let Ok(Err(error)) = recovered {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(error, "Processes of killed programs remain for now.");
        }
    }

    fn check_open(&self, route: &GitRoute) -> Result<(), LibraryError> {
        let closed = self.closed.lock();
        closed.get(&server(route)).cloned().map_or(Ok(()), Err)
    }

    /// Remembers a server that refuses all queries: a key or a host key is wrong for all its projects.
    fn remember_closed(&self, route: &GitRoute, error: LibraryError) -> LibraryError {
        let is_over_ssh = matches!(route, GitRoute::Ssh { .. });
        let is_closed = match &error {
            LibraryError::Refused { .. } => true,
            LibraryError::Denied { .. } => is_over_ssh,
            _ => false,
        };
        if is_closed {
            self.closed.lock().insert(server(route), error.clone());
        }
        error
    }

    fn environment(&self, route: &GitRoute, processes: &ProcessTree) -> RemoteEnvironment {
        let mut environment = match &self.environment {
            Some(given) => {
                let given = given.iter().map(|(name, value)| (&**name, &**value));
                RemoteEnvironment::from_user(given, &self.directory)
            }
            None => RemoteEnvironment::from_user(processes.environment().iter(), &self.directory),
        };
        let GitRoute::Http {
            instance,
            authority,
            login,
        } = route
        else {
            environment.allow(Protocols::Encrypted);
            return environment;
        };
        let origin = instance.origin();
        environment.allow(match origin.scheme.as_str() {
            "http" => Protocols::Http,
            _ => Protocols::Encrypted,
        });
        if let Some(path) = authority {
            environment.trust(path);
        }
        if let Some((name, password)) = login {
            let login = format!("{name}:{}", password.expose()).into();
            environment.log_in(&origin.to_string(), &login);
        }
        environment
    }

    async fn answer(
        &self,
        query: Query<'_>,
        processes: &ProcessTree,
    ) -> Result<Answer, QueryError> {
        let mut environment = self.environment(query.route, processes);
        if environment.ssh_command().is_none() {
            let git = Git::remote(processes, &self.directory, &environment, query.deadline);
            let command = self.ssh_command.get_or_init(|| ssh_command(&git)).await;
            environment.set_ssh_command(command);
        }
        let git = Git::remote(processes, &self.directory, &environment, query.deadline);
        match query.question {
            Question::Commit { reference, .. } => query.commit(&git, reference.as_deref()).await,
            Question::Tags { .. } => query.tags(&git).await,
            Question::File { sha, path, .. } => {
                if !is_file_path(path) {
                    return Ok(Answer::Absent);
                }
                self.at_commit(&query, &git, sha, Wanted::File(path)).await
            }
            Question::Tree { sha, .. } => self.at_commit(&query, &git, sha, Wanted::Tree).await,
            Question::Page { .. } | Question::Template { .. } => Err(LibraryError::NoWay.into()),
        }
    }

    async fn at_commit(
        &self,
        query: &Query<'_>,
        git: &Git<'_>,
        sha: &str,
        wanted: Wanted<'_>,
    ) -> Result<Answer, QueryError> {
        if !is_commit(sha) {
            return Err(LibraryError::NoReference(sha.to_owned()).into());
        }
        let sha = sha.to_ascii_lowercase();
        let repository = Repository::open(&self.directory, query.url, query.deadline).await;
        let repository = repository.map_err(|error| no_directory(&error.to_string()))?;
        match query.read(git, &repository, &sha, wanted).await {
            Err(QueryError::Damaged(stderr)) => {
                tracing::debug!(path = %repository.path().display(), %stderr, "A damaged repository is created anew.");
                let created = repository.create();
                created.map_err(|error| no_directory(&error.to_string()))?;
                query.read(git, &repository, &sha, wanted).await
            }
            answered => answered,
        }
    }
}

/// Returns the command of SSH in the user's settings.
async fn ssh_command(git: &Git<'_>) -> String {
    let found = git
        .output(&["config", "--get", "core.sshCommand"], &NeverStop)
        .await;
    // It fails when there is none.
    let found = found.ok().and_then(|found| String::from_utf8(found).ok());
    let found = found.map(|found| found.trim().to_owned());
    let found = found.filter(|command| !command.is_empty());
    found.unwrap_or_else(|| "ssh".to_owned())
}

fn no_directory(reason: &str) -> LibraryError {
    LibraryError::Unavailable(format!("no directory for git: {reason}"))
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
        let route = self.routes.route(&project.instance);
        let route = route.ok_or(LibraryError::NoWay)?;
        let url = route.url(&project.path)?;
        // The semaphore is never closed.
        let _permit = self.queries.acquire().await;
        self.check_open(&route)?;
        let query = Query {
            question,
            route: &route,
            url: &url,
            deadline: Instant::now() + DEADLINE,
        };
        make_private_dir(&self.directory)
            .map_err(|error| no_directory(&format!("{}: {error}", self.directory.display())))?;
        self.recovered.get_or_init(|| self.recover()).await;
        let processes = GitProcesses::start(Some(self.directory.clone()));
        let processes = processes.map_err(|error| no_directory(&error.to_string()))?;
        let answered = self.answer(query, processes.tree()).await;
        processes.close().await;
        answered.map_err(|error| match error {
            QueryError::Library(error) => self.remember_closed(&route, error),
            // The second time the repository was new, so the server's is damaged.
            QueryError::Damaged(stderr) => refusal(&stderr, &route, "HEAD"),
        })
    }
}
