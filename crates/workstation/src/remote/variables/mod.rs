//! The variables that a GitLab keeps for a project: its own, those of the groups around it, and those of
//! the whole server.
//!
//! They are asked for on request alone, all at once, and for each run anew: values are written to
//! no disk, in whichever form. What stands in a cache, encrypted or not, can be read by whoever can
//! run this program as the same user, so there is none; and without a server there are no variables.

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
