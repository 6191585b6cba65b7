//! Checks tracked files before and after the scripts.

use super::{Baseline, Declared, Occupant};
use crate::directories::JobDirectory;
use crate::panics::off_thread;
use crate::sources::Sources;
use crate::stages::Stages;
use executor_core::trace::JobTraceExt;
use executor_core::{Cancellation, ChangedFiles, counted};
use git::{Git, GitError};
use process::ProcessTree;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

/// The number of names in a warning.
const NAMES: usize = 5;

/// The number of names in the report.
const KEPT_NAMES: usize = 100;

/// The tracked files before the scripts, to be compared with those after them.
#[derive(Debug)]
pub(crate) struct TrackedFilesCheck<'g> {
    before: Arc<Baseline>,
    declared: Declared,
    /// Set where other jobs may work in the same directory.
    occupant: Option<Occupant<'g>>,
}

impl<'r> Stages<'_, 'r> {
    /// Inspects the tracked files before the scripts, if the warning is wanted.
    pub(crate) async fn watch_tracked_files(&mut self) -> Option<TrackedFilesCheck<'r>> {
        let watch = self.build.options.watch_changes.as_ref()?;
        if self.build.staging.is_some() {
            // The files are not on this host while the scripts run.
            return None;
        }
        let JobDirectory {
            host: project,
            named,
        } = self.job_directory()?;
        let (status, occupant) = match &self.build.options.sources {
            Sources::Snapshot(snapshot) => (Some(snapshot.root().to_owned()), None),
            Sources::InPlace(_) => (Some(project.clone()), Some(watch.occupancy.enter())),
            Sources::Worktree(_) | Sources::Git(_) => (None, None),
            Sources::None => return None,
        };
        let mut patterns = watch.may_change.may_change(&self.build.job.job_info.name);
        patterns.extend(self.declared());
        let declared = Declared::new(&named, &patterns);
        let before = {
            let processes = self.build.processes.tree();
            inspect(project, status, processes, &self.build.cancellation).await
        };
        match before {
            Ok(before) => Some(TrackedFilesCheck {
                before: Arc::new(before),
                declared,
                occupant,
            }),
            Err(error) => {
                let error = &error as &dyn Error;
                tracing::debug!(error, "Tracked files could not be listed.");
                let warning = "changes of tracked files are not checked: git cannot list the files";
                self.build.log.warning_line(warning);
                None
            }
        }
    }

    /// Returns the paths of artifacts and caches.
    fn declared(&self) -> Vec<String> {
        let job = &self.build.job;
        let artifacts = job.artifacts.iter().flat_map(|it| &it.paths);
        let caches = job.cache.iter().flat_map(|it| &it.paths);
        let texts = artifacts.chain(caches);
        // A path that cannot be expanded is reported where it is used.
        let expanded = texts.filter_map(|text| {
            let expanded = self.expand_all("a path", std::slice::from_ref(text));
            expanded.ok()?.pop()
        });
        expanded.collect()
    }

    /// Warns of tracked files that the scripts changed without declaring it.
    pub(crate) async fn warn_of_changes(&mut self, check: Option<TrackedFilesCheck<'_>>) {
        let Some(check) = check.filter(|_| !self.build.cancellation.is_aborted()) else {
            return;
        };
        let (before, declared) = (check.before, check.declared);
        let cancellation = self.build.cancellation.clone();
        let compared = off_thread(move || {
            let changed = before.changed(&declared, &cancellation);
            let names = changed.iter().take(KEPT_NAMES);
            let names = names.map(|path| path.to_string_lossy().into_owned());
            (changed.len(), names.collect::<Vec<String>>())
        });
        let Ok((count, names)) = compared.await else {
            return;
        };
        if count == 0 {
            return;
        }
        // Summary and events do not mask secrets.
        let names = names.iter().map(|name| self.build.log.masked(name));
        let changed = ChangedFiles {
            count: count as u64,
            first: names.collect(),
            // Checked last, because a job that started meanwhile may have changed a file.
            is_certain: check.occupant.as_ref().is_none_or(Occupant::was_alone),
        };
        self.build.log.warning_line(&warning(&changed));
        self.build.products.changed = Some(changed);
    }
}

/// Inspects the tracked files below `project`; `status` is the tree whose index knows which files differ from their
/// commit.
async fn inspect(
    project: PathBuf,
    status: Option<PathBuf>,
    processes: &ProcessTree,
    cancellation: &Cancellation,
) -> Result<Baseline, GitError> {
    let args = ["ls-files", "-v", "-z", "--stage"];
    let listing = Git::local(processes, &project)
        .output(&args, cancellation)
        .await?;
    let dirty = match &status {
        // In a copy Git would read every file; the index of the original tree is up to date.
        Some(tree) => {
            let args = ["ls-files", "-z", "--modified"];
            Git::local(processes, tree)
                .output(&args, cancellation)
                .await?
        }
        None => Vec::new(),
    };
    let before = off_thread(move || Baseline::read(&project, &listing, &dirty)).await;
    before.map_err(|error| GitError::Failed {
        args: args.join(" "),
        status: "success".to_owned(),
        stderr: error.to_string(),
    })
}

/// Returns the warning for the log.
fn warning(changed: &ChangedFiles) -> String {
    let ChangedFiles {
        count,
        first,
        is_certain,
    } = changed;
    let tracked = counted(count, "tracked file");
    let who = if *is_certain {
        format!("the job changed {tracked} that it did not declare")
    } else {
        format!("{tracked} changed that neither this job nor one running at the same time declared")
    };
    let names: Vec<String> = first.iter().take(NAMES).map(|name| shown(name)).collect();
    let names = names.join(", ");
    let more = count.saturating_sub(NAMES as u64);
    if more > 0 {
        format!("{who}: {names} and {more} more")
    } else {
        format!("{who}: {names}")
    }
}

/// Returns a name for one line of the log.
fn shown(name: &str) -> String {
    if name.contains(char::is_control) {
        format!("{name:?}")
    } else {
        name.to_owned()
    }
}
