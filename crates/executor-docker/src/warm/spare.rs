//! A container that is ready and has no job yet, and how a job claims it.

use super::relay::TraceRelay;
use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::job::container;
use crate::job::container::JobContainer;
use crate::job::container::ready::ContainerDetails;
use crate::job::container::watch::current_end;
use crate::job::created_resources::CreatedResources;
use crate::job::files::JobFiles;
use crate::job::prepare::creation::Creation;
use crate::job::prepare::started_container::StartedContainer;
use executor_core::{Cancellation, JobTraceExt};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, statat};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use steps::StepsClient;
use tokio::time::timeout;

/// The time limit for its agent's answer; a new container would not take much longer.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// The time limit of the rename: a busy engine would need much longer for a new container.
const RENAMING: Duration = Duration::from_secs(25);
/// The time limit for the removal of an unusable one.
const REMOVAL: Duration = Duration::from_secs(30);

/// A warm container and its resources.
#[derive(Debug)]
pub(super) struct Spare {
    pub(super) container: JobContainer,
    pub(super) details: Option<ContainerDetails>,
    pub(super) client: Option<StepsClient>,
    /// The name of its private directory on this host.
    pub(super) private: String,
    pub(super) held_paths: HeldPaths,
    pub(super) log: Arc<TraceRelay>,
    pub(super) made: CreatedResources,
}

impl Spare {
    /// Removes the container and its resources.
    pub(super) async fn remove(mut self) -> Result<(), DockerError> {
        // Its watcher must not report the removal as an unexpected end.
        drop(self.container);
        self.made.remove().await
    }
}

impl Creation<'_> {
    /// Gives the container to the job; `None` when it was unusable and is removed.
    ///
    /// It belongs to the job's resources from the start, so the cleanup removes it in any case.
    pub(super) async fn claim(
        &self,
        spare: Spare,
        made: &mut CreatedResources,
        cancellation: &Cancellation,
    ) -> Result<Option<StartedContainer>, DockerError> {
        let Spare {
            mut container,
            details,
            client,
            private,
            held_paths,
            log,
            made: with_it,
        } = spare;
        made.take_over(with_it);
        let engine = container.engine().clone();
        let name = self.names.build();
        let id = container.id().to_owned();
        let asking = async {
            if !held_paths.are_unchanged() {
                return Err("its files were replaced".to_owned());
            }
            let renamed = async {
                let renamed = timeout(RENAMING, container.rename(&name)).await;
                let renamed =
                    renamed.map_err(|_| "the engine did not rename it in time".to_owned())?;
                renamed.map_err(|error| executor_core::chain(&error))
            };
            // The inspection has its own deadline.
            let seen = async {
                match current_end(&engine, &id).await {
                    Some(end) => Err(end.error(&name).to_string()),
                    None => Ok(()),
                }
            };
            let greeted = async {
                let Some(client) = &client else {
                    return Ok(());
                };
                let greeted = timeout(SIGN_OF_LIFE, client.hello(cancellation)).await;
                let greeted = greeted.map_err(|_| "its agent does not answer".to_owned())?;
                greeted
                    .map(drop)
                    .map_err(|error| executor_core::chain(&error))
            };
            tokio::try_join!(seen, renamed, greeted).map(drop)
        };
        let asking = async { Ok(asking.await) };
        let why = unless_stopped(cancellation, asking).await?.err();
        if let Some(why) = why {
            let trace = &self.preparation.options.trace;
            trace.system_line(&format!("A warm container is unusable: {why}."));
            // It may already have the job's name.
            let removal = container::remove(&engine, &id);
            let removal = async { Ok(timeout(REMOVAL, removal).await) };
            let _ = unless_stopped(cancellation, removal).await?;
            return Ok(None);
        }
        let options = &self.preparation.options;
        log.attach(&options.trace);
        let root = self.root_to_mount().ok_or_else(|| {
            DockerError::config("the files of a warm container are not on this host")
        })?;
        let files = JobFiles::mounted(root, &self.preparation.dirs, options, &private)?;
        Ok(Some(StartedContainer {
            container,
            files,
            details,
            client,
        }))
    }
}

/// Open files and directories. While they are open, no other file gets their inode numbers.
#[derive(Debug, Default)]
pub(super) struct HeldPaths(Vec<(PathBuf, OwnedFd)>);

impl HeldPaths {
    /// Opens these paths; ignores those that cannot be opened.
    pub(super) fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let held = paths.into_iter().filter_map(|path| {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let file = openat(CWD, &path, flags, Mode::empty()).ok()?;
            Some((path, file))
        });
        Self(held.collect())
    }

    /// Returns whether each path still leads to the same file.
    ///
    /// A container keeps its mounts: it does not see a file that replaced one of them.
    pub(super) fn are_unchanged(&self) -> bool {
        self.0.iter().all(|(path, file)| is_same(path, file))
    }
}

fn is_same(path: &Path, file: &OwnedFd) -> bool {
    let now = statat(CWD, path, AtFlags::empty());
    matches!((now, fstat(file)), (Ok(now), Ok(then)) if (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_replaced_path_is_detected() {
        let root = tempfile::tempdir().unwrap();
        let (kept, replaced) = (root.path().join("kept"), root.path().join("replaced"));
        for path in [&kept, &replaced] {
            fs::create_dir(path).unwrap();
        }
        let held_paths = HeldPaths::of([kept.clone(), replaced.clone()]);
        assert!(held_paths.are_unchanged());
        fs::write(kept.join("file"), "the content does not matter").unwrap();
        assert!(held_paths.are_unchanged());
        fs::remove_dir(&replaced).unwrap();
        assert!(!held_paths.are_unchanged());
        fs::create_dir(&replaced).unwrap();
        assert!(!held_paths.are_unchanged());
    }
}
