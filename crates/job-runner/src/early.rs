//! Sources that come while the environment is still prepared.
//!
//! A tree on this host that an environment is going to see needs nothing of that environment. An executor
//! that announces where the tree will be ([`PlannedWorkspace`]) has it filled meanwhile, unless a script of
//! the job is to run there before.
//!
//! | what happens | what becomes of them |
//! |---|---|
//! | it is the turn of `get_sources` | they are waited for; what was said meanwhile is shown, and all that follows |
//! | they fail | that was the stage's first try, and it says so |
//! | `prepare` fails, or the environment has other directories or variables | they are stopped and removed, and come in their turn |
//! | the job is stopped | they are stopped |

use crate::bringing::{Bringing, Filled, brings};
use crate::build::{Build, Settings};
use crate::caught::caught;
use crate::held_log::HeldLog;
use crate::limit::{Expired, Limit, canceled_means_aborted, within};
use crate::off_thread::off_thread;
use crate::remove::{self, Parents};
use crate::sources::{Attachment, GitSources, Inputs, Sources};
use crate::stages::script_of;
use crate::variables;
use executor_core::trace::JobTraceExt;
use executor_core::{
    BuildError, BuildStage, CancelCause, Cancellation, JobTrace, PlannedWorkspace,
    PreparedEnvironment, Retryability, ShellInfo, StopLevel, Workspace,
};
use fail_point::fail_point;
use shells::JobScripts;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Sources that are on their way, or there.
#[derive(Debug)]
pub(crate) struct EarlySources {
    /// Where the executor said that they will be.
    workspace: Workspace,
    /// Whether there was a directory for them already.
    was_there: bool,
    log: Arc<HeldLog>,
    stop: Cancellation,
    work: JoinSet<Result<Filled, BuildError>>,
}

impl EarlySources {
    /// Waits for them. What was said about them is shown, and from now on at once.
    ///
    /// # Cancellation
    ///
    /// Stops them.
    pub(crate) async fn claim(mut self, turn: &Cancellation) -> Result<Filled, BuildError> {
        self.log.show();
        tokio::select! {
            biased;
            done = joined(&mut self.work) => return done,
            cause = turn.canceled() => self.stop.abort(cause),
        }
        joined(&mut self.work).await
    }

    /// Returns whether they are what this environment is to get.
    pub(crate) fn are_for(&self, environment: &PreparedEnvironment, build: &Build<'_>) -> bool {
        let (planned, found) = (&self.workspace, &environment.workspace);
        // Sources do not come to the private directory, and have nothing in it.
        let places = |workspace: &Workspace| {
            let mut places = workspace.host_dirs().cloned();
            if let Some(host) = &mut places {
                host.temp_dir.clear();
            }
            places
        };
        planned.dirs() == found.dirs()
            && places(planned) == places(found)
            && planned.is_local() == found.is_local()
            && environment.variables.is_empty()
            && !build.has_script_before(&environment.shell)
    }
}

impl Build<'_> {
    /// Returns where an executor can say where the job's files are to be; `None` when none could be brought
    /// before there is an environment.
    pub(crate) fn planned_workspace(&self, shell: &ShellInfo) -> Option<PlannedWorkspace> {
        let could_come = match self.options.sources {
            Sources::Git(_) | Sources::Snapshot(_) | Sources::Worktree(_) => true,
            Sources::InPlace(_) | Sources::None => false,
        };
        (could_come && !self.has_script_before(shell)).then(PlannedWorkspace::new)
    }

    /// Returns whether a script is to run in the environment before it has sources.
    fn has_script_before(&self, shell: &ShellInfo) -> bool {
        let mut scripts = JobScripts::new(shell, &self.job);
        scripts.post_get_sources.clear();
        let of_config = self.context.config.pre_get_sources_script.clone();
        scripts.pre_get_sources.push(of_config);
        // One that cannot be written is told of in its turn.
        !matches!(script_of(&scripts, &BuildStage::GetSources), Ok(None))
    }

    /// Begins to bring sources to where the environment will see them, if there are any to bring.
    pub(crate) fn begin_early(
        &self,
        settings: &Settings,
        shell: &ShellInfo,
        workspace: Workspace,
    ) -> Option<EarlySources> {
        let Workspace::Mounted { host, .. } = &workspace else {
            return None;
        };
        let project = PathBuf::from(&host.project_dir);
        let own_project = self.own_project(host);
        // What is wrong with the settings is told when it is their turn.
        let bringing = self.plan_early(settings, shell, &workspace).ok()??;
        let stop = self.cancellation.child();
        let log = Arc::new(HeldLog::new(Arc::clone(&self.log) as Arc<dyn JobTrace>));
        let limit = settings.timeouts.get_sources.map(|limit| Limit {
            at: Instant::now() + limit,
            stops: stop.clone(),
            level: StopLevel::Abort,
            expired: Expired {
                phase: "get_sources",
                limit,
            },
        });
        let mut early = EarlySources {
            was_there: fs::symlink_metadata(&project).is_ok(),
            workspace,
            log: Arc::clone(&log),
            stop: stop.clone(),
            work: JoinSet::new(),
        };
        let job = self.cancellation.clone();
        let work = async move {
            let filling = async {
                if let Some(own) = &own_project {
                    bringing.tools.note_directory(own)?;
                }
                make_project(project).await?;
                bringing.run(&Inputs::default(), &*log, &stop).await
            };
            let filling = canceled_means_aborted(filling, &job, &stop);
            caught(&*log, within(filling, limit.into_iter().collect())).await
        };
        early.work.spawn(work);
        Some(early)
    }

    fn plan_early(
        &self,
        settings: &Settings,
        shell: &ShellInfo,
        workspace: &Workspace,
    ) -> Result<Option<Bringing>, BuildError> {
        let environment = PreparedEnvironment {
            shell: shell.clone(),
            workspace: workspace.clone(),
            hostname: String::new(),
            variables: Vec::new(),
        };
        let all = variables::in_environment((*settings.variables).clone(), &environment)?;
        let dirs = workspace.host_dirs().unwrap_or(workspace.dirs()).clone();
        let expanded = variables::expanded(&all, Some(&workspace.dirs().temp_dir))?;
        let sources = self.options.sources.clone();
        let git = match &sources {
            Sources::Git(local) => Some(GitSources::plan(&self.job, &expanded, *local)?),
            _ => None,
        };
        if !brings(&sources, git.as_ref(), &self.job, &expanded) {
            return Ok(None);
        }
        let (plan, credentials) = git
            .map(|git| (git.plan, git.credentials))
            .unwrap_or_default();
        Ok(Some(Bringing {
            sources,
            dirs,
            sees_mounts: workspace.is_local(),
            stay: self.stay(),
            tools: Arc::clone(&self.tools),
            plan,
            credentials,
            variables: variables::for_stage(&expanded, "running")?,
        }))
    }

    /// Stops sources that nobody will claim, and removes what was made for them.
    pub(crate) async fn discard_early(&mut self, early: EarlySources, parents: Parents) {
        let EarlySources {
            workspace,
            was_there,
            stop,
            mut work,
            ..
        } = early;
        stop.abort(CancelCause::Unneeded);
        let attachment = match joined(&mut work).await {
            Ok(Filled::CheckedOut(checkout)) => Some(Attachment::Checkout(checkout)),
            Ok(Filled::Copied(brought)) => brought.layer.map(Attachment::Layer),
            Ok(Filled::Fetched) | Err(_) => None,
        };
        if let Some(attachment) = attachment
            && let Err(error) = attachment.remove().await
        {
            self.log.warning_line(&error.chain());
        }
        let Some(dirs) = workspace.host_dirs() else {
            return;
        };
        let own_project = self.own_project(dirs);
        if was_there && own_project.is_none() {
            // It is kept from job to job.
            return;
        }
        let (project, builds) = (
            PathBuf::from(&dirs.project_dir),
            PathBuf::from(&dirs.builds_dir),
        );
        let removed = off_thread(move || remove::project(&project, &builds, parents)).await;
        let removed = removed
            .flatten()
            .map_err(|source| BuildError::system("runner", "remove the sources", source));
        let forgotten = removed.and_then(|()| match &own_project {
            Some(project) => self.tools.forget_directory(project),
            None => Ok(()),
        });
        if let Err(error) = forgotten {
            self.log.warning_line(&error.chain());
        }
    }
}

async fn make_project(project: PathBuf) -> Result<(), BuildError> {
    let message = format!("make directory {}", project.display());
    let made = off_thread(move || {
        fail_point!(
            "job_runner::early::make_project",
            fs::create_dir_all(&project)
        )
    });
    let made = made.await.flatten();
    made.map_err(|source| BuildError::system("runner", message, source))
}

/// Returns how the work ended.
async fn joined(work: &mut JoinSet<Result<Filled, BuildError>>) -> Result<Filled, BuildError> {
    match work.join_next().await {
        Some(Ok(done)) => done,
        // Panics are caught where they are, so this is a runtime that shuts down.
        Some(Err(_)) | None => Err(BuildError::System {
            backend: "runner",
            message: "bring the sources".to_owned(),
            source: None,
            retry: Retryability::Temporary,
        }),
    }
}
