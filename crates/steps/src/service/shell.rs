//! The default shell for scripts.

use std::path::Path;

use rustix::fs::{Access, access};

/// The paths of shells, preferred ones first. The `PATH` of a job is not searched.
const PLACES: [&str; 6] = [
    "/usr/local/bin/bash",
    "/usr/bin/bash",
    "/bin/bash",
    "/usr/bin/sh",
    "/bin/sh",
    "/busybox/sh",
];

/// The error without any shell.
pub(crate) const MISSING: &str =
    "there is no shell in this environment, neither bash nor sh, to run a script";

/// Returns the shells that exist.
pub(crate) fn present() -> Vec<&'static str> {
    let runs = |path: &&str| Path::new(path).is_file() && access(*path, Access::EXEC_OK).is_ok();
    PLACES.into_iter().filter(runs).collect()
}

/// Returns the command that runs a script with the first of these shells; it stops at the first error.
pub(crate) fn command(shells: &[&str]) -> Option<Vec<String>> {
    let shell = *shells.first()?;
    let options: &[&str] = if shell.ends_with("/bash") {
        &["-e", "-o", "pipefail"]
    } else {
        &["-e"]
    };
    let words = [shell].into_iter().chain(options.iter().copied());
    Some(words.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_shell_is_used() {
        let check = |shells: &[&str], expect: &str| {
            assert_eq!(command(shells).unwrap_or_default().join(" "), expect);
        };
        check(&["/bin/bash", "/bin/sh"], "/bin/bash -e -o pipefail");
        check(&["/bin/sh"], "/bin/sh -e");
        check(&[], "");
    }
}
