use super::UserAccounts;
use super::remote::Remote;
use crate::settings::{GitUse, InstanceSettings, SshServer};
use executor_core::job::SecretString;
use gitlab_api::{Accounts, Instance, TokenKind};
use includes::{GitRoute, GitRoutes};

impl GitRoutes for UserAccounts {
    fn route(&self, instance: &Instance) -> Option<GitRoute> {
        let entry = self.config.settings.instance(instance);
        match self.git_use(instance, entry) {
            GitUse::Never => None,
            GitUse::Ssh => {
                let SshServer { user, host, port } = self.ssh_server(instance, entry);
                Some(GitRoute::Ssh { user, host, port })
            }
            GitUse::Https => {
                // A job's token opens repositories, and hardly anything of the API. Others were
                // tried there already, and would keep Git from asking the user's own helpers.
                let token = self.token(instance);
                let login = token.filter(|it| it.kind == TokenKind::Job).map(|it| {
                    let password = SecretString::new(it.value.expose());
                    ("gitlab-ci-token".to_owned(), password)
                });
                Some(GitRoute::Http {
                    instance: instance.clone(),
                    authority: entry.and_then(|it| it.authority.clone()),
                    login,
                })
            }
        }
    }
}

impl UserAccounts {
    /// Returns the server of SSH at which the Git of a GitLab is.
    fn ssh_server(&self, instance: &Instance, entry: Option<&InstanceSettings>) -> SshServer {
        if let Some(ssh) = entry.and_then(|it| it.ssh.as_ref()) {
            return ssh.clone();
        }
        match &self.remote {
            Some(Remote::Ssh(server)) if self.own().as_ref() == Some(instance) => server.clone(),
            _ => SshServer {
                user: "git".to_owned(),
                host: instance.origin().host.clone(),
                port: None,
            },
        }
    }

    /// Returns how Git is asked, by the settings or as the project itself was cloned.
    fn git_use(&self, instance: &Instance, entry: Option<&InstanceSettings>) -> GitUse {
        if let Some(said) = entry.and_then(|it| it.git) {
            return said;
        }
        let is_own = self.own().as_ref() == Some(instance);
        match &self.remote {
            Some(Remote::Ssh(_)) if is_own && self.of_remote().as_ref() == Some(instance) => {
                GitUse::Ssh
            }
            Some(Remote::Http { origin, .. }) if is_own && origin == instance.origin() => {
                GitUse::Https
            }
            _ if entry.is_some_and(|it| it.ssh.is_some()) => GitUse::Ssh,
            _ => GitUse::Never,
        }
    }
}
