//! The agent as a tar, for interfaces that take nothing else.

use std::io;

use crate::agent::PROGRAM;

/// Packs the program, which everybody may run.
pub(crate) fn pack(program: &[u8], uid: u64, gid: u64) -> io::Result<Vec<u8>> {
    let mut header = tar::Header::new_gnu();
    header.set_size(u64::try_from(program.len()).unwrap_or(u64::MAX));
    header.set_mode(0o755);
    header.set_uid(uid);
    header.set_gid(gid);
    // The same program is the same tar.
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    let mut builder = tar::Builder::new(Vec::with_capacity(program.len() + 4096));
    builder.append_data(&mut header, PROGRAM, program)?;
    builder.into_inner()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn the_program_is_there_and_may_be_run() {
        let packed = pack(b"program", 7, 8).unwrap();
        let mut archive = tar::Archive::new(&packed[..]);
        let mut entries = archive.entries().unwrap();
        let mut entry = entries.next().unwrap().unwrap();
        let header = entry.header();
        let owner = (header.uid().unwrap(), header.gid().unwrap());
        assert_eq!((header.mode().unwrap(), owner), (0o755, (7, 8)));
        assert_eq!(entry.path_bytes(), PROGRAM.as_bytes());
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        assert_eq!(content, b"program");
        assert!(entries.next().is_none());
    }
}
