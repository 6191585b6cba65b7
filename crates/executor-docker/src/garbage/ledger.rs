use super::ItemKind;
use super::lease::{Lease, RemovalClaim, is_held};
use super::notes::Notes;
use crate::engine::Engine;
use crate::error::DockerError;
use fail_point::fail_point;
use jiff::Timestamp;
use process::{FileLock, LockKind, NewFile};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The directory of the state with a directory for each engine.
const DIRECTORY: &str = "engines";

/// How long a change waits for one of another process, which takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The record of images and volumes that jobs used in one engine, for all processes that share a state directory. Cheap
/// to clone.
///
/// ```text
/// engines/<engine>/ledger.json   the record
/// engines/<engine>/lock          locked during a change
/// engines/<engine>/leases/       a file for each object in use, locked by its jobs
/// engines/<engine>/pulling       locked during pulls
/// ```
#[derive(Debug, Clone)]
pub struct Ledger(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    host: String,
    /// The seconds by which the engine's clock is ahead.
    ahead: i64,
}

impl Ledger {
    /// Opens the ledger of an engine in the state directory `state`, creating it when necessary.
    ///
    /// # Errors
    ///
    /// When the engine does not answer, or the directory cannot be created.
    pub async fn open(state: &Path, engine: &Engine) -> Result<Self, DockerError> {
        let info = engine.info().await?;
        let host = engine.host().to_string();
        // Podman reports a new id with each request.
        let id = match info.id.filter(|_| engine.version().name == "Docker") {
            Some(id) if !id.is_empty() => id,
            _ => host.clone(),
        };
        let there = info.system_time.and_then(|it| it.parse::<Timestamp>().ok());
        let ahead = there.map_or(0, |there| there.as_second() - Timestamp::now().as_second());
        let directory = state.join(DIRECTORY).join(hash(&id));
        fs::create_dir_all(directory.join("leases")).map_err(failed("keep a list of images"))?;
        Ok(Self(Arc::new(Shared {
            directory,
            host,
            ahead,
        })))
    }

    /// Returns whether this is the ledger of `engine`.
    pub(crate) fn is_of(&self, engine: &Engine) -> bool {
        self.0.host == engine.host().to_string()
    }

    /// Reads the record.
    pub(super) fn read(&self) -> Result<Notes, DockerError> {
        let notes = self.load().map_err(failed("read the list of images"))?;
        if notes.version > Notes::VERSION {
            return Err(DockerError::config(format!(
                "the list of images in {} is from a newer Runwright; update this one",
                self.file().display()
            )));
        }
        Ok(notes)
    }

    /// Changes the record.
    ///
    /// # Cancellation
    ///
    /// The change is made also when the future is dropped.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Notes) -> T + Send + 'static,
    ) -> Result<T, DockerError> {
        let ledger = self.clone();
        let changed = move || ledger.change_within(LOCK_TIMEOUT, change);
        let changed = tokio::task::spawn_blocking(changed).await;
        changed.unwrap_or_else(|panic| {
            Err(DockerError::Broken {
                doing: "change the list of images".to_owned(),
                source: panic.into(),
            })
        })
    }

    /// Changes the record. Blocks for at most `limit` while another process changes it.
    fn change_within<T>(
        &self,
        limit: Duration,
        change: impl FnOnce(&mut Notes) -> T,
    ) -> Result<T, DockerError> {
        let lock = File::create(self.0.directory.join("lock"));
        let lock = lock.and_then(|file| FileLock::within(file, LockKind::Exclusive, limit));
        let _lock = lock.map_err(failed("lock the list of images"))?;
        let old = self.read()?;
        let mut notes = old.clone();
        let result = change(&mut notes);
        notes.version = Notes::VERSION;
        notes.engine.clone_from(&self.0.host);
        if notes != old {
            fail_point!("executor_docker::garbage::note", self.save(&notes))
                .map_err(failed("write the list of images"))?;
        }
        Ok(result)
    }

    /// Protects an object from removal; waits for a removal in progress.
    pub(super) async fn lease(&self, kind: ItemKind, name: &str) -> Result<Lease, DockerError> {
        let lease = Lease::take(&self.lease_of(kind, name)).await;
        lease.map_err(|error| failed("protect an image or volume from removal")(error))
    }

    /// Returns whether a job uses the object.
    pub(super) fn is_leased(&self, kind: ItemKind, name: &str) -> Result<bool, DockerError> {
        let held = is_held(&self.lease_of(kind, name));
        held.map_err(failed("check the use of an image or volume"))
    }

    /// Returns the right to remove an object; `None` when a job uses it.
    pub(super) fn claim_removal(
        &self,
        kind: ItemKind,
        name: &str,
    ) -> Result<Option<RemovalClaim>, DockerError> {
        let claim = RemovalClaim::take(&self.lease_of(kind, name));
        claim.map_err(failed("check the use of an image or volume"))
    }

    /// Marks a pull as in progress until the result is dropped.
    pub(super) async fn pulling(&self) -> Result<Lease, DockerError> {
        let lease = Lease::take(&self.0.directory.join("pulling")).await;
        lease.map_err(failed("mark a pull as in progress"))
    }

    /// Returns whether a pull is in progress.
    pub(super) fn is_pulling(&self) -> Result<bool, DockerError> {
        let held = is_held(&self.0.directory.join("pulling"));
        held.map_err(failed("check for pulls in progress"))
    }

    /// Returns the seconds by which the engine's clock is ahead.
    pub(super) fn ahead(&self) -> i64 {
        self.0.ahead
    }

    fn lease_of(&self, kind: ItemKind, name: &str) -> PathBuf {
        let file = hash(&format!("{kind} {name}"));
        self.0.directory.join("leases").join(file)
    }

    fn file(&self) -> PathBuf {
        self.0.directory.join("ledger.json")
    }

    fn load(&self) -> io::Result<Notes> {
        let text = match fs::read(self.file()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Notes::default()),
            Err(error) => return Err(error),
        };
        // Without a readable record, every object counts as the user's and is kept.
        Ok(serde_json::from_slice(&text).unwrap_or_else(|error| {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "The list of images cannot be read and starts anew.");
            Notes::default()
        }))
    }

    fn save(&self, notes: &Notes) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(notes)?;
        let unnamed = self.0.directory.join(".ledger.json");
        NewFile::write(unnamed, &text, 0o666)?.replace(&self.file())
    }
}

/// Returns the seconds since 1970.
pub(super) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

fn hash(text: &str) -> String {
    let mut out = String::with_capacity(32);
    for byte in &Sha256::digest(text)[..16] {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> DockerError {
    move |source| DockerError::Broken {
        doing: doing.to_owned(),
        source: source.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn change_waits_only_for_a_while_for_another_process() {
        let state = tempfile::tempdir().unwrap();
        let ledger = Ledger(Arc::new(Shared {
            directory: state.path().to_owned(),
            host: "unix:///engine.sock".to_owned(),
            ahead: 0,
        }));
        let file = FileLock::open_file(&state.path().join("lock")).unwrap();
        let other = FileLock::if_free(file, LockKind::Exclusive)
            .unwrap()
            .unwrap();
        let change = || ledger.change_within(Duration::ZERO, |notes| notes.collected = 7);
        let error = change().unwrap_err();
        assert_eq!(error.to_string(), "lock the list of images");
        let cause = error.source().unwrap().to_string();
        assert!(
            cause.starts_with("another process kept it locked for "),
            "{cause}"
        );
        drop(other);
        change().unwrap();
        assert_eq!(ledger.read().unwrap().collected, 7);
    }
}
