use super::address::{Address, Transport};
use crate::error::Error;
use ::git::{RemoteFailure, essential_line};

/// Returns the error for git's standard error.
pub(super) fn refusal(stderr: &str, address: &Address) -> Error {
    let server = &address.url;
    let line = essential_line(stderr);
    let (reason, help) = match RemoteFailure::of(stderr) {
        RemoteFailure::HostKeyChanged => (
            format!("the host key of {server} differs from the known one"),
            Some("this may be an attack; ask the server's owner"),
        ),
        RemoteFailure::HostKeyUnknown => (
            format!("the host key of {server} is not known, and git must not prompt"),
            Some("add it to ~/.ssh/known_hosts of the user who runs this program"),
        ),
        RemoteFailure::KeysRejected => (
            format!("{server} accepts none of the user's keys: {line}"),
            Some("a key with a passphrase must be in the agent"),
        ),
        RemoteFailure::LoginMissing | RemoteFailure::LoginRejected => (
            if address.has_login() {
                format!("{server} rejects the name and password of the address")
            } else {
                format!("{server} wants a name and a password, and git has none that are right")
            },
            Some(
                "write them in the address, in ~/.netrc of the user who runs this program, or use a credential helper \
                 of git",
            ),
        ),
        RemoteFailure::NoRepository => (
            format!("there is no repository {server}, or it is not shown to this user"),
            None,
        ),
        RemoteFailure::DubiousOwnership => (
            format!("{server} belongs to another user, so git refuses it"),
            Some("git config --global --add safe.directory allows it"),
        ),
        RemoteFailure::UntrustedCertificate => (
            format!("the certificate of {server} is not trusted: {line}"),
            Some("set git's http.sslCAInfo to a file with your authority's certificates"),
        ),
        RemoteFailure::Redirected => (
            format!("{server} redirects to another address, which git does not follow"),
            Some("write the address where a browser ends"),
        ),
        RemoteFailure::NoReference | RemoteFailure::Other => {
            let server = match &address.transport {
                Transport::Local => format!("the repository {server}"),
                _ => server.clone(),
            };
            return Error::Unavailable { server, line };
        }
    };
    Error::Refused(reason, help.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_becomes_an_error_with_help() {
        let address = Address::parse("https://h/p", false).unwrap();
        let check = |stderr: &str, part: &str| {
            let error = refusal(stderr, &address);
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(part), "{stderr}: {shown}");
        };
        check("Host key verification failed.", "known_hosts");
        check(
            "git@h: Permission denied (publickey).",
            "none of the user's keys",
        );
        check("fatal: could not read Username for 'https://h'", "netrc");
        check("remote: HTTP Basic: Access denied", "netrc");
        check(
            "fatal: repository 'https://h/p/' not found",
            "no repository",
        );
        check(
            "fatal: unable to access 'https://h/p/': The requested URL returned error: 301",
            "redirects",
        );
        check(
            "server certificate verification failed. CAfile",
            "sslCAInfo",
        );
        check("fatal: \u{1b}[31mboo", "[31mboo");
        check("", "git printed no reason");
    }
}
