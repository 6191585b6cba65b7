use super::failure::failed;
use super::name::METADATA;
use super::parts::parts;
use super::scratch::file_error;
use futures_util::{StreamExt, TryStreamExt, future, stream};
use job_runner::CacheError;
use object_store::path::Path as Name;
use object_store::{Error, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore};
use std::fs::OpenOptions;
use std::io::SeekFrom;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tokio::fs;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

/// How many parts are downloaded at a time. They are written as they arrive, so this costs no memory.
const AT_ONCE: usize = 8;

/// How often a download begins again because the object was replaced.
const BEGINNINGS: u32 = 3;

/// An archive that was downloaded.
#[derive(Debug)]
pub(super) struct Downloaded {
    /// Its size in bytes.
    pub(super) size: u64,
    /// The digest of its paths; empty if another kind of runner wrote it.
    pub(super) names: String,
}

/// What the bucket knows of an object.
#[derive(Debug)]
pub(super) struct Found {
    meta: ObjectMeta,
    names: String,
}

/// Looks up an object; returns `None` if there is none.
pub(super) async fn look_up(bucket: &dyn ObjectStore, name: &Name) -> Result<Option<Found>, Error> {
    let options = GetOptions {
        head: true,
        ..GetOptions::default()
    };
    match bucket.get_opts(name, options).await {
        Ok(found) => {
            let names = found.attributes.get(&METADATA);
            let names = names.map(|names| names.as_ref().to_owned());
            Ok(Some(Found {
                meta: found.meta,
                names: names.unwrap_or_default(),
            }))
        }
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Downloads an object to a file; returns `None` if there is no object.
pub(super) async fn download(
    bucket: &dyn ObjectStore,
    name: &Name,
    file: &Path,
) -> Result<Option<Downloaded>, CacheError> {
    let mut beginnings = 0;
    loop {
        beginnings += 1;
        let found = look_up(bucket, name).await.map_err(failed("look it up"))?;
        let Some(found) = found else {
            return Ok(None);
        };
        match all_parts(bucket, &found, file).await {
            Ok(()) => {
                return Ok(Some(Downloaded {
                    size: found.meta.size,
                    names: found.names,
                }));
            }
            // Parts of two archives do not fit.
            Err(Failed::Replaced) if beginnings < BEGINNINGS => {}
            Err(Failed::Replaced) => {
                return Err(CacheError::Other {
                    message: "it is replaced again and again".to_owned(),
                    source: None,
                });
            }
            Err(Failed::Otherwise(error)) => return Err(error),
        }
    }
}

/// Why an object was not downloaded.
#[derive(Debug)]
enum Failed {
    Replaced,
    Otherwise(CacheError),
}

async fn all_parts(bucket: &dyn ObjectStore, found: &Found, file: &Path) -> Result<(), Failed> {
    let created = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file);
    created
        .map_err(file_error("create", file))
        .map_err(Failed::Otherwise)?;
    let parts = stream::iter(parts(found.meta.size));
    let fetched = parts.map(|range| part(bucket, found, range, file));
    let fetched = fetched.buffer_unordered(AT_ONCE);
    fetched.try_for_each(|()| future::ready(Ok(()))).await
}

/// Downloads a part, and writes it where it belongs.
async fn part(
    bucket: &dyn ObjectStore,
    found: &Found,
    range: Range<u64>,
    file: &Path,
) -> Result<(), Failed> {
    let meta = &found.meta;
    let options = GetOptions {
        if_match: meta.e_tag.clone(),
        range: Some(GetRange::Bounded(range.clone())),
        ..GetOptions::default()
    };
    let got = match bucket.get_opts(&meta.location, options).await {
        Ok(got) => got,
        Err(Error::Precondition { .. } | Error::NotFound { .. }) => return Err(Failed::Replaced),
        Err(error) => return Err(Failed::Otherwise(failed("download it")(error))),
    };
    write(got, range, file).await.map_err(Failed::Otherwise)
}

async fn write(got: GetResult, range: Range<u64>, file: &Path) -> Result<(), CacheError> {
    let failed_write = || file_error("write", file);
    let opened = fs::OpenOptions::new().write(true).open(file).await;
    let mut target = opened.map_err(failed_write())?;
    let sought = target.seek(SeekFrom::Start(range.start)).await;
    sought.map_err(failed_write())?;
    let mut left = range.end - range.start;
    let mut pieces = got.into_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(failed("download it"))?;
        let rest = left.checked_sub(piece.len() as u64);
        left = rest.ok_or_else(wrong_length)?;
        target.write_all(&piece).await.map_err(failed_write())?;
    }
    if left > 0 {
        return Err(wrong_length());
    }
    target.flush().await.map_err(failed_write())
}

fn wrong_length() -> CacheError {
    CacheError::Other {
        message: "the bucket sent another number of bytes than it announced".to_owned(),
        source: None,
    }
}
