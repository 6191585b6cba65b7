use crate::{Limits, Proxies, Reach};
use std::path::PathBuf;

/// How requests are sent.
#[derive(Debug, Clone, Default)]
pub struct WebOptions {
    /// Which servers may be reached.
    pub reach: Reach,
    /// What a request may cost.
    pub limits: Limits,
    /// The proxies to send requests through.
    pub proxies: Proxies,
    /// PEM files of certificates that are trusted in addition to those of the system.
    pub authorities: Vec<PathBuf>,
}
