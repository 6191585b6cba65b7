use super::address::{Address, Way};
use super::ssh;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use web::Origin;

/// The variables of git that are about the user and not about some repository.
const KEPT: [&str; 4] = ["GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_HTTP_", "GIT_SSL_"];

/// What holds whatever the user says: nobody is asked, and what git says is read by a program.
const FIXED: [(&str, &str); 10] = [
    ("GCM_INTERACTIVE", "never"),
    ("GIT_ASKPASS", ""),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LANGUAGE", ""),
    ("LC_ALL", "C"),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
];

/// Returns the environment of git for a repository, made of the user's own.
pub(super) fn environment<'v>(
    user: impl Iterator<Item = (&'v OsStr, &'v OsStr)>,
    address: &Address,
    cache: &Path,
) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = Vec::new();
    let mut command = "ssh".to_owned();
    for (name, value) in user {
        let known = name.to_str().unwrap_or_default();
        match (known, value.to_str()) {
            ("GIT_SSH_COMMAND", Some(value)) => value.clone_into(&mut command),
            _ if is_kept(known) => variables.push((name.to_owned(), value.to_owned())),
            _ => {}
        }
    }
    let mut set = |name: &str, value: &str| variables.push((name.into(), value.into()));
    for (name, value) in FIXED {
        set(name, value);
    }
    set("GIT_SSH_COMMAND", &ssh::quiet(&command));
    let protocols = match &address.way {
        // Settings of the user may turn one of these into another.
        Way::Http { url, .. } if url.scheme() == "http" => "http:https:ssh",
        Way::Http { .. } | Way::Ssh { .. } => "https:ssh",
        Way::Local => "file",
    };
    set("GIT_ALLOW_PROTOCOL", protocols);
    // A repository around the cache has no say.
    variables.push(("GIT_CEILING_DIRECTORIES".into(), cache.into()));
    if let Way::Http {
        url,
        login: Some(login),
    } = &address.way
        && let Some(origin) = Origin::of(url)
    {
        let login = STANDARD.encode(login.expose());
        let key = format!("http.{origin}/.extraHeader");
        configure(
            &mut variables,
            &key,
            &format!("Authorization: Basic {login}"),
        );
    }
    variables
}

fn is_kept(name: &str) -> bool {
    let is_of_user = KEPT.iter().any(|kept| name.starts_with(kept));
    let is_of_git = name.starts_with("GIT_") && !is_of_user;
    !is_of_git && name != "GIT_CONFIG_PARAMETERS"
}

/// Adds a setting of git that no argument shows to other users of the machine.
fn configure(variables: &mut Vec<(OsString, OsString)>, key: &str, value: &str) {
    let count = variables
        .iter()
        .rfind(|(name, _)| name == "GIT_CONFIG_COUNT");
    let count = count.and_then(|(_, count)| count.to_str()?.parse::<usize>().ok());
    let count = count.unwrap_or(0);
    let mut set = |name: String, value: &str| variables.push((name.into(), value.into()));
    set(format!("GIT_CONFIG_KEY_{count}"), key);
    set(format!("GIT_CONFIG_VALUE_{count}"), value);
    set("GIT_CONFIG_COUNT".to_owned(), &(count + 1).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_repository_is_meant_and_a_login_is_no_argument() {
        let user = [
            ("HOME", "/h"),
            ("GIT_DIR", "/other"),
            ("GIT_SSL_CAINFO", "/ca"),
            ("GIT_CONFIG_PARAMETERS", "x"),
            ("GIT_SSH_COMMAND", "ssh -4"),
        ];
        let user = user.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        let address = Address::parse("https://me:secret@h/p", false).unwrap();
        let made = environment(user.into_iter(), &address, Path::new("/cache"));
        let value = |name: &str| {
            let found = made.iter().rfind(|(it, _)| it == name);
            found.map(|(_, value)| value.to_string_lossy().into_owned())
        };
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(value(name).as_deref(), expect, "{name}");
        };
        check("HOME", Some("/h"));
        check("GIT_DIR", None);
        check("GIT_SSL_CAINFO", Some("/ca"));
        check("GIT_CONFIG_PARAMETERS", None);
        check(
            "GIT_SSH_COMMAND",
            Some("ssh -4 -o BatchMode=yes -o ConnectTimeout=15"),
        );
        check("GIT_ALLOW_PROTOCOL", Some("https:ssh"));
        check("GIT_CONFIG_KEY_0", Some("http.https://h/.extraHeader"));
        check(
            "GIT_CONFIG_VALUE_0",
            Some("Authorization: Basic bWU6c2VjcmV0"),
        );
    }
}
