use super::address::{Address, Way};
use crate::error::Error;

/// Whether git was sent to another address, which it does not follow.
pub(super) fn is_redirect(said: &str) -> bool {
    let codes = [301, 302, 303, 307, 308];
    codes
        .iter()
        .any(|code| said.contains(&format!("returned error: {code}")))
}

/// Whether a server does not give a commit that was asked for by its name alone.
pub(super) fn is_unadvertised(said: &str) -> bool {
    has(
        said,
        &[
            "not our ref",
            "unadvertised object",
            "couldn't find remote ref",
            "no such remote ref",
        ],
    )
}

/// Returns why there is no answer, from what git said in English.
pub(super) fn refusal(said: &str, address: &Address) -> Error {
    let server = &address.url;
    let words = essence(said);
    let refused = |reason: String, help: &str| {
        Error::Refused(reason, (!help.is_empty()).then(|| help.to_owned()))
    };
    if has(
        said,
        &["HOST IDENTIFICATION HAS CHANGED", "REVOKED HOST KEY"],
    ) {
        return refused(
            format!("the server of {server} has another host key than the one that is known"),
            "somebody may be in between; ask who runs the server",
        );
    }
    if has(
        said,
        &["Host key verification failed", "No matching host key"],
    ) {
        return refused(
            format!("the host key of {server} is not known, and nobody is asked"),
            "add it to ~/.ssh/known_hosts of whoever runs this program",
        );
    }
    if has(
        said,
        &["Permission denied", "Too many authentication failures"],
    ) {
        return refused(
            format!("the server of {server} knows none of the keys: {words}"),
            "a key with a passphrase must be in the agent",
        );
    }
    let asks = [
        "could not read Username",
        "could not read Password",
        "terminal prompts disabled",
        "unable to get password",
        "Authentication failed",
        "Access denied",
        "error: 401",
        "error: 403",
    ];
    if has(said, &asks) {
        let reason = if address.has_login() {
            format!("{server} does not take the name and password of the address")
        } else {
            format!("{server} wants a name and a password, and git knows no right ones")
        };
        return refused(
            reason,
            "a credential helper of git or a line in ~/.netrc of whoever runs this program can tell them, or the address",
        );
    }
    let absent = [
        "could not be found or you don't have permission",
        "not found",
        "does not appear to be a git repository",
        "not appear to be a git",
        "does not exist",
    ];
    if has(said, &absent) {
        return refused(
            format!("there is no repository {server} for whoever asks"),
            "",
        );
    }
    if has(said, &["dubious ownership"]) {
        return refused(
            format!("git does not trust the owner of {server}"),
            "git config --global --add safe.directory lets it in",
        );
    }
    if has(
        said,
        &[
            "SSL certificate problem",
            "server certificate",
            "server verification failed",
        ],
    ) {
        return refused(
            format!("the certificate of {server} is not trusted: {words}"),
            "name your authority's certificates to git by http.sslCAInfo",
        );
    }
    if is_redirect(said) {
        return refused(
            format!("{server} is elsewhere now, and git does not follow it there"),
            "name the address that a browser ends at",
        );
    }
    let server = match &address.way {
        Way::Local => format!("the repository {server}"),
        _ => server.clone(),
    };
    Error::Unavailable { server, words }
}

fn has(said: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| said.contains(part))
}

/// Returns the line that says most: a server chose the words, so they are cut and made harmless.
fn essence(said: &str) -> String {
    let lines = said.lines().map(|line| {
        let line = line.trim_start_matches("remote: ");
        line.trim_start_matches("fatal: ").trim()
    });
    let tells = |line: &&str| {
        let hints = [
            "Please make sure",
            "and the repository exists",
            "Could not read from remote repository",
            "warning: ",
        ];
        !line.bytes().all(|byte| b"=@-".contains(&byte))
            && !hints.iter().any(|hint| line.starts_with(hint))
    };
    let mut lines: Vec<&str> = lines.filter(tells).collect();
    let line = lines.pop().unwrap_or("nothing was said");
    let harmless = line.chars().filter(|c| !c.is_control());
    harmless.take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_becomes_an_error_with_advice() {
        let address = Address::parse("https://h/p", false).unwrap();
        let check = |said: &str, words: &str| {
            let error = refusal(said, &address);
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(words), "{said}: {shown}");
        };
        check("Host key verification failed.", "known_hosts");
        check("git@h: Permission denied (publickey).", "none of the keys");
        check("fatal: could not read Username for 'https://h'", "netrc");
        check("remote: HTTP Basic: Access denied", "netrc");
        check(
            "fatal: repository 'https://h/p/' not found",
            "no repository",
        );
        check(
            "fatal: unable to access 'https://h/p/': The requested URL returned error: 301",
            "elsewhere",
        );
        check(
            "server certificate verification failed. CAfile",
            "sslCAInfo",
        );
        check("fatal: \u{1b}[31mboo", "[31mboo");
        check("", "nothing was said");
    }
}
