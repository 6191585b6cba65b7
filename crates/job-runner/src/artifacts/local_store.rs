use super::store::{ArtifactError, ArtifactFiles, ArtifactStore};
use crate::off_thread::off_thread;
use async_trait::async_trait;
use executor_core::Cancellation;
use executor_core::job::{Artifact, Dependency, JobId};
use fail_point::fail_point;
use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Keeps artifacts as plain files below a directory of this host: `<job>/<type>/<path>`.
///
/// The directory belongs to one pipeline, since jobs are told apart by their ids alone.
#[derive(Debug, Clone)]
pub struct LocalArtifactStore {
    directory: PathBuf,
    staging: Option<PathBuf>,
}

impl LocalArtifactStore {
    /// Names the directory; it is made when the first artifact comes.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            staging: None,
        }
    }

    /// Copies to this directory first, rather than next to where the files are going to be.
    ///
    /// It must be on the same file system. If it is one that is removed after a crash, then so is
    /// what was half copied.
    pub fn staging(mut self, staging: impl Into<PathBuf>) -> Self {
        self.staging = Some(staging.into());
        self
    }

    /// Returns where the files of one type of a job are: `archive`, or the kind of a report.
    pub fn files_of(&self, job: JobId, artifact_type: &str) -> PathBuf {
        // A type is a word of GitLab's; what is none must not lead elsewhere.
        let name = artifact_type.replace(['/', '\\', '\0'], "_");
        let name = if name.chars().all(|c| c == '.') {
            "archive"
        } else {
            name.as_str()
        };
        self.directory.join(job.to_string()).join(name)
    }

    /// Returns where the files are until all of them are there.
    fn partial(&self, job: JobId, target: &Path) -> PathBuf {
        let name = target.file_name().unwrap_or_default().display();
        match &self.staging {
            Some(staging) => staging.join(format!("{job}.{name}.partial")),
            None => target.with_file_name(format!("{name}.partial")),
        }
    }
}

#[async_trait]
impl ArtifactStore for LocalArtifactStore {
    async fn contains(&self, job: JobId) -> bool {
        self.files_of(job, "archive").is_dir()
    }

    async fn discard(&self, job: JobId) -> Result<(), ArtifactError> {
        let path = self.directory.join(job.to_string());
        let discarded = fail_point!(
            "job_runner::artifacts::discard",
            process::remove_tree_off_thread(&path).await
        );
        discarded.map_err(|source| ArtifactError::File { path, source })
    }

    async fn save(
        &self,
        job: JobId,
        artifact: &Artifact,
        files: ArtifactFiles,
        cancellation: &Cancellation,
    ) -> Result<(), ArtifactError> {
        let target = self.files_of(job, &artifact.artifact_type);
        let partial = self.partial(job, &target);
        let cancellation = cancellation.clone();
        let saved = off_thread(move || save(&files, &partial, &target, &cancellation)).await;
        saved.unwrap_or_else(|error| Err(copying_broke(error)))
    }

    async fn fetch(
        &self,
        dependency: &Dependency,
        project: &Path,
        cancellation: &Cancellation,
    ) -> Result<usize, ArtifactError> {
        let source = self.files_of(dependency.id, "archive");
        let project = project.to_owned();
        let cancellation = cancellation.clone();
        let fetched = off_thread(move || {
            let mut count = 0;
            unpack(&source, Path::new(""), &project, &cancellation, &mut count)?;
            Ok(count)
        });
        fetched
            .await
            .unwrap_or_else(|error| Err(copying_broke(error)))
    }
}

fn copying_broke(error: io::Error) -> ArtifactError {
    ArtifactError::Other {
        message: "copy artifacts".to_owned(),
        source: Some(error.into()),
    }
}

/// Copies to another place first, so that nobody ever sees half of the files.
fn save(
    files: &ArtifactFiles,
    partial: &Path,
    target: &Path,
    cancellation: &Cancellation,
) -> Result<(), ArtifactError> {
    let result = fill(files, partial, cancellation).and_then(|()| {
        let replace = || {
            process::remove_tree(target)?;
            fail_point!(
                "job_runner::artifacts::make_target",
                fs::create_dir_all(target.parent().unwrap_or(target))
            )?;
            fail_point!(
                "job_runner::artifacts::publish",
                fs::rename(partial, target)
            )
        };
        replace().map_err(|source| ArtifactError::File {
            path: target.to_owned(),
            source,
        })
    });
    if result.is_err() {
        // The first error is the one to tell; what is left here is found under its name.
        let _ = process::remove_tree(partial);
    }
    result
}

fn fill(
    files: &ArtifactFiles,
    partial: &Path,
    cancellation: &Cancellation,
) -> Result<(), ArtifactError> {
    let error = |path: &Path| {
        let path = path.to_owned();
        move |source| ArtifactError::File { path, source }
    };
    process::remove_tree(partial).map_err(error(partial))?;
    let made = fail_point!(
        "job_runner::artifacts::make_dir",
        fs::create_dir_all(partial)
    );
    made.map_err(error(partial))?;
    let mut directories: BTreeSet<&Path> = BTreeSet::new();
    for path in &files.paths {
        if cancellation.is_canceled() {
            return Err(ArtifactError::Stopped);
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(partial.join(parent)).map_err(error(parent))?;
            let parents = parent.ancestors().filter(|it| !it.as_os_str().is_empty());
            directories.extend(parents);
        }
        let copied = fail_point!(
            "job_runner::artifacts::save",
            copy(&files.project.join(path), &partial.join(path))
        );
        copied.map_err(error(path))?;
    }
    // When all is in them: what comes in changes their time, and some may take in no more.
    for path in directories.into_iter().rev() {
        copy_looks(&files.project.join(path), &partial.join(path)).map_err(error(path))?;
    }
    Ok(())
}

fn unpack(
    source: &Path,
    below: &Path,
    project: &Path,
    cancellation: &Cancellation,
    count: &mut usize,
) -> Result<(), ArtifactError> {
    let error = |source| ArtifactError::File {
        path: below.to_owned(),
        source,
    };
    for entry in fs::read_dir(source.join(below)).map_err(error)? {
        if cancellation.is_canceled() {
            return Err(ArtifactError::Stopped);
        }
        let entry = entry.map_err(error)?;
        let path = below.join(entry.file_name());
        let target = project.join(&path);
        if entry.file_type().map_err(error)?.is_dir() {
            if target.is_symlink() {
                return Err(ArtifactError::ThroughLink { path });
            }
            make_open(&target).map_err(error)?;
            unpack(source, &path, project, cancellation, count)?;
            let copied = copy_looks(&entry.path(), &target);
            copied.map_err(|source| ArtifactError::File { path, source })?;
            continue;
        }
        debug_assert!(
            path.components()
                .all(|part| matches!(part, Component::Normal(_)))
        );
        let replaced = fail_point!(
            "job_runner::artifacts::fetch",
            replace(&entry.path(), &target)
        );
        replaced.map_err(|source| ArtifactError::File { path, source })?;
        *count += 1;
    }
    Ok(())
}

/// Puts a file where another one, or a link, may be.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    match fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    copy(from, to)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    if metadata.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)
    } else if metadata.is_dir() {
        fs::create_dir_all(to)?;
        copy_looks(from, to)
    } else {
        fs::copy(from, to)?;
        copy_looks(from, to)
    }
}

/// Gives a copied file or directory the mode and the time of the last change that it had.
fn copy_looks(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::metadata(from)?;
    let copy = File::open(to)?;
    copy.set_times(FileTimes::new().set_modified(metadata.modified()?))?;
    copy.set_permissions(metadata.permissions())
}

/// Makes a directory, or opens one to its owner that an earlier archive may have closed.
fn make_open(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut permissions = fs::metadata(directory)?.permissions();
    if permissions.mode() & 0o700 != 0o700 {
        permissions.set_mode(permissions.mode() | 0o700);
        fs::set_permissions(directory, permissions)?;
    }
    Ok(())
}
