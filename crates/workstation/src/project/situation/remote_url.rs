//! URLs of remotes.

/// Returns `group/project` of a remote URL.
pub(crate) fn path_of_url(url: &str) -> Option<String> {
    let rest = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        // The short form of ssh: `git@host:group/project.git`.
        None => {
            url.split_once(':')
                .filter(|(host, _)| !host.contains('/'))?
                .1
        }
    };
    let path = rest.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let plain = path
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..");
    (plain && !path.is_empty()).then(|| path.to_owned())
}

/// Returns the URL of the GitLab of a remote URL. The port of ssh is left out, since it is not that of the web
/// server.
pub(crate) fn server_of_url(url: &str) -> Option<String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        let (host, _) = url
            .split_once(':')
            .filter(|(host, _)| !host.contains('/'))?;
        return Some(format!("https://{}", host.rsplit('@').next()?));
    };
    let authority = rest.split('/').next()?;
    let host = authority.rsplit('@').next()?;
    match scheme {
        "http" | "https" => Some(format!("{scheme}://{host}")),
        "ssh" => Some(format!("https://{}", host.split(':').next()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_read_from_the_url() {
        let check = |url: &str, expect: Option<&str>| {
            assert_eq!(path_of_url(url).as_deref(), expect, "of {url}");
        };
        check(
            "https://gitlab.com/group/sub/app.git",
            Some("group/sub/app"),
        );
        check("ssh://git@host:2222/group/app", Some("group/app"));
        check("git@host:group/app.git", Some("group/app"));
        check("https://host/", None);
        check("https://host/../../etc", None);
        check("file:///srv/app.git", None);
        check("../app", None);
    }

    #[test]
    fn server_is_read_from_the_url() {
        let check = |url: &str, expect: Option<&str>| {
            assert_eq!(server_of_url(url).as_deref(), expect, "of {url}");
        };
        check(
            "git@gitlab.example.com:grp/proj.git",
            Some("https://gitlab.example.com"),
        );
        check("ssh://git@host:2222/group/app", Some("https://host"));
        check("http://host:8080/group/app", Some("http://host:8080"));
        check("file:///srv/app.git", None);
    }
}
