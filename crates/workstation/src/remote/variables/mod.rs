//! The variables of a project on its GitLab: its own, those of its groups, and those of the server.
//!
//! They are read only if an option asks for them, all at once, and again for each run. Values are never written to
//! disk: any program of the same user could read a cache, even an encrypted one. So there are no variables offline.

mod answers;
mod ask;
mod error;
mod given;
mod protection;
mod take;

pub use error::VariablesError;

pub(crate) use given::Taken;
pub(crate) use protection::Protection;
pub(crate) use take::GitLabVariables;
pub(in crate::remote) use take::project_of;

use answers::Wanted;
use ask::ask;
use given::given;
use protection::Reference;
