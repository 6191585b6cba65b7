use super::CacheSettings;
use executor_core::RunnerConfig;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml_edit::{DocumentMut, Item, Table};
use web::Url;

/// One `[[runners]]`.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// What every executor understands: name, token, executor, shell, directories, scripts.
    pub config: RunnerConfig,
    /// The runner's id at the server; 0 if the file has none.
    pub id: u64,
    /// The server, without a trailing `/`, except that of an address without a path.
    pub url: Url,
    /// When the token was created.
    pub token_obtained_at: Option<Timestamp>,
    /// When it expires; `None` for never.
    pub token_expires_at: Option<Timestamp>,
    /// Certificates that the server's own is checked with (`tls-ca-file`).
    pub tls_ca_file: Option<PathBuf>,
    /// The certificate of this runner (`tls-cert-file`).
    pub tls_cert_file: Option<PathBuf>,
    /// Its key (`tls-key-file`).
    pub tls_key_file: Option<PathBuf>,
    /// The number of polls at a time. Default: 1.
    pub request_concurrency: usize,
    /// How many refused polls in a row make a longer pause. Default: 3.
    pub unhealthy_requests_limit: u32,
    /// The longest pause after refused polls. Default: 1 h.
    pub unhealthy_interval: Duration,
    /// `clone_url`.
    pub clone_url: Option<String>,
    /// Labels for the server, in addition to those of the process.
    pub labels: BTreeMap<String, String>,
    /// `[runners.feature_flags]`.
    pub feature_flags: BTreeMap<String, bool>,
    /// `[runners.artifact]`.
    pub artifact: ArtifactSettings,
    /// `[runners.cache]`; `None` for caches on this host.
    pub cache: Option<CacheSettings>,
    /// The tables of the executor.
    pub tables: ExecutorTables,
    /// Differs when a key of the entry has another value.
    pub fingerprint: u64,
}

impl RunnerSettings {
    /// Uses the certificates that a directory has for the server, unless the settings name some: `HOST.crt`, and for the
    /// client `HOST.auth.crt` with `HOST.auth.key`, as GitLab Runner does.
    pub(super) fn use_certificates_in(&mut self, directory: &Path) {
        let Some(host) = self.url.host_str() else {
            return;
        };
        let file =
            |end: &str| Some(directory.join(format!("{host}{end}"))).filter(|it| it.is_file());
        if self.tls_ca_file.is_none() {
            self.tls_ca_file = file(".crt");
        }
        if self.tls_cert_file.is_none() && self.tls_key_file.is_none() {
            let pair = file(".auth.crt").zip(file(".auth.key"));
            (self.tls_cert_file, self.tls_key_file) = pair.unzip();
        }
    }
}

/// `[runners.artifact]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactSettings {
    /// How long an upload may take. Default: 1 h.
    pub upload_timeout: Duration,
}

impl Default for ArtifactSettings {
    fn default() -> Self {
        Self {
            upload_timeout: Duration::from_hours(1),
        }
    }
}

/// The tables of a `[[runners]]` that only executors understand, as they are written: `docker`, `kubernetes`, `machine`.
///
/// They have the keys that the executor reads; keys without effect are left out.
#[derive(Clone, Default)]
pub struct ExecutorTables(pub Table);

impl ExecutorTables {
    /// Returns a table by its name.
    pub fn get(&self, name: &str) -> Option<&Table> {
        self.0.get(name).and_then(Item::as_table)
    }

    /// Reads a table as a type of the executor; `None` if the file does not have it.
    ///
    /// # Errors
    ///
    /// When the table does not fit the type. Its text may have values of the table; only
    /// [`message`](toml_edit::de::Error::message) is for users.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, toml_edit::de::Error> {
        self.get(name).map(read_table).transpose()
    }
}

/// Reads a table as a type of an executor, such as in the check of a [`KnownTable`](super::KnownTable).
///
/// # Errors
///
/// When the table does not fit the type.
pub fn read_table<T: DeserializeOwned>(table: &Table) -> Result<T, toml_edit::de::Error> {
    toml_edit::de::from_document(DocumentMut::from(table.clone()))
}

/// Shows the names only: tables may hold passwords.
impl fmt::Debug for ExecutorTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_set().entries(names).finish()
    }
}
