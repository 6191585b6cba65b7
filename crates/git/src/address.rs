/// Returns an address without what grants access: name and password, or for ssh the password alone.
pub fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let scheme = scheme.to_ascii_lowercase();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let Some((user_info, host)) = authority.rsplit_once('@') else {
        return format!("{scheme}://{authority}{path}");
    };
    let user = user_info.split(':').next().unwrap_or_default();
    if scheme == "ssh" && !user.is_empty() {
        return format!("{scheme}://{user}@{host}{path}");
    }
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_do_not_stay_in_the_address() {
        let check = |url, expect| assert_eq!(without_credentials(url), expect);
        check(
            "https://me:t0ken@host:8443/a/b.git",
            "https://host:8443/a/b.git",
        );
        check("https://t0ken@host", "https://host");
        check("https://host/a@b", "https://host/a@b");
        check("HTTPS://me:t0ken@host/a", "https://host/a");
        check("ssh://git:pw@host/a", "ssh://git@host/a");
        check("ssh://:pw@host/a", "ssh://host/a");
        check("git@host:a/b.git", "git@host:a/b.git");
        check("ftp://me:pw@host/a", "ftp://host/a");
        check("git://me:pw@host/a", "git://host/a");
        check("file:///srv/repo", "file:///srv/repo");
        check("/srv/repo", "/srv/repo");
    }
}
