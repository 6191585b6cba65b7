use super::lease::record_use;
use super::lock::{exclusive, try_exclusive};
use super::staging::remove;
use super::{Hold, Lease, Staging};
use crate::tree::size;
use process::make_private_dir;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tokio::time::Instant;

/// Directories of one kind. Beside each are two files: `.lock` is locked exclusively to create or remove the directory;
/// `.used` is locked shared to use it, holds its size, and has the time of last use as its own.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    root: PathBuf,
}

/// A directory that a caller wants.
#[derive(Debug)]
pub(crate) enum Claim {
    /// It exists.
    Cached(Lease),
    /// The caller is to create it, and no other program does.
    Create(Staging),
}

/// A directory of the cache, with its time of last use.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) used: std::time::SystemTime,
}

impl Shelf {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Takes a lease of a directory, if it exists.
    pub(crate) fn lease(&self, name: &str) -> io::Result<Option<Lease>> {
        Lease::take(&self.root.join(name), &self.file(name, "used"))
    }

    /// Takes a lease of a directory, or the right to create it; waits for other programs until `deadline`.
    pub(crate) async fn claim(&self, name: &str, deadline: Instant) -> io::Result<Claim> {
        if let Some(lease) = self.lease(name)? {
            return Ok(Claim::Cached(lease));
        }
        make_private_dir(&self.root)?;
        let lock = exclusive(&self.file(name, "lock"), deadline).await?;
        if let Some(lease) = self.lease(name)? {
            return Ok(Claim::Cached(lease));
        }
        let target = self.root.join(name);
        // A directory without a `.used` file is incomplete.
        remove(&target)?;
        let part = self.file(name, "part");
        Staging::create(part, target, self.file(name, "used"), lock).map(Claim::Create)
    }

    /// Locks a directory, which may not exist yet; waits for other programs until `deadline`.
    pub(crate) async fn hold(&self, name: &str, deadline: Instant) -> io::Result<Hold> {
        make_private_dir(&self.root)?;
        let lock = exclusive(&self.file(name, "lock"), deadline).await?;
        let used = self.file(name, "used");
        // A caller that fails or is killed leaves files too; this makes them an entry of the cache.
        record_use(&used, None)?;
        Ok(Hold {
            path: self.root.join(name),
            used,
            lock,
        })
    }

    /// Removes leftovers of killed programs. Those that cannot be removed, such as another user's, stay and do no harm.
    pub(crate) fn sweep(&self) {
        self.sweep_each("part", Self::sweep_part);
        self.sweep_each("lock", Self::sweep_lock);
    }

    fn sweep_each(&self, kind: &str, sweep: impl Fn(&Self, &str) -> io::Result<()>) {
        let names = self.names(kind).unwrap_or_else(|error| {
            let path = self.root.display();
            tracing::debug!(%error, %path, "Leftovers of killed programs are not looked for.");
            Vec::new()
        });
        for name in names {
            if let Err(error) = sweep(self, &name) {
                let path = self.file(&name, kind);
                let path = path.display();
                tracing::debug!(%error, %path, "A leftover of a killed program remains.");
            }
        }
    }

    /// Removes a directory whose creator was killed.
    fn sweep_part(&self, name: &str) -> io::Result<()> {
        match try_exclusive(&self.file(name, "lock"))? {
            Some(_lock) => remove(&self.file(name, "part")),
            None => Ok(()),
        }
    }

    /// Removes the lock file of a directory that does not exist.
    fn sweep_lock(&self, name: &str) -> io::Result<()> {
        let file = self.file(name, "lock");
        let Some(_lock) = try_exclusive(&file)? else {
            return Ok(());
        };
        let kept = [self.root.join(name), self.file(name, "used")];
        if kept.iter().any(|path| path.exists()) {
            return Ok(());
        }
        fs::remove_file(&file)
    }

    pub(super) fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for name in self.names("used")? {
            let file = self.file(&name, "used");
            let (Ok(metadata), Ok(text)) = (fs::metadata(&file), fs::read_to_string(&file)) else {
                continue;
            };
            // Its user is at work or was killed, so the size is not recorded.
            let bytes = text.trim().parse();
            let bytes = bytes.unwrap_or_else(|_| size(&self.root.join(&name)));
            entries.push(Entry {
                name,
                bytes,
                used: metadata.modified()?,
            });
        }
        Ok(entries)
    }

    /// Removes a directory unless it is in use; returns whether it was removed.
    pub(super) fn remove(&self, name: &str) -> io::Result<bool> {
        let (lock, used) = (self.file(name, "lock"), self.file(name, "used"));
        let Some(_lock) = try_exclusive(&lock)? else {
            return Ok(false);
        };
        let Some(_used) = try_exclusive(&used)? else {
            return Ok(false);
        };
        remove(&self.root.join(name))?;
        fs::remove_file(&used)?;
        fs::remove_file(&lock)?;
        Ok(true)
    }

    fn names(&self, kind: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let name = |path: &Path| {
            let is_kind = path.extension().is_some_and(|it| it == kind);
            let stem = path.file_stem().filter(|_| is_kind)?;
            stem.to_str().map(str::to_owned)
        };
        Ok(entries
            .flatten()
            .filter_map(|entry| name(&entry.path()))
            .collect())
    }

    fn file(&self, name: &str, kind: &str) -> PathBuf {
        self.root.join(format!("{name}.{kind}"))
    }
}
