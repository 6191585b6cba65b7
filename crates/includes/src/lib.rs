//! Included files from other servers: other projects, components, templates and addresses.
//!
//! Each `include` becomes a few [`Question`]s, and a [`Library`] answers them. [`RemoteIncludes`] finds
//! versions and files by asking a library. [`Servers`] is a library that asks servers. [`Cached`] and
//! [`Locked`] are libraries around another one. So the parts do not depend on each other.
//!
//! ```text
//! includes -> RemoteIncludes -> [Locked] -> Cached -> Servers (GitLab's API, Git, any address)
//! ```

mod cached;
mod digest;
mod error;
mod folder;
mod git;
mod key;
mod library;
mod lock_file;
mod locked;
mod note;
mod question;
mod record;
mod remote;
mod servers;
mod shown;
mod store;
mod subject;
mod vendored;

pub use cached::{Cached, Clock, SystemClock};
pub use digest::Digest;
pub use error::LibraryError;
pub use git::{GitRoute, GitRoutes, GitServers, LibraryChain};
pub use library::{Answer, FetchPolicy, Library};
pub use lock_file::{LockFile, LockFileError};
pub use locked::Locked;
pub use note::{Note, Notes};
pub use question::{ProjectAddress, Question};
pub use record::{Record, Recorder};
pub use remote::{OwnProject, RemoteIncludes, RemoteSettings, TEMPLATES};
pub use servers::Servers;
pub use store::{Store, StoreError, StoreSize, StoredAnswer};
pub use vendored::{ChangedText, VendorReport, Vendored, Written};
