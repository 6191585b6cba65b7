//! Artifacts at the job's GitLab, for environments whose files the runner reaches itself.

use super::HelperError;
use super::form::{Form, UploadFormat};
use super::server::{Server, UploadKind};
use crate::artifacts::{ArtifactError, ArtifactFiles, ArtifactStore, SavedArtifact};
use crate::panics::off_thread;
use archive::{Format, Level, Limits, LinkTargets};
use async_trait::async_trait;
use executor_core::job::{Artifact, ArtifactFormat, Dependency, Job, JobId, SecretString};
use executor_core::{Cancellation, RetainedArtifact, counted};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::sleep;
use web::{Url, Web};

/// The number of attempts at a transfer, and of those while the server is unavailable (503).
const ATTEMPTS: usize = 3;
const ATTEMPTS_UNAVAILABLE: usize = 6;

/// The artifacts of one job and of its dependencies, at their GitLab.
#[derive(Debug)]
pub struct GitLabArtifacts {
    web: Web,
    /// The server, with a path if it has one.
    url: Url,
    token: SecretString,
    dependencies: Vec<Dependency>,
    scratch: PathBuf,
    level: Level,
}

impl GitLabArtifacts {
    /// Returns the artifacts for `job` at the server `url`. Archives are packed in the directory `scratch`.
    pub fn new(job: &Job, url: Url, web: Web, scratch: impl Into<PathBuf>) -> Self {
        let variables = job.variables.iter().rev();
        let mut level = variables.filter(|it| it.key == "ARTIFACT_COMPRESSION_LEVEL");
        let level = level.next().map(|it| it.value.to_ascii_lowercase());
        Self {
            web,
            url,
            token: job.token.clone(),
            dependencies: job.dependencies.clone(),
            scratch: scratch.into(),
            level: level.and_then(|it| Level::named(&it)).unwrap_or_default(),
        }
    }

    fn address(&self, job: JobId) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/api/v4/jobs/{job}/artifacts"));
        url
    }

    fn scratch(&self) -> Result<tempfile::TempDir, ArtifactError> {
        let made = tempfile::Builder::new()
            .prefix("artifacts-")
            .tempdir_in(&self.scratch);
        made.map_err(|source| ArtifactError::File {
            action: "create a directory in",
            path: self.scratch.clone(),
            source,
        })
    }

    async fn upload(
        &self,
        job: JobId,
        artifact: &Artifact,
        files: ArtifactFiles,
    ) -> Result<(), ArtifactError> {
        let scratch = self.scratch()?;
        let count = files.paths.len();
        let form = Form {
            project: files.project,
            paths: files.paths,
            format: upload_format(artifact.artifact_format),
            name: Some(files.name).filter(|it| !it.is_empty()),
            scratch: scratch.path().to_owned(),
            level: self.level,
        };
        let (boundary, format) = (format!("runwright-{}", form.id()), form.format.name());
        let body = {
            let boundary = boundary.clone();
            let written = off_thread(move || form.write(&boundary)).await;
            written
                .map_err(HelperError::git)
                .flatten()
                .map_err(failed)?
        };
        let mut url = self.address(job);
        let expiry = Some(&artifact.expire_in).filter(|it| !it.is_empty());
        url.query_pairs_mut()
            .append_pair("artifact_format", format)
            .append_pair("artifact_type", &artifact.artifact_type)
            .extend_pairs(expiry.map(|it| ("expire_in", it)));
        let server = Server::over(self.web.clone(), &self.token);
        let action = format!("upload {}", counted(count, "file"));
        let mut attempt = 1;
        loop {
            let kind = UploadKind::Form {
                boundary: boundary.clone(),
            };
            let sent = server.upload(url.clone(), &body, kind, &action).await;
            let (error, attempts) = match sent {
                Ok(200..=299) => return Ok(()),
                Ok(status @ (403 | 413)) => return Err(refused(&action, status)),
                Ok(503) => (HelperError::status(&action, 503), ATTEMPTS_UNAVAILABLE),
                Ok(status) => (HelperError::status(&action, status), ATTEMPTS),
                Err(error) => (error, ATTEMPTS),
            };
            if attempt >= attempts {
                return Err(failed(error));
            }
            pause_after(attempt).await;
            attempt += 1;
        }
    }

    async fn download(
        &self,
        dependency: &Dependency,
        project: &Path,
    ) -> Result<usize, ArtifactError> {
        let scratch = self.scratch()?;
        let file = scratch.path().join("archive");
        let mut url = self.address(dependency.id);
        url.set_query(Some("direct_download=true"));
        let action = format!("download the artifacts of {}", dependency.name);
        let server = Server::over(self.web.clone(), &dependency.token);
        let mut attempt = 1;
        loop {
            let error = match server.download(url.clone(), &file, &action).await {
                Ok(200) => break,
                Ok(status @ (401 | 403 | 404)) => return Err(refused(&action, status)),
                Ok(status) => HelperError::status(&action, status),
                Err(error) => error,
            };
            if attempt >= ATTEMPTS {
                return Err(failed(error));
            }
            // Where the server redirects to may be the reason.
            url.set_query(None);
            pause_after(attempt).await;
            attempt += 1;
        }
        let project = project.to_owned();
        let unpacked = off_thread(move || {
            // The job could create any link and fill the disk itself.
            let limits = Limits {
                entries: u64::MAX,
                bytes: u64::MAX,
                ratio: u64::MAX,
                links: LinkTargets::Anywhere,
            };
            archive::unpack(&file, &project, &limits, &Cancellation::new())
        });
        let unpacked = unpacked
            .await
            .map_err(|error| failed(HelperError::git(error)))?;
        let unpacked = unpacked.map_err(HelperError::archive("unpack the artifacts"));
        Ok(usize::try_from(unpacked.map_err(failed)?.entries).unwrap_or(usize::MAX))
    }
}

#[async_trait]
impl ArtifactStore for GitLabArtifacts {
    async fn contains(&self, job: JobId) -> bool {
        let mut dependencies = self.dependencies.iter();
        let has_file = |it: &Dependency| {
            let file = it.artifacts_file.as_ref();
            file.is_some_and(|file| !file.filename.is_empty())
        };
        dependencies.any(|it| it.id == job && has_file(it))
    }

    /// Does nothing: each attempt is a job of its own.
    async fn discard(&self, _job: JobId) -> Result<(), ArtifactError> {
        Ok(())
    }

    async fn save(
        &self,
        job: JobId,
        artifact: &Artifact,
        files: ArtifactFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedArtifact, ArtifactError> {
        let sizes = files.paths.iter().map(|path| {
            let metadata = files.project.join(path).symlink_metadata();
            metadata.map_or(0, |it| it.len())
        });
        let kept = RetainedArtifact {
            artifact_type: artifact.artifact_type.clone(),
            name: files.name.clone(),
            files: files.paths.len() as u64,
            bytes: sizes.sum(),
        };
        tokio::select! {
            done = self.upload(job, artifact, files) => done?,
            _ = cancellation.canceled() => return Err(ArtifactError::Stopped),
        }
        Ok(SavedArtifact {
            kept,
            vanished: Vec::new(),
        })
    }

    async fn fetch(
        &self,
        dependency: &Dependency,
        project: &Path,
        cancellation: &Cancellation,
    ) -> Result<usize, ArtifactError> {
        tokio::select! {
            done = self.download(dependency, project) => done,
            _ = cancellation.canceled() => Err(ArtifactError::Stopped),
        }
    }
}

async fn pause_after(attempt: usize) {
    sleep(Duration::from_secs(1 << attempt.min(5)) / 2).await;
}

fn upload_format(format: ArtifactFormat) -> UploadFormat {
    match format {
        ArtifactFormat::Zip => UploadFormat::Archive(Format::Zip),
        ArtifactFormat::ZipZstd => UploadFormat::Archive(Format::ZipZstd),
        ArtifactFormat::TarZstd => UploadFormat::Archive(Format::TarZstd),
        ArtifactFormat::Gzip => UploadFormat::Gzip,
        ArtifactFormat::Raw => UploadFormat::Raw,
    }
}

fn refused(action: &str, status: u16) -> ArtifactError {
    ArtifactError::Refused(HelperError::status(action, status).to_string())
}

fn failed(error: HelperError) -> ArtifactError {
    match error {
        HelperError::NotOneFile(_) => ArtifactError::Refused(error.to_string()),
        error => ArtifactError::Other {
            message: "at the GitLab".to_owned(),
            source: Some(error.into()),
        },
    }
}
