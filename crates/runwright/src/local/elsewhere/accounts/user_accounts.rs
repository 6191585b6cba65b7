use super::super::settings::{GitUse, InstanceSettings, Settings, SshServer, TokenSource};
use super::environment::Environment;
use super::glab::{self, GlabHost};
use super::netrc::{self, NetrcEntry};
use super::private_file::PrivateFile;
use super::remote::Remote;
use super::search::{Found, Looked};
use super::value;
use super::variables::Variables;
use executor_core::job::SecretString;
use gitlab_api::{Accounts, Instance, InstanceError, Token, TokenKind};
use includes::{GitWay, GitWays};
use jiff::Timestamp;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use web::{Origin, Proxies, Reach, WebOptions};

/// Where a user's accounts are looked for.
#[derive(Debug, Clone)]
pub struct UserSurroundings {
    /// The user's settings.
    pub settings: Arc<Settings>,
    /// The environment.
    pub variables: Variables,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// Where the project was cloned from.
    pub remote: Option<String>,
    /// The GitLab of the project, if the user names it (`--gitlab`).
    pub gitlab: Option<String>,
}

/// The GitLabs of the user who runs this program, and his tokens for them.
///
/// No file is read before a token is asked for.
#[derive(Debug)]
pub struct UserAccounts {
    surroundings: UserSurroundings,
    /// What the user named.
    named: Option<Instance>,
    remote: Option<Remote>,
    own: OnceLock<Option<Instance>>,
    glab: OnceLock<Source<GlabHost>>,
    netrc: OnceLock<Source<NetrcEntry>>,
}

/// A file of another program, with what it says.
struct Source<T> {
    /// What it is called in messages.
    place: String,
    entries: Vec<T>,
    /// Why it says nothing.
    silence: Option<String>,
}

impl<T> std::fmt::Debug for Source<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.place)
    }
}

impl UserAccounts {
    /// Returns the accounts of a user.
    ///
    /// # Errors
    ///
    /// When what the user named is no address of a GitLab.
    pub fn new(surroundings: UserSurroundings) -> Result<Self, InstanceError> {
        let named = surroundings.gitlab.as_deref();
        let named = named.map(Instance::parse).transpose()?;
        let remote = surroundings.remote.as_deref().and_then(Remote::parse);
        Ok(Self {
            surroundings,
            named,
            remote,
            own: OnceLock::new(),
            glab: OnceLock::new(),
            netrc: OnceLock::new(),
        })
    }

    /// Returns how requests are sent for this user: to which servers, through which proxies, and
    /// trusting whom.
    pub fn web_options(&self) -> WebOptions {
        let include = &self.surroundings.settings.include;
        WebOptions {
            reach: Reach {
                named: self.servers(),
                plain: include.allow_http.clone(),
                private: include.allow_private.clone(),
            },
            proxies: self.proxies(),
            authorities: self.surroundings.settings.authorities(),
            ..WebOptions::default()
        }
    }

    /// Returns the servers that the user named himself.
    fn servers(&self) -> HashSet<Origin> {
        let environment = self.environment();
        let settings = &self.surroundings.settings;
        let mut servers: HashSet<Origin> = settings
            .instances
            .iter()
            .map(|it| &it.instance)
            .chain(&settings.gitlab)
            .chain(&self.own())
            .chain(&environment.usual())
            .chain(&environment.of_job())
            .map(|it| it.origin().clone())
            .collect();
        servers.extend(settings.include.templates.as_ref().and_then(Origin::of));
        servers.extend(
            self.glab()
                .entries
                .iter()
                .map(|it| it.instance.origin().clone()),
        );
        servers
    }

    fn proxies(&self) -> Proxies {
        let variables = &self.surroundings.variables;
        let first = |names: [&str; 2]| names.iter().find_map(|name| variables.text(name));
        Proxies {
            http: variables.text("http_proxy"),
            https: first(["https_proxy", "HTTPS_PROXY"]),
            all: first(["all_proxy", "ALL_PROXY"]),
            except: first(["no_proxy", "NO_PROXY"]),
        }
    }

    fn environment(&self) -> Environment<'_> {
        Environment::new(&self.surroundings.variables)
    }

    fn find_own(&self) -> Option<Instance> {
        let environment = self.environment();
        let named = self.named.clone().or_else(|| environment.chosen());
        named
            .map(|it| self.as_known(it))
            .or_else(|| self.of_remote())
            .or_else(|| self.surroundings.settings.gitlab.clone())
            .or_else(|| environment.usual().map(|it| self.as_known(it)))
            .or_else(|| environment.of_job())
    }

    /// Returns the GitLab of the remote.
    fn of_remote(&self) -> Option<Instance> {
        let known = || self.known().into_iter();
        match self.remote.as_ref()? {
            Remote::Http { origin, path } => {
                // A GitLab below a path is known by that alone.
                let address = format!("{origin}/{path}/");
                let is_below = |it: &&Instance| address.starts_with(&format!("{it}/"));
                let best = known()
                    .filter(|it| is_below(&it))
                    .max_by_key(|it| it.address().len());
                best.or_else(|| Instance::parse(&origin.to_string()).ok())
            }
            Remote::Ssh(server) => {
                let settings = &self.surroundings.settings;
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

    /// Returns what the settings, the environment and `glab` know, those that win first.
    fn known(&self) -> Vec<Instance> {
        let settings = &self.surroundings.settings;
        let instances = settings.instances.iter().map(|it| it.instance.clone());
        let mut known: Vec<Instance> = instances.chain(settings.gitlab.clone()).collect();
        known.extend(self.environment().usual());
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

    /// Returns the known GitLab that a bare server stands for: one below a path is rarely written
    /// whole.
    fn as_known(&self, instance: Instance) -> Instance {
        if instance.address() != instance.origin().to_string() {
            return instance;
        }
        let mut known = self.known().into_iter();
        let found = known.find(|it| it.origin() == instance.origin());
        found.unwrap_or(instance)
    }

    /// Returns whether the user named a server himself.
    fn is_mine(&self, origin: &Origin) -> bool {
        self.servers().contains(origin)
    }

    fn glab(&self) -> &Source<GlabHost> {
        self.glab.get_or_init(|| {
            let directories = self.glab_directories();
            let Some(first) = directories.first() else {
                return Source {
                    place: "glab's configuration".to_owned(),
                    entries: Vec::new(),
                    silence: Some("nothing says where it is".to_owned()),
                };
            };
            let mut source = self.source(&first.join("config.yml"), glab::parse);
            for directory in &directories[1..] {
                if source.silence.as_deref() != Some(ABSENT) {
                    break;
                }
                source = self.source(&directory.join("config.yml"), glab::parse);
            }
            source
        })
    }

    fn glab_directories(&self) -> Vec<PathBuf> {
        let variables = &self.surroundings.variables;
        if let Some(own) = variables.get("GLAB_CONFIG_DIR") {
            return vec![own.into()];
        }
        let xdg = variables.get("XDG_CONFIG_HOME").map(PathBuf::from);
        let home = self.surroundings.home.as_ref();
        let home = home.map(|home| home.join(".config"));
        let directories = xdg.into_iter().chain(home);
        directories.map(|it| it.join("glab-cli")).collect()
    }

    fn netrc(&self) -> &Source<NetrcEntry> {
        self.netrc.get_or_init(|| {
            let named = self.surroundings.variables.get("NETRC").map(PathBuf::from);
            let home = self.surroundings.home.as_ref();
            match named.or_else(|| home.map(|home| home.join(".netrc"))) {
                Some(path) => self.source(&path, |text| Ok(netrc::parse(text))),
                None => Source {
                    place: "netrc".to_owned(),
                    entries: Vec::new(),
                    silence: Some("nothing says where it is".to_owned()),
                },
            }
        })
    }

    fn source<T>(
        &self,
        path: &Path,
        parse: impl FnOnce(&str) -> Result<Vec<T>, &'static str>,
    ) -> Source<T> {
        let (entries, silence) = match PrivateFile::read(path) {
            PrivateFile::Absent => (Vec::new(), Some(ABSENT.to_owned())),
            PrivateFile::Unusable(why) => (Vec::new(), Some(why)),
            PrivateFile::Text(text) => match parse(&text) {
                Ok(entries) => (entries, None),
                Err(why) => (Vec::new(), Some(why.to_owned())),
            },
        };
        Source {
            place: self.shown(path),
            entries,
            silence,
        }
    }

    /// Returns a path as its user writes it.
    fn shown(&self, path: &Path) -> String {
        let home = self.surroundings.home.as_deref();
        match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }

    /// Looks for a token in all places, those that win first, up to the one that has one.
    fn look(&self, instance: &Instance) -> Vec<Looked> {
        let mut looked = vec![self.look_in_settings(instance)];
        let own = self.own();
        looked.extend(self.environment().look(instance, own.as_ref()));
        looked.push(self.look_in_glab(instance));
        looked.push(self.look_in_netrc(instance));
        let first = looked
            .iter()
            .position(|it| matches!(it.found, Found::Token(_)));
        if let Some(first) = first {
            looked.truncate(first + 1);
        }
        looked
    }

    fn look_in_settings(&self, instance: &Instance) -> Looked {
        let settings = &self.surroundings.settings;
        let Some(file) = &settings.file else {
            return Looked::nothing("config.toml", ABSENT);
        };
        let place = self.shown(file);
        let entry = settings.instance(instance);
        // An entry for one server says nothing of another.
        let entry = entry.filter(|it| it.instance.origin() == instance.origin());
        let Some((entry, source)) = entry.and_then(|it| Some((it, it.token.as_ref()?))) else {
            return Looked::nothing(place, format!("no token for {instance}"));
        };
        match source {
            TokenSource::Given(token) => found(place, token.expose(), entry.token_kind),
            TokenSource::Variable(name) => {
                let mut looked = self.environment().variable(name, entry.token_kind);
                looked.place = format!("{name} (named by {place})");
                looked
            }
            TokenSource::File(path) => {
                let place = format!("{} (named by {place})", self.shown(path));
                match PrivateFile::read(path) {
                    PrivateFile::Absent => Looked::nothing(place, ABSENT),
                    PrivateFile::Unusable(why) => Looked::nothing(place, why),
                    PrivateFile::Text(text) => found(place, &text, entry.token_kind),
                }
            }
        }
    }

    fn look_in_glab(&self, instance: &Instance) -> Looked {
        let Source {
            place,
            entries,
            silence,
        } = self.glab();
        let place = format!("{place} (glab)");
        if let Some(silence) = silence {
            return Looked::nothing(place, silence.clone());
        }
        let mut entries = entries.iter();
        let Some(host) = entries.find(|it| it.instance.origin() == instance.origin()) else {
            return Looked::nothing(place, format!("no host {}", instance.name()));
        };
        let Some((token, kind)) = &host.token else {
            let why = if host.in_keyring {
                "its token is in the keyring, where only `glab` finds it; `glab auth login` \
                 without the keyring puts it here"
            } else {
                "the host has no token"
            };
            return Looked::nothing(place, why);
        };
        if let Some(expiry) = &host.expiry
            && glab::is_over(expiry, Timestamp::now())
        {
            let why = format!("its token ended at {expiry}; `glab auth status` renews it");
            return Looked::nothing(place, why);
        }
        found(place, token, Some(*kind))
    }

    fn look_in_netrc(&self, instance: &Instance) -> Looked {
        let Source {
            place,
            entries,
            silence,
        } = self.netrc();
        if let Some(silence) = silence {
            return Looked::nothing(place.as_str(), silence.clone());
        }
        let origin = instance.origin();
        let nothing = || Looked::nothing(place.as_str(), format!("no machine {}", origin.host));
        let Some(entry) = netrc::entry_for(entries, &origin.host) else {
            return nothing();
        };
        // It knows hosts only. What a file names may be another server there, and a password for
        // all hosts is for none that a file names.
        let is_usual = entry.machine.is_some() && origin.scheme == "https" && origin.port == 443;
        if !is_usual && !self.is_mine(origin) {
            return nothing();
        }
        let kind = match entry.login.as_deref() {
            Some("oauth2") => TokenKind::OAuth,
            Some("gitlab-ci-token") => TokenKind::Job,
            _ => TokenKind::Access,
        };
        match &entry.password {
            Some(password) => found(place.clone(), password, Some(kind)),
            None => Looked::nothing(place.as_str(), "no password there"),
        }
    }

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

/// What is said of a file that is not there.
const ABSENT: &str = "not there";

fn found(place: String, text: &str, kind: Option<TokenKind>) -> Looked {
    match value::token(text) {
        Ok(value) => Looked {
            found: Found::Token(Token {
                kind: value::kind(&value, kind),
                value,
                found: place.clone(),
            }),
            place,
        },
        Err(why) => Looked::nothing(place, why),
    }
}

impl Accounts for UserAccounts {
    fn own(&self) -> Option<Instance> {
        self.own.get_or_init(|| self.find_own()).clone()
    }

    fn instance(&self, name: &str) -> Option<Instance> {
        let own = self.own().into_iter();
        let mut known = own.chain(self.known());
        let found = known.find(|it| it.name().eq_ignore_ascii_case(name));
        // The host alone is enough for a server that answers at another port only where no other
        // is known; so a name that is not known is one of the usual port.
        found.or_else(|| {
            Instance::parse(name)
                .ok()
                .filter(|it| it.address().ends_with(it.name()))
        })
    }

    fn token(&self, instance: &Instance) -> Option<Token> {
        let last = self.look(instance).pop()?;
        match last.found {
            Found::Token(token) => Some(token),
            Found::Nothing(_) => None,
        }
    }

    fn places(&self, instance: &Instance) -> Vec<String> {
        self.look(instance).iter().map(Looked::words).collect()
    }
}

impl GitWays for UserAccounts {
    fn way(&self, instance: &Instance) -> Option<GitWay> {
        let entry = self.surroundings.settings.instance(instance);
        match self.git_use(instance, entry) {
            GitUse::Never => None,
            GitUse::Ssh => {
                let SshServer { user, host, port } = self.ssh_server(instance, entry);
                Some(GitWay::Ssh { user, host, port })
            }
            GitUse::Https => {
                // A job's token opens repositories, and hardly anything of the API. Others were
                // tried there already, and would keep Git from asking the user's own helpers.
                let token = self.token(instance);
                let login = token.filter(|it| it.kind == TokenKind::Job).map(|it| {
                    let password = SecretString::new(it.value.expose());
                    ("gitlab-ci-token".to_owned(), password)
                });
                Some(GitWay::Http {
                    instance: instance.clone(),
                    authority: entry.and_then(|it| it.authority.clone()),
                    login,
                })
            }
        }
    }
}
