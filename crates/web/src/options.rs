use crate::{Origin, Proxies};
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

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
    /// The certificate with which the sender identifies itself to servers that ask for one.
    pub identity: Option<Identity>,
}

/// A certificate of the sender, in PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, and those that lead to its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

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
    /// Whether all servers count as named, because only a trusted server names others. Default: no.
    pub anywhere: bool,
    /// Hosts that may be requested over plain `http`: names, `*.example.com`, and addresses.
    pub plain: Vec<String>,
    /// Hosts that may have private addresses: names, `*.example.com`, addresses, or networks such as `10.0.0.0/8`.
    pub private: Vec<String>,
}

/// What one request may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long one attempt may take, with lookups, redirects and body.
    pub deadline: Duration,
    /// How long all attempts may take, with the pauses between them.
    pub overall: Duration,
    /// How many redirects are followed.
    pub redirects: usize,
    /// How long a response may be, in bytes.
    pub bytes: usize,
    /// How many attempts are made when a server is overloaded, broken or silent.
    pub attempts: usize,
    /// The pause before the second attempt; it doubles before each later one.
    pub pause: Duration,
    /// The longest `Retry-After` that is honoured; when a server asks for more, its response is final.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            overall: Duration::from_secs(40),
            redirects: 3,
            bytes: 16 << 20,
            attempts: 3,
            pause: Duration::from_millis(250),
            patience: Duration::from_secs(10),
        }
    }
}
