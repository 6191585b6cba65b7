use crate::Origin;
use std::collections::HashSet;

/// Which servers may be reached.
///
/// Servers that the user named may be anywhere. All others, which files and redirects name, are
/// reached over `https` at public addresses only.
///
/// Every address of a name has to be allowed, not only one. The addresses at which clouds serve credentials to
/// a machine, `169.254.169.254` for instance, are refused even when they are named and inside an allowed network.
/// Only the address itself, in `private`, opens them: a git remote names a server too, and a stranger may have
/// written it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// The servers that the user named: the user's GitLabs. A server named as `http://host` is also let in at
    /// `https://host`, in case it has moved there.
    pub named: HashSet<Origin>,
    /// Hosts that may be requested over plain `http`: names, `*.example.com`, and addresses.
    pub plain: Vec<String>,
    /// Hosts that may have private addresses: names, `*.example.com`, addresses, or networks such as `10.0.0.0/8`.
    pub private: Vec<String>,
}
