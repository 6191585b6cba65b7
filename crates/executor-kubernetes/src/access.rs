//! The address and the login of the cluster: from the settings, from kubeconfig files, or from the pod that this process runs in.

use crate::config::{KubernetesConfig, non_empty};
use crate::error::KubernetesError;
use kube::Config;
use kube::config::{
    AuthInfo, Context, KubeConfigOptions, Kubeconfig, KubeconfigError, NamedAuthInfo, NamedCluster,
    NamedContext,
};
use std::env::{home_dir, split_paths, var_os};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use yaml::suggest::{did_you_mean, first_names};

/// The variable with the kubeconfig files.
const KUBECONFIG: &str = "KUBECONFIG";

/// How many names an error lists.
const NAMED: usize = 8;

/// Returns the address and the login. No request is made.
///
/// # Errors
///
/// [`KubernetesError::Config`], with the file, and the names in it that may have been meant.
pub(crate) async fn access(config: &KubernetesConfig) -> Result<Config, KubernetesError> {
    access_of(config, non_empty(config.context.as_deref())).await
}

/// Returns the address and the login of this context, although another one may be the current one by now.
///
/// # Errors
///
/// As of [`access`].
pub(crate) async fn access_of(
    config: &KubernetesConfig,
    context: Option<&str>,
) -> Result<Config, KubernetesError> {
    if let Some(host) = &config.host {
        let options = KubeConfigOptions::default();
        let access = Config::from_custom_kubeconfig(of_host(host, config), &options).await;
        return access.map_err(|error| KubernetesError::Config(error.to_string()));
    }
    let is_open = config.kubeconfig.is_none() && non_empty(config.context.as_deref()).is_none();
    let mut access = match of_files(config, context).await {
        Err(_)
            if is_open
                && context.is_none()
                && let Ok(access) = Config::incluster() =>
        {
            access
        }
        of_files => of_files.map_err(KubernetesError::Config)?,
    };
    if is_open {
        access.apply_debug_overrides();
    }
    Ok(access)
}

/// Returns the name of the context that is used now, unless the login is that of a pod or of settings.
pub(crate) fn context(config: &KubernetesConfig) -> Option<String> {
    if config.host.is_some() {
        return None;
    }
    let context = non_empty(config.context.as_deref()).map(str::to_owned);
    context.or_else(|| Files::of(config).ok()?.read().ok()?.current_context)
}

async fn of_files(config: &KubernetesConfig, context: Option<&str>) -> Result<Config, String> {
    let files = Files::of(config)?;
    let kubeconfig = files.read()?;
    let place = files.place();
    check_names(&kubeconfig, context, &place)?;
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let access = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    access.map_err(|error| format!("{place} cannot be used: {error}"))
}

/// The kubeconfig files.
struct Files {
    paths: Vec<PathBuf>,
    /// Whether the environment names them.
    of_environment: bool,
}

impl Files {
    /// Returns the file of the settings, else those of `KUBECONFIG`, else that of the user.
    fn of(config: &KubernetesConfig) -> Result<Self, String> {
        if let Some(file) = &config.kubeconfig {
            return Ok(Self {
                paths: vec![file.clone()],
                of_environment: false,
            });
        }
        let named = var_os(KUBECONFIG).unwrap_or_default();
        let mut paths: Vec<PathBuf> = split_paths(&named)
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        let of_environment = !paths.is_empty();
        if !of_environment {
            let home =
                home_dir().ok_or("there is no kubeconfig file: the home directory is unknown")?;
            paths.push(home.join(".kube/config"));
        }
        Ok(Self {
            paths,
            of_environment,
        })
    }

    /// Reads and merges the files. As with kubectl, those of a list that do not exist are skipped, unless that is all of them.
    fn read(&self) -> Result<Kubeconfig, String> {
        let read = |path: &PathBuf| {
            let read = Kubeconfig::read_from(path);
            read.map_err(|error| self.unreadable(path, &error))
        };
        let is_missing = |path: &PathBuf| path.try_exists().is_ok_and(|exists| !exists);
        let is_skipped = |path: &PathBuf| is_missing(path) && !self.paths.iter().all(is_missing);
        let mut paths = self.paths.iter().filter(|path| !is_skipped(path));
        paths.try_fold(Kubeconfig::default(), |merged, path| {
            let merged = merged.merge(read(path)?);
            merged.map_err(|error| format!("{} cannot be used: {error}", self.place()))
        })
    }

    fn unreadable(&self, path: &Path, error: &KubeconfigError) -> String {
        let file = self.file(path);
        match error {
            KubeconfigError::ReadConfig(error, _) if error.kind() == ErrorKind::NotFound => {
                format!("{file} does not exist")
            }
            KubeconfigError::ReadConfig(error, _) => format!("{file} cannot be read: {error}"),
            KubeconfigError::Parse(error) => format!("{file} is invalid: {error}"),
            error => format!("{file} cannot be used: {error}"),
        }
    }

    fn file(&self, path: &Path) -> String {
        let whose = if self.of_environment {
            ", which KUBECONFIG names,"
        } else {
            ""
        };
        format!("the kubeconfig file {}{whose}", path.display())
    }

    /// Returns the files in words.
    fn place(&self) -> String {
        match &*self.paths {
            [path] => self.file(path),
            paths => {
                let names: Vec<_> = paths.iter().map(|it| it.display().to_string()).collect();
                format!("the list of files in {KUBECONFIG} ({})", names.join(", "))
            }
        }
    }
}

/// Checks that the context, its cluster and its user are there.
fn check_names(kubeconfig: &Kubeconfig, context: Option<&str>, place: &str) -> Result<(), String> {
    let contexts = kubeconfig.contexts.iter();
    let contexts = contexts.filter_map(|it| Some((&*it.name, it.context.as_ref()?)));
    let names: Vec<&str> = contexts.clone().map(|(name, _)| name).collect();
    let current = non_empty(kubeconfig.current_context.as_deref());
    let Some(name) = context.or(current) else {
        let names = listed("context", &names);
        return Err(format!(
            "{place} has no current context, and the settings name none; {names}"
        ));
    };
    let Some((_, found)) = contexts.clone().find(|(it, _)| *it == name) else {
        let whose = if context.is_some() {
            ""
        } else {
            ", which it names as the current one"
        };
        return Err(format!(
            "{place} has no context {name:?}{}{whose}; {}",
            meant(name, &names),
            listed("context", &names)
        ));
    };
    let clusters = kubeconfig.clusters.iter();
    let clusters = clusters.filter(|it| it.cluster.is_some());
    let users = kubeconfig.auth_infos.iter();
    let users = users.filter(|it| it.auth_info.is_some());
    let parts = [
        (
            "cluster",
            Some(&*found.cluster),
            clusters.map(|it| &*it.name).collect::<Vec<_>>(),
        ),
        (
            "user",
            non_empty(found.user.as_deref()),
            users.map(|it| &*it.name).collect(),
        ),
    ];
    for (kind, part, names) in parts {
        if let Some(part) = part
            && !names.contains(&part)
        {
            return Err(format!(
                "{place} has no {kind} {part:?}{}, which its context {name:?} names; {}",
                meant(part, &names),
                listed(kind, &names)
            ));
        }
    }
    Ok(())
}

fn meant(name: &str, names: &[&str]) -> String {
    let meant = did_you_mean(name, names.iter().copied());
    meant.map_or(String::new(), |meant| format!(" ({meant})"))
}

fn listed(kind: &str, names: &[&str]) -> String {
    match names {
        [] => format!("it has no {kind}s"),
        names => format!("its {kind}s are {}", first_names(names, NAMED)),
    }
}

/// Returns the login of `host`, in the form of a file.
fn of_host(host: &str, config: &KubernetesConfig) -> Kubeconfig {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|it| it.display().to_string());
    let name = || "settings".to_owned();
    Kubeconfig {
        clusters: vec![NamedCluster {
            name: name(),
            cluster: Some(kube::config::Cluster {
                server: Some(host.to_owned()),
                certificate_authority: path(&config.ca_file),
                ..kube::config::Cluster::default()
            }),
            ..NamedCluster::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: name(),
            auth_info: Some(AuthInfo {
                client_certificate: path(&config.cert_file),
                client_key: path(&config.key_file),
                token: config
                    .bearer_token
                    .as_ref()
                    .map(|it| it.expose().to_owned().into()),
                ..AuthInfo::default()
            }),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext {
            name: name(),
            context: Some(Context {
                cluster: name(),
                user: Some(name()),
                ..Context::default()
            }),
            ..NamedContext::default()
        }],
        current_context: Some(name()),
        ..Kubeconfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::fs;

    /// Returns the error of a context in a kubeconfig file, or the address of its cluster.
    async fn found(kubeconfig: &Value, context: Option<&str>) -> String {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        fs::write(&file, kubeconfig.to_string()).unwrap();
        let config = KubernetesConfig {
            kubeconfig: Some(file),
            context: context.map(str::to_owned),
            ..KubernetesConfig::default()
        };
        let text = match access(&config).await {
            Ok(access) => access.cluster_url.to_string(),
            Err(error) => error.to_string(),
        };
        text.replace(directory.path().to_str().unwrap(), "DIR")
    }

    fn kubeconfig() -> Value {
        let context = |name: &str, cluster: &str, user: &str| json!({ "name": name, "context": { "cluster": cluster, "user": user } });
        json!({
            "clusters": [{ "name": "office", "cluster": { "server": "https://127.0.0.1:1" } }],
            "users": [{ "name": "me", "user": { "token": "t" } }],
            "contexts": [
                context("staging", "office", "me"),
                context("lost", "ofice", "me"),
                context("stranger", "office", "you"),
            ],
            "current-context": "staging",
        })
    }

    #[tokio::test]
    async fn unknown_names_are_shown_with_the_known_ones() {
        let file = "the kubeconfig file DIR/config";
        let mut kubeconfig = kubeconfig();
        assert_eq!(found(&kubeconfig, None).await, "https://127.0.0.1:1/");
        for (context, expected) in [
            (
                "stagin",
                "has no context \"stagin\" (did you mean `staging`?); its contexts are staging, lost, stranger",
            ),
            (
                "lost",
                "has no cluster \"ofice\" (did you mean `office`?), which its context \"lost\" names; its clusters are office",
            ),
            (
                "stranger",
                "has no user \"you\", which its context \"stranger\" names; its users are me",
            ),
        ] {
            let error = found(&kubeconfig, Some(context)).await;
            assert_eq!(error, format!("{file} {expected}"));
        }
        kubeconfig["current-context"] = json!("nope");
        let expected = "has no context \"nope\", which it names as the current one; its contexts are staging, lost, stranger";
        assert_eq!(found(&kubeconfig, None).await, format!("{file} {expected}"));
        let expected = "has no current context, and the settings name none; it has no contexts";
        assert_eq!(found(&json!({}), None).await, format!("{file} {expected}"));
    }

    #[test]
    fn empty_context_of_the_settings_is_the_current_one() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        fs::write(&file, kubeconfig().to_string()).unwrap();
        let config = KubernetesConfig {
            kubeconfig: Some(file),
            context: Some(String::new()),
            ..KubernetesConfig::default()
        };
        assert_eq!(context(&config).as_deref(), Some("staging"));
    }

    #[tokio::test]
    async fn missing_file_is_named_in_one_sentence() {
        let config = KubernetesConfig {
            kubeconfig: Some("/does/not/exist".into()),
            context: Some("staging".to_owned()),
            ..KubernetesConfig::default()
        };
        let error = access(&config).await.unwrap_err();
        let expected = "the kubeconfig file /does/not/exist does not exist";
        assert_eq!(error.to_string(), expected);
        let files = Files {
            paths: vec!["/does/not/exist".into()],
            of_environment: true,
        };
        let expected =
            "the kubeconfig file /does/not/exist, which KUBECONFIG names, does not exist";
        assert_eq!(files.read().unwrap_err(), expected);
    }

    #[test]
    fn missing_file_of_a_list_is_skipped_unless_all_are_missing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        fs::write(&file, kubeconfig().to_string()).unwrap();
        let read = |paths: [&Path; 2]| {
            let files = Files {
                paths: paths.map(Path::to_owned).into(),
                of_environment: true,
            };
            files.read().map(|it| it.current_context.unwrap())
        };
        let [one, other] = ["/does/not/exist", "/nor/does/this"].map(Path::new);
        let found = Ok("staging".to_owned());
        assert_eq!(read([one, &file]), found);
        assert_eq!(read([&file, one]), found);
        let error = read([one, other]).unwrap_err();
        let expected =
            "the kubeconfig file /does/not/exist, which KUBECONFIG names, does not exist";
        assert_eq!(error, expected);
    }
}
