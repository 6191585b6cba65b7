/// Why a server refused git, as far as git's standard error in English says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteFailure {
    /// The server's host key differs from the known one, or was revoked.
    HostKeyChanged,
    /// The server's host key is not known.
    HostKeyUnknown,
    /// The server accepts none of the user's keys.
    KeysRejected,
    /// The server wants a name and a password, and git has none.
    LoginMissing,
    /// The server rejects the name and password that git sent.
    LoginRejected,
    /// The repository does not exist, or is not shown to this user.
    NoRepository,
    /// The repository has no such reference or commit, or does not serve it by name.
    NoReference,
    /// The repository on this machine belongs to another user.
    DubiousOwnership,
    /// The server's certificate is not trusted.
    UntrustedCertificate,
    /// The server redirects to another address, which git does not follow here.
    Redirected,
    /// Anything else, such as a server that cannot be reached.
    Other,
}

/// What git and servers print for each failure. The first failure with a match counts.
const MESSAGES: [(RemoteFailure, &[&str]); 10] = [
    (
        RemoteFailure::HostKeyChanged,
        &["HOST IDENTIFICATION HAS CHANGED", "REVOKED HOST KEY"],
    ),
    (
        RemoteFailure::HostKeyUnknown,
        &["Host key verification failed", "No matching host key"],
    ),
    (
        RemoteFailure::KeysRejected,
        &["Permission denied", "Too many authentication failures"],
    ),
    (
        RemoteFailure::LoginMissing,
        &[
            "could not read Username",
            "could not read Password",
            "terminal prompts disabled",
            "unable to get password",
        ],
    ),
    (
        RemoteFailure::LoginRejected,
        &[
            "Authentication failed",
            "Access denied",
            "error: 401",
            "error: 403",
        ],
    ),
    (
        RemoteFailure::NoReference,
        &[
            "couldn't find remote ref",
            "no such remote ref",
            "not our ref",
            "unadvertised object",
        ],
    ),
    (
        RemoteFailure::NoRepository,
        &[
            "could not be found or you don't have permission",
            "not found",
            "not appear to be a git",
            "does not exist",
        ],
    ),
    (RemoteFailure::DubiousOwnership, &["dubious ownership"]),
    (
        RemoteFailure::UntrustedCertificate,
        &[
            "SSL certificate problem",
            "server certificate",
            "server verification failed",
        ],
    ),
    (
        RemoteFailure::Redirected,
        &[
            "returned error: 301",
            "returned error: 302",
            "returned error: 303",
            "returned error: 307",
            "returned error: 308",
        ],
    ),
];

impl RemoteFailure {
    /// Reads git's standard error.
    pub fn of(stderr: &str) -> Self {
        let matches = |parts: &[&str]| parts.iter().any(|part| stderr.contains(part));
        let found = MESSAGES.iter().find(|(_, parts)| matches(parts));
        found.map_or(Self::Other, |(failure, _)| *failure)
    }
}

/// Returns the most telling line of git's standard error, for a message. A server may have chosen it, so it is cut and
/// freed of control characters.
pub fn essential_line(stderr: &str) -> String {
    let mut lines = stderr.lines().map(|line| {
        let line = line.trim_start_matches("remote: ");
        line.trim_start_matches("fatal: ").trim()
    });
    let is_telling = |line: &&str| {
        let hints = [
            "Please make sure",
            "and the repository exists",
            "Could not read from remote repository",
            "warning: ",
        ];
        let is_frame = line.bytes().all(|byte| b"=@-".contains(&byte));
        !is_frame && !hints.iter().any(|hint| line.starts_with(hint))
    };
    let line = lines.rfind(is_telling).unwrap_or("git printed no reason");
    let harmless = line.chars().filter(|c| !c.is_control());
    harmless.take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_tells_the_failure() {
        let check = |stderr: &str, expect: RemoteFailure| {
            assert_eq!(RemoteFailure::of(stderr), expect, "{stderr}");
        };
        check(
            "@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\nHost key verification failed.",
            RemoteFailure::HostKeyChanged,
        );
        check(
            "No ED25519 host key is known for h and you have requested strict checking.\nHost key \
             verification failed.\nfatal: Could not read from remote repository.",
            RemoteFailure::HostKeyUnknown,
        );
        check(
            "git@h: Permission denied (publickey).",
            RemoteFailure::KeysRejected,
        );
        check(
            "fatal: could not read Username for 'https://h': terminal prompts disabled",
            RemoteFailure::LoginMissing,
        );
        check(
            "remote: HTTP Basic: Access denied",
            RemoteFailure::LoginRejected,
        );
        check(
            "fatal: repository 'https://h/p/' not found",
            RemoteFailure::NoRepository,
        );
        check(
            "fatal: couldn't find remote ref x",
            RemoteFailure::NoReference,
        );
        check(
            "fatal: unable to access 'https://h/p/': The requested URL returned error: 301",
            RemoteFailure::Redirected,
        );
        check(
            "server certificate verification failed. CAfile",
            RemoteFailure::UntrustedCertificate,
        );
        check(
            "ssh: Could not resolve hostname h: Name or service not known",
            RemoteFailure::Other,
        );
        check("", RemoteFailure::Other);
    }

    #[test]
    fn essential_line_is_short_and_harmless() {
        let check = |stderr: &str, expect: &str| assert_eq!(essential_line(stderr), expect);
        check(
            "git@h: Permission denied (publickey).\r\nfatal: Could not read from remote \
             repository.\n\nPlease make sure you have the correct access rights\nand the \
             repository exists.",
            "git@h: Permission denied (publickey).",
        );
        check("\u{1b}[31mboo\u{7}", "[31mboo");
        check("", "git printed no reason");
        assert_eq!(essential_line(&"x".repeat(1000)).len(), 200);
    }
}
