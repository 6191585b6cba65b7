use super::bucket::client;
use super::download::{download, look_up};
use super::failure::reason;
use super::name::Prefix;
use super::scratch::{Scratch, file_error};
use super::transport::Transport;
use super::upload::{Archive, upload};
use crate::config::CacheSettings;
use archive::{ArchiveError, Limits, LinkTargets, Packed, Packing};
use async_trait::async_trait;
use executor_core::Cancellation;
use job_runner::{CacheError, CacheFiles, CacheKey, CacheStore, RestoredCache, SavedCache};
use object_store::ObjectStore;
use object_store::path::Path as Name;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;
use web::{Proxies, WebError};

/// The bucket of a runner, with its credentials. Clones share connections.
#[derive(Clone)]
pub struct ObjectBucket {
    client: Arc<dyn ObjectStore>,
    path: String,
    shared: bool,
    largest: Option<u64>,
}

/// The error of the settings of a bucket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectBucketError {
    /// Requests cannot be sent.
    #[error(transparent)]
    Web(#[from] WebError),
    /// The credentials cannot be used.
    #[error("use the credentials of the bucket: {0}")]
    Credentials(String),
}

impl ObjectBucket {
    /// Returns the bucket of these settings. Nothing is requested yet.
    ///
    /// # Errors
    ///
    /// When credentials have a wrong form, or their file cannot be read.
    pub fn new(settings: &CacheSettings, proxies: Proxies) -> Result<Self, ObjectBucketError> {
        let client = client(&settings.bucket, Transport::new(proxies)?)
            .map_err(|error| ObjectBucketError::Credentials(reason(&error)))?;
        Ok(Self {
            client,
            path: settings.path.clone(),
            shared: settings.shared,
            largest: settings.largest_archive,
        })
    }

    /// Returns the caches of a project.
    ///
    /// `runner` is the short token of the runner, which has its own caches unless all are shared. Archives on their way
    /// are files in `directory`, and are removed.
    pub fn caches(
        &self,
        runner: &str,
        project: u64,
        directory: impl Into<PathBuf>,
    ) -> ObjectCaches {
        let runner = (!self.shared).then_some(runner);
        ObjectCaches {
            prefix: Prefix::new(&self.path, runner, project),
            bucket: self.clone(),
            directory: directory.into(),
        }
    }
}

/// Shows no address and no credentials, which the client of the bucket has.
impl fmt::Debug for ObjectBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectBucket")
            .field("path", &self.path)
            .field("shared", &self.shared)
            .field("largest", &self.largest)
            .finish_non_exhaustive()
    }
}

/// The caches of a project in a bucket.
///
/// A damaged object stays until the next save replaces it: the credentials may not allow to remove it.
#[derive(Debug, Clone)]
pub struct ObjectCaches {
    bucket: ObjectBucket,
    prefix: Prefix,
    directory: PathBuf,
}

#[async_trait]
impl CacheStore for ObjectCaches {
    async fn contains(&self, key: &CacheKey) -> bool {
        let Ok(name) = self.name(key) else {
            return true;
        };
        // A restore reports errors of this check.
        let found = look_up(&*self.bucket.client, &name).await;
        found.map_or(true, |found| found.is_some())
    }

    async fn restore(
        &self,
        key: &CacheKey,
        into: &Path,
        cancellation: &Cancellation,
    ) -> Result<Option<RestoredCache>, CacheError> {
        let name = self.name(key)?;
        let scratch = Scratch::in_directory(&self.directory);
        let downloaded = tokio::select! {
            biased;
            _ = cancellation.canceled() => return Err(CacheError::Stopped),
            downloaded = download(&*self.bucket.client, &name, scratch.path()) => downloaded?,
        };
        let Some(downloaded) = downloaded else {
            return Ok(None);
        };
        let (into, stop) = (into.to_owned(), cancellation.clone());
        let unpacked = spawn_blocking(move || {
            let unpacked = archive::unpack(scratch.path(), &into, &limits(), &stop);
            unpacked.map_err(not_processed("unpack the archive", &stop))
        });
        let unpacked = unpacked.await.map_err(broke)??;
        Ok(Some(RestoredCache {
            files: usize::try_from(unpacked.entries).unwrap_or(usize::MAX),
            size: downloaded.size,
            names: downloaded.names,
        }))
    }

    async fn save(
        &self,
        key: &CacheKey,
        files: CacheFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedCache, CacheError> {
        let name = self.name(key)?;
        if files.are_as_restored && self.is_there(&name, cancellation).await {
            return Ok(SavedCache::UpToDate);
        }
        let names = files.names();
        let scratch = Scratch::in_directory(&self.directory);
        let (path, stop) = (scratch.path().to_owned(), cancellation.clone());
        let packed = spawn_blocking(move || pack(&files, &path, &stop));
        let packed = packed.await.map_err(broke)??;
        let metadata = std::fs::metadata(scratch.path());
        let size = metadata
            .map_err(file_error("inspect", scratch.path()))?
            .len();
        self.check_size(size)?;
        let archive = Archive {
            file: scratch.path(),
            size,
            names,
        };
        upload(&*self.bucket.client, &name, archive, cancellation).await?;
        let skipped = packed.skipped.iter();
        let skipped = skipped.map(|it| format!("{} {}", it.path.display(), it.why));
        Ok(SavedCache::Created {
            size,
            skipped: skipped.collect(),
        })
    }
}

impl ObjectCaches {
    fn name(&self, key: &CacheKey) -> Result<Name, CacheError> {
        let name = self.prefix.object(key.text());
        name.map_err(|_| CacheError::Other {
            message: "its key has characters that no object may have".to_owned(),
            source: None,
        })
    }

    async fn is_there(&self, name: &Name, cancellation: &Cancellation) -> bool {
        tokio::select! {
            _ = cancellation.canceled() => false,
            found = look_up(&*self.bucket.client, name) => matches!(found, Ok(Some(_))),
        }
    }

    fn check_size(&self, size: u64) -> Result<(), CacheError> {
        match self.bucket.largest {
            Some(largest) if size > largest => Err(CacheError::Other {
                message: format!(
                    "its archive has {size} bytes, and `MaxUploadedArchiveSize` allows {largest}"
                ),
                source: None,
            }),
            _ => Ok(()),
        }
    }
}

fn pack(files: &CacheFiles, path: &Path, stop: &Cancellation) -> Result<Packed, CacheError> {
    let packing = Packing {
        format: files.format,
        level: files.level,
        ..Packing::default()
    };
    let packed = archive::pack(&files.project, &files.paths, path, &packing, stop);
    packed.map_err(not_processed("write the archive", stop))
}

fn not_processed(
    action: &'static str,
    cancellation: &Cancellation,
) -> impl FnOnce(ArchiveError) -> CacheError {
    move |source| {
        if cancellation.is_canceled() {
            return CacheError::Stopped;
        }
        CacheError::Archive {
            action,
            source: source.into(),
        }
    }
}

/// The message of a panic stays out of the error, because nothing masks secrets there.
fn broke(_: tokio::task::JoinError) -> CacheError {
    CacheError::Other {
        message: "process the archive".to_owned(),
        source: Some(io::Error::other("the work did not end").into()),
    }
}

/// Returns the limits for unpacking: those of caches on this host. Only jobs use a cache, and could create any link and
/// fill the disk themselves.
fn limits() -> Limits {
    Limits {
        entries: u64::MAX,
        bytes: u64::MAX,
        ratio: u64::MAX,
        links: LinkTargets::Anywhere,
    }
}
