use super::UserAccounts;
use super::glab::{self, GlabHost};
use super::netrc::{self, NetrcEntry};
use super::private_file::PrivateFile;
use std::path::{Path, PathBuf};

/// A file of another program with tokens.
pub(super) struct TokenFile<T> {
    /// Its name in messages.
    pub(super) place: String,
    pub(super) entries: Vec<T>,
    /// Why it is not used.
    pub(super) problem: Option<String>,
}

impl<T> std::fmt::Debug for TokenFile<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.place)
    }
}

/// The problem of a missing file.
pub(super) const ABSENT: &str = "not there";

impl UserAccounts {
    pub(super) fn glab(&self) -> &TokenFile<GlabHost> {
        self.glab.get_or_init(|| {
            let directories = self.glab_directories();
            let Some(first) = directories.first() else {
                return TokenFile {
                    place: "glab's configuration".to_owned(),
                    entries: Vec::new(),
                    problem: Some("its directory is unknown".to_owned()),
                };
            };
            let mut source = self.source(&first.join("config.yml"), glab::parse);
            for directory in &directories[1..] {
                if source.problem.as_deref() != Some(ABSENT) {
                    break;
                }
                source = self.source(&directory.join("config.yml"), glab::parse);
            }
            source
        })
    }

    fn glab_directories(&self) -> Vec<PathBuf> {
        let variables = &self.config.variables;
        if let Some(own) = variables.get("GLAB_CONFIG_DIR") {
            return vec![own.into()];
        }
        let xdg = variables.get("XDG_CONFIG_HOME").map(PathBuf::from);
        let home = self.config.home.as_ref();
        let home = home.map(|home| home.join(".config"));
        let directories = xdg.into_iter().chain(home);
        directories.map(|it| it.join("glab-cli")).collect()
    }

    pub(super) fn netrc(&self) -> &TokenFile<NetrcEntry> {
        self.netrc.get_or_init(|| {
            let named = self.config.variables.get("NETRC").map(PathBuf::from);
            let home = self.config.home.as_ref();
            match named.or_else(|| home.map(|home| home.join(".netrc"))) {
                Some(path) => self.source(&path, |text| Ok(netrc::parse(text))),
                None => TokenFile {
                    place: "netrc".to_owned(),
                    entries: Vec::new(),
                    problem: Some("its directory is unknown".to_owned()),
                },
            }
        })
    }

    fn source<T>(
        &self,
        path: &Path,
        parse: impl FnOnce(&str) -> Result<Vec<T>, &'static str>,
    ) -> TokenFile<T> {
        let (entries, problem) = match PrivateFile::read(path) {
            PrivateFile::Absent => (Vec::new(), Some(ABSENT.to_owned())),
            PrivateFile::Unusable(why) => (Vec::new(), Some(why)),
            PrivateFile::Text(text) => match parse(&text) {
                Ok(entries) => (entries, None),
                Err(why) => (Vec::new(), Some(why.to_owned())),
            },
        };
        TokenFile {
            place: self.shown(path),
            entries,
            problem,
        }
    }

    /// Returns a path for the user, with `~`.
    pub(super) fn shown(&self, path: &Path) -> String {
        let home = self.config.home.as_deref();
        match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }
}
