//! The user's secret in all keys, so that a key does not allow guessing the values of its inputs.

use content_store::ContentStore;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fs;
use std::io;
use std::path::Path;

/// The file in the state directory.
const FILE: &str = "reuse.key";

/// Returns the secret of the state in this directory, which is created the first time.
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
    // A concurrent process may replace it; results stored with the other secret are then not found.
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
    fn secret_is_stable_and_private() {
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
        let second = secret(root.path()).expect("drawn again");
        assert_ne!(second, first);
        assert_eq!(secret(root.path()).expect("read"), second);
        let left = fs::read_dir(root.path()).expect("a directory").count();
        assert_eq!(left, 2, "the secret and the store");
    }
}
