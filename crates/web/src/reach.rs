use crate::Origin;
use std::collections::HashSet;

/// Which servers may be spoken to.
///
/// The servers that the user named himself may be anywhere. All others, which files and redirects
/// name, are reached over `https` at public addresses only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// The servers that the user named: his GitLabs.
    pub named: HashSet<Origin>,
    /// Hosts that may be asked over plain `http`, by name.
    pub plain: Vec<String>,
    /// Hosts and networks that may have private addresses: names, addresses, or `10.0.0.0/8`.
    pub private: Vec<String>,
}
