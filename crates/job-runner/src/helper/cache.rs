//! `cache-archiver` and `cache-extractor`, with a file of the environment and, if there is one, an address.

use super::arguments::{Flags, HelperUsage};
use super::server::{Server, UploadKind};
use super::{Files, HelperContext, HelperError};
use crate::cache::{cached_paths, with_own_modes};
use crate::directories::JobDirectory;
use crate::panics::off_thread;
use archive::{Format, Packing};
use executor_core::Cancellation;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use web::Url;

/// Where a cache is.
struct Place {
    file: PathBuf,
    url: Option<Url>,
    timeout: Duration,
}

impl Place {
    fn read(flags: &mut Flags) -> Result<Self, HelperUsage> {
        Ok(Self {
            file: flags.required("file")?.into(),
            url: flags.url("url")?,
            timeout: flags.minutes("timeout")?,
        })
    }

    /// Creates the directory of the file, and another in it for writing. Two environments may share it, and their process numbers
    /// are the same.
    fn begin(&self, context: &HelperContext) -> Result<PartialFile, HelperError> {
        let file = context.directory.join(&self.file);
        let parent = file.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(HelperError::file("create", parent))?;
        let directory =
            tempfile::tempdir_in(parent).map_err(HelperError::file("write to", parent))?;
        let own = directory.path().join("archive");
        Ok(PartialFile {
            file,
            own,
            _directory: directory,
        })
    }
}

/// A file that gets its name when it is complete, and is removed otherwise.
#[derive(Debug)]
struct PartialFile {
    file: PathBuf,
    own: PathBuf,
    _directory: TempDir,
}

impl PartialFile {
    fn publish(self) -> Result<PathBuf, HelperError> {
        fs::rename(&self.own, &self.file).map_err(HelperError::file("create", &self.file))?;
        Ok(self.file.clone())
    }
}

/// `cache-extractor`.
pub(super) struct Extract(Place);

impl Extract {
    pub(super) fn read(flags: &mut Flags) -> Result<Self, HelperUsage> {
        Ok(Self(Place::read(flags)?))
    }

    pub(super) async fn run(self, context: &HelperContext) -> Result<(), HelperError> {
        let Place { url, timeout, .. } = &self.0;
        let partial = self.0.begin(context)?;
        let file = if let Some(url) = url {
            let server = Server::new(url, None, *timeout, context)?;
            let downloaded = server
                .download(url.clone(), &partial.own, "download the cache")
                .await;
            match downloaded? {
                200 => partial.publish()?,
                404 => return Err(HelperError::NoCache),
                status => return Err(HelperError::status("download the cache", status)),
            }
        } else if partial.file.exists() {
            partial.file.clone()
        } else {
            return Err(HelperError::NoCache);
        };
        context.unpack(&file, "unpack the cache").await
    }
}

/// `cache-archiver`.
pub(super) struct Archive {
    place: Place,
    files: Files,
}

impl Archive {
    pub(super) fn read(flags: &mut Flags) -> Result<Self, HelperUsage> {
        Ok(Self {
            place: Place::read(flags)?,
            files: Files::read(flags),
        })
    }

    pub(super) async fn run(self, context: &HelperContext) -> Result<(), HelperError> {
        let collected = context.collect(&self.files).await?;
        if collected.paths.is_empty() {
            context.print("No files to cache");
            return Ok(());
        }
        let partial = self.place.begin(context)?;
        let format = context.variable("CACHE_COMPRESSION_FORMAT");
        let packing = Packing {
            format: format.and_then(|it| Format::named(&it)).unwrap_or_default(),
            level: context.level("CACHE_COMPRESSION_LEVEL"),
            ..Packing::default()
        };
        let directory = JobDirectory {
            host: context.directory.clone(),
            named: context.directory.clone(),
        };
        let target = partial.own.clone();
        let packed = off_thread(move || {
            let paths = cached_paths(with_own_modes(&directory, collected));
            archive::pack(
                &directory.host,
                &paths,
                &target,
                &packing,
                &Cancellation::new(),
            )
        });
        let packed = packed.await.map_err(HelperError::git)?;
        let packed = packed.map_err(HelperError::archive("pack the cache"))?;
        for skipped in packed.skipped {
            context.print(&format!(
                "WARNING: not in the cache: {} {}",
                skipped.path.display(),
                skipped.why
            ));
        }
        let file = partial.publish()?;
        let Some(url) = &self.place.url else {
            return Ok(());
        };
        let server = Server::new(url, None, self.place.timeout, context)?;
        let sent = server.upload(url.clone(), &file, UploadKind::Plain, "upload the cache");
        match sent.await? {
            200..=299 => Ok(()),
            status => Err(HelperError::status("upload the cache", status)),
        }
    }
}
