use super::UserAccounts;
use super::remote::Remote;
use crate::settings::InstanceSettings;
use gitlab_api::{Accounts, Instance};
use std::collections::HashSet;
use std::net::IpAddr;
use web::Origin;

impl UserAccounts {
    pub(super) fn find_own(&self) -> Option<Instance> {
        let process_env = self.process_env();
        let named = self.named.clone();
        named
            .map(|it| self.as_known(it))
            .or_else(|| self.of_remote())
            .or_else(|| self.config.settings.gitlab.clone())
            .or_else(|| process_env.usual().map(|it| self.as_known(it)))
            .or_else(|| process_env.of_job())
    }

    /// Returns the GitLab of the remote.
    pub(super) fn of_remote(&self) -> Option<Instance> {
        let known = || self.known().into_iter();
        match self.remote.as_ref()? {
            Remote::Http { origin, path } => {
                // A GitLab with a path is found only by that.
                let address = format!("{origin}/{path}/");
                let is_below = |it: &&Instance| address.starts_with(&format!("{it}/"));
                let best = known()
                    .filter(|it| is_below(&it))
                    .max_by_key(|it| it.address().len());
                best.or_else(|| Instance::parse(&origin.to_string()).ok())
            }
            Remote::Ssh(server) => {
                let settings = &self.config.settings;
                let is_its = |it: &&InstanceSettings| {
                    it.ssh.as_ref().is_some_and(|ssh| {
                        ssh.host == server.host && (ssh.port.is_none() || ssh.port == server.port)
                    })
                };
                let by_ssh = settings.instances.iter().find(is_its);
                let host = match server.host.as_str() {
                    "altssh.gitlab.com" => "gitlab.com",
                    host => host,
                };
                by_ssh
                    .map(|it| it.instance.clone())
                    .or_else(|| self.at_host(host))
                    .or_else(|| Instance::parse(host).ok())
            }
        }
    }

    /// Returns the GitLabs of the settings, the process environment and `glab`, the highest precedence first.
    pub(super) fn known(&self) -> Vec<Instance> {
        let settings = &self.config.settings;
        let instances = settings.instances.iter().map(|it| it.instance.clone());
        let mut known: Vec<Instance> = instances.chain(settings.gitlab.clone()).collect();
        known.extend(self.process_env().usual());
        known.extend(self.glab().entries.iter().map(|it| it.instance.clone()));
        known
    }

    /// Returns the known GitLab at a host, whatever its port and scheme.
    fn at_host(&self, host: &str) -> Option<Instance> {
        let mut known = self.known().into_iter();
        known.find(|it| it.origin().host == host).or_else(|| {
            let mut hosts = self.glab().entries.iter();
            let found = hosts.find(|it| it.name.eq_ignore_ascii_case(host))?;
            Some(found.instance.clone())
        })
    }

    /// Returns the known GitLab of a bare server, since users often leave out its path.
    fn as_known(&self, instance: Instance) -> Instance {
        if instance.address() != instance.origin().to_string() {
            return instance;
        }
        let mut known = self.known().into_iter();
        let found = known.find(|it| it.origin() == instance.origin());
        found.unwrap_or(instance)
    }

    /// Returns the servers that requests may go to, also on private networks.
    pub(super) fn servers(&self) -> HashSet<Origin> {
        let settings = &self.config.settings;
        let mut servers: HashSet<Origin> = self.named_by_user().collect();
        servers.extend(self.own().map(|it| it.origin().clone()));
        servers.extend(settings.include.templates.as_ref().and_then(Origin::of));
        servers
    }

    /// Returns whether the user trusts a GitLab: the user named it, or it is gitlab.com or on this machine. The remote
    /// of a checkout is not enough, since its author chose it.
    pub(super) fn is_mine(&self, origin: &Origin) -> bool {
        let is_usual =
            origin.scheme == "https" && origin.port == 443 && origin.host == "gitlab.com";
        is_usual || is_here(&origin.host) || self.named_by_user().any(|it| it == *origin)
    }

    /// Returns the GitLabs that the user named.
    fn named_by_user(&self) -> impl Iterator<Item = Origin> {
        let process_env = self.process_env();
        let mut named = self.known();
        named.extend(self.named.clone());
        named.extend(process_env.chosen());
        named.extend(process_env.of_job());
        named.into_iter().map(|it| it.origin().clone())
    }
}

/// Returns whether a host is this machine.
fn is_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    }
}
