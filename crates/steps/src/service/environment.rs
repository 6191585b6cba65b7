//! Selects the part of the service's environment that steps inherit.

use std::ffi::{OsStr, OsString};

use super::options::Inherit;

/// The variables that [`Inherit::Listed`] passes on.
const LISTED: [&str; 18] = [
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
];

/// The prefix of the service's own variables.
const OWN: &[u8] = b"RUNWRIGHT_";

/// Returns whether a variable is passed on.
fn passes(inherit: Inherit, name: &OsStr) -> bool {
    match inherit {
        Inherit::All => !name.as_encoded_bytes().starts_with(OWN),
        Inherit::Listed => LISTED.iter().any(|listed| name == *listed),
    }
}

/// Returns the part of an environment that is passed on.
pub(crate) fn inherited<'a>(
    inherit: Inherit,
    environment: impl Iterator<Item = (&'a OsStr, &'a OsStr)>,
) -> Vec<(OsString, OsString)> {
    environment
        .filter(|(name, _)| passes(inherit, name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherited_variables_are_selected() {
        let check = |name: &str, all, listed| {
            assert_eq!(passes(Inherit::All, OsStr::new(name)), all, "{name}");
            assert_eq!(passes(Inherit::Listed, OsStr::new(name)), listed, "{name}");
        };
        check("PATH", true, true);
        check("HOME", true, true);
        check("JAVA_HOME", true, false);
        check("RUNWRIGHT_AGENT", false, false);
    }
}
