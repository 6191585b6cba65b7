use super::failure::{failed, reason};
use super::name::METADATA;
use super::parts::{PART, parts};
use super::scratch::file_error;
use bytes::Bytes;
use executor_core::Cancellation;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use job_runner::CacheError;
use object_store::path::Path as Name;
use object_store::{
    Attribute, Attributes, MultipartUpload, ObjectStore, PutMultipartOptions, PutOptions,
};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How many parts are uploaded at a time. Each one is in memory, so that it can be signed and sent again.
const AT_ONCE: usize = 4;

/// How long a stopped upload takes at most to leave nothing behind.
const LAST_ANSWER: Duration = Duration::from_secs(10);

/// An archive to upload.
#[derive(Debug)]
pub(super) struct Archive<'a> {
    pub(super) file: &'a Path,
    pub(super) size: u64,
    /// The digest of its paths.
    pub(super) names: String,
}

/// Uploads an archive. An upload that fails or is stopped leaves the previous object.
pub(super) async fn upload(
    bucket: &dyn ObjectStore,
    name: &Name,
    archive: Archive<'_>,
    cancellation: &Cancellation,
) -> Result<(), CacheError> {
    let opened = File::open(archive.file);
    let file = Arc::new(opened.map_err(file_error("open", archive.file))?);
    let attributes = Attributes::from_iter([
        (
            Attribute::ContentType,
            "application/octet-stream".to_owned(),
        ),
        (METADATA, archive.names.clone()),
    ]);
    if archive.size > PART {
        return in_parts(bucket, name, file, &archive, attributes, cancellation).await;
    }
    let sent = async {
        let bytes = read(file, 0..archive.size).await;
        let bytes = bytes.map_err(file_error("read", archive.file))?;
        let options = PutOptions::from(attributes);
        let put = bucket.put_opts(name, bytes.into(), options).await;
        put.map(drop).map_err(failed("upload it"))
    };
    until_stopped(sent, cancellation).await
}

async fn in_parts(
    bucket: &dyn ObjectStore,
    name: &Name,
    file: Arc<File>,
    archive: &Archive<'_>,
    attributes: Attributes,
    cancellation: &Cancellation,
) -> Result<(), CacheError> {
    let mut upload = begin(bucket, name, attributes, cancellation).await?;
    let sent = async {
        send_parts(&mut *upload, file, archive).await?;
        let joined = upload.complete().await;
        joined.map(drop).map_err(failed("upload it"))
    };
    let sent = until_stopped(sent, cancellation).await;
    if sent.is_err() {
        abandon(upload).await;
    }
    sent
}

/// Begins an upload in parts, which has to be completed or abandoned.
async fn begin(
    bucket: &dyn ObjectStore,
    name: &Name,
    attributes: Attributes,
    cancellation: &Cancellation,
) -> Result<Box<dyn MultipartUpload>, CacheError> {
    let options = PutMultipartOptions::from(attributes);
    let mut begun = pin!(bucket.put_multipart_opts(name, options));
    tokio::select! {
        begun = &mut begun => begun.map_err(failed("begin the upload")),
        _ = cancellation.canceled() => {
            // The bucket may have begun it, and only its answer says how it is abandoned.
            if let Ok(Ok(upload)) = timeout(LAST_ANSWER, begun).await {
                abandon(upload).await;
            }
            Err(CacheError::Stopped)
        }
    }
}

async fn send_parts(
    upload: &mut dyn MultipartUpload,
    file: Arc<File>,
    archive: &Archive<'_>,
) -> Result<(), CacheError> {
    let mut sending = FuturesUnordered::new();
    for range in parts(archive.size) {
        if sending.len() == AT_ONCE {
            next(&mut sending).await?;
        }
        let bytes = read(Arc::clone(&file), range).await;
        let bytes = bytes.map_err(file_error("read", archive.file))?;
        sending.push(upload.put_part(bytes.into()));
    }
    while !sending.is_empty() {
        next(&mut sending).await?;
    }
    Ok(())
}

async fn next(sending: &mut FuturesUnordered<object_store::UploadPart>) -> Result<(), CacheError> {
    let sent = sending.next().await;
    sent.unwrap_or(Ok(())).map_err(failed("upload it"))
}

/// Removes the parts that the bucket has. Azure forgets them by itself after a week.
async fn abandon(mut upload: Box<dyn MultipartUpload>) {
    let why = match timeout(LAST_ANSWER, upload.abort()).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => reason(&error),
        Err(_) => "no answer in time".to_owned(),
    };
    tracing::warn!("Parts of an upload that was given up remain in the bucket: {why}.");
}

async fn until_stopped<T>(
    work: impl Future<Output = Result<T, CacheError>>,
    cancellation: &Cancellation,
) -> Result<T, CacheError> {
    tokio::select! {
        biased;
        _ = cancellation.canceled() => Err(CacheError::Stopped),
        done = work => done,
    }
}

/// Reads a range of a file on a thread for blocking work.
async fn read(file: Arc<File>, range: Range<u64>) -> io::Result<Bytes> {
    let reading = spawn_blocking(move || {
        let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, range.start)?;
        Ok(Bytes::from(bytes))
    });
    reading.await.map_err(io::Error::other)?
}
