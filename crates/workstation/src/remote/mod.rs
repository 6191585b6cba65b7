//! What a local run gets from servers: its GitLab and the user's accounts, included files, variables, and the
//! GitLab's own reading of the pipeline file.

#[cfg(feature = "functions")]
pub(crate) mod user_library;
pub(crate) mod vendor;

mod accounts;
mod api_mode;
mod error;
mod open;
mod options;
mod project_includes;
mod status;
mod variables;

pub(crate) use accounts::is_private;
pub(crate) use accounts::may_be_gitlab;
pub use accounts::{UserAccounts, UserConfig, Variables};
pub use api_mode::ApiModeError;
pub(crate) use api_mode::{ApiMode, Merged};
pub use error::RemoteError;
pub(crate) use open::{Outside, OwnServer};
pub use options::RemoteOptions;
pub(crate) use project_includes::ProjectIncludes;
pub use status::{GitLabStatus, StatusAnswer};
pub use variables::VariablesError;
pub(crate) use variables::{GitLabVariables, Protection, Taken};
