//! Fetches sources while the environment is still being prepared.
//!
//! A tree on this host needs nothing of the environment that will see it. When an executor announces the
//! directory of the tree ([`PlannedWorkspace`]), the directory is filled during `prepare`, unless a script
//! of the job must run in it first.
//!
//! | event | effect on early sources |
//! |---|---|
//! | stage `get_sources` starts | it waits for them, and shows their log |
//! | they fail | this counts as the first attempt of the stage |
//! | `prepare` fails, or the environment has other directories or variables | they are stopped and removed, and the stage fetches them again |
//! | the job is stopped | they are stopped |

use crate::build::{Build, Settings};
use crate::directories::{self, Parents};
use crate::held_log::HeldLog;
use crate::limit::{Expired, Limit, abort_when_canceled, within};
use crate::panics::catch_panic;
use crate::panics::off_thread;
use crate::source_filler::{Filled, SourceFiller, git_settings, has_sources};
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

/// Sources that are fetched early, or have been.
#[derive(Debug)]
pub(crate) struct EarlySources {
    /// The workspace that the executor announced.
    workspace: Workspace,
    /// Whether the project directory existed before.
    existed: bool,
    log: Arc<HeldLog>,
    stop: Cancellation,
    work: JoinSet<Result<Filled, BuildError>>,
}

impl EarlySources {
    /// Shows their log so far, and waits for them.
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

    /// Returns whether they are where this environment expects its sources.
    pub(crate) fn fit(&self, environment: &PreparedEnvironment, build: &Build<'_>) -> bool {
        let (planned, found) = (&self.workspace, &environment.workspace);
        // Sources never use the private directory.
        let host_dirs_without_temp = |workspace: &Workspace| {
            let mut dirs = workspace.host_dirs().cloned();
            if let Some(host) = &mut dirs {
                host.temp_dir.clear();
            }
            dirs
        };
        planned.dirs() == found.dirs()
            && host_dirs_without_temp(planned) == host_dirs_without_temp(found)
            && planned.is_local() == found.is_local()
            && environment.variables.is_empty()
            && !build.has_script_before(&environment.shell)
    }
}

impl Build<'_> {
    /// Returns the port through which an executor announces the workspace; `None` when no sources can be
    /// fetched early.
    pub(crate) fn planned_workspace(&self, shell: &ShellInfo) -> Option<PlannedWorkspace> {
        let can_be_early = match self.options.sources {
            Sources::Git(_) | Sources::Snapshot(_) | Sources::Worktree(_) => true,
            Sources::InPlace(_) | Sources::None => false,
        };
        (can_be_early && !self.has_script_before(shell)).then(PlannedWorkspace::new)
    }

    /// Returns whether a script must run in the environment before the sources.
    fn has_script_before(&self, shell: &ShellInfo) -> bool {
        let mut scripts = JobScripts::new(shell, &self.job);
        scripts.post_get_sources.clear();
        let of_config = self.context.config.pre_get_sources_script.clone();
        scripts.pre_get_sources.push(of_config);
        // The stage itself reports a script that cannot be written.
        !matches!(script_of(&scripts, &BuildStage::GetSources), Ok(None))
    }

    /// Starts to fetch sources to the directory that the environment will see, if there are any.
    pub(crate) fn start_early(
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
        // Stage `get_sources` reports wrong settings.
        let filler = self.plan_early(settings, shell, &workspace).ok()??;
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
            existed: fs::symlink_metadata(&project).is_ok(),
            workspace,
            log: Arc::clone(&log),
            stop: stop.clone(),
            work: JoinSet::new(),
        };
        let job = self.cancellation.clone();
        let work = async move {
            let filling = async {
                if let Some(own) = &own_project {
                    filler.processes.record_directory(own)?;
                }
                make_project(project).await?;
                filler.fill(&Inputs::default(), &*log, &stop).await
            };
            let filling = abort_when_canceled(filling, &job, &stop);
            catch_panic(&*log, within(filling, limit.into_iter().collect())).await
        };
        early.work.spawn(work);
        Some(early)
    }

    fn plan_early(
        &self,
        settings: &Settings,
        shell: &ShellInfo,
        workspace: &Workspace,
    ) -> Result<Option<SourceFiller>, BuildError> {
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
        if !has_sources(&sources, git.as_ref(), &self.job, &expanded) {
            return Ok(None);
        }
        let (plan, credentials) = git
            .map(|git| (git.plan, git.credentials))
            .unwrap_or_default();
        Ok(Some(SourceFiller {
            sources,
            dirs,
            sees_mounts: workspace.is_local(),
            lifetime: self.directory_lifetime(),
            processes: Arc::clone(&self.processes),
            plan,
            depth: git_settings(&self.job, &expanded).depth,
            credentials,
            authorities: self.options.git_authorities.clone(),
            variables: variables::for_stage(&expanded, "running")?,
        }))
    }

    /// Stops sources that will not be used, and removes them.
    pub(crate) async fn discard_early(&mut self, early: EarlySources, parents: Parents) {
        let EarlySources {
            workspace,
            existed,
            stop,
            mut work,
            ..
        } = early;
        stop.abort(CancelCause::Unneeded);
        let attachment = match joined(&mut work).await {
            Ok(Filled::CheckedOut(checkout)) => Some(Attachment::Checkout(checkout)),
            Ok(Filled::Copied(copy)) => copy.layer.map(Attachment::Layer),
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
        if existed && own_project.is_none() {
            // The directory is kept between jobs.
            return;
        }
        let (project, builds) = (
            PathBuf::from(&dirs.project_dir),
            PathBuf::from(&dirs.builds_dir),
        );
        let remove = move || directories::remove_project(&project, &builds, parents);
        self.remove_recorded(own_project.as_deref(), "remove the sources", remove)
            .await;
    }
}

async fn make_project(project: PathBuf) -> Result<(), BuildError> {
    let message = format!("make directory {}", project.display());
    let created = off_thread(move || {
        fail_point!(
            "job_runner::early::make_project",
            fs::create_dir_all(&project)
        )
    });
    let created = created.await.flatten();
    created.map_err(|source| BuildError::system("runner", message, source))
}

/// Waits for the work and returns its result.
async fn joined(work: &mut JoinSet<Result<Filled, BuildError>>) -> Result<Filled, BuildError> {
    match work.join_next().await {
        Some(Ok(done)) => done,
        // The work catches its own panics, so the runtime is shutting down.
        Some(Err(_)) | None => Err(BuildError::System {
            backend: "runner",
            message: "fetch the sources".to_owned(),
            source: None,
            retry: Retryability::Temporary,
        }),
    }
}
