use super::state::Kind;
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The length of an id from SHA-256.
const LONG: usize = 64;

/// Returns the id that Git gives to the content of a file or link, with the length `like`.
pub(crate) fn id_of(path: &Path, kind: Kind, like: usize) -> io::Result<String> {
    if like == LONG {
        id(path, kind, Sha256::new())
    } else {
        id(path, kind, Sha1::new())
    }
}

fn id(path: &Path, kind: Kind, mut digest: impl Digest) -> io::Result<String> {
    let head = |length: u64| format!("blob {length}\0");
    if kind == Kind::Link {
        let target = fs::read_link(path)?;
        let target = target.as_os_str().as_bytes();
        digest.update(head(target.len() as u64));
        digest.update(target);
    } else {
        let mut file = File::open(path)?;
        digest.update(head(file.metadata()?.len()));
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => digest.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    let mut id = String::new();
    for byte in digest.finalize() {
        let _ = write!(id, "{byte:02x}");
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_equal_those_of_git() {
        let directory = tempfile::tempdir().expect("a directory");
        let [file, link] = ["file", "link"].map(|name| directory.path().join(name));
        fs::write(&file, "hello\n").expect("written");
        std::os::unix::fs::symlink("hello\n", &link).expect("linked");
        let plain = Kind::File {
            is_executable: false,
        };
        let expect = "ce013625030ba8dba906f756967f9e9ca394464a";
        assert_eq!(id_of(&file, plain, 40).expect("read"), expect);
        assert_eq!(id_of(&link, Kind::Link, 40).expect("read"), expect);
        let expect = "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4";
        assert_eq!(id_of(&file, plain, 64).expect("read"), expect);
    }
}
