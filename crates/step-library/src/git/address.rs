use crate::error::Error;
use ::git::directory_name;
use executor_core::job::SecretString;
use percent_encoding::percent_decode_str;
use url::Url;

/// The address of a repository.
#[derive(Debug)]
pub(super) struct Address {
    /// The address for git, without a password.
    pub(super) url: String,
    pub(super) transport: Transport,
}

/// How a repository is reached.
#[derive(Debug)]
pub(super) enum Transport {
    Http {
        url: Url,
        /// `user:password`, if the address has them.
        login: Option<SecretString>,
    },
    Ssh {
        /// The server, in the form that `web` checks.
        server: Option<Url>,
    },
    Local,
}

impl Address {
    /// Reads an address; `local` allows repositories of this machine.
    pub(super) fn parse(text: &str, local: bool) -> Result<Self, Error> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('-') || text.chars().any(char::is_control) {
            return Err(wrong(text, "is not an address of a git repository"));
        }
        if text.starts_with('/') {
            return Self::local(text, text, local);
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Self::scp(text);
        };
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => Self::http(text),
            "ssh" => Self::ssh(text),
            "file" => Self::local(text, rest, local),
            _ => Err(wrong(
                text,
                "is not supported: git repositories come over https or ssh",
            )),
        }
    }

    fn http(text: &str) -> Result<Self, Error> {
        let mut url = Url::parse(text).map_err(|_| wrong(text, "is not an address"))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(text, "has more after the repository's path"));
        }
        let login = (!url.username().is_empty() || url.password().is_some()).then(|| {
            let decoded = |part| percent_decode_str(part).decode_utf8_lossy();
            let password = decoded(url.password().unwrap_or_default());
            SecretString::new(format!("{}:{password}", decoded(url.username())))
        });
        // Neither fails for an address that has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        Ok(Self {
            url: url.as_str().trim_end_matches('/').to_owned(),
            transport: Transport::Http { url, login },
        })
    }

    fn ssh(text: &str) -> Result<Self, Error> {
        let url = Url::parse(text).map_err(|_| wrong(text, "is not an address"))?;
        let host = url.host_str().unwrap_or_default();
        let is_odd = |part: &str| part.starts_with('-') || part.starts_with("%2d");
        if host.is_empty() || is_odd(host) || is_odd(url.username()) {
            return Err(wrong(text, "is not an address"));
        }
        if url.password().is_some() {
            return Err(wrong(text, "has a password, which ssh does not support"));
        }
        let server = Url::parse(&format!("https://{host}/")).ok();
        Ok(Self {
            url: url.as_str().trim_end_matches('/').to_owned(),
            transport: Transport::Ssh { server },
        })
    }

    /// Reads `git@host:path`.
    fn scp(text: &str) -> Result<Self, Error> {
        let none = || {
            wrong(
                text,
                "is not an address of a git repository, such as https://HOST/PATH or ssh://USER@HOST/PATH",
            )
        };
        let (login, path) = text.split_once(':').ok_or_else(none)?;
        if login.contains('/') || path.is_empty() || !login.contains('@') {
            return Err(none());
        }
        Self::ssh(&format!("ssh://{login}/{}", path.trim_start_matches('/')))
    }

    fn local(text: &str, path: &str, local: bool) -> Result<Self, Error> {
        if !local {
            return Err(Error::Invalid {
                what: format!("the repository {text}"),
                why: "is on this machine, and those are not allowed".to_owned(),
                help: Some("name a function among the job's own files by its path".to_owned()),
            });
        }
        if !path.starts_with('/') {
            return Err(wrong(text, "is not an absolute path"));
        }
        Ok(Self {
            url: path.to_owned(),
            transport: Transport::Local,
        })
    }

    /// Returns a unique directory name that a person recognizes. A repository fetched with a login has a name of its own,
    /// since jobs without the login must not see it.
    pub(super) fn name(&self) -> String {
        let kind = if self.has_login() { "login" } else { "host" };
        directory_name(&self.url, &format!("{kind} {}", self.url))
    }

    pub(super) fn has_login(&self) -> bool {
        matches!(&self.transport, Transport::Http { login: Some(_), .. })
    }

    /// Returns the address with `.git`, under which many servers know the same repository; `None` if it has that already.
    pub(super) fn with_suffix(&self) -> Option<String> {
        let is_http = matches!(self.transport, Transport::Http { .. });
        (is_http && !self.url.to_ascii_lowercase().contains(".git"))
            .then(|| format!("{}.git", self.url))
    }
}

fn wrong(text: &str, why: &str) -> Error {
    let shown = match text.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit('@').next().unwrap_or(host);
            let path = path.split(['?', '#']).next().unwrap_or(path);
            format!("{scheme}://{host}{path}")
        }
        None => text.to_owned(),
    };
    let shown: String = shown
        .chars()
        .filter(|c| !c.is_control())
        .take(300)
        .collect();
    Error::Invalid {
        what: format!("`{shown}`"),
        why: why.to_owned(),
        help: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        let check = |text: &str, expect: Option<&str>| {
            let url = Address::parse(text, false).ok().map(|it| it.url);
            assert_eq!(url.as_deref(), expect, "{text}");
        };
        check("https://h/g/p", Some("https://h/g/p"));
        check("https://H/g/p/", Some("https://h/g/p"));
        check("https://me:secret@h/g/p", Some("https://h/g/p"));
        check("http://h:81/p.git", Some("http://h:81/p.git"));
        check("ssh://git@h:22/g/p", Some("ssh://git@h:22/g/p"));
        check("git@h:g/p.git", Some("ssh://git@h/g/p.git"));
        for text in [
            "",
            "h",
            "-h:p",
            "--upload-pack=x",
            "ext::sh -c x",
            "ext://x",
            "git://h/p",
            "ssh://-oProxyCommand=x/p",
            "ssh://git:secret@h/p",
            "https://h/p?x",
            "https:///",
            "file:///p",
            "/p",
            "https://h/p\nx",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn login_is_separate_and_never_shown() {
        let address = Address::parse("https://me:hunter2%40x@h/p", false).unwrap();
        assert!(!format!("{address:?}").contains("hunter2"));
        let Transport::Http { login, .. } = &address.transport else {
            panic!("expected HTTP");
        };
        assert_eq!(login.as_ref().unwrap().expose(), "me:hunter2@x");
        let other = Address::parse("https://h/p", false).unwrap();
        assert_ne!(address.name(), other.name());
        let error = Address::parse("https://me:hunter2@h/p?hunter2", false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`https://h/p` has more after the repository's path"
        );
    }

    #[test]
    fn local_repositories_need_permission() {
        let local = |text| Address::parse(text, true).map(|it| it.url).ok();
        assert_eq!(local("/a/b").as_deref(), Some("/a/b"));
        assert_eq!(local("file:///a/b").as_deref(), Some("/a/b"));
        assert_eq!(local("file://host/a"), None);
    }
}
