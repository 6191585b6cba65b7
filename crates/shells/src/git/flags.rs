//! Extra flags for git commands that come from job variables.

/// Options with which git runs a given program, or leaves its directory.
///
/// A job may run commands in its script, but not where git runs, which can be the runner's host.
const REFUSED_FETCH: [&str; 1] = ["--upload-pack"];
const REFUSED_CLONE: [&str; 6] = [
    "--upload-pack",
    "--config",
    "--template",
    "--separate-git-dir",
    "--bare",
    "--mirror",
];

/// Returns the first of `flags` that is not allowed for `git fetch`.
pub(super) fn refused_for_fetch(flags: &[String]) -> Option<&str> {
    first_refused(flags, &REFUSED_FETCH, "")
}

/// Returns the first of `flags` that is not allowed for `git clone`.
pub(super) fn refused_for_clone(flags: &[String]) -> Option<&str> {
    first_refused(flags, &REFUSED_CLONE, "uc")
}

fn first_refused<'f>(flags: &'f [String], refused: &[&str], letters: &str) -> Option<&'f str> {
    flags
        .iter()
        .map(String::as_str)
        .find(|flag| is_refused(flag, refused, letters))
}

fn is_refused(flag: &str, refused: &[&str], letters: &str) -> bool {
    if flag.starts_with("--") {
        let name = flag.split('=').next().unwrap_or(flag);
        // Git accepts abbreviations, so `--upl` means `--upload-pack`. A bare `--` would end the
        // options.
        return refused.iter().any(|refused| refused.starts_with(name));
    }
    // Short options can be bundled: `-qc core.x=y`.
    flag.strip_prefix('-')
        .is_some_and(|bundle| bundle.contains(|letter| letters.contains(letter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(flag: &str) -> (bool, bool) {
        let flags = [flag.to_owned()];
        (
            refused_for_fetch(&flags).is_some(),
            refused_for_clone(&flags).is_some(),
        )
    }

    #[test]
    fn flags_that_run_programs_are_refused_in_any_spelling() {
        assert_eq!(refused("--upload-pack=id"), (true, true));
        assert_eq!(refused("--upload-pack"), (true, true));
        assert_eq!(refused("--upl=id"), (true, true));
        assert_eq!(refused("--"), (true, true));
        assert_eq!(refused("-c"), (false, true));
        assert_eq!(refused("-qccore.sshCommand=id"), (false, true));
        assert_eq!(refused("--conf=core.sshCommand=id"), (false, true));
        assert_eq!(refused("-u"), (false, true));
    }

    #[test]
    fn usual_flags_are_allowed() {
        for flag in [
            "--prune",
            "--quiet",
            "-j",
            "4",
            "--filter=blob:none",
            "--no-tags",
            "--tags",
        ] {
            assert_eq!(refused(flag), (false, false), "{flag}");
        }
    }
}
