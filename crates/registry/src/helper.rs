use crate::{LoginSecret, RegistryLogin};
use process::{CaptureLimits, Command, NeverStop, ProcessTree, Stdin};
use serde::Deserialize;
use std::ffi::OsString;
use std::time::Duration;

/// The longest a helper may take; some ask a cloud.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
/// The most bytes a helper may print.
const MAX_OUTPUT: usize = 64 << 10;
/// The user name that marks the secret as a token.
const TOKEN_USER: &str = "<token>";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

/// Returns whether a name is safe as a part of a program's name.
pub(crate) fn is_safe_name(name: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    !name.is_empty() && name.len() <= 64 && name.bytes().all(allowed)
}

/// How helpers are found and run.
#[derive(Debug, Clone)]
pub(crate) struct Helpers {
    pub(crate) tree: ProcessTree,
    /// The search path; by default the runner's.
    pub(crate) path: Option<OsString>,
    /// The longest one may take.
    pub(crate) deadline: Duration,
}

/// Runs `docker-credential-NAME get` with a key. `None` means that the helper has no login for it.
///
/// # Errors
///
/// The reason, without a part of the helper's output.
pub(crate) async fn get(
    helpers: &Helpers,
    name: &str,
    key: &str,
) -> Result<Option<RegistryLogin>, String> {
    if !is_safe_name(name) {
        let shown: String = name.chars().take(60).collect();
        return Err(format!(
            "{shown:?} is not the name of a credential helper: only a-z, 0-9, _ and - are allowed"
        ));
    }
    let program = format!("docker-credential-{name}");
    // It is the runner's own tool and asks the runner's own cloud, so it gets the runner's environment.
    let tree = &helpers.tree;
    let mut command = Command::new(&program)
        .arg("get")
        .envs(tree.environment().iter())
        .stdin(Stdin::Bytes(key.as_bytes().to_vec()));
    if let Some(path) = &helpers.path {
        command = command.env("PATH", path);
    }
    let limits = CaptureLimits {
        deadline: helpers.deadline,
        max_bytes: MAX_OUTPUT,
    };
    let captured = tree.output(&command, &limits, &NeverStop).await;
    let captured = captured.map_err(|error| format!("{program}: {error}"))?;
    if captured.truncated {
        return Err(format!("{program} printed more than credentials can have"));
    }
    read(&program, captured.outcome.success(), &captured.stdout)
}

fn read(program: &str, success: bool, stdout: &[u8]) -> Result<Option<RegistryLogin>, String> {
    if !success {
        let text = String::from_utf8_lossy(stdout);
        // Helpers print this on standard output.
        if text.contains("credentials not found") {
            return Ok(None);
        }
        return Err(format!("{program} failed"));
    }
    let output: Output = serde_json::from_slice(stdout)
        .map_err(|_| format!("{program} did not print credentials"))?;
    if output.secret.is_empty() {
        return Ok(None);
    }
    let secret = output.secret.into();
    let login = if output.username == TOKEN_USER {
        RegistryLogin {
            username: String::new(),
            secret: LoginSecret::IdentityToken(secret),
        }
    } else {
        RegistryLogin {
            username: output.username,
            secret: LoginSecret::Password(secret),
        }
    };
    Ok(Some(login))
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::HumanDuration;
    use process::{Containment, Settings, Supervisor};
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    /// Returns whether a process exists and is not a zombie.
    fn runs(pid: &str) -> bool {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status
            .lines()
            .any(|line| line.starts_with("State:") && !line.contains('Z'))
    }

    /// Writes a program from another process. A file that this process has open for writing is open in a child that is
    /// being started too, and then it cannot be executed.
    #[expect(clippy::disallowed_methods, reason = "it ends at once")]
    fn write_program(path: &Path, text: &str) {
        let written = Command::new("sh")
            .args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""])
            .args([path.as_os_str(), text.as_ref()])
            .status();
        assert!(written.unwrap().success());
    }

    #[tokio::test]
    async fn helper_that_hangs_is_killed_and_named() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("docker-credential-hangs");
        // It keeps its output open, and so does its child.
        let pids = directory.path().join("pids");
        let script = format!(
            "#!/bin/sh\necho hunter2\nsleep 1000 &\necho $$ $! >'{}'\nwait\n",
            pids.display()
        );
        write_program(&program, &script);
        let settings = Settings {
            containment: Containment::ProcessGroup,
            ..Settings::default()
        };
        let supervisor = Supervisor::start(settings).unwrap();
        // On a busy machine it may be killed before it starts.
        let mut deadlines = [3, 10, 30, 90].into_iter();
        let (seconds, error, pids) = loop {
            let seconds = deadlines.next().expect("it starts in time");
            let helpers = Helpers {
                tree: supervisor.tree(),
                path: Some(format!("{}:/usr/bin:/bin", directory.path().display()).into()),
                deadline: Duration::from_secs(seconds),
            };
            let error = get(&helpers, "hangs", "registry.test").await.unwrap_err();
            let pids = fs::read_to_string(&pids).unwrap_or_default();
            if pids.split_whitespace().count() == 2 {
                break (seconds, error, pids);
            }
        };
        assert!(error.starts_with("docker-credential-hangs"), "{error}");
        let expect = format!(
            "did not end within {}",
            HumanDuration(Duration::from_secs(seconds))
        );
        assert!(error.contains(&expect), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
        for pid in pids.split_whitespace() {
            let ended = async {
                while runs(pid) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            let ended = tokio::time::timeout(Duration::from_mins(1), ended).await;
            ended.expect("the helper and what it started are killed");
        }
        supervisor.shutdown().await.unwrap();
    }

    #[test]
    fn unsafe_names_are_refused() {
        for name in ["ecr-login", "pass", "osx_keychain2"] {
            assert!(is_safe_name(name), "{name}");
        }
        for name in ["", "../x", "a/b", "a b", "a;id", "A", "ä", "a\0"] {
            assert!(!is_safe_name(name), "{name}");
        }
    }

    #[test]
    fn output_is_read_and_never_shown() {
        let read = |success, text: &str| read("helper", success, text.as_bytes());
        let found = read(true, r#"{"ServerURL":"h","Username":"u","Secret":"p"}"#);
        let expected = RegistryLogin {
            username: "u".to_owned(),
            secret: LoginSecret::Password("p".into()),
        };
        assert_eq!(found, Ok(Some(expected)));
        let found = read(true, r#"{"Username":"<token>","Secret":"t"}"#);
        let expected = RegistryLogin {
            username: String::new(),
            secret: LoginSecret::IdentityToken("t".into()),
        };
        assert_eq!(found, Ok(Some(expected)));
        let nothing = "credentials not found in native keychain";
        assert_eq!(read(false, nothing), Ok(None));
        for (success, text) in [
            (true, "hunter2"),
            (false, "hunter2"),
            (true, "{\"Secret\": [\"hunter2\"]}"),
        ] {
            let error = read(success, text).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
