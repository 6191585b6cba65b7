//! Login plugins: programs that the kubeconfig file names (`exec`).

use executor_core::BoxError;
use kube::Config;
use kube::client::AuthError;
use kube::config::ExecInteractiveMode;
use std::io::{self, IsTerminal};
use std::process::ExitStatus;

/// Why a login plugin has not logged in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PluginError {
    #[error("the login plugin {program} failed, {status}{said}")]
    Failed {
        program: String,
        status: ExitStatus,
        /// A colon and its standard error, if that was not shown already.
        said: String,
    },
    #[error("start the login plugin {program}")]
    Start { program: String, source: io::Error },
    #[error("the output of the login plugin {program} is not an ExecCredential")]
    Output { program: String, source: BoxError },
}

/// Lets a plugin ask the user only if there is a terminal. Otherwise its standard error is part of the error.
pub(crate) fn prepare(access: &mut Config) {
    if let Some(exec) = &mut access.auth_info.exec
        && exec.interactive_mode != Some(ExecInteractiveMode::Always)
        && !io::stdin().is_terminal()
    {
        exec.interactive_mode = Some(ExecInteractiveMode::Never);
    }
}

/// Returns an error without the structures of `kube`, if it is that of a plugin. Arguments may be secret, so only the program is named.
pub(crate) fn in_words(error: BoxError, access: &Config) -> BoxError {
    let error = match error.downcast::<kube::Error>() {
        Ok(error) => match *error {
            kube::Error::Auth(error) => error.into(),
            error => return error.into(),
        },
        Err(error) => error,
    };
    let error = match error.downcast::<AuthError>() {
        Ok(error) => *error,
        Err(error) => return error,
    };
    let exec = access.auth_info.exec.as_ref();
    let program = exec.and_then(|it| it.command.clone()).unwrap_or_default();
    let error = match error {
        AuthError::AuthExecRun { out, .. } => {
            let errors = String::from_utf8_lossy(&out.stderr);
            let errors = errors.trim();
            PluginError::Failed {
                program,
                status: out.status,
                said: match errors {
                    "" => String::new(),
                    errors => format!(": {errors}"),
                },
            }
        }
        AuthError::AuthExecStart(source) => PluginError::Start { program, source },
        AuthError::AuthExecParse(error) => PluginError::Output {
            program,
            source: error.to_string().into(),
        },
        error => return error.into(),
    };
    error.into()
}

#[cfg(test)]
mod tests {
    use crate::access::access;
    use crate::config::KubernetesConfig;
    use crate::transport::client;
    use serde_json::json;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// Logs in with a plugin beside the kubeconfig file; returns the error.
    async fn refused_by(script: Option<&str>) -> String {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("bin")).unwrap();
        if let Some(script) = script {
            let program = directory.path().join("bin/login");
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let user = json!({ "exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "./bin/login", "args": ["--secret"],
            "interactiveMode": "Never",
        } });
        let kubeconfig = json!({
            "clusters": [{ "name": "c", "cluster": { "server": "https://127.0.0.1:1" } }],
            "users": [{ "name": "u", "user": user }],
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
            "current-context": "c",
        });
        let file = directory.path().join("config");
        fs::write(&file, kubeconfig.to_string()).unwrap();
        let config = KubernetesConfig {
            kubeconfig: Some(file),
            ..KubernetesConfig::default()
        };
        let access = access(&config).await.unwrap();
        let error = client(&config, access).map(drop).unwrap_err();
        let text = executor_core::chain(&*error);
        text.replace(directory.path().to_str().unwrap(), "DIR")
    }

    #[tokio::test]
    async fn failing_plugin_is_named_with_its_status_and_its_words() {
        let error = refused_by(Some("echo 'no session: log in' >&2\nexit 3")).await;
        let expected =
            "the login plugin DIR/./bin/login failed, exit status: 3: no session: log in";
        assert_eq!(error, expected);
        let error = refused_by(Some("exit 4")).await;
        assert_eq!(
            error,
            "the login plugin DIR/./bin/login failed, exit status: 4"
        );
        let error = refused_by(None).await;
        assert!(
            error.starts_with("start the login plugin DIR/./bin/login: No such file"),
            "{error}"
        );
        let error = refused_by(Some("echo '{'")).await;
        let expected = "the output of the login plugin DIR/./bin/login is not an ExecCredential: ";
        assert!(error.starts_with(expected), "{error}");
    }
}
