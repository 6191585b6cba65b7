//! Where a host is and who logs in: the settings together with `~/.ssh/config`.

use crate::check::HostParts;
use crate::client_config::{Entry, expand, look_up};
use crate::config::{HostConfig, SshOptions};
use crate::error::SshError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The default keys, in the order of `ssh`.
const DEFAULT_IDENTITIES: [&str; 3] = ["id_ed25519", "id_ecdsa", "id_rsa"];

/// How many hosts a connection may go through.
const MOST_JUMPS: usize = 8;

/// A host to log in to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// The name in the settings.
    pub(crate) alias: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    /// The only key to try, if one is named in the settings.
    pub(crate) identity: Option<PathBuf>,
    /// Keys that are tried after those of the SSH agent; they need not exist.
    pub(crate) identities: Vec<PathBuf>,
    pub(crate) password: Option<String>,
    /// The hosts to connect through, the first one first.
    pub(crate) jumps: Vec<Self>,
    /// What is not honoured, for the log.
    pub(crate) notes: Vec<String>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.user, self.address())?;
        if self.jumps.is_empty() {
            return Ok(());
        }
        f.debug_list().entries(&self.jumps).finish()
    }
}

impl Target {
    /// Returns the host and its port.
    pub(crate) fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Returns user, host and port of this host, after those of the hosts that it is reached through.
    pub(crate) fn route(&self) -> String {
        let hops: Vec<_> = self.jumps.iter().chain([self]).collect();
        let hops = hops
            .iter()
            .map(|it| format!("{}@{}", it.user, it.address()));
        hops.collect::<Vec<_>>().join(" ")
    }

    /// Resolves a host of the settings.
    ///
    /// # Errors
    ///
    /// When no host is named, or `~/.ssh/config` is invalid.
    pub(crate) fn resolve(options: &SshOptions, host: &HostConfig) -> Result<Self, SshError> {
        let Some(alias) = host.host.as_deref().filter(|it| !it.is_empty()) else {
            return Err(SshError::config(
                "the executor ssh needs a host: set host = \"..\" in the section [ssh] of the settings",
            ));
        };
        host.check()
            .map_err(|(_, message)| SshError::config(message))?;
        let file = ClientFile::read(options)?;
        let (mut target, jumps) = resolve(options, &file, alias, host)?;
        for jump in jumps.iter().flat_map(|it| it.split(',')) {
            let mut hop = one_jump(options, &file, jump.trim())?;
            target.notes.append(&mut hop.notes);
            target.jumps.push(hop);
        }
        if target.jumps.len() > MOST_JUMPS {
            return Err(SshError::config(format!(
                "{alias} is reached through more than {MOST_JUMPS} hosts"
            )));
        }
        Ok(target)
    }
}

/// `~/.ssh/config`.
struct ClientFile {
    path: PathBuf,
    text: String,
}

impl ClientFile {
    fn read(options: &SshOptions) -> Result<Self, SshError> {
        let home = options.home.as_deref();
        let named = options.config.config_file.as_deref();
        let path = match (named, home) {
            (Some(path), _) => expand(&path.to_string_lossy(), home),
            (None, Some(home)) => home.join(".ssh/config"),
            (None, None) => PathBuf::new(),
        };
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Self { path, text }),
            // Only a named file has to exist.
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(Self {
                path,
                text: String::new(),
            }),
            Err(error) if named.is_some() => {
                let path = path.display();
                Err(SshError::config(format!("config-file {path}: {error}")))
            }
            Err(source) => Err(SshError::Read { path, source }),
        }
    }

    fn entry(&self, host: &str, home: Option<&Path>) -> Result<Entry, SshError> {
        look_up(&self.text, &self.path, host, home)
    }
}

/// Returns the target without its jumps, and the jumps.
fn resolve(
    options: &SshOptions,
    file: &ClientFile,
    alias: &str,
    host: &HostConfig,
) -> Result<(Target, Option<String>), SshError> {
    let home = options.home.as_deref();
    let entry = file.entry(alias, home)?;
    let notes = entry.ignored.iter().map(|(line, keyword)| {
        let path = file.path.display();
        format!("{keyword} in {path}:{line} is not supported for {alias} and has no effect")
    });
    let mut identities = entry.identity_files;
    if let (true, Some(home)) = (identities.is_empty(), home) {
        let default = |name| home.join(".ssh").join(name);
        identities = DEFAULT_IDENTITIES.map(default).into();
    }
    let identity = host.identity_file.as_ref();
    let target = Target {
        alias: alias.to_owned(),
        host: entry.host_name.unwrap_or_else(|| alias.to_owned()),
        port: host.port.or(entry.port).unwrap_or(22),
        user: host
            .user
            .clone()
            .or(entry.user)
            .unwrap_or_else(|| options.user.clone()),
        identity: identity.map(|path| expand(&path.to_string_lossy(), home)),
        identities,
        password: host.password.clone(),
        jumps: Vec::new(),
        notes: notes.collect(),
    };
    let jumps = host.proxy_jump.clone().or(entry.proxy_jump);
    Ok((target, jumps.filter(|it| it != "none" && !it.is_empty())))
}

/// Resolves one host of `ProxyJump`: `[user@]host[:port]`.
fn one_jump(options: &SshOptions, file: &ClientFile, text: &str) -> Result<Target, SshError> {
    let parts = HostParts::split(text).filter(|it| it.are_valid());
    let parts = parts.ok_or_else(|| {
        SshError::config(format!(
            "the jump {text:?} is not of the form user@host:port"
        ))
    })?;
    let host = parts.host;
    let own = HostConfig {
        port: parts.port.and_then(|port| port.parse().ok()),
        user: parts.user.map(str::to_owned),
        ..HostConfig::default()
    };
    let (mut hop, jumps) = resolve(options, file, host, &own)?;
    if jumps.is_some() {
        let path = file.path.display();
        let note =
            format!("ProxyJump of {host} in {path} has no effect, because {host} is itself a jump");
        hop.notes.push(note);
    }
    Ok(hop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SshConfig;

    fn target(config: &str, jump: Option<&str>) -> Result<Target, SshError> {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".ssh")).unwrap();
        fs::write(home.path().join(".ssh/config"), config).unwrap();
        let options = SshOptions {
            config: SshConfig {
                host: Some("build".to_owned()),
                proxy_jump: jump.map(str::to_owned),
                ..SshConfig::default()
            },
            home: Some(home.path().to_owned()),
            user: "me".to_owned(),
            auth_socket: None,
        };
        Target::resolve(&options, &options.config.all_hosts()[0])
    }

    #[test]
    fn client_configuration_fills_the_gaps() {
        let file = "Host build\nHostName 10.0.0.7\nPort 2222\nProxyJump gate,ops@[::1]:23\nHost gate\nUser door\n";
        let found = target(file, None).unwrap();
        assert_eq!(
            format!("{found:?}"),
            "me@10.0.0.7:2222[door@gate:22, ops@[::1]:23]"
        );
        assert_eq!(found.identities.len(), 3);
        let direct = target(file, Some("none")).unwrap();
        assert_eq!(format!("{direct:?}"), "me@10.0.0.7:2222");
    }

    #[test]
    fn invalid_jumps_are_refused() {
        for jump in ["a:b:c:d@", "@h", "h:x", "[::1"] {
            let error = target("", Some(jump)).unwrap_err().to_string();
            assert!(error.contains("user@host:port"), "{jump}: {error}");
        }
    }
}
