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
mod elsewhere;
mod error;
mod fetching;
mod git;
mod library;
mod question;
mod servers;

pub use answer::Answer;
pub use elsewhere::{Elsewhere, ElsewhereSettings, OwnProject, TEMPLATES};
pub use error::LibraryError;
pub use fetching::Fetching;
pub use git::{Fallback, GitWay, GitWays};
pub use library::Library;
pub use question::{ProjectAddress, Question};
pub use servers::Servers;
