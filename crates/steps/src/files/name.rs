use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The longest path that the system accepts.
const LONGEST: usize = 4096 - 1;

/// Returns the relative path of an entry name, or what is wrong with the name. `./`, the directory itself, is an empty
/// path.
pub(crate) fn path_of(name: &[u8]) -> Result<PathBuf, &'static str> {
    if name.is_empty() {
        return Err("has no name");
    }
    if name.starts_with(b"/") {
        return Err("has an absolute name");
    }
    if name.contains(&0) {
        return Err("has a NUL in its name");
    }
    let parts = || {
        name.split(|byte| *byte == b'/')
            .filter(|part| !part.is_empty() && *part != b".")
    };
    if name.len() > LONGEST || parts().any(|part| part.len() > 255) {
        return Err("has a name that is too long");
    }
    if parts().any(|part| part == b"..") {
        return Err("leads out of the directory");
    }
    Ok(parts().map(OsStr::from_bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn names_are_checked() {
        let check = |name: &[u8], expect: Result<&str, ()>| {
            let path = path_of(name).map_err(|_| ());
            assert_eq!(
                path.as_deref(),
                expect.map(Path::new).as_deref(),
                "{name:?}"
            );
        };
        check(b"a/b", Ok("a/b"));
        check(b"./a//b/", Ok("a/b"));
        check(b"./", Ok(""));
        check(b"a..b/...", Ok("a..b/..."));
        check(b"", Err(()));
        check(b"/a", Err(()));
        check(b"a/../b", Err(()));
        check(b"..", Err(()));
        check(b"a\0b", Err(()));
        check(&[b'a'; 256], Err(()));
    }
}
