//! `artifacts-uploader` and `artifacts-downloader`, against GitLab's API.

use super::arguments::{Flags, HelperUsage};
use super::form::{Form, UploadFormat};
use super::server::{Server, UploadKind};
use super::{Files, HelperContext, HelperError};
use crate::panics::off_thread;
use archive::{Format, Level, Limits, LinkTargets};
use executor_core::{Cancellation, counted};
use std::path::Path;
use std::time::Duration;
use web::Url;

/// How long an upload or a download may take by default.
const TIMEOUT: Duration = Duration::from_hours(1);

/// The server and the job of an artifact.
struct Place {
    url: Url,
    token: String,
    job: u64,
    timeout: Duration,
}

impl Place {
    fn read(flags: &mut Flags) -> Result<Self, HelperUsage> {
        let job = flags.required("id")?;
        Ok(Self {
            url: flags.url("url")?.ok_or_else(|| flags.missing("url"))?,
            token: flags.required("token")?,
            job: job
                .parse()
                .map_err(|_| flags.invalid("id", "the number of a job", &job))?,
            timeout: flags.duration("timeout", TIMEOUT)?,
        })
    }

    /// Returns the address of the job's artifacts.
    fn address(&self) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/api/v4/jobs/{}/artifacts", self.job));
        url
    }

    fn server(&self, context: &HelperContext) -> Result<Server, HelperError> {
        Server::new(&self.url, Some(self.token.clone()), self.timeout, context)
    }
}

/// `artifacts-downloader`.
pub(super) struct Download(Place);

impl Download {
    pub(super) fn read(flags: &mut Flags) -> Result<Self, HelperUsage> {
        Ok(Self(Place::read(flags)?))
    }

    pub(super) async fn run(self, context: &HelperContext) -> Result<(), HelperError> {
        let scratch = context.scratch()?;
        let file = scratch.path().join("archive");
        let mut url = self.0.address();
        url.set_query(Some("direct_download=true"));
        let action = format!("download the artifacts of job {}", self.0.job);
        let status = self
            .0
            .server(context)?
            .download(url, &file, &action)
            .await?;
        if status != 200 {
            return Err(HelperError::status(&action, status));
        }
        context.unpack(&file, "unpack the artifacts").await
    }
}

/// `artifacts-uploader`.
pub(super) struct Upload {
    place: Place,
    files: Files,
    name: Option<String>,
    expire_in: Option<String>,
    format: UploadFormat,
    kind: String,
}

impl Upload {
    pub(super) fn read(flags: &mut Flags) -> Result<Self, HelperUsage> {
        let format = flags.optional("artifact-format");
        let format = match format.as_deref().unwrap_or("zip") {
            "gzip" => UploadFormat::Gzip,
            "raw" => UploadFormat::Raw,
            other => {
                let known = Format::named(other).map(UploadFormat::Archive);
                let expected = "zip, gzip, raw, zipzstd or tarzstd";
                known.ok_or_else(|| flags.invalid("artifact-format", expected, other))?
            }
        };
        Ok(Self {
            place: Place::read(flags)?,
            files: Files::read(flags),
            name: flags.optional("name"),
            expire_in: flags.optional("expire-in"),
            format,
            kind: flags
                .optional("artifact-type")
                .unwrap_or_else(|| "archive".to_owned()),
        })
    }

    pub(super) async fn run(self, context: &HelperContext) -> Result<(), HelperError> {
        let collected = context.collect(&self.files).await?;
        if collected.paths.is_empty() {
            context.print("ERROR: No files to upload");
            return Ok(());
        }
        let scratch = context.scratch()?;
        let form = Form {
            project: context.directory.clone(),
            paths: collected.paths,
            format: self.format,
            name: self.name.clone(),
            scratch: scratch.path().to_owned(),
            level: context.level("ARTIFACT_COMPRESSION_LEVEL"),
        };
        let (files, boundary) = (form.paths.len(), format!("runwright-{}", form.id()));
        let body = {
            let boundary = boundary.clone();
            off_thread(move || form.write(&boundary))
                .await
                .map_err(HelperError::git)??
        };
        let mut url = self.place.address();
        url.query_pairs_mut()
            .append_pair("artifact_format", self.format.name())
            .append_pair("artifact_type", &self.kind)
            .extend_pairs(self.expire_in.iter().map(|it| ("expire_in", it)));
        let action = format!("upload {} as {:?}", counted(files, "file"), self.kind);
        let kind = UploadKind::Form { boundary };
        let server = self.place.server(context)?;
        match server.upload(url, &body, kind, &action).await? {
            200..=299 => {
                context.print(&format!(
                    "Uploaded {} as {:?}",
                    counted(files, "file"),
                    self.kind
                ));
                Ok(())
            }
            status => Err(HelperError::status(&action, status)),
        }
    }
}

impl HelperContext {
    /// Returns a directory for temporary files, which is removed when it is dropped.
    pub(super) fn scratch(&self) -> Result<tempfile::TempDir, HelperError> {
        let made = tempfile::Builder::new()
            .prefix("runwright-")
            .tempdir_in(&self.temp);
        made.map_err(HelperError::file("create a directory in", &self.temp))
    }

    /// Unpacks an archive into the job's directory. The job could create any link and fill the disk itself.
    pub(super) async fn unpack(
        &self,
        file: &Path,
        action: &'static str,
    ) -> Result<(), HelperError> {
        let (file, into) = (file.to_owned(), self.directory.clone());
        let unpacked = off_thread(move || {
            let limits = Limits {
                entries: u64::MAX,
                bytes: u64::MAX,
                ratio: u64::MAX,
                links: LinkTargets::Anywhere,
            };
            archive::unpack(&file, &into, &limits, &Cancellation::new())
        });
        let unpacked = unpacked.await.map_err(HelperError::git)?;
        unpacked.map(drop).map_err(HelperError::archive(action))
    }

    /// Returns the compression level in a variable.
    pub(super) fn level(&self, name: &str) -> Level {
        let level = self.variable(name);
        level
            .and_then(|it| Level::named(&it.to_ascii_lowercase()))
            .unwrap_or_default()
    }
}
