//! Moves what is wished for, over as many connections as it takes.

use super::link::Link;
use crate::files::{RemoteFiles, packed, single};
use executor_core::ability::FileTransfer;
use executor_core::{BuildError, Cancellation};
use fail_point::fail_point;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// How often it is tried anew when the connection breaks meanwhile.
const ATTEMPTS: usize = 20;

/// The longest file that is received.
const LONGEST: u64 = 4 << 30;

/// Why something was not moved.
struct Trouble {
    words: String,
    /// Whether it was the connection.
    is_temporary: bool,
}

impl From<BuildError> for Trouble {
    fn from(error: BuildError) -> Self {
        Self {
            words: executor_core::chain(&error),
            is_temporary: error.is_temporary(),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        let kind = error.kind();
        let is_final = matches!(kind, io::ErrorKind::InvalidData | io::ErrorKind::NotFound);
        Self {
            words: executor_core::chain(&error),
            is_temporary: !is_final,
        }
    }
}

/// How often it may still be tried.
struct Attempts(usize);

impl Attempts {
    /// Returns if it may be tried anew.
    fn failed(&mut self, trouble: Trouble) -> Result<(), String> {
        self.0 = self.0.saturating_sub(1);
        if !trouble.is_temporary || self.0 == 0 {
            return Err(trouble.words);
        }
        tracing::debug!(why = trouble.words, "A transfer of files is tried anew.");
        Ok(())
    }
}

/// Sends all that is in a directory of this host to a new one below `parent` in the environment, and returns its name.
///
/// # Errors
///
/// Says why not.
pub(super) async fn send(
    link: &Arc<Link>,
    directory: &Path,
    parent: &str,
) -> Result<String, String> {
    let mut attempts = Attempts(ATTEMPTS);
    loop {
        match send_once(link, directory, parent).await {
            Ok(name) => return Ok(name),
            Err(trouble) => attempts.failed(trouble)?,
        }
    }
}

async fn send_once(link: &Arc<Link>, directory: &Path, parent: &str) -> Result<String, Trouble> {
    // A name of its own for each attempt, so that no two of them, or two clients, meet.
    let name = format!("{:016x}", RandomState::new().hash_one(0));
    let files = RemoteFiles::new(Arc::clone(link));
    let archive = packed(directory.to_owned());
    let target = format!("{parent}/{name}");
    files.put(&target, archive, &Cancellation::new()).await?;
    Ok(name)
}

/// Receives a file of the environment. It has no name here, so that nothing of it is left whatever happens.
///
/// # Errors
///
/// Says why not.
pub(super) async fn receive(link: &Arc<Link>, path: &Path) -> Result<File, String> {
    let mut attempts = Attempts(ATTEMPTS);
    loop {
        match receive_once(link, path).await {
            Ok(file) => return Ok(file),
            Err(trouble) => attempts.failed(trouble)?,
        }
    }
}

async fn receive_once(link: &Arc<Link>, path: &Path) -> Result<File, Trouble> {
    let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
    let name = text(path.file_name().and_then(|name| name.to_str()));
    let directory = text(path.parent().and_then(Path::to_str));
    let files = RemoteFiles::new(Arc::clone(link));
    let names = [name.clone()];
    let archive = files.get(&directory, &names, &Cancellation::new()).await?;
    let target = fail_point!("steps::client::archive", tempfile::tempfile())?;
    Ok(single(archive, name, target, LONGEST).await?)
}
