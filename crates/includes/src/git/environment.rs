use super::ssh;
use super::way::GitWay;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The variables of Git that are about the user and not about some repository.
const KEPT: [&str; 4] = ["GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_HTTP_", "GIT_SSL_"];

/// Variables of the same beginnings that carry what another git was called with.
const DROPPED: [&str; 1] = ["GIT_CONFIG_PARAMETERS"];

/// What keeps Git, SSH and helpers from asking anybody.
const QUIET: [(&str, &str); 9] = [
    ("GCM_INTERACTIVE", "never"),
    ("GIT_ASKPASS", ""),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LANGUAGE", ""),
    // What it says is read by a program too.
    ("LC_ALL", "C"),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
];

/// An environment for Git, made of the user's own.
#[derive(Clone)]
pub(super) struct GitEnvironment {
    variables: Vec<(OsString, OsString)>,
    /// The command of SSH that the user's environment says.
    ssh: Option<String>,
}

impl GitEnvironment {
    /// Returns the environment of a user without what is about another repository.
    pub(super) fn of_user<'v>(user: impl Iterator<Item = (&'v OsStr, &'v OsStr)>) -> Self {
        let mut variables = Vec::new();
        let (mut ssh, mut program) = (None, None);
        for (name, value) in user {
            let known = name.to_str().unwrap_or_default();
            match known {
                "GIT_SSH_COMMAND" => ssh = value.to_str().map(str::to_owned),
                "GIT_SSH" => program = value.to_str().map(ssh::word),
                _ if !known.starts_with("GIT_") || is_kept(known) => {
                    variables.push((name.to_owned(), value.to_owned()));
                }
                _ => {}
            }
        }
        variables.extend(QUIET.map(|(name, value)| (name.into(), value.into())));
        let ssh = ssh.or(program);
        Self { variables, ssh }
    }

    /// Keeps Git from looking for a repository around `directory`.
    pub(super) fn stay_in(&mut self, directory: &Path) {
        if let Some(parent) = directory.parent() {
            let ceiling = (OsString::from("GIT_CEILING_DIRECTORIES"), parent.into());
            self.variables.push(ceiling);
        }
    }

    /// Returns the command of SSH that the user's environment says.
    pub(super) fn ssh(&self) -> Option<&str> {
        self.ssh.as_deref().filter(|it| !it.trim().is_empty())
    }

    /// Returns the environment for a way; `ssh` is the user's command of SSH.
    pub(super) fn on(&self, way: &GitWay, ssh: &str) -> Vec<(OsString, OsString)> {
        let mut variables = self.variables.clone();
        let mut set = |name: &str, value: &str| variables.push((name.into(), value.into()));
        match way {
            GitWay::Ssh { .. } => {
                set("GIT_ALLOW_PROTOCOL", "ssh:https");
                set("GIT_SSH_COMMAND", &ssh::quiet(ssh));
            }
            GitWay::Http {
                instance,
                authority,
                login,
            } => {
                let protocols = match instance.origin().scheme.as_str() {
                    "http" => "ssh:https:http",
                    _ => "ssh:https",
                };
                set("GIT_ALLOW_PROTOCOL", protocols);
                // In case that the user's own settings turn the address into one of SSH.
                set("GIT_SSH_COMMAND", &ssh::quiet(ssh));
                if let Some(path) = authority {
                    variables.push(("GIT_SSL_CAINFO".into(), path.into()));
                }
                if let Some((name, password)) = login {
                    let login = STANDARD.encode(format!("{name}:{}", password.expose()));
                    let key = format!("http.{}/.extraHeader", instance.origin());
                    let header = format!("Authorization: Basic {login}");
                    configure(&mut variables, &key, &header);
                }
            }
        }
        variables
    }
}

/// Adds a setting of Git that no argument shows to other users of the machine.
fn configure(variables: &mut Vec<(OsString, OsString)>, key: &str, value: &str) {
    let count = variables
        .iter()
        .rfind(|(name, _)| name == "GIT_CONFIG_COUNT");
    let count = count.and_then(|(_, count)| count.to_str()?.parse::<usize>().ok());
    let count = count.unwrap_or(0);
    variables.push((format!("GIT_CONFIG_KEY_{count}").into(), key.into()));
    variables.push((format!("GIT_CONFIG_VALUE_{count}").into(), value.into()));
    let count = (count + 1).to_string();
    variables.push(("GIT_CONFIG_COUNT".into(), count.into()));
}

fn is_kept(name: &str) -> bool {
    KEPT.iter().any(|kept| name.starts_with(kept)) && !DROPPED.contains(&name)
}

impl std::fmt::Debug for GitEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GitEnvironment")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::SecretString;
    use gitlab_api::Instance;

    /// Returns the last value of each variable, as a child gets it.
    fn value(variables: &[(OsString, OsString)], name: &str) -> Option<String> {
        let found = variables.iter().rfind(|(it, _)| it == name);
        found.map(|(_, value)| value.to_string_lossy().into_owned())
    }

    fn user(pairs: &[(&'static str, &'static str)]) -> GitEnvironment {
        let pairs = pairs.iter();
        GitEnvironment::of_user(pairs.map(|&(name, value)| (OsStr::new(name), OsStr::new(value))))
    }

    #[test]
    fn nobody_is_asked_and_no_other_repository_is_meant() {
        let user = user(&[
            ("HOME", "/h"),
            ("GIT_DIR", "/other"),
            ("GIT_ASKPASS", "/ask"),
            ("GIT_CONFIG_GLOBAL", "/config"),
            ("GIT_CONFIG_PARAMETERS", "'x=y'"),
            ("GIT_SSH_COMMAND", "ssh -4"),
            ("SSH_AUTH_SOCK", "/agent"),
        ]);
        let way = GitWay::Ssh {
            user: "git".to_owned(),
            host: "h".to_owned(),
            port: None,
        };
        let variables = user.on(&way, user.ssh().unwrap_or("ssh"));
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(value(&variables, name).as_deref(), expect, "{name}");
        };
        check("HOME", Some("/h"));
        check("SSH_AUTH_SOCK", Some("/agent"));
        check("GIT_CONFIG_GLOBAL", Some("/config"));
        check("GIT_DIR", None);
        check("GIT_CONFIG_PARAMETERS", None);
        check("GIT_ASKPASS", Some(""));
        check("GIT_TERMINAL_PROMPT", Some("0"));
        check("SSH_ASKPASS_REQUIRE", Some("never"));
        check("GIT_ALLOW_PROTOCOL", Some("ssh:https"));
        check(
            "GIT_SSH_COMMAND",
            Some("ssh -4 -o BatchMode=yes -o ConnectTimeout=10"),
        );
    }

    #[test]
    fn a_login_is_for_its_server_alone_and_comes_after_the_users_own_settings() {
        let user = user(&[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "a.b"),
            ("GIT_CONFIG_VALUE_0", "c"),
        ]);
        let way = GitWay::Http {
            instance: Instance::parse("http://h:81/git").expect("an address"),
            authority: Some("/ca.pem".into()),
            login: Some(("gitlab-ci-token".to_owned(), SecretString::new("t"))),
        };
        let variables = user.on(&way, "ssh");
        let check = |name: &str, expect: &str| {
            assert_eq!(value(&variables, name).as_deref(), Some(expect), "{name}");
        };
        check("GIT_CONFIG_COUNT", "2");
        check("GIT_CONFIG_KEY_0", "a.b");
        check("GIT_CONFIG_KEY_1", "http.http://h:81/.extraHeader");
        check(
            "GIT_CONFIG_VALUE_1",
            "Authorization: Basic Z2l0bGFiLWNpLXRva2VuOnQ=",
        );
        check("GIT_SSL_CAINFO", "/ca.pem");
        check("GIT_ALLOW_PROTOCOL", "ssh:https:http");
    }

    #[test]
    fn a_program_for_ssh_is_a_word() {
        assert_eq!(user(&[("GIT_SSH", "/my ssh")]).ssh(), Some("'/my ssh'"));
        let both = user(&[("GIT_SSH_COMMAND", "ssh -6"), ("GIT_SSH", "/x")]);
        assert_eq!(both.ssh(), Some("ssh -6"));
        assert_eq!(user(&[("GIT_SSH_COMMAND", " ")]).ssh(), None);
    }
}
