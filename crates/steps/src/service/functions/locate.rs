//! From a reference to a function and its directory.

use crate::language::{FILES, Function, Place};
use std::io;
use std::path::{Path, PathBuf};

/// The longest file that describes a function, in bytes.
const LONGEST: u64 = 4 * 1024 * 1024;

/// A function, and the directory of the file that describes it.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) function: Function,
    pub(super) directory: PathBuf,
}

/// Finds a function. A relative path is one from `base`.
pub(super) fn locate(place: &Place, base: &Path) -> Result<Located, String> {
    match place {
        Place::Local(file) => {
            let directory = base.join(&file.directory);
            read(&directory, file.name.as_deref())
        }
        Place::Git { .. } => Err(not_yet("functions of git repositories")),
        Place::Oci { .. } => Err(not_yet("functions of images")),
        Place::Builtin(_) => Err(not_yet("functions that come with the step-runner")),
    }
}

fn not_yet(what: &str) -> String {
    format!("{what} are not there yet, only those of directories and scripts")
}

fn read(directory: &Path, name: Option<&str>) -> Result<Located, String> {
    let names: &[&str] = match &name {
        Some(name) => &[name],
        None => &FILES,
    };
    for name in names {
        let path = directory.join(name);
        match text_of(&path) {
            Ok(text) => {
                let function = Function::parse(&text)
                    .map_err(|wrong| format!("{}: {wrong}", path.display()))?;
                return Ok(Located {
                    function,
                    directory: clean(directory),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        }
    }
    Err(format!(
        "there is no {} in {}",
        names.join(" and no "),
        clean(directory).display()
    ))
}

fn text_of(path: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        let words = format!("it is no file of at most {LONGEST} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    std::fs::read_to_string(path)
}

/// Returns a path without `.` in it.
fn clean(path: &Path) -> PathBuf {
    path.components().collect()
}
