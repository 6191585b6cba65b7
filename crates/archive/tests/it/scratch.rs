use archive::{ArchiveError, Format, Level, Limits, Packed, Packing, Unpacked, pack, unpack};
use executor_core::Cancellation;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) const FORMATS: [Format; 3] = [Format::Zip, Format::ZipZstd, Format::TarZstd];

/// A directory with a project to pack, a path for the archive, and a directory to unpack it into. That one
/// lies two directories deep, so that entries outside it are seen.
#[derive(Debug)]
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        let scratch = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(scratch.project()).unwrap();
        fs::create_dir_all(scratch.target()).unwrap();
        scratch
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.0.path().join("archive")
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.0.path().join("outside/a/into")
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let file = self.project().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        PathBuf::from(path)
    }

    pub(crate) fn link(&self, path: &str, target: &str) -> PathBuf {
        let link = self.project().join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
        PathBuf::from(path)
    }

    pub(crate) fn folder(&self, path: &str, mode: u32) -> PathBuf {
        let folder = self.project().join(path);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        PathBuf::from(path)
    }

    pub(crate) fn pack(&self, paths: &[PathBuf], format: Format) -> Result<Packed, ArchiveError> {
        let packing = Packing {
            format,
            level: Level::Fast,
            threads: NonZeroUsize::new(2).unwrap(),
        };
        let _ = fs::remove_file(self.archive());
        let never = Cancellation::new();
        pack(&self.project(), paths, &self.archive(), &packing, &never)
    }

    pub(crate) fn unpack(&self) -> Result<Unpacked, ArchiveError> {
        self.unpack_within(&Limits::default())
    }

    pub(crate) fn unpack_within(&self, limits: &Limits) -> Result<Unpacked, ArchiveError> {
        unpack(
            &self.archive(),
            &self.target(),
            limits,
            &Cancellation::new(),
        )
    }

    pub(crate) fn unpack_bytes(&self, bytes: &[u8]) -> Result<Unpacked, ArchiveError> {
        fs::write(self.archive(), bytes).unwrap();
        self.unpack()
    }

    /// Returns all entries outside the directory to unpack into, except its parents.
    pub(crate) fn outside(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for way in ["outside", "outside/a"] {
            for entry in fs::read_dir(self.path().join(way)).unwrap() {
                found.push(entry.unwrap().path());
            }
        }
        found.retain(|path| !self.target().starts_with(path));
        found
    }
}

/// Returns all entries below a directory, with permissions, the text of files and the targets of links.
pub(crate) fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let what = if metadata.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if metadata.is_dir() {
                folders.push(path.clone());
                format!("{mode:o}")
            } else {
                let text = fs::read(&path).unwrap();
                let sum: u64 = text.iter().map(|byte| u64::from(*byte)).sum();
                let start = String::from_utf8_lossy(&text[..text.len().min(20)]).into_owned();
                format!("{mode:o} {} {sum} {start:?}", text.len())
            };
            all.insert(path.strip_prefix(root).unwrap().to_owned(), what);
        }
    }
    all
}

/// Returns bytes that compress about as well as text.
pub(crate) fn text(size: usize) -> Vec<u8> {
    let mut state: u64 = 42;
    let mut text = Vec::with_capacity(size + 16);
    while text.len() < size {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text.extend_from_slice(format!("word{} ", (state >> 33) % 5_000).as_bytes());
    }
    text.truncate(size);
    text
}
