//! The number that makes keys unreadable: who finds one cannot try which value of a secret gave it.

use content_store::ContentStore;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fs;
use std::io;
use std::path::Path;

/// The file in the directory of all state.
const FILE: &str = "reuse.key";

/// Returns the number of the state in this directory; it is drawn the first time.
pub(super) fn secret(root: &Path, store: &ContentStore) -> io::Result<[u8; 32]> {
    let path = root.join(FILE);
    if let Some(secret) = read(&path)? {
        return Ok(secret);
    }
    let mut secret = [0; 32];
    let mut filled = 0;
    while filled < secret.len() {
        filled += getrandom(&mut secret[filled..], GetRandomFlags::empty())?;
    }
    // Who comes at the same time may replace it; what is kept with the other is not found then.
    store.write_note(&path, &secret).map_err(io::Error::other)?;
    read(&path)?.ok_or_else(|| io::Error::other("the key for reuse cannot be read"))
}

fn read(path: &Path) -> io::Result<Option<[u8; 32]>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => Ok(read?.try_into().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn it_stays_the_same_and_is_ones_own() {
        let root = tempfile::tempdir().expect("a directory");
        let secret = |root: &Path| secret(root, &ContentStore::at(root.join("content")));
        let first = secret(root.path()).expect("drawn");
        assert_eq!(secret(root.path()).expect("read"), first);
        let other = tempfile::tempdir().expect("a directory");
        assert_ne!(secret(other.path()).expect("drawn"), first);
        let path = root.path().join(FILE);
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(&path, "short").expect("damaged");
        let second = secret(root.path()).expect("drawn anew");
        assert_ne!(second, first);
        assert_eq!(secret(root.path()).expect("read"), second);
        let left = fs::read_dir(root.path()).expect("a directory").count();
        assert_eq!(left, 2, "it and the store");
    }
}
