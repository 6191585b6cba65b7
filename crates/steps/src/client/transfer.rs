//! Transfers files for host requests, over as many connections as necessary.

use super::link::Link;
use crate::files::{FilesError, RemoteFiles, packed, single};
use executor_core::ability::FileTransfer;
use executor_core::{BuildError, Cancellation};
use fail_point::fail_point;
use std::error::Error;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// How often a transfer is attempted.
const ATTEMPTS: usize = 20;

/// The longest file that is received.
const LONGEST: u64 = 4 << 30;

/// Why a transfer failed.
#[derive(Debug)]
struct TransferError {
    message: String,
    /// Whether another attempt may succeed.
    is_temporary: bool,
}

impl From<BuildError> for TransferError {
    fn from(error: BuildError) -> Self {
        Self {
            message: executor_core::chain(&error),
            is_temporary: error.is_temporary() && !is_of_this_host(&error),
        }
    }
}

/// Returns whether the files on this host could not be read.
fn is_of_this_host(error: &BuildError) -> bool {
    let read = error.source().and_then(<dyn Error>::downcast_ref);
    read.and_then(io::Error::get_ref)
        .and_then(|inner| inner.downcast_ref::<FilesError>())
        .is_some()
}

impl From<io::Error> for TransferError {
    fn from(error: io::Error) -> Self {
        Self {
            message: executor_core::chain(&error),
            // A full disk or a missing permission does not change until the next attempt.
            is_temporary: error.kind() == io::ErrorKind::ConnectionAborted,
        }
    }
}

/// Repeats a transfer while another attempt may succeed.
async fn attempted<T, F>(mut once: impl FnMut() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, TransferError>>,
{
    let mut left = ATTEMPTS;
    loop {
        let error = match once().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        left -= 1;
        if !error.is_temporary || left == 0 {
            return Err(error.message);
        }
        tracing::debug!(why = error.message, "Retrying a transfer of files.");
    }
}

/// Sends a directory of this host to a new one below `parent` in the environment, and returns its name.
///
/// # Errors
///
/// When the transfer fails; the error is the message.
pub(super) async fn send(
    link: &Arc<Link>,
    directory: &Path,
    parent: &str,
) -> Result<String, String> {
    attempted(|| send_once(link, directory, parent)).await
}

async fn send_once(
    link: &Arc<Link>,
    directory: &Path,
    parent: &str,
) -> Result<String, TransferError> {
    // A new name for each attempt, so that attempts and clients do not collide.
    let name = format!("{:016x}", RandomState::new().hash_one(0));
    let files = RemoteFiles::new(Arc::clone(link));
    let archive = packed(directory.to_owned());
    let target = format!("{parent}/{name}");
    files.put(&target, archive, &Cancellation::new()).await?;
    Ok(name)
}

/// Receives a file of the environment. It has no name on this host, so nothing is left after a crash.
///
/// # Errors
///
/// When the transfer fails; the error is the message.
pub(super) async fn receive(link: &Arc<Link>, path: &Path) -> Result<File, String> {
    attempted(|| receive_once(link, path)).await
}

async fn receive_once(link: &Arc<Link>, path: &Path) -> Result<File, TransferError> {
    let target = fail_point!("steps::client::archive", tempfile::tempfile());
    receive_into(link, path, target.map_err(not_created)?).await
}

async fn receive_into(link: &Arc<Link>, path: &Path, target: File) -> Result<File, TransferError> {
    let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
    let name = text(path.file_name().and_then(|name| name.to_str()));
    let directory = text(path.parent().and_then(Path::to_str));
    let files = RemoteFiles::new(Arc::clone(link));
    let names = [name.clone()];
    let archive = files.get(&directory, &names, &Cancellation::new()).await?;
    Ok(single(archive, name, target, LONGEST).await?)
}

fn not_created(error: io::Error) -> io::Error {
    let directory = std::env::temp_dir();
    let action = "create a file of this host in";
    io::Error::new(error.kind(), FilesError::io(action, &directory)(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientOptions;
    use crate::service::{LocalService, ServiceOptions};
    use process::{Settings, Supervisor};

    fn service(folder: &Path) -> (Arc<LocalService>, Arc<Link>) {
        let options = ServiceOptions::new(folder.join("state"));
        let supervisor = Supervisor::start(Settings::default()).unwrap();
        let service = LocalService::start(options, supervisor, Vec::new());
        let service = Arc::new(service.unwrap());
        let connector = Arc::clone(&service) as _;
        (
            service,
            Arc::new(Link::new(connector, ClientOptions::default())),
        )
    }

    /// Returns the number of attempts of a failing transfer, and its error.
    async fn tried<T, F>(mut once: impl FnMut() -> F) -> (usize, String)
    where
        F: Future<Output = Result<T, TransferError>>,
    {
        let mut count = 0;
        let result = attempted(|| {
            count += 1;
            once()
        });
        let words = result.await.err().unwrap();
        (count, words)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn host_failures_are_not_retried() {
        let folder = tempfile::tempdir().unwrap();
        let (service, link) = service(folder.path());
        let archive = folder.path().join("archive");
        std::fs::write(&archive, vec![7; 200_000]).unwrap();
        let full = || async {
            let target = File::options().write(true).open("/dev/full").unwrap();
            receive_into(&link, &archive, target).await
        };
        let (count, words) = tried(full).await;
        assert_eq!(count, 1, "{words}");
        assert!(words.contains("No space left"), "{words}");
        let missing = folder.path().join("missing");
        let parent = folder.path().to_str().unwrap();
        let (count, words) = tried(|| send_once(&link, &missing, parent)).await;
        assert_eq!(count, 1, "{words}");
        assert!(words.contains("missing: No such file"), "{words}");
        drop(link);
        service.close().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn environment_failures_are_not_retried() {
        let folder = tempfile::tempdir().unwrap();
        let (service, link) = service(folder.path());
        let sent = folder.path().join("sent");
        std::fs::create_dir(&sent).unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let parent = file.to_str().unwrap();
        let (count, words) = tried(|| send_once(&link, &sent, parent)).await;
        assert_eq!(count, 1, "{words}");
        assert!(words.contains("Not a directory"), "{words}");
        let missing = folder.path().join("missing");
        let (count, words) = tried(|| receive_once(&link, &missing)).await;
        assert_eq!(count, 1, "{words}");
        assert!(words.contains("it is not there"), "{words}");
        drop(link);
        service.close().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn connection_failures_are_retried() {
        let broken = || BuildError::system("steps", "fetch files", "broken pipe");
        let (count, words) = tried(|| async { Err::<(), _>(broken().into()) }).await;
        assert_eq!(count, ATTEMPTS, "{words}");
        // Also when the code that unpacks the archive reports it.
        let cut = || async {
            let pieces = tokio_stream::iter([
                Ok(io::Cursor::new(vec![0; 100])),
                Err(crate::files::unread(broken())),
            ]);
            let archive = Box::new(tokio_util::io::StreamReader::new(pieces));
            let target = tempfile::tempfile().unwrap();
            Ok::<_, TransferError>(single(archive, "a".to_owned(), target, LONGEST).await?)
        };
        let (count, words) = tried(cut).await;
        assert_eq!(count, ATTEMPTS, "{words}");
        assert!(words.contains("broken pipe"), "{words}");
    }
}
