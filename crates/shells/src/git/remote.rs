use super::address::{Address, percent_decoded};
use executor_core::job::SecretString;
use executor_core::variable::JobVariable;

/// The variable with the user name for the remote.
pub const USERNAME_VARIABLE: &str = "RUNWRIGHT_GIT_USERNAME";
/// The variable with the password for the remote.
pub const PASSWORD_VARIABLE: &str = "RUNWRIGHT_GIT_PASSWORD";

/// The source repository: a URL without credentials, and the credentials.
///
/// The URL is written into the repository's configuration and into command lines. The credentials
/// never are: git asks a helper for them, which answers with the two variables of
/// [`Remote::variables`]. The helper is bound to the remote's host, so a submodule on another host
/// does not get them.
///
/// # Examples
///
/// ```
/// use shells::git::Remote;
///
/// let remote = Remote::parse("https://gitlab-ci-token:s3cret@gitlab.example/a/b.git")?;
/// assert_eq!(remote.url(), "https://gitlab.example/a/b.git");
/// assert_eq!(remote.variables()[1].value, "s3cret");
/// assert!(Remote::parse("ext::sh -c id").is_err());
/// # Ok::<(), shells::git::RemoteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    url: String,
    host: Option<Host>,
    credentials: Option<Credentials>,
    local: Option<LocalSubmodules>,
}

/// The scheme and host of a remote on another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    scheme: Scheme,
    name: String,
    /// The name, with a port if it is given.
    authority: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    Ssh,
    Git,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Credentials {
    username: SecretString,
    password: SecretString,
}

/// Whether submodules may also be fetched from this machine's file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalSubmodules {
    /// They may not; a remote repository could read any repository here.
    Refused,
    /// They may; the job's user owns this machine's repositories.
    Allowed,
}

/// The reason why a repository URL is refused. No message contains the URL, since it may contain a
/// password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// There is no URL.
    #[error("the repository URL is empty")]
    Empty,
    /// It would be an option.
    #[error("the repository URL begins with a dash")]
    LeadingDash,
    /// It contains a line break or another control character.
    #[error("the repository URL contains a control character")]
    ControlCharacter,
    /// Its scheme is not allowed, or it names a helper program.
    #[error("the repository URL is none of http, https, ssh, git or user@host:path")]
    Scheme,
    /// Its host or user is missing, or would be an option.
    #[error("the repository URL has no valid host")]
    Host,
}

impl Remote {
    /// Reads the URL of a repository on another machine.
    ///
    /// # Errors
    ///
    /// A [`RemoteError`] for anything but `http`, `https`, `ssh`, `git` and `user@host:path`, for
    /// example files of this machine and helper programs (`ext::`).
    pub fn parse(url: &str) -> Result<Self, RemoteError> {
        refuse_unsafe(url)?;
        match Address::split(url) {
            Some(address) => Self::from_address(&address),
            None => Self::from_scp(url),
        }
    }

    /// Returns a repository in this machine's file system.
    ///
    /// # Errors
    ///
    /// A [`RemoteError`] for an empty path, one with control characters, or one that begins with a
    /// dash.
    pub fn local(path: &str, submodules: LocalSubmodules) -> Result<Self, RemoteError> {
        refuse_unsafe(path)?;
        // `host:path` and `ext::command` are never local, even if such a file exists.
        if !path.starts_with(['/', '.']) && path.contains(':') {
            return Err(RemoteError::Scheme);
        }
        Ok(Self {
            url: path.to_owned(),
            host: None,
            credentials: None,
            local: Some(submodules),
        })
    }

    fn from_address(address: &Address<'_>) -> Result<Self, RemoteError> {
        let Address {
            user_info,
            host: authority,
            path,
            ..
        } = *address;
        let scheme = match address.scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            "ssh" => Scheme::Ssh,
            "git" => Scheme::Git,
            _ => return Err(RemoteError::Scheme),
        };
        let host = Host {
            scheme,
            name: host_name(authority).to_owned(),
            authority: authority.to_owned(),
        };
        refuse_option(&host.name)?;
        let mut url = format!("{}://{authority}{path}", scheme.as_str());
        let mut credentials = None;
        match (scheme, user_info) {
            (Scheme::Http | Scheme::Https, Some(user_info)) => {
                credentials = Some(Credentials::parse(user_info));
            }
            (Scheme::Ssh, Some(user_info)) => {
                // ssh ignores a password in a URL; the user's name is part of the address.
                let user = user_info.split(':').next().unwrap_or_default();
                refuse_option(user)?;
                url = format!("ssh://{user}@{authority}{path}");
            }
            (Scheme::Git, _) | (_, None) => {}
        }
        Ok(Self {
            url,
            host: Some(host),
            credentials,
            local: None,
        })
    }

    /// Reads `user@host:path`; the user is optional.
    fn from_scp(url: &str) -> Result<Self, RemoteError> {
        let (address, path) = url.split_once(':').ok_or(RemoteError::Scheme)?;
        // `ext::sh` names a helper, `./a:b` and `/a:b` are files, and `c:\` is a drive.
        if path.starts_with(':') || address.contains(['/', '\\']) || address.len() == 1 {
            return Err(RemoteError::Scheme);
        }
        let (user, name) = address.rsplit_once('@').unwrap_or(("git", address));
        refuse_option(user)?;
        refuse_option(name)?;
        let host = Host {
            scheme: Scheme::Ssh,
            name: name.to_owned(),
            authority: name.to_owned(),
        };
        Ok(Self {
            url: url.to_owned(),
            host: Some(host),
            credentials: None,
            local: None,
        })
    }

    /// Returns the URL, which contains no credentials.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the variables that the git commands of a plan need in their environment: the user
    /// name and the password. There are none if the URL had no credentials.
    pub fn variables(&self) -> Vec<JobVariable> {
        let Some(Credentials { username, password }) = &self.credentials else {
            return Vec::new();
        };
        // Some hosts accept a token as a user name without a password.
        let username = if password.is_empty() {
            JobVariable::masked(USERNAME_VARIABLE, username.expose())
        } else {
            let variable = JobVariable::public(USERNAME_VARIABLE, username.expose());
            JobVariable {
                public: false,
                raw: true,
                ..variable
            }
        };
        vec![
            username,
            JobVariable::masked(PASSWORD_VARIABLE, password.expose()),
        ]
    }

    /// Returns the configuration with which git gets the credentials.
    pub(super) fn credential_config(&self) -> Vec<(String, String)> {
        let (Some(host), Some(_)) = (&self.host, &self.credentials) else {
            return Vec::new();
        };
        let scope = format!("{}://{}", host.scheme.as_str(), host.authority);
        // It has no quotes, because older PowerShells drop them from arguments; an empty `IFS`
        // prevents word splitting instead.
        let helper = format!(
            "!f() {{ test $1 = get || return 0; set -f; IFS=; \
             printf %s\\\\n username=${USERNAME_VARIABLE} password=${PASSWORD_VARIABLE}; }}; f"
        );
        vec![
            // The empty entry disables the machine's own helpers, which would store the job's
            // token.
            ("credential.helper".to_owned(), String::new()),
            (format!("credential.{scope}.helper"), helper),
        ]
    }

    /// Returns the configuration of the allowed transports.
    pub(super) fn protocol_config(&self) -> Vec<(String, String)> {
        let mut config = vec![("protocol.allow".to_owned(), "never".to_owned())];
        for scheme in ["http", "https", "ssh", "git"] {
            config.push((format!("protocol.{scheme}.allow"), "always".to_owned()));
        }
        if let Some(submodules) = self.local {
            // `user` allows URLs given here, but not those of a `.gitmodules`.
            let value = match submodules {
                LocalSubmodules::Refused => "user",
                LocalSubmodules::Allowed => "always",
            };
            config.push(("protocol.file.allow".to_owned(), value.to_owned()));
        }
        config
    }

    /// Returns the configuration that replaces ssh URLs on the remote's host with https.
    pub(super) fn force_https_config(&self) -> Vec<(String, String)> {
        let Some(host) = &self.host else {
            return Vec::new();
        };
        let base = match host.scheme {
            Scheme::Http | Scheme::Https => {
                format!("{}://{}/", host.scheme.as_str(), host.authority)
            }
            Scheme::Ssh | Scheme::Git => format!("https://{}/", host.name),
        };
        let key = format!("url.{base}.insteadOf");
        let name = &host.name;
        vec![
            (key.clone(), format!("git@{name}:")),
            (key, format!("ssh://git@{name}/")),
        ]
    }
}

impl Scheme {
    fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Ssh => "ssh",
            Self::Git => "git",
        }
    }
}

impl Credentials {
    fn parse(user_info: &str) -> Self {
        let (username, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        Self {
            username: percent_decoded(username).into(),
            password: percent_decoded(password).into(),
        }
    }
}

fn refuse_unsafe(url: &str) -> Result<(), RemoteError> {
    if url.is_empty() {
        return Err(RemoteError::Empty);
    }
    if url.starts_with('-') {
        return Err(RemoteError::LeadingDash);
    }
    if url.chars().any(char::is_control) {
        return Err(RemoteError::ControlCharacter);
    }
    Ok(())
}

fn refuse_option(part: &str) -> Result<(), RemoteError> {
    if part.is_empty() || part.starts_with('-') {
        return Err(RemoteError::Host);
    }
    Ok(())
}

fn host_name(authority: &str) -> &str {
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or(authority);
    }
    authority.split(':').next().unwrap_or(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expect: Result<&str, RemoteError>) {
        let shown = Remote::parse(url).map(|remote| remote.url);
        assert_eq!(shown, expect.map(str::to_owned), "url {url:?}");
    }

    #[test]
    fn credentials_are_removed_from_the_url() {
        check("https://u:p@host/a.git", Ok("https://host/a.git"));
        check(
            "https://u:p%40x@host:8443/a.git?x=@y",
            Ok("https://host:8443/a.git?x=@y"),
        );
        check("HTTP://token@[::1]:80/a", Ok("http://[::1]:80/a"));
        check("ssh://git:pw@host:22/a", Ok("ssh://git@host:22/a"));
        check("git@host:a/b.git", Ok("git@host:a/b.git"));
        check("git://u:p@host/a", Ok("git://host/a"));
    }

    #[test]
    fn urls_that_run_commands_or_read_files_are_refused() {
        check("", Err(RemoteError::Empty));
        check("-oProxyCommand=id", Err(RemoteError::LeadingDash));
        check("--upload-pack=id", Err(RemoteError::LeadingDash));
        check("ext::sh -c id", Err(RemoteError::Scheme));
        check("ext::https://host/", Err(RemoteError::Scheme));
        check("fd::17", Err(RemoteError::Scheme));
        check("file:///etc", Err(RemoteError::Scheme));
        check("/srv/repo", Err(RemoteError::Scheme));
        check("c:\\repo", Err(RemoteError::Scheme));
        check("ssh://-oProxyCommand=id/a", Err(RemoteError::Host));
        check("ssh://-oProxyCommand=id@host/a", Err(RemoteError::Host));
        check("-x@host:a", Err(RemoteError::LeadingDash));
        check("git@-host:a", Err(RemoteError::Host));
        check("https:///a", Err(RemoteError::Host));
        check("https://host/a\n[core]", Err(RemoteError::ControlCharacter));
        check("https://host/a\r", Err(RemoteError::ControlCharacter));
    }

    #[test]
    fn passwords_are_decoded_and_masked() {
        let remote = Remote::parse("https://gitlab-ci-token:a%2Fb%zz@host/a").unwrap();
        let variables = remote.variables();
        assert_eq!(variables[0].value, "gitlab-ci-token");
        assert!(!variables[0].masked);
        assert_eq!(variables[1].value, "a/b%zz");
        assert!(variables[1].masked);
        assert!(!format!("{remote:?}").contains("a/b"));
    }

    #[test]
    fn a_user_name_without_a_password_is_a_token() {
        let remote = Remote::parse("https://ghp_token@host/a").unwrap();
        assert!(remote.variables()[0].masked);
    }

    #[test]
    fn the_helper_does_not_contain_the_password_and_is_bound_to_the_host() {
        let remote = Remote::parse("https://u:hunter2@host:8443/a").unwrap();
        let config = remote.credential_config();
        assert_eq!(config[1].0, "credential.https://host:8443.helper");
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn local_paths_must_be_safe() {
        assert!(Remote::local("/srv/repo", LocalSubmodules::Refused).is_ok());
        for path in ["ext::id", "host:path", "-x", "a\nb", ""] {
            assert!(
                Remote::local(path, LocalSubmodules::Refused).is_err(),
                "{path:?}"
            );
        }
    }
}
