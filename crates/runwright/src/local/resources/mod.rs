//! Resource groups that hold between all runs of a project on this machine.

mod group;
mod machine_resources;

pub use machine_resources::MachineResources;

use super::elsewhere::{Settings, SettingsError};
use super::state::{ProjectState, StateDir};

/// Returns the resource groups of a project, with the modes that the user's settings give them.
pub(super) fn of_project(
    state: &StateDir,
    project: &ProjectState,
) -> Result<MachineResources, SettingsError> {
    let settings = Settings::read(state.path(), std::env::home_dir().as_deref())?;
    let modes = settings.resource_groups.into_iter().collect();
    Ok(MachineResources::at(project.resources(), modes))
}
