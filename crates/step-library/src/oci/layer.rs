use crate::cache::remove;
use crate::error::Error;
use archive::{Limits, LinkTargets, Unpacked, unpack_tar};
use executor_core::Cancellation;
use flate2::read::MultiGzDecoder;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The prefix of a file that marks another one as removed.
const WHITEOUT: &[u8] = b".wh.";
/// The name of a file that marks everything in its directory as removed.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// The most entries of a layer.
const MAX_ENTRIES: u64 = 200_000;

/// A downloaded layer of an image, to be applied to a tree. Blocks.
#[derive(Debug)]
pub(super) struct Layer<'a> {
    pub(super) file: &'a Path,
    /// The directory it is unpacked in first.
    pub(super) scratch: &'a Path,
    pub(super) tree: &'a Path,
    /// The most bytes it may have, unpacked.
    pub(super) max_bytes: u64,
    pub(super) what: &'a str,
}

impl Layer<'_> {
    /// Unpacks the layer and merges it into the tree; returns its bytes.
    pub(super) fn apply(&self, cancellation: &Cancellation) -> Result<u64, Error> {
        let unpacked = self.unpack(cancellation)?;
        merge(self.scratch, self.tree).map_err(Error::cache("write", self.tree))?;
        let removed = remove(self.scratch).and_then(|()| fs::remove_file(self.file));
        removed.map_err(Error::cache("remove", self.scratch))?;
        Ok(unpacked.bytes)
    }

    fn unpack(&self, cancellation: &Cancellation) -> Result<Unpacked, Error> {
        let limits = Limits {
            entries: MAX_ENTRIES,
            bytes: self.max_bytes,
            ratio: u64::MAX,
            // Links that lead out of the tree are removed once all layers are applied.
            links: LinkTargets::Anywhere,
        };
        let opened = || -> io::Result<(File, [u8; 4])> {
            let mut file = File::open(self.file)?;
            let mut head = Vec::new();
            Read::by_ref(&mut file).take(4).read_to_end(&mut head)?;
            file.rewind()?;
            head.resize(4, 0);
            Ok((file, [head[0], head[1], head[2], head[3]]))
        };
        let (file, head) = opened().map_err(Error::cache("read", self.file))?;
        let file = BufReader::new(file);
        let into = self.scratch;
        // The first bytes tell the compression more reliably than the media type.
        let unpacked = match head {
            [0x1f, 0x8b, ..] => unpack_tar(MultiGzDecoder::new(file), into, &limits, cancellation),
            [0x28, 0xb5, 0x2f, 0xfd] => {
                let decoder = zstd::Decoder::with_buffer(file);
                let decoder = decoder.map_err(Error::cache("read", self.file))?;
                unpack_tar(decoder, into, &limits, cancellation)
            }
            _ => unpack_tar(file, into, &limits, cancellation),
        };
        unpacked.map_err(|source| Error::Layer {
            image: self.what.to_owned(),
            source,
        })
    }
}

/// Merges one directory into another one. Removals are applied first.
fn merge(from: &Path, into: &Path) -> io::Result<()> {
    let entries: Vec<_> = fs::read_dir(from)?.collect::<io::Result<_>>()?;
    for entry in &entries {
        match removal(&entry.file_name()) {
            Some(Removal::Everything) => clear(into)?,
            Some(Removal::File(name)) => remove(&into.join(OsStr::from_bytes(name)))?,
            None => {}
        }
    }
    for entry in &entries {
        let name = entry.file_name();
        if removal(&name).is_some() {
            continue;
        }
        let target = into.join(&name);
        let is_folder = entry.file_type()?.is_dir();
        let existing = target.symlink_metadata();
        if is_folder && existing.as_ref().is_ok_and(fs::Metadata::is_dir) {
            merge(&entry.path(), &target)?;
            continue;
        }
        if existing.is_ok() {
            remove(&target)?;
        }
        if is_folder {
            fs::create_dir(&target)?;
            merge(&entry.path(), &target)?;
        } else {
            fs::rename(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// What a whiteout file removes.
enum Removal<'a> {
    Everything,
    File(&'a [u8]),
}

fn removal(name: &OsStr) -> Option<Removal<'_>> {
    let name = name.as_bytes();
    if name == OPAQUE {
        return Some(Removal::Everything);
    }
    let target = name.strip_prefix(WHITEOUT)?;
    // Other kinds are for programs that keep layers separate; they stand for no file.
    let is_name = !target.starts_with(WHITEOUT) && !matches!(target, b"" | b"." | b"..");
    Some(Removal::File(if is_name { target } else { name }))
}

fn clear(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        remove(&entry?.path())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_remove_only_marked_files() {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        let layer = |files: &[(&str, &str)]| {
            let from = scratch.path().join("layer");
            for (name, content) in files {
                let path = from.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            merge(&from, &tree).unwrap();
            fs::remove_dir_all(&from).unwrap();
        };
        fs::create_dir(&tree).unwrap();
        fs::write(scratch.path().join("outside"), "").unwrap();
        layer(&[
            ("a/one", "1"),
            ("a/two", "1"),
            ("b/one", "1"),
            ("c", "1"),
            ("d/x", "1"),
        ]);
        layer(&[
            ("a/.wh.one", ""),
            ("a/two", "2"),
            ("b/.wh..wh..opq", ""),
            ("b/two", "2"),
            (".wh...", ""),
            ("d", "2"),
            ("new/.wh.x", ""),
            ("new/.wh..wh.plnk", ""),
            ("new/y", "2"),
        ]);
        let mut found = Vec::new();
        list(&tree, &tree, &mut found);
        found.sort();
        assert_eq!(found, ["a/two 2", "b/two 2", "c 1", "d 2", "new/y 2"]);
        assert!(scratch.path().join("outside").exists());
    }

    fn list(root: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                list(root, &path, found);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().display();
            found.push(format!("{name} {}", fs::read_to_string(&path).unwrap()));
        }
    }
}
