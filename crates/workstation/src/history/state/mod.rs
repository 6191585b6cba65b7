//! The state directory: logs, artifacts, locks and journals of runs.

mod error;
mod in_place;
mod project_state;
mod state_dir;

pub use error::StateError;
pub use in_place::InPlaceLock;
pub use project_state::{PipelineDir, ProjectState};
pub use state_dir::StateDir;

pub(crate) use project_state::make_dir;
