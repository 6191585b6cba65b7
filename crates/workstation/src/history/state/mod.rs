//! Where local runs keep what outlives them: logs, artifacts, locks, the journal.

mod error;
mod in_place;
mod make_dir;
mod project_key;
mod project_state;
mod state_dir;

pub use error::StateError;
pub use in_place::InPlaceLock;
pub(crate) use make_dir::make_dir;
pub use project_state::{PipelineDir, ProjectState};
pub use state_dir::StateDir;
