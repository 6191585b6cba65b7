//! Files of a job whose environment this host reaches only through streams.
//!
//! They are collected in a directory of this host and sent to the environment, and back.

mod pack;
mod transfer;

use crate::panics::off_thread;
use archive::{Limits, LinkTargets};
use executor_core::ability::FileTransfer;
use executor_core::{BuildDirs, BuildError, Cancellation, Retryability};
use fail_point::fail_point;
use process::{Supervisor, TempDir};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::artifacts::pattern_roots;
pub(crate) use transfer::redirect_to_staging;

/// A directory of this host, and the file transfer to the environment.
#[derive(Debug)]
pub(crate) struct Staging {
    transfer: Arc<dyn FileTransfer>,
    directory: TempDir,
    /// The job's directory in the environment.
    inside: String,
}

impl Staging {
    /// Creates the directory below `parent`.
    pub(crate) fn create(
        transfer: Arc<dyn FileTransfer>,
        inside: &BuildDirs,
        parent: &Path,
        supervisor: &Supervisor,
    ) -> Result<Self, BuildError> {
        let directory = supervisor.temp_dir(parent, "staging-");
        let directory = directory.map_err(|source| {
            BuildError::system("runner", "create a directory for files", source)
        })?;
        Ok(Self {
            transfer,
            directory,
            inside: inside.project_dir.clone(),
        })
    }

    /// Returns the directories on this host that stand for those of the environment.
    pub(crate) fn host_dirs(&self, inside: &BuildDirs) -> BuildDirs {
        let below = |name: &str| self.directory.path().join(name).display().to_string();
        BuildDirs {
            builds_dir: self.directory.path().display().to_string(),
            cache_dir: below("cache"),
            project_dir: below("project"),
            temp_dir: below("temp"),
            shared: inside.shared,
        }
    }

    fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// Sends all staged files to the environment, and removes them here.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`BuildError::Canceled`].
    pub(crate) async fn send(&self, cancellation: &Cancellation) -> Result<(), BuildError> {
        let project = self.project();
        if is_empty(&project) {
            return Ok(());
        }
        let (reader, writer) = pipe_to_async().map_err(|error| failed("send files", error))?;
        let packing = {
            let (project, stop) = (project.clone(), cancellation.clone());
            off_thread(move || pack::pack(&project, writer, &stop))
        };
        let put = self
            .transfer
            .put(&self.inside, Box::new(reader), cancellation);
        let (packed, put) = tokio::join!(packing, put);
        // When the environment refuses, the stream breaks; its error is the one to report.
        put?;
        cancellation.check()?;
        fail_point!("job_runner::staging::send", packed.flatten())
            .map_err(|error| failed("send files", error))?;
        off_thread(move || empty(&project))
            .await
            .flatten()
            .map_err(|error| failed("send files", error))
    }

    /// Fetches `paths` of the job's directory, in place of all staged files.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`BuildError::Canceled`].
    pub(crate) async fn fetch(
        &self,
        paths: &[String],
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let project = self.project();
        let emptied = {
            let project = project.clone();
            off_thread(move || fs::create_dir_all(&project).and_then(|()| empty(&project)))
        };
        let failed = |error| failed("fetch files", error);
        emptied.await.flatten().map_err(failed)?;
        let mut stream = self.transfer.get(&self.inside, paths, cancellation).await?;
        let (reader, mut writer) = pipe_from_async().map_err(failed)?;
        let unpacking = {
            let stop = cancellation.clone();
            off_thread(move || {
                let limits = Limits {
                    links: LinkTargets::Anywhere,
                    ..Limits::default()
                };
                archive::unpack_tar(reader, &project, &limits, &stop).map(drop)
            })
        };
        let copying = async move {
            tokio::select! {
                copied = tokio::io::copy(&mut stream, &mut writer) => copied.map(drop),
                _ = cancellation.canceled() => Ok(()),
            }
            // Dropping the writer ends the archive.
        };
        let (unpacked, copied) = tokio::join!(unpacking, copying);
        cancellation.check()?;
        let unpacked = unpacked.map_err(failed)?;
        match (copied, unpacked) {
            // An error of unpacking breaks the pipe.
            (Err(error), _) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error)),
            (_, Err(error)) => Err(failed(io::Error::other(error))),
            (_, Ok(())) => Ok(()),
        }
    }

    /// Removes the directory.
    pub(crate) async fn remove(self) -> Result<(), BuildError> {
        let removed = self.directory.remove().await;
        removed.map_err(|source| BuildError::system("runner", "remove files", source))
    }
}

fn failed(what: &str, source: io::Error) -> BuildError {
    BuildError::System {
        backend: "runner",
        message: what.to_owned(),
        source: Some(source.into()),
        retry: Retryability::Temporary,
    }
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).map_or(true, |mut it| it.next().is_none())
}

/// Removes all entries of a directory.
fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        process::remove_tree(&entry?.path())?;
    }
    Ok(())
}

/// Returns a stream and the file into which a thread writes its content. When the stream is dropped, writes fail.
fn pipe_to_async() -> io::Result<(Receiver, File)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((Receiver::from_owned_fd(read)?, File::from(write)))
}

/// Returns a file that a thread reads, and the sender of its content. When the sender is dropped, the file ends.
fn pipe_from_async() -> io::Result<(File, Sender)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((File::from(read), Sender::from_owned_fd(write)?))
}
