//! What the stages of a job do about tracked files.

use super::{Before, Declared, Guest};
use crate::job_directory::JobDirectory;
use crate::off_thread::off_thread;
use crate::sources::Sources;
use crate::stages::Stages;
use executor_core::trace::JobTraceExt;
use executor_core::{Cancellation, ChangedFiles};
use git::{Git, GitError};
use process::ProcessTree;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

/// How many names a warning has.
const NAMES: usize = 5;

/// How many names are kept.
const KEPT_NAMES: usize = 100;

/// A look at the tracked files before the scripts of a job, to be compared with what they left.
#[derive(Debug)]
pub(crate) struct Look<'g> {
    before: Arc<Before>,
    declared: Declared,
    /// Where others may work beside the job.
    guest: Option<Guest<'g>>,
}

impl<'r> Stages<'_, 'r> {
    /// Looks at the tracked files before the scripts, if somebody wants to know what becomes of them.
    pub(crate) async fn look_at_tracked(&mut self) -> Option<Look<'r>> {
        let watch = self.build.options.watch_changes.as_ref()?;
        if self.build.staging.is_some() {
            // Its files are not here while the scripts change them.
            return None;
        }
        let JobDirectory {
            host: project,
            named,
        } = self.job_directory()?;
        let (status, guest) = match &self.build.options.sources {
            Sources::Snapshot(snapshot) => (Some(snapshot.root().to_owned()), None),
            Sources::InPlace(_) => (Some(project.clone()), Some(watch.company.enter())),
            Sources::Worktree(_) | Sources::Git(_) => (None, None),
            Sources::None => return None,
        };
        let mut patterns = watch.may_change.may_change(&self.build.job.job_info.name);
        patterns.extend(self.declared());
        let declared = Declared::new(&named, &patterns);
        let before = {
            let processes = self.build.tools.processes();
            look(project, status, processes, &self.build.cancellation).await
        };
        match before {
            Ok(before) => Some(Look {
                before: Arc::new(before),
                declared,
                guest,
            }),
            Err(error) => {
                let error = &error as &dyn Error;
                tracing::debug!(error, "Nobody can say which files are tracked.");
                let warning =
                    "which tracked files the job changes is not known: git cannot list them";
                self.build.log.warning_line(warning);
                None
            }
        }
    }

    /// Returns the patterns of what the job says that it leaves.
    fn declared(&self) -> Vec<String> {
        let job = &self.build.job;
        let artifacts = job.artifacts.iter().flat_map(|it| &it.paths);
        let caches = job.cache.iter().flat_map(|it| &it.paths);
        let texts = artifacts.chain(caches);
        // What cannot be expanded is told where it is used.
        let expanded = texts.filter_map(|text| {
            let expanded = self.expand_all("a path", std::slice::from_ref(text));
            expanded.ok()?.pop()
        });
        expanded.collect()
    }

    /// Says which tracked files the scripts have changed that nobody declared.
    pub(crate) async fn tell_of_changes(&mut self, look: Option<Look<'_>>) {
        let Some(look) = look.filter(|_| !self.build.cancellation.is_aborted()) else {
            return;
        };
        let (before, declared) = (look.before, look.declared);
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
        // The names go on to the summary and to events, which know no secrets.
        let names = names.iter().map(|name| self.build.log.masked(name));
        let changed = ChangedFiles {
            count: count as u64,
            first: names.collect(),
            // Asked last: whoever came while the files were compared may have changed one.
            is_certain: look.guest.as_ref().is_none_or(Guest::was_alone),
        };
        self.build.log.warning_line(&warning(&changed));
        self.build.products.changed = Some(changed);
    }
}

/// Looks at the tracked files below `project`; `status` is the tree whose index knows which of them are
/// not as they were committed.
async fn look(
    project: PathBuf,
    status: Option<PathBuf>,
    processes: &ProcessTree,
    cancellation: &Cancellation,
) -> Result<Before, GitError> {
    let args = ["ls-files", "-v", "-z", "--stage"];
    let listing = Git::local(processes, &project)
        .output(&args, cancellation)
        .await?;
    let dirty = match &status {
        // Of a copy Git would read every file; what it was copied from it knows.
        Some(tree) => {
            let args = ["ls-files", "-z", "--modified"];
            Git::local(processes, tree)
                .output(&args, cancellation)
                .await?
        }
        None => Vec::new(),
    };
    let before = off_thread(move || Before::look(&project, &listing, &dirty)).await;
    before.map_err(|error| GitError::Failed {
        args: args.join(" "),
        status: "success".to_owned(),
        stderr: error.to_string(),
    })
}

/// Returns what the log says about it.
fn warning(changed: &ChangedFiles) -> String {
    let ChangedFiles {
        count,
        first,
        is_certain,
    } = changed;
    let files = if *count == 1 { "file" } else { "files" };
    let who = if *is_certain {
        format!("the job changed {count} tracked {files} that it did not declare")
    } else {
        format!("{count} tracked {files} changed that no job beside this one or itself declared")
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

/// Returns a name as it can stand in a line of the log.
fn shown(name: &str) -> String {
    if name.contains(char::is_control) {
        format!("{name:?}")
    } else {
        name.to_owned()
    }
}
