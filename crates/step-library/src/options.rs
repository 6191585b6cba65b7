use registry::LoginSource;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use web::WebOptions;

/// How functions are fetched and published.
#[derive(Debug, Clone)]
pub struct LibraryOptions {
    /// The directory of the cache. Several programs may share it.
    pub cache_dir: PathBuf,
    /// Which servers may be reached, and how. Its limits of time and size are not used for images.
    pub web: WebOptions,
    /// How git is run.
    pub git: GitOptions,
    /// The logins of the user who runs this program; a job's own come first.
    pub logins: Option<Arc<dyn LoginSource>>,
    /// Registries without encryption, besides those of this machine: `host` or `host:port`.
    ///
    /// Whether they may be reached at all is decided by `web`.
    pub insecure_registries: Vec<String>,
    /// Uses only the cache. A tag or branch then means the commit it had last.
    pub offline: bool,
    /// The most bytes of the cache; the least recently used entries are removed. Default: 4 GiB.
    pub budget: u64,
    /// The most bytes of a repository's files or an image, unpacked. Default: 2 GiB.
    pub max_bytes: u64,
    /// The longest one function may take to fetch. Default: 10 minutes.
    pub deadline: Duration,
}

/// How git is run.
#[derive(Clone, Default)]
pub struct GitOptions {
    /// The environment of git, instead of this program's.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// Allows repositories of this machine, by an absolute path or `file://`.
    ///
    /// Any job can then read any of them.
    pub local: bool,
}

impl LibraryOptions {
    /// Returns options with a cache in `cache_dir` and defaults for the rest.
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            cache_dir: cache_dir.into(),
            web: WebOptions::default(),
            git: GitOptions::default(),
            logins: None,
            insecure_registries: Vec::new(),
            offline: false,
            budget: 4 << 30,
            max_bytes: 2 << 30,
            deadline: Duration::from_mins(10),
        }
    }
}

/// Shows no value of a variable, since one may be secret.
impl std::fmt::Debug for GitOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitOptions")
            .field("environment", &self.environment.is_some())
            .field("local", &self.local)
            .finish()
    }
}
