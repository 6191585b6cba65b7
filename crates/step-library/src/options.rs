use crate::Credentials;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use web::WebOptions;

/// How functions are fetched and published.
#[derive(Debug, Clone)]
pub struct LibraryOptions {
    /// Where what was fetched is kept. Several programs may share it.
    pub cache_dir: PathBuf,
    /// Which servers may be spoken to, and how. Its limits of time and size are not used for images.
    pub web: WebOptions,
    /// How git is called.
    pub git: GitOptions,
    /// Who the user of this program is to registries; a job's own credentials come first.
    pub credentials: Option<Arc<dyn Credentials>>,
    /// Registries that are asked without encryption, as those of this machine are: `host` or `host:port`.
    ///
    /// That they may be reached at all is for `web` to say.
    pub insecure_registries: Vec<String>,
    /// Whether only what is in the cache is used. What a tag or branch was at last then counts.
    pub offline: bool,
    /// How many bytes the cache may keep; what was not used for the longest time goes. Default: 4 GiB.
    pub budget: u64,
    /// How many bytes a repository's files or an image may have, unpacked. Default: 2 GiB.
    pub max_bytes: u64,
    /// The longest that one function may take to come. Default: 10 minutes.
    pub deadline: Duration,
}

/// How git is called.
#[derive(Clone, Default)]
pub struct GitOptions {
    /// The environment of git, instead of the one of this program.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// Whether repositories of this machine may be named, by an absolute path or `file://`.
    ///
    /// Whoever writes a job could read any of them then.
    pub local: bool,
}

impl LibraryOptions {
    /// Returns options with a cache in `cache_dir` and the usual values for all else.
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            cache_dir: cache_dir.into(),
            web: WebOptions::default(),
            git: GitOptions::default(),
            credentials: None,
            insecure_registries: Vec::new(),
            offline: false,
            budget: 4 << 30,
            max_bytes: 2 << 30,
            deadline: Duration::from_mins(10),
        }
    }
}

/// Shows no value of a variable: one may be secret.
impl std::fmt::Debug for GitOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitOptions")
            .field("environment", &self.environment.is_some())
            .field("local", &self.local)
            .finish()
    }
}
