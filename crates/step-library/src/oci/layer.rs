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

/// What begins the name of a file that says that another one is gone.
const WHITEOUT: &[u8] = b".wh.";
/// The name of a file that says that all below its directory is gone.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// The most entries of a layer.
const MOST_ENTRIES: u64 = 200_000;

/// A layer of an image, as it was downloaded, that is put on top of a tree. Blocks.
#[derive(Debug)]
pub(super) struct Layer<'a> {
    pub(super) file: &'a Path,
    /// Where it is unpacked for itself.
    pub(super) scratch: &'a Path,
    pub(super) tree: &'a Path,
    /// How many bytes there may be in it.
    pub(super) max_bytes: u64,
    pub(super) what: &'a str,
}

impl Layer<'_> {
    /// Unpacks the layer and puts it on top; returns how many bytes it has.
    pub(super) fn apply(&self, cancellation: &Cancellation) -> Result<u64, Error> {
        let unpacked = self.unpack(cancellation)?;
        merge(self.scratch, self.tree).map_err(Error::cache("write", self.tree))?;
        let removed = remove(self.scratch).and_then(|()| fs::remove_file(self.file));
        removed.map_err(Error::cache("remove", self.scratch))?;
        Ok(unpacked.bytes)
    }

    fn unpack(&self, cancellation: &Cancellation) -> Result<Unpacked, Error> {
        let limits = Limits {
            entries: MOST_ENTRIES,
            bytes: self.max_bytes,
            ratio: u64::MAX,
            // Those that lead out are removed when all layers are there.
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
        let (into, never) = (self.scratch, cancellation);
        // What it is, it says itself better than its media type does.
        let unpacked = match head {
            [0x1f, 0x8b, ..] => unpack_tar(MultiGzDecoder::new(file), into, &limits, never),
            [0x28, 0xb5, 0x2f, 0xfd] => {
                let decoder = zstd::Decoder::with_buffer(file);
                let decoder = decoder.map_err(Error::cache("read", self.file))?;
                unpack_tar(decoder, into, &limits, never)
            }
            _ => unpack_tar(file, into, &limits, never),
        };
        unpacked.map_err(|source| Error::Layer {
            image: self.what.to_owned(),
            source,
        })
    }
}

/// Puts what is in one directory on top of another one: what it says to be gone goes first.
fn merge(from: &Path, into: &Path) -> io::Result<()> {
    let entries: Vec<_> = fs::read_dir(from)?.collect::<io::Result<_>>()?;
    for entry in &entries {
        if let Some(gone) = gone(&entry.file_name()) {
            match gone {
                Gone::All => clear(into)?,
                Gone::One(name) => remove(&into.join(OsStr::from_bytes(name)))?,
            }
        }
    }
    for entry in &entries {
        let name = entry.file_name();
        if gone(&name).is_some() {
            continue;
        }
        let target = into.join(&name);
        let is_folder = entry.file_type()?.is_dir();
        let there = target.symlink_metadata();
        if is_folder && there.as_ref().is_ok_and(fs::Metadata::is_dir) {
            merge(&entry.path(), &target)?;
            continue;
        }
        if there.is_ok() {
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

/// What a file's name says to be gone.
enum Gone<'a> {
    All,
    One(&'a [u8]),
}

fn gone(name: &OsStr) -> Option<Gone<'_>> {
    let name = name.as_bytes();
    if name == OPAQUE {
        return Some(Gone::All);
    }
    let of = name.strip_prefix(WHITEOUT)?;
    // Those of other kinds are for programs that keep layers apart, and are no files.
    let is_name = !of.starts_with(WHITEOUT) && !matches!(of, b"" | b"." | b"..");
    Some(Gone::One(if is_name { of } else { name }))
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
    fn layers_hide_what_is_below_and_nothing_else() {
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
