//! Programs that are written to be started by another program.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::children::STARTING;

/// Writes a new program that only its owner may use.
///
/// A child that is being started holds all open files of this process. Such a child would keep the new file open for
/// writing, and the system starts no program that is. So none is started meanwhile: the file can be executed on return, also
/// by another program.
///
/// # Errors
///
/// Those of creating and writing a file, also if there is one already.
pub fn write_program(path: &Path, content: &[u8]) -> io::Result<()> {
    let _none_starts = STARTING.write();
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o700);
    options.open(path)?.write_all(content)
}
