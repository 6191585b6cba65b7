//! What a local run takes from elsewhere: where its GitLab is and who asks it, included files,
//! variables, and the server's own reading of the file.

mod accounts;
mod options;
mod settings;

pub use accounts::{UserAccounts, UserSurroundings, Variables};
pub use options::ElsewhereOptions;
pub use settings::{
    GitUse, IncludeSettings, InstanceSettings, Settings, SettingsError, SshServer, TokenSource,
};
