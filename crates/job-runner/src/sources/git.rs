use super::LocalRepositories;
use crate::panics::off_thread;
use crate::runner_processes::run_logged;
use executor_core::job::Job;
use executor_core::trace::JobTraceExt;
use executor_core::variable::{JobVariable, JobVariables};
use executor_core::{BuildError, Cancellation, JobTrace, Retryability, StageVariables};
use process::{Command, ProcessTree};
use shells::GitPlan;
use shells::git::{
    Condition, GIT_DIR_LEFTOVERS, GitAction, GitCommand, GitDefaults, GitSettings, GitStep,
    LocalSubmodules, OnFailure, Remote,
};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The plan to fetch a job's sources with git, and the secrets it needs.
#[derive(Debug)]
pub(crate) struct GitSources {
    pub(crate) plan: GitPlan,
    /// User name and password for the remote.
    pub(crate) credentials: Vec<JobVariable>,
    /// Which settings of the job are invalid.
    pub(crate) warnings: Vec<String>,
}

impl GitSources {
    /// Plans how to fetch the sources of `job`.
    ///
    /// # Errors
    ///
    /// [`BuildError::Config`] when the job's address, commit or flags cannot be given to git.
    pub(crate) fn plan(
        job: &Job,
        variables: &JobVariables,
        local: LocalRepositories,
    ) -> Result<Self, BuildError> {
        let config = |message: &str, source: executor_core::BoxError| BuildError::Config {
            message: message.to_owned(),
            source: Some(source),
        };
        let (settings, warnings) = GitSettings::from_variables(variables, GitDefaults::of_job(job));
        let url = job.git_info.repo_url.expose();
        if url.is_empty() {
            // A job without a repository has no sources.
            return Ok(Self {
                plan: GitPlan::default(),
                credentials: Vec::new(),
                warnings: Vec::new(),
            });
        }
        let remote = match local {
            LocalRepositories::Allowed if url.starts_with(['/', '.']) => {
                Remote::local(url, LocalSubmodules::Allowed)
            }
            _ => Remote::parse(url),
        };
        let remote =
            remote.map_err(|error| config("read the repository's address", error.into()))?;
        let plan = GitPlan::new(&job.git_info, &remote, &settings)
            .map_err(|error| config("plan the fetching of the sources", error.into()))?;
        let warnings = warnings.iter().map(ToString::to_string).collect();
        Ok(Self {
            plan,
            credentials: remote.variables(),
            warnings,
        })
    }
}

/// Carries out a plan on this host.
pub(crate) struct NativeGit<'a> {
    pub(crate) plan: &'a GitPlan,
    pub(crate) project: &'a Path,
    pub(crate) credentials: &'a [JobVariable],
    pub(crate) authorities: Option<&'a (String, PathBuf)>,
    pub(crate) variables: &'a StageVariables,
    pub(crate) processes: &'a ProcessTree,
    pub(crate) trace: &'a dyn JobTrace,
    pub(crate) cancellation: &'a Cancellation,
}

impl NativeGit<'_> {
    /// Runs all steps of the plan.
    ///
    /// # Errors
    ///
    /// A temporary system failure when a step fails.
    ///
    /// # Cancellation
    ///
    /// Stops the running command, or before the next step.
    pub(crate) async fn run(&self) -> Result<(), BuildError> {
        for step in &self.plan.steps {
            self.step(step).await?;
        }
        Ok(())
    }

    async fn step(&self, step: &GitStep) -> Result<(), BuildError> {
        if !self.holds(&step.condition).await? {
            return Ok(());
        }
        if let Some(note) = &step.note {
            self.trace.system_line(note);
        }
        let Err(error) = self.act(&step.action).await else {
            return Ok(());
        };
        if matches!(error, BuildError::Canceled(_)) {
            return Err(error);
        }
        match &step.on_failure {
            OnFailure::Fail => Err(error),
            OnFailure::Ignore => Ok(()),
            OnFailure::Recover(steps) => {
                for step in steps {
                    // Recovery steps do not recover themselves, so this ends.
                    Box::pin(self.step(step)).await?;
                }
                self.act(&step.action).await
            }
        }
    }

    async fn holds(&self, condition: &Condition) -> Result<bool, BuildError> {
        Ok(match condition {
            Condition::Always => true,
            Condition::Shallow => self.project.join(".git/shallow").exists(),
            Condition::NotShallow => !self.project.join(".git/shallow").exists(),
            Condition::Submodules => self.project.join(".gitmodules").exists(),
            Condition::CommitMissing(commit) => {
                !self.quietly(&GitPlan::commit_check(commit)).await?
            }
            Condition::Lfs => self.quietly(&GitPlan::lfs_check()).await?,
        })
    }

    async fn act(&self, action: &GitAction) -> Result<(), BuildError> {
        self.cancellation.check()?;
        let done = match action {
            GitAction::EnterProject => fs::create_dir_all(self.project),
            GitAction::EmptyProject => self.off_thread(empty).await,
            GitAction::CleanGitDir => self.off_thread(clean_git_dir).await,
            GitAction::Git(command) => return self.git(command).await,
        };
        done.map_err(|source| {
            BuildError::system(
                "runner",
                format!("make {} ready", self.project.display()),
                source,
            )
        })
    }

    async fn git(&self, command: &GitCommand) -> Result<(), BuildError> {
        let program = self.command(command);
        if run_logged(self.processes, &program, self.trace, self.cancellation).await? {
            return Ok(());
        }
        Err(BuildError::System {
            backend: "runner",
            message: format!("git {} failed", command.name()),
            source: None,
            retry: Retryability::Temporary,
        })
    }

    async fn quietly(&self, command: &GitCommand) -> Result<bool, BuildError> {
        run_logged(
            self.processes,
            &self.command(command),
            &Silent,
            self.cancellation,
        )
        .await
    }

    fn command(&self, command: &GitCommand) -> Command {
        let mut argv = self.plan.argv(command).into_iter();
        let program = argv.next().unwrap_or_else(|| "git".to_owned());
        let unset = self.plan.unset();
        let of_job = self.variables.environment.iter();
        let of_job = of_job
            .filter(|(name, _)| !unset.contains(&name.as_str()))
            .cloned();
        let secrets = self
            .credentials
            .iter()
            .map(|it| (it.key.clone(), it.value.clone()));
        Command::new(program)
            .args(argv)
            .envs(git::local_environment(self.processes))
            .envs(self.authorities())
            .envs(of_job)
            .envs(self.plan.env().iter().copied())
            .envs(secrets)
            .envs(command.env.iter().cloned())
            .current_dir(self.project)
    }

    /// Trusts certificates for one server alone.
    fn authorities(&self) -> Vec<(String, OsString)> {
        let Some((server, file)) = self.authorities else {
            return Vec::new();
        };
        vec![
            ("GIT_CONFIG_COUNT".to_owned(), "1".into()),
            (
                "GIT_CONFIG_KEY_0".to_owned(),
                format!("http.{server}.sslCAInfo").into(),
            ),
            ("GIT_CONFIG_VALUE_0".to_owned(), file.into()),
        ]
    }

    async fn off_thread(&self, work: fn(&Path) -> io::Result<()>) -> io::Result<()> {
        let project = self.project.to_owned();
        off_thread(move || work(&project)).await.flatten()
    }
}

/// Discards the output of commands whose exit code is the answer.
#[derive(Debug)]
struct Silent;

impl JobTrace for Silent {
    fn write(&self, _stream: executor_core::TraceStream, _data: &[u8]) {}
    fn idle(&self, _stream: executor_core::TraceStream) {}
    fn add_mask(&self, _secret: &str) {}
}

/// Removes everything in `project`, but not the directory itself, which may be a mount point.
fn empty(project: &Path) -> io::Result<()> {
    for entry in fs::read_dir(project)? {
        process::remove_tree(&entry?.path())?;
    }
    Ok(())
}

/// Removes files of an earlier job from the repository that would disturb this one.
fn clean_git_dir(project: &Path) -> io::Result<()> {
    let git = project.join(".git");
    match fs::symlink_metadata(&git) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(metadata) if !metadata.is_dir() => return fs::remove_file(&git),
        Ok(_) => {}
        Err(error) => return Err(error),
    }
    clean_one(&git)?;
    let mut pending = vec![git.join("modules")];
    while let Some(directory) = pending.pop() {
        for entry in subdirectories(&directory)? {
            if entry.join("HEAD").is_file() && entry.join("objects").is_dir() {
                clean_one(&entry)?;
            }
            pending.push(entry);
        }
    }
    Ok(())
}

fn clean_one(git_dir: &Path) -> io::Result<()> {
    for name in GIT_DIR_LEFTOVERS {
        process::remove_tree(&git_dir.join(name))?;
    }
    let mut pending = vec![git_dir.join("refs")];
    while let Some(directory) = pending.pop() {
        pending.extend(subdirectories(&directory)?);
        for entry in entries(&directory)? {
            if entry
                .extension()
                .is_some_and(|extension| extension == "lock")
            {
                process::remove_tree(&entry)?;
            }
        }
    }
    Ok(())
}

fn subdirectories(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = entries(directory)?;
    entries.retain(|entry| fs::symlink_metadata(entry).is_ok_and(|metadata| metadata.is_dir()));
    Ok(entries)
}

/// Returns the entries of a directory; none when it does not exist or is a link.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::symlink_metadata(directory).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(Vec::new());
    }
    fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect()
}
