use super::way::GitWay;
use crate::LibraryError;

/// Returns why there is no answer, from what Git said in English.
pub(super) fn refusal(said: &str, way: &GitWay, reference: &str) -> LibraryError {
    let server = server(way);
    let words = essence(said);
    let has = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    if has(&["REMOTE HOST IDENTIFICATION HAS CHANGED", "REVOKED HOST KEY"]) {
        return LibraryError::Refused {
            reason: format!(
                "{server} has another host key than the one that is known, or a revoked one"
            ),
            help: Some(
                "somebody may be in between; ask who runs the server before its old key leaves \
                 `~/.ssh/known_hosts`"
                    .to_owned(),
            ),
        };
    }
    if has(&["Host key verification failed", "No matching host key"]) {
        return LibraryError::Refused {
            reason: format!("the host key of {server} is not known, and nobody is asked"),
            help: Some(format!(
                "`ssh -T {}` asks once whether it is right",
                login(way)
            )),
        };
    }
    if has(&["Permission denied", "Too many authentication failures"]) {
        return LibraryError::Denied {
            reason: format!("{server} knows none of the keys: {words}"),
            help: Some(format!(
                "`ssh -T {}` shows who one is there; a key with a passphrase must be in the agent",
                login(way)
            )),
        };
    }
    if has(&[
        "could not read Username",
        "could not read Password",
        "terminal prompts disabled",
        "unable to get password",
    ]) {
        return LibraryError::Denied {
            reason: format!("{server} asks Git for a name and a password, and nothing knows a right one"),
            help: Some(
                "a credential helper of Git or a line in `~/.netrc` can: the password is a token with \
                 the scope `read_repository`"
                    .to_owned(),
            ),
        };
    }
    if has(&[
        "Authentication failed",
        "Access denied",
        "error: 403",
        "error: 401",
    ]) {
        return LibraryError::Denied {
            reason: format!("{server} refuses whom Git names: {words}"),
            help: Some("the password is a token with the scope `read_repository`".to_owned()),
        };
    }
    if has(&[
        "could not be found or you don't have permission",
        "not found",
        "does not appear to be a git repository",
        "does not exist",
    ]) {
        return LibraryError::NoProject {
            reason: format!("{server} has no such repository for whoever asks"),
            help: None,
        };
    }
    if has(&[
        "couldn't find remote ref",
        "not our ref",
        "unadvertised object",
    ]) {
        return LibraryError::NoReference(reference.to_owned());
    }
    LibraryError::Unavailable(format!("{server} did not answer Git: {words}"))
}

/// Returns what the server of a way is called.
pub(super) fn server(way: &GitWay) -> String {
    match way {
        GitWay::Ssh {
            host,
            port: Some(port),
            ..
        } => format!("ssh://{host}:{port}"),
        GitWay::Ssh { host, .. } => format!("ssh://{host}"),
        GitWay::Http { instance, .. } => instance.origin().to_string(),
    }
}

/// Returns how SSH is told the server of a way.
fn login(way: &GitWay) -> String {
    match way {
        GitWay::Ssh {
            user,
            host,
            port: Some(port),
        } => format!("-p {port} {user}@{host}"),
        GitWay::Ssh { user, host, .. } => format!("{user}@{host}"),
        GitWay::Http { instance, .. } => format!("git@{}", instance.origin().host),
    }
}

/// Returns the line that says most: a server chose the words, so they are cut and made harmless.
fn essence(said: &str) -> String {
    let mut lines = said.lines().map(|line| {
        let line = line.trim_start_matches("remote: ");
        line.trim_start_matches("fatal: ").trim()
    });
    let tells = |line: &&str| {
        let is_frame = line.bytes().all(|byte| b"=@-".contains(&byte));
        let is_hint = line.starts_with("Please make sure")
            || line.starts_with("and the repository exists")
            || line.starts_with("Could not read from remote repository")
            || line.starts_with("warning: ");
        !is_frame && !is_hint
    };
    let line = lines.rfind(tells).unwrap_or("nothing was said");
    let harmless = line.chars().filter(|c| !c.is_control());
    harmless.take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_becomes_an_error_with_advice() {
        let check = |said: &str, kind: &str, words: &str| {
            let way = GitWay::Ssh {
                user: "git".to_owned(),
                host: "h".to_owned(),
                port: Some(2222),
            };
            let error = refusal(said, &way, "main");
            let help = error.help().unwrap_or_default();
            let shown = format!("{error:?}");
            assert!(shown.starts_with(kind), "{said}: {shown}");
            assert!(format!("{error} {help}").contains(words), "{said}: {shown}");
        };
        check(
            "@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\nHost key verification failed.",
            "Refused",
            "has another host key",
        );
        check(
            "No ED25519 host key is known for h and you have requested strict checking.\nHost key \
             verification failed.\nfatal: Could not read from remote repository.",
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
            "nothing knows a right one",
        );
        check("fatal: couldn't find remote ref x", "NoReference", "main");
        check(
            "ssh: Could not resolve hostname h: Name or service not known",
            "Unavailable",
            "Could not resolve hostname",
        );
        check("", "Unavailable", "nothing was said");
        check("\u{1b}[31mboo\u{7}", "Unavailable", "[31mboo");
    }

    #[test]
    fn a_long_word_is_cut() {
        assert_eq!(essence(&"x".repeat(1000)).len(), 200);
    }
}
