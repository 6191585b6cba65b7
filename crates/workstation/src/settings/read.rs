use super::layer::read_layer;
use super::reader::{Table, Value, parse};
use super::size::parse_size;
use super::{
    CacheSettings, GarbageSettings, GitUse, IncludeSettings, InstanceSettings, Settings,
    SettingsError, SettingsFile, SshServer, TokenSource,
};
use crate::project::read_file::{ReadError, if_there, read_inside, read_text};
use crate::remote::is_private;
use executor_core::job::SecretString;
use gitlab_api::{Instance, TokenKind};
use pipeline::config::parse_duration;
use scheduler::ProcessMode;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use web::{Origin, Url};

/// The name of the user's file in the state directory.
pub(super) const FILE: &str = "config.toml";

/// The size limit of a settings file, in bytes.
const LONGEST: usize = 1 << 20;

/// The name of the project's file, in the root of the project.
pub(super) const PROJECT_FILE: &str = ".runwright.toml";

impl Settings {
    /// Reads the settings in `directory`; without a file, nothing is set. `home` replaces `~`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, has invalid settings, or holds a token while other users can read it.
    pub fn read(directory: &Path, home: Option<&Path>) -> Result<Self, SettingsError> {
        let file = directory.join(FILE);
        let Some(text) = settings_text(&file, read_text(&file))? else {
            return Ok(Self {
                absent: Some(file),
                ..Self::default()
            });
        };
        let settings = Self::parse(&file, &text, home)?;
        settings.refuse_open_token(&file)?;
        Ok(settings)
    }

    /// Parses settings; `file` is their name in messages.
    ///
    /// # Errors
    ///
    /// If the settings are invalid.
    pub fn parse(file: &Path, text: &str, home: Option<&Path>) -> Result<Self, SettingsError> {
        let parsed = parse(file, text)?;
        let whole = Table::whole(file, text, &parsed);
        let layer = read_layer(SettingsFile::User, file, text)?;
        let mut settings = Self {
            file: Some(file.to_owned()),
            said: layer.said,
            ..Self::default()
        };
        let reading = Reading { home };
        if let Some(gitlab) = whole.get("gitlab") {
            let gitlab = gitlab.table("[gitlab]")?;
            settings.gitlab = gitlab.get("url").map(|it| address(&it)).transpose()?;
            if let Some(instances) = gitlab.get("instance") {
                for table in instances.tables("[[gitlab.instance]]")? {
                    let instance = reading.instance(&table)?;
                    settings.refuse_twice(&instance, &table)?;
                    settings.instances.push(instance);
                }
            }
        }
        if let Some(include) = whole.get("include") {
            settings.include = read_include(&include.table("[include]")?)?;
        }
        if let Some(cache) = whole.get("cache") {
            settings.cache = read_cache(&cache.table("[cache]")?)?;
        }
        if let Some(docker) = whole.get("docker") {
            settings.garbage = read_garbage(&docker.table("[docker]")?)?;
        }
        if let Some(projects) = whole.get("projects") {
            for checkout in projects.table("[projects]")?.values() {
                let path = project_path(&checkout)?;
                settings.projects.insert(path, reading.path(&checkout)?);
            }
        }
        if let Some(groups) = whole.get("resource-groups") {
            for group in groups.table("[resource-groups]")?.values() {
                let mode = process_mode(&group)?;
                settings.resource_groups.insert(group.key.to_owned(), mode);
            }
        }
        if let Some(runs) = whole.get("runs") {
            let runs = runs.table("[runs]")?;
            settings.kept_runs = runs.get("keep").map(|it| it.count()).transpose()?;
        }
        layer.wrong.map_or(Ok(settings), Err)
    }

    /// Reads the settings in `directory` and those of the project at `root`.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, is invalid, or sets something that it may not set.
    pub fn of_project(
        root: &Path,
        directory: &Path,
        home: Option<&Path>,
    ) -> Result<Self, SettingsError> {
        Self::read(directory, home)?.with_project(root)
    }

    /// Adds the settings of the project at `root`.
    ///
    /// # Errors
    ///
    /// As [`of_project`](Self::of_project).
    pub fn with_project(mut self, root: &Path) -> Result<Self, SettingsError> {
        let file = Path::new(PROJECT_FILE);
        if let Some(text) = settings_text(file, read_inside(root, file))? {
            let layer = read_layer(SettingsFile::Project, file, &text)?;
            if let Some(wrong) = layer.wrong {
                return Err(wrong);
            }
            self.said.extend(layer.said);
        }
        Ok(self)
    }

    fn refuse_twice(&self, new: &InstanceSettings, table: &Table<'_>) -> Result<(), SettingsError> {
        let is_there = self.instances.iter().any(|it| it.instance == new.instance);
        if is_there {
            let message = format!("{} is there twice", new.instance);
            return Err(table.refuse(&message, "leave one of them out"));
        }
        Ok(())
    }

    /// Refuses a file that holds a token and that other users can read.
    fn refuse_open_token(&self, file: &Path) -> Result<(), SettingsError> {
        let is_secret = |it: &InstanceSettings| matches!(it.token, Some(TokenSource::Given(_)));
        if !self.instances.iter().any(is_secret) {
            return Ok(());
        }
        // Without metadata the file could not have been read either, so mode 0 is safe.
        let mode = fs::metadata(file).map_or(0, |it| it.permissions().mode());
        if is_private(mode) {
            return Ok(());
        }
        Err(SettingsError {
            file: file.to_owned(),
            place: None,
            message: "it holds a token, and others may read it".to_owned(),
            help: Some(format!("`chmod 600 {}` closes it", file.display())),
        })
    }
}

/// Returns the text of a settings file; `None` if it does not exist.
fn settings_text(
    file: &Path,
    read: Result<String, ReadError>,
) -> Result<Option<String>, SettingsError> {
    let read = read.and_then(|text| {
        let fits = text.len() <= LONGEST;
        fits.then_some(text).ok_or(ReadError::TooLong(LONGEST))
    });
    if_there(read).map_err(|error| SettingsError {
        file: file.to_owned(),
        place: None,
        message: error.to_string(),
        help: None,
    })
}

struct Reading<'a> {
    home: Option<&'a Path>,
}

impl Reading<'_> {
    fn instance(&self, table: &Table<'_>) -> Result<InstanceSettings, SettingsError> {
        let url = table.get("url").ok_or_else(|| {
            table.refuse(
                "an instance needs its `url`",
                "for example url = \"https://gitlab.example.com\"",
            )
        })?;
        let ssh_server = |it: Value<'_>| {
            SshServer::parse(it.text()?).ok_or_else(|| {
                let help = "for example ssh-host = \"ssh.example.com:2222\"".to_owned();
                it.refuse("`ssh-host` is a host, with a port or not".to_owned(), help)
            })
        };
        Ok(InstanceSettings {
            instance: address(&url)?,
            token: self.token(table)?,
            token_kind: table.get("token-kind").map(|it| kind(&it)).transpose()?,
            authority: table.get("ca-file").map(|it| self.path(&it)).transpose()?,
            git: table.get("git").map(|it| git(&it)).transpose()?,
            ssh: table.get("ssh-host").map(ssh_server).transpose()?,
        })
    }

    fn token(&self, table: &Table<'_>) -> Result<Option<TokenSource>, SettingsError> {
        let mut found = None;
        for key in ["token", "token-env", "token-file"] {
            let Some(value) = table.get(key) else {
                continue;
            };
            let source = match key {
                "token" => TokenSource::Given(SecretString::new(value.text()?)),
                "token-env" => TokenSource::Variable(variable_name(&value)?),
                _ => TokenSource::File(self.path(&value)?),
            };
            if found.replace(source).is_some() {
                let message = "an instance has one token, this is a second".to_owned();
                let help = "leave `token`, `token-env` or `token-file`".to_owned();
                return Err(value.refuse(message, help));
            }
        }
        Ok(found)
    }

    /// Returns an absolute path; `~` stands for the home directory.
    fn path(&self, value: &Value<'_>) -> Result<PathBuf, SettingsError> {
        let text = value.text()?;
        let path = match text.strip_prefix("~/") {
            Some(rest) => self.home.map(|home| home.join(rest)),
            None => Some(PathBuf::from(text)),
        };
        path.filter(|path| path.is_absolute() && !text.contains('\0'))
            .ok_or_else(|| {
                let help = "begin with `/`, or with `~/` for the home directory".to_owned();
                value.refuse("a path here is a whole one".to_owned(), help)
            })
    }
}

/// Returns the key of a value, checked to be the path of a GitLab project.
fn project_path(value: &Value<'_>) -> Result<String, SettingsError> {
    let path = value.key;
    let is_plain = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
    if path.contains('/') && path.split('/').all(is_plain) {
        return Ok(path.to_owned());
    }
    let shown: String = path.chars().take(40).collect();
    let message = format!("`{}` is no path of a project", shown.escape_default());
    let help = "for example \"group/project\" = \"~/src/project\"".to_owned();
    Err(value.refuse(message, help))
}

/// Parses the process mode of a resource group.
fn process_mode(value: &Value<'_>) -> Result<ProcessMode, SettingsError> {
    ProcessMode::from_word(value.text()?).ok_or_else(|| {
        let words = ProcessMode::ALL.map(ProcessMode::as_str).join(", ");
        let message = format!("`{}` has no such process mode", value.key.escape_default());
        value.refuse(message, format!("the modes are {words}"))
    })
}

fn read_include(table: &Table<'_>) -> Result<IncludeSettings, SettingsError> {
    let list = |key| table.get(key).map(|it| hosts(&it)).transpose();
    Ok(IncludeSettings {
        templates: table.get("templates").map(|it| page(&it)).transpose()?,
        max_age: table
            .get("max-age")
            .map(|it| {
                parse_duration(it.text()?).ok_or_else(|| {
                    let help = "for example max-age = \"10 minutes\"".to_owned();
                    it.refuse("`max-age` is a duration".to_owned(), help)
                })
            })
            .transpose()?,
        allow_http: list("allow-http")?.unwrap_or_default(),
        allow_private: list("allow-private")?.unwrap_or_default(),
    })
}

fn read_garbage(table: &Table<'_>) -> Result<GarbageSettings, SettingsError> {
    let size = table.get("disk-budget").map(|it| {
        parse_size(it.text()?).ok_or_else(|| {
            let help = "for example disk-budget = \"20 GB\"".to_owned();
            it.refuse("`disk-budget` is a size".to_owned(), help)
        })
    });
    let age = table.get("keep-unused-for").map(|it| {
        parse_duration(it.text()?).ok_or_else(|| {
            let help = "for example keep-unused-for = \"14 days\"".to_owned();
            it.refuse("`keep-unused-for` is a duration".to_owned(), help)
        })
    });
    let images = table.get("keep-images").map(|it| {
        let items = it.items()?.into_iter();
        items.map(|item| item.text().map(str::to_owned)).collect()
    });
    Ok(GarbageSettings {
        disk_budget: size.transpose()?,
        keep_unused_for: age.transpose()?,
        keep_images: images.transpose()?.unwrap_or_default(),
    })
}

fn read_cache(table: &Table<'_>) -> Result<CacheSettings, SettingsError> {
    let size = table.get("size").map(|it| {
        parse_size(it.text()?).ok_or_else(|| {
            let help = "for example size = \"10 GB\"; with \"0\" nothing is kept".to_owned();
            it.refuse(
                "`size` says how many bytes all caches may have".to_owned(),
                help,
            )
        })
    });
    Ok(CacheSettings {
        size: size.transpose()?,
    })
}

/// Parses a list of hosts and networks.
fn hosts(list: &Value<'_>) -> Result<Vec<String>, SettingsError> {
    let items = list.items()?;
    let host = |it: &Value<'_>| {
        let text = it.text()?;
        if web::names_hosts(text) {
            return Ok(text.to_owned());
        }
        let message = format!("what `{}` lists is a host, an address or a network", it.key);
        let help = "for example \"mirror.lan\", \"*.corp.example\", \"10.1.2.3\" or \"10.0.0.0/8\"";
        Err(it.refuse(message, help.to_owned()))
    };
    items.iter().map(host).collect()
}

fn address(value: &Value<'_>) -> Result<Instance, SettingsError> {
    let read = Instance::parse(value.text()?);
    read.map_err(|error| value.refuse(error.to_string(), None))
}

/// Parses the URL of a directory on a server, and adds its trailing slash.
fn page(value: &Value<'_>) -> Result<Url, SettingsError> {
    let refuse = || {
        let help = "for example \"https://gitlab.example.com/templates\"".to_owned();
        value.refuse(
            format!("`{}` is an address of a web server", value.key),
            help,
        )
    };
    let mut url = Url::parse(value.text()?).map_err(|_| refuse())?;
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none()
        && url.query().is_none();
    if Origin::of(&url).is_none() || !is_plain {
        return Err(refuse());
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

fn variable_name(value: &Value<'_>) -> Result<String, SettingsError> {
    let name = value.text()?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.bytes().all(fits)
    {
        // The value may be the token itself, so the message omits it.
        let message = "`token-env` is the name of a variable".to_owned();
        let help = "the token itself belongs under `token`".to_owned();
        return Err(value.refuse(message, help));
    }
    Ok(name.to_owned())
}

fn kind(value: &Value<'_>) -> Result<TokenKind, SettingsError> {
    match value.text()? {
        "access" => Ok(TokenKind::Access),
        "oauth" => Ok(TokenKind::OAuth),
        "job" => Ok(TokenKind::Job),
        _ => {
            let message = "`token-kind` is access, oauth or job".to_owned();
            Err(value.refuse(message, None))
        }
    }
}

fn git(value: &Value<'_>) -> Result<GitUse, SettingsError> {
    match value.text()? {
        "never" => Ok(GitUse::Never),
        "ssh" => Ok(GitUse::Ssh),
        "https" => Ok(GitUse::Https),
        _ => Err(value.refuse("`git` is never, ssh or https".to_owned(), None)),
    }
}
