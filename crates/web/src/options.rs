use crate::{Limits, Proxies, Reach};
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
