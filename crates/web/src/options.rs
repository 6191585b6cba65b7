use crate::{Limits, Reach};
use std::path::PathBuf;

/// How requests are sent.
#[derive(Debug, Clone, Default)]
pub struct WebOptions {
    /// Which servers may be spoken to.
    pub reach: Reach,
    /// What a request may cost.
    pub limits: Limits,
    /// Through whom.
    pub proxies: Proxies,
    /// Files with certificates, in PEM, that are trusted besides those of the system.
    pub authorities: Vec<PathBuf>,
}

/// The proxies of the environment: what `HTTP_PROXY` and its like say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http` (`http_proxy` alone, as whoever sends a request chooses `HTTP_PROXY` in CGI).
    pub http: Option<String>,
    /// For `https` (`https_proxy`, `HTTPS_PROXY`).
    pub https: Option<String>,
    /// For all others (`all_proxy`, `ALL_PROXY`).
    pub all: Option<String>,
    /// Hosts that are asked directly (`no_proxy`, `NO_PROXY`).
    pub except: Option<String>,
}
