use super::RunnerSettings;
use crate::debug::ListenAddress;
use std::collections::BTreeMap;
use std::time::Duration;
use web::Url;

/// The settings of the whole process.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many jobs run at a time (`concurrent`). Default: 1.
    pub concurrent: usize,
    /// The time between two polls of one runner (`check_interval`). Default: 3 s.
    pub check_interval: Duration,
    /// `debug`, `info`, `warn`, `error`. Default: `info`.
    pub log_level: Option<String>,
    /// `runner`, `text` or `json`. Default: `runner`.
    pub log_format: Option<String>,
    /// Where metrics are served (`listen_address`). Default: nowhere.
    pub listen_address: Option<ListenAddress>,
    /// How long jobs may take to stop (`shutdown_timeout`). Default: 30 s.
    pub shutdown_timeout: Duration,
    /// Labels for the server.
    pub labels: BTreeMap<String, String>,
    /// Whether idle machines are removed at the end (`[machine.shutdown_drain]`). Default: no.
    pub remove_machines_on_shutdown: bool,
    /// `[session_server]`. Default: no terminals and ports.
    pub session_server: Option<SessionServerSettings>,
    /// `[[runners]]`, in their order.
    pub runners: Vec<RunnerSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            concurrent: 1,
            check_interval: Duration::from_secs(3),
            log_level: None,
            log_format: None,
            listen_address: None,
            shutdown_timeout: Duration::from_secs(30),
            labels: BTreeMap::new(),
            remove_machines_on_shutdown: false,
            session_server: None,
            runners: Vec::new(),
        }
    }
}

/// `[session_server]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionServerSettings {
    /// The address to listen on.
    pub listen_address: ListenAddress,
    /// The address that GitLab connects to, with `https`. Default: `listen_address`.
    pub advertise_address: Option<Url>,
    /// How long an open terminal keeps a job's environment. Default: 30 min.
    pub session_timeout: Duration,
}
