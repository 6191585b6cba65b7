//! An account that may do what jobs need, and no more.

use crate::support::Cluster;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::sleep;

const NAME: &str = "jobs";

/// The account, whose login is that of the cluster's settings.
pub(crate) struct User {
    administrator: Client,
    namespace: String,
    /// Has the settings, the plugin, the token that it prints, and a line for each of its calls.
    directory: TempDir,
    /// The settings with a token.
    kubeconfig: Kubeconfig,
}

impl User {
    /// Creates one that providers use from now on.
    pub(crate) async fn of(cluster: &mut Cluster) -> Self {
        let file = cluster.config.kubeconfig.as_ref().unwrap();
        let mut user = Self {
            administrator: cluster.client.clone(),
            namespace: cluster.pods().namespace().unwrap().to_owned(),
            directory: tempfile::tempdir().unwrap(),
            kubeconfig: Kubeconfig::read_from(file).unwrap(),
        };
        let roles: Api<Role> = user.all();
        let role = json!({ "metadata": { "name": NAME }, "rules": [
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "list", "watch", "patch", "delete"] },
            { "apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"] },
        ] });
        let role = serde_json::from_value(role).unwrap();
        roles.create(&PostParams::default(), &role).await.unwrap();
        user.set_login(&json!({ "token": user.new_token().await }));
        cluster.config.kubeconfig = Some(user.file("kubeconfig"));
        user.permit().await;
        user
    }

    fn all<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.administrator.clone(), &self.namespace)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Creates the account, and returns a token for it.
    async fn new_token(&self) -> String {
        let accounts: Api<ServiceAccount> = self.all();
        let account = serde_json::from_value(json!({ "metadata": { "name": NAME } })).unwrap();
        let create = PostParams::default();
        accounts.create(&create, &account).await.unwrap();
        let request: TokenRequest =
            serde_json::from_value(json!({ "spec": { "audiences": [] } })).unwrap();
        let made = accounts.create_token_request(NAME, &create, &request).await;
        let token = made.unwrap().status.unwrap().token;
        std::fs::write(self.file("token"), &token).unwrap();
        token
    }

    fn set_login(&mut self, login: &Value) {
        let login = serde_json::from_value(login.clone()).unwrap();
        self.kubeconfig.auth_infos[0].auth_info = Some(login);
        let text = serde_json::to_vec(&self.kubeconfig).unwrap();
        std::fs::write(self.file("kubeconfig"), text).unwrap();
    }

    /// Takes the role away, and waits until the API server knows.
    pub(crate) async fn forbid(&self) {
        let bindings: Api<RoleBinding> = self.all();
        bindings
            .delete(NAME, &DeleteParams::default())
            .await
            .unwrap();
        while self.may("create", "exec").await.unwrap() {
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Takes the permission to watch pods away, and waits until the API server knows.
    pub(crate) async fn blind(&self) {
        let roles: Api<Role> = self.all();
        let change = json!({ "rules": [
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "list", "patch", "delete"] },
        ] });
        let (change, params) = (Patch::Merge(change), PatchParams::default());
        roles.patch(NAME, &params, &change).await.unwrap();
        while self.may("watch", "").await.unwrap() {
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Gives the role, and waits until the API server knows.
    pub(crate) async fn permit(&self) {
        let bindings: Api<RoleBinding> = self.all();
        let binding = json!({
            "metadata": { "name": NAME },
            "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": self.namespace }],
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME },
        });
        let binding = serde_json::from_value(binding).unwrap();
        let create = PostParams::default();
        bindings.create(&create, &binding).await.unwrap();
        while !self.may("create", "exec").await.unwrap() {
            sleep(Duration::from_millis(20)).await;
        }
    }

    async fn may(&self, verb: &str, subresource: &str) -> Result<bool, kube::Error> {
        // The plugin's calls are counted, so this has its own login.
        let mut own = self.kubeconfig.clone();
        let token = std::fs::read_to_string(self.file("token")).unwrap();
        own.auth_infos[0].auth_info = serde_json::from_value(json!({ "token": token })).unwrap();
        let own = Config::from_custom_kubeconfig(own, &KubeConfigOptions::default()).await;
        let reviews = Api::all(Client::try_from(own.unwrap()).unwrap());
        let question = json!({ "spec": { "resourceAttributes": {
            "namespace": self.namespace, "verb": verb, "resource": "pods", "subresource": subresource,
        } } });
        let question: SelfSubjectAccessReview = serde_json::from_value(question).unwrap();
        let answer = reviews.create(&PostParams::default(), &question).await?;
        Ok(answer.status.unwrap().allowed)
    }

    /// Makes a plugin the login, whose tokens say that they live for an hour.
    pub(crate) fn use_plugin(&mut self) {
        let file = self.file("plugin");
        let end = Timestamp::now() + Duration::from_hours(1);
        let here = self.directory.path().display();
        let script = format!(
            "#!/bin/sh\necho called >>{here}/calls\n\
             echo '{{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"kind\": \"ExecCredential\",'\n\
             echo '\"status\": {{\"expirationTimestamp\": \"{end}\", \"token\": \"'$(cat {here}/token)'\"}}}}'\n"
        );
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        self.set_login(&json!({ "exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": file, "interactiveMode": "Never",
        } }));
    }

    pub(crate) fn plugin_calls(&self) -> usize {
        count_lines(&self.file("calls"))
    }

    /// Replaces the account by another one of the same name, and waits until the API server refuses the tokens of the first.
    pub(crate) async fn replace(&self) {
        let accounts: Api<ServiceAccount> = self.all();
        accounts
            .delete(NAME, &DeleteParams::default())
            .await
            .unwrap();
        // It remembers good tokens for ten seconds.
        while self.may("create", "exec").await.is_ok() {
            sleep(Duration::from_millis(100)).await;
        }
        self.new_token().await;
    }
}

fn count_lines(file: &Path) -> usize {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().count()
}
