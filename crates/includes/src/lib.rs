//! Included files from elsewhere: other projects, components, templates and addresses.
//!
//! Whatever an `include` names becomes a few [`Question`]s, and a [`Library`] answers them. So the
//! parts do not know one another: what finds versions and files asks a library; the servers are a
//! library; and the cache, the lock file and being offline are libraries around another one.
//!
//! ```text
//! includes -> Elsewhere -> [Locked] -> Cached -> Servers (GitLab's API, Git, any address)
//! ```

mod answer;
mod cached;
mod clock;
mod digest;
mod elsewhere;
mod error;
mod fetching;
mod folder;
mod git;
mod key;
mod library;
mod lock_file;
mod locked;
mod note;
mod question;
mod record;
mod servers;
mod shown;
mod store;
mod subject;
mod vendored;

pub use answer::Answer;
pub use cached::Cached;
pub use clock::{Clock, SystemClock};
pub use digest::Digest;
pub use elsewhere::{Elsewhere, ElsewhereSettings, OwnProject, TEMPLATES};
pub use error::LibraryError;
pub use fetching::Fetching;
pub use git::{GitRoute, GitRoutes, GitServers, LibraryChain};
pub use library::Library;
pub use lock_file::{LockFile, LockFileError};
pub use locked::Locked;
pub use note::{Note, Notes};
pub use question::{ProjectAddress, Question};
pub use record::{Record, Recorded};
pub use servers::Servers;
pub use store::{Kept, Store, StoreError, StoreSize};
pub use vendored::{ChangedText, VendorReport, Vendored, Written};
