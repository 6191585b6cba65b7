use super::lease::note;
use super::lock::{alone, try_alone};
use super::staging::remove;
use super::{Hold, Lease, Staging};
use crate::tree::size;
use process::make_private_dir;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tokio::time::Instant;

/// Directories of one kind, each with a file whose lock is held by who makes or removes it (`.lock`),
/// and one that those share who use it (`.used`); that one says how large it is, and by its time when it was used last.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    root: PathBuf,
}

/// What is to be done about a directory.
#[derive(Debug)]
pub(crate) enum Turn {
    /// It is there.
    There(Lease),
    /// It is to be made, and nobody else makes it.
    Make(Staging),
}

/// A directory that is there, and since when nobody has used it.
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

    /// Takes a lease of a directory that is there.
    pub(crate) fn lease(&self, name: &str) -> io::Result<Option<Lease>> {
        Lease::take(&self.root.join(name), &self.file(name, "used"))
    }

    /// Takes a lease of a directory that is there, or the right to make it; waits for others until `until`.
    pub(crate) async fn turn(&self, name: &str, until: Instant) -> io::Result<Turn> {
        if let Some(lease) = self.lease(name)? {
            return Ok(Turn::There(lease));
        }
        make_private_dir(&self.root)?;
        let lock = alone(&self.file(name, "lock"), until).await?;
        if let Some(lease) = self.lease(name)? {
            return Ok(Turn::There(lease));
        }
        let target = self.root.join(name);
        // What has no note is not whole.
        remove(&target)?;
        let part = self.file(name, "part");
        Staging::make(part, target, self.file(name, "used"), lock).map(Turn::Make)
    }

    /// Takes a directory for oneself, which may not be there yet; waits for others until `until`.
    pub(crate) async fn hold(&self, name: &str, until: Instant) -> io::Result<Hold> {
        make_private_dir(&self.root)?;
        let lock = alone(&self.file(name, "lock"), until).await?;
        let used = self.file(name, "used");
        // Whoever fails or is killed leaves something too, and it is to be found.
        note(&used, None)?;
        Ok(Hold {
            path: self.root.join(name),
            used,
            lock,
        })
    }

    /// Removes what programs left that were killed. What cannot be removed, as what is somebody else's, stays: it is in
    /// the way of nobody who does not want it.
    pub(crate) fn sweep(&self) {
        self.sweep_each("part", Self::sweep_part);
        self.sweep_each("lock", Self::sweep_lock);
    }

    fn sweep_each(&self, kind: &str, sweep: impl Fn(&Self, &str) -> io::Result<()>) {
        let names = self.names(kind).unwrap_or_else(|error| {
            let path = self.root.display();
            tracing::debug!(%error, %path, "What killed programs left is not looked for.");
            Vec::new()
        });
        for name in names {
            if let Err(error) = sweep(self, &name) {
                let path = self.file(&name, kind);
                let path = path.display();
                tracing::debug!(%error, %path, "What a killed program may have left stays.");
            }
        }
    }

    /// Removes what nobody makes any more.
    fn sweep_part(&self, name: &str) -> io::Result<()> {
        match try_alone(&self.file(name, "lock"))? {
            Some(_lock) => remove(&self.file(name, "part")),
            None => Ok(()),
        }
    }

    /// Removes a lock of what was never made, or is gone.
    fn sweep_lock(&self, name: &str) -> io::Result<()> {
        let file = self.file(name, "lock");
        let Some(_lock) = try_alone(&file)? else {
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
            // Who knows it is at work, or did not come to its end.
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

    /// Removes a directory that nobody uses; returns whether it is gone.
    pub(super) fn remove(&self, name: &str) -> io::Result<bool> {
        let (lock, used) = (self.file(name, "lock"), self.file(name, "used"));
        let Some(_lock) = try_alone(&lock)? else {
            return Ok(false);
        };
        let Some(_used) = try_alone(&used)? else {
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
