use super::GitRoute;
use crate::LibraryError;
use ::git::{RemoteFailure, essential_line};

/// Returns the error for git's standard error.
pub(super) fn refusal(stderr: &str, route: &GitRoute, reference: &str) -> LibraryError {
    let server = server(route);
    let line = essential_line(stderr);
    match RemoteFailure::of(stderr) {
        RemoteFailure::HostKeyChanged => LibraryError::Refused {
            reason: format!("the host key of {server} differs from the known one, or is revoked"),
            help: Some(
                "this may be an attack; ask the server's owner before you remove the old key from \
                 `~/.ssh/known_hosts`"
                    .to_owned(),
            ),
        },
        RemoteFailure::HostKeyUnknown => LibraryError::Refused {
            reason: format!("the host key of {server} is not known, and Git must not prompt"),
            help: Some(format!(
                "`ssh -T {}` prompts for it once",
                ssh_arguments(route)
            )),
        },
        RemoteFailure::KeysRejected => LibraryError::Denied {
            reason: format!("{server} accepts none of your keys: {line}"),
            help: Some(format!(
                "`ssh -T {}` shows your account there; a key with a passphrase must be in the agent",
                ssh_arguments(route)
            )),
        },
        RemoteFailure::LoginMissing => LibraryError::Denied {
            reason: format!("{server} asks Git for a name and a password, and Git has none that are right"),
            help: Some(
                "a credential helper of Git or a line in `~/.netrc` can provide them: the password is a token with \
                 the scope `read_repository`"
                    .to_owned(),
            ),
        },
        RemoteFailure::LoginRejected => LibraryError::Denied {
            reason: format!("{server} rejects Git's name and password: {line}"),
            help: Some("the password is a token with the scope `read_repository`".to_owned()),
        },
        RemoteFailure::NoRepository => LibraryError::NoProject {
            reason: format!("{server} has no such repository, or does not show it to you"),
            help: None,
        },
        RemoteFailure::NoReference => LibraryError::NoReference(reference.to_owned()),
        RemoteFailure::DubiousOwnership
        | RemoteFailure::UntrustedCertificate
        | RemoteFailure::Redirected
        | RemoteFailure::Other => {
            LibraryError::Unavailable(format!("{server} did not answer Git: {line}"))
        }
    }
}

/// Returns the name of a route's server in messages.
pub(super) fn server(route: &GitRoute) -> String {
    match route {
        GitRoute::Ssh {
            host,
            port: Some(port),
            ..
        } => format!("ssh://{host}:{port}"),
        GitRoute::Ssh { host, .. } => format!("ssh://{host}"),
        GitRoute::Http { instance, .. } => instance.origin().to_string(),
    }
}

/// Returns the arguments of ssh for a route's server.
fn ssh_arguments(route: &GitRoute) -> String {
    match route {
        GitRoute::Ssh {
            user,
            host,
            port: Some(port),
        } => format!("-p {port} {user}@{host}"),
        GitRoute::Ssh { user, host, .. } => format!("{user}@{host}"),
        GitRoute::Http { instance, .. } => format!("git@{}", instance.origin().host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_becomes_an_error_with_help() {
        let check = |stderr: &str, kind: &str, part: &str| {
            let route = GitRoute::Ssh {
                user: "git".to_owned(),
                host: "h".to_owned(),
                port: Some(2222),
            };
            let error = refusal(stderr, &route, "main");
            let help = error.help().unwrap_or_default();
            let shown = format!("{error:?}");
            assert!(shown.starts_with(kind), "{stderr}: {shown}");
            assert!(
                format!("{error} {help}").contains(part),
                "{stderr}: {shown}"
            );
        };
        check(
            "@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\nHost key verification failed.",
            "Refused",
            "differs from the known one",
        );
        check(
            "Host key verification failed.",
            "Refused",
            "ssh -T -p 2222 git@h",
        );
        check(
            "git@h: Permission denied (publickey).\r\nfatal: Could not read from remote \
             repository.\n\nPlease make sure you have the correct access rights\nand the \
             repository exists.",
            "Denied",
            "Permission denied (publickey).",
        );
        check(
            "remote: ====\nremote: \nremote: The project you were looking for could not be found \
             or you don't have permission to view it.\n",
            "NoProject",
            "no such repository",
        );
        check(
            "fatal: could not read Username for 'https://h': terminal prompts disabled",
            "Denied",
            "has none that are right",
        );
        check("fatal: couldn't find remote ref x", "NoReference", "main");
        check(
            "ssh: Could not resolve hostname h: Name or service not known",
            "Unavailable",
            "Could not resolve hostname",
        );
        check("", "Unavailable", "git printed no reason");
    }
}
