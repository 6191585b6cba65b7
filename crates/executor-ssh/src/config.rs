//! Settings of the executor.

use serde::Deserialize;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The executor's name in a registry.
pub const NAME: &str = "ssh";

/// The settings, as they stand in the section `[ssh]`.
///
/// `host` to `capacity` describe the only host, or what all `hosts` have in common. What neither sets comes from
/// `~/.ssh/config`.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SshConfig {
    /// The name or address, or an alias of `~/.ssh/config`.
    pub host: Option<String>,
    /// The port. Default: 22.
    pub port: Option<u16>,
    /// The user there. Default: the user here.
    pub user: Option<String>,
    /// The private key; no other key is then tried.
    pub identity_file: Option<PathBuf>,
    /// The password of the user.
    pub password: Option<String>,
    /// The hosts to connect through, as `user@host:port`, separated by commas; `none` for a direct connection.
    pub proxy_jump: Option<String>,
    /// How many jobs run on a host at once. Default: any number.
    pub capacity: Option<u32>,
    /// Several hosts; a job runs on the one with the smallest share of its capacity in use.
    pub hosts: Vec<HostConfig>,
    /// The client configuration to read. Default: `~/.ssh/config`.
    pub config_file: Option<PathBuf>,
    /// The file with the trusted keys of hosts. Default: `~/.ssh/known_hosts`; `/etc/ssh/ssh_known_hosts` is always read too.
    pub known_hosts_file: Option<PathBuf>,
    /// Whether the key of a host that is not known yet is trusted and added to the file. Default: false.
    pub accept_new_host_keys: bool,
    /// How the stages of a job are run. Default: `auto`.
    pub engine: EngineChoice,
    /// How long connecting and logging in may take, in seconds, with all attempts. Default: 30.
    pub connect_timeout: Option<u64>,
    /// After how many seconds without traffic the connection is checked. Default: 15.
    pub keepalive_interval: Option<u32>,
    /// For how many seconds a job's scripts and files stay on the host without a connection. Default: 120.
    pub orphan_grace: Option<u64>,
}

/// One host.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// The name or address, or an alias of `~/.ssh/config`.
    pub host: Option<String>,
    /// The port. Default: 22.
    pub port: Option<u16>,
    /// The user there. Default: the user here.
    pub user: Option<String>,
    /// The private key; no other key is then tried.
    pub identity_file: Option<PathBuf>,
    /// The password of the user.
    pub password: Option<String>,
    /// The hosts to connect through, as `user@host:port`, separated by commas; `none` for a direct connection.
    pub proxy_jump: Option<String>,
    /// How many jobs run there at once. Default: any number.
    pub capacity: Option<u32>,
}

/// How the stages of a job are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// With the agent where it can run, else as `shell`.
    #[default]
    Auto,
    /// With the agent, or not at all.
    Agent,
    /// Each stage is a shell with its script on standard input.
    Shell,
}

impl fmt::Debug for HostConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostConfig")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &self.user)
            .field("identity_file", &self.identity_file)
            .field("has_password", &self.password.is_some())
            .field("proxy_jump", &self.proxy_jump)
            .field("capacity", &self.capacity)
            .finish()
    }
}

impl fmt::Debug for SshConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SshConfig")
            .field("hosts", &self.all_hosts())
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}

impl SshConfig {
    /// Returns all hosts, each with the common settings.
    pub(crate) fn all_hosts(&self) -> Vec<HostConfig> {
        let common = HostConfig::default();
        let hosts = match &*self.hosts {
            [] => std::slice::from_ref(&common),
            hosts => hosts,
        };
        let with_common = |own: &HostConfig| HostConfig {
            host: own.host.clone().or_else(|| self.host.clone()),
            port: own.port.or(self.port),
            user: own.user.clone().or_else(|| self.user.clone()),
            identity_file: own
                .identity_file
                .clone()
                .or_else(|| self.identity_file.clone()),
            password: own.password.clone().or_else(|| self.password.clone()),
            proxy_jump: own.proxy_jump.clone().or_else(|| self.proxy_jump.clone()),
            capacity: own.capacity.or(self.capacity),
        };
        hosts.iter().map(with_common).collect()
    }

    pub(crate) fn connect_within(&self) -> Duration {
        Duration::from_secs(self.connect_timeout.unwrap_or(30))
    }

    pub(crate) fn orphan_grace(&self) -> Duration {
        Duration::from_secs(self.orphan_grace.unwrap_or(120))
    }

    pub(crate) fn keepalive_seconds(&self) -> u32 {
        self.keepalive_interval.unwrap_or(15).max(1)
    }
}

/// What the provider needs to know of this host.
#[derive(Debug, Clone)]
pub struct SshOptions {
    /// The settings.
    pub config: SshConfig,
    /// The home directory, for `~/.ssh`.
    pub home: Option<PathBuf>,
    /// The name of the user here: the default name on other hosts.
    pub user: String,
    /// The socket of the user's SSH agent.
    pub auth_socket: Option<PathBuf>,
}

impl SshOptions {
    /// Returns options with the user, the home directory and the SSH agent of these environment variables.
    pub fn from_environment(config: SshConfig, variable: impl Fn(&str) -> Option<String>) -> Self {
        let path = |name| {
            variable(name)
                .filter(|it| !it.is_empty())
                .map(PathBuf::from)
        };
        let user = ["USER", "LOGNAME"].into_iter().find_map(&variable);
        Self {
            config,
            home: path("HOME"),
            user: user.unwrap_or_else(|| "root".to_owned()),
            auth_socket: path("SSH_AUTH_SOCK"),
        }
    }
}
