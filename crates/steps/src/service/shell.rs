//! The shell that runs a script where a request names none.

use std::path::Path;

use rustix::fs::{Access, access};

/// Where shells are, the preferred ones first. They are not looked for on a `PATH` that a job sets.
const PLACES: [&str; 6] = [
    "/usr/local/bin/bash",
    "/usr/bin/bash",
    "/bin/bash",
    "/usr/bin/sh",
    "/bin/sh",
    "/busybox/sh",
];

/// What is said where there is none.
pub(crate) const MISSING: &str =
    "there is no shell in this environment, neither bash nor sh; a script needs one";

/// Returns the shells that are there.
pub(crate) fn present() -> Vec<&'static str> {
    let runs = |path: &&str| Path::new(path).is_file() && access(*path, Access::EXEC_OK).is_ok();
    PLACES.into_iter().filter(runs).collect()
}

/// Returns the command that runs a script with the best of these shells; it ends at the first error.
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
    fn the_first_shell_is_taken() {
        let check = |shells: &[&str], expect: &str| {
            assert_eq!(command(shells).unwrap_or_default().join(" "), expect);
        };
        check(&["/bin/bash", "/bin/sh"], "/bin/bash -e -o pipefail");
        check(&["/bin/sh"], "/bin/sh -e");
        check(&[], "");
    }
}
