use crate::Origin;
use std::collections::HashSet;

/// Which servers may be spoken to.
///
/// The servers that the user named himself may be anywhere. All others, which files and redirects
/// name, are reached over `https` at public addresses only.
///
/// Every address of a name has to be fit, not only one. Where clouds give credentials to a machine,
/// `169.254.169.254` for instance, is out of reach even when it was named and in a network that
/// was let in: only the address itself, in `private`, opens it. A remote names a server too, and who wrote it
/// may be a stranger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// The servers that the user named: his GitLabs. Whoever is named as `http://host` may be at
    /// `https://host` by now, and is let in there too.
    pub named: HashSet<Origin>,
    /// Hosts that may be asked over plain `http`: names, also `*.example.com`, and addresses.
    pub plain: Vec<String>,
    /// Hosts that may have private addresses: names, also `*.example.com`, addresses, or networks as `10.0.0.0/8`.
    pub private: Vec<String>,
}
