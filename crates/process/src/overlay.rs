//! Overlays: directories that show another one and store changes in a layer of their own.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fail_point::fail_point;
use rustix::mount::MountFlags;

/// The mount options of overlays, best first.
const KINDS: [Kind; 3] = [
    // Directories of the lower layer can be renamed, and nothing waits for the disk: after a crash of the
    // machine the files of a job are worthless.
    Kind {
        options: "redirect_dir=on,index=off,volatile",
        renames: true,
    },
    // Before Linux 5.10.
    Kind {
        options: "redirect_dir=on,index=off",
        renames: true,
    },
    // In a user namespace. Renaming a directory of the lower layer fails with "another device", as between
    // two file systems, and programs such as `mv` then copy.
    Kind {
        options: "userxattr,volatile",
        renames: false,
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    options: &'static str,
    /// Whether directories of the lower layer can be renamed.
    renames: bool,
}

/// The directories of an overlay; `upper` and `work` are on one file system.
#[derive(Debug, Clone, Copy)]
pub struct Layers<'a> {
    /// The lower layers, the uppermost first. They must not change while they are mounted.
    pub lower: &'a [&'a Path],
    /// The layer for changes.
    pub upper: &'a Path,
    /// An empty directory for the kernel.
    pub work: &'a Path,
}

/// The largest size of mount options, with their final NUL.
const MAX_OPTIONS: usize = 4096;

impl Layers<'_> {
    /// Returns whether the paths fit into the mount options.
    pub fn fit(&self) -> bool {
        let of_kind = KINDS.iter().map(|kind| kind.options.len()).max();
        let names = self.options().len();
        names + of_kind.unwrap_or(0) + ",".len() < MAX_OPTIONS
    }

    fn options(&self) -> Vec<u8> {
        let mut options = b"lowerdir=".to_vec();
        for (at, lower) in self.lower.iter().enumerate() {
            if at > 0 {
                options.push(b':');
            }
            escape_into(&mut options, lower);
        }
        for (name, path) in [(",upperdir=", self.upper), (",workdir=", self.work)] {
            options.extend_from_slice(name.as_bytes());
            escape_into(&mut options, path);
        }
        options
    }
}

/// The kind of overlays that this host supports, from [`Supervisor::overlays`](crate::Supervisor::overlays).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlays {
    kind: Kind,
}

impl Overlays {
    /// Finds the best kind that works in the directory `scratch`, by attempts that `unmount` ends.
    pub(crate) fn probe(
        scratch: &Path,
        unmount: impl Fn(&Path) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut refused = None;
        for kind in KINDS {
            let overlays = Self { kind };
            match overlays.attempt(scratch, &unmount) {
                Ok(()) => return Ok(overlays),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
    }

    /// Mounts an overlay on the directory `target`.
    pub(crate) fn mount(self, layers: &Layers<'_>, target: &Path) -> io::Result<()> {
        let mut options = layers.options();
        options.push(b',');
        options.extend_from_slice(self.kind.options.as_bytes());
        let options = CString::new(options)?;
        let flags = MountFlags::empty();
        Ok(rustix::mount::mount(
            "overlay", target, "overlay", flags, &*options,
        )?)
    }

    /// Tries operations of jobs that some overlays do not support.
    fn attempt(self, scratch: &Path, unmount: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
        let [lower, upper, work, target] =
            ["lower", "upper", "work", "target"].map(|name| scratch.join(name));
        for directory in [&upper, &work, &target] {
            crate::remove_tree(directory)?;
            fs::create_dir_all(directory)?;
        }
        fs::create_dir_all(lower.join("moved"))?;
        fs::create_dir_all(lower.join("replaced/old"))?;
        let layers = Layers {
            lower: &[&lower],
            upper: &upper,
            work: &work,
        };
        self.mount(&layers, &target)?;
        let works = fail_point!("process::overlay::probe", self.works(&target));
        unmount(&target)?;
        works
    }

    fn works(self, target: &Path) -> io::Result<()> {
        if self.kind.renames {
            fs::rename(target.join("moved"), target.join("elsewhere"))?;
        }
        let replaced = target.join("replaced");
        fs::remove_dir_all(&replaced)?;
        fs::create_dir(&replaced)?;
        if fs::read_dir(&replaced)?.next().is_some() {
            return Err(io::Error::other("removed files reappear in the overlay"));
        }
        Ok(())
    }
}

/// Escapes the separators of options with a backslash.
fn escape_into(options: &mut Vec<u8>, path: &Path) {
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'\\' | b':' | b',') {
            options.push(b'\\');
        }
        options.push(*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_must_fit() {
        let check = |lower: &[&Path], expect: &str| {
            let layers = Layers {
                lower,
                upper: Path::new("/u"),
                work: Path::new("/w"),
            };
            assert_eq!(String::from_utf8_lossy(&layers.options()), expect);
            layers.fit()
        };
        let plain = "lowerdir=/b:/a,upperdir=/u,workdir=/w";
        assert!(check(&[Path::new("/b"), Path::new("/a")], plain));
        let strange = Path::new("/a,b:c\\");
        let escaped = "lowerdir=/a\\,b\\:c\\\\,upperdir=/u,workdir=/w";
        assert!(check(&[strange], escaped));
        let long = format!("/{}", "x".repeat(MAX_OPTIONS));
        let long = Path::new(&long);
        let expect = format!("lowerdir={},upperdir=/u,workdir=/w", long.display());
        assert!(!check(&[long], &expect));
    }
}
