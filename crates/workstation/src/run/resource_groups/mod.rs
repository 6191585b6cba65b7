//! Resource groups that all runs of a project on this machine share.

mod group;
mod machine_resources;

pub use machine_resources::MachineResources;

use self::group::Group;
use crate::history::state::{ProjectState, StateDir};
use crate::settings::{Settings, SettingsError};
use std::path::Path;

/// Returns the resource groups of a project, with the modes of the user's settings.
pub(crate) fn of_project(
    state: &StateDir,
    project: &ProjectState,
) -> Result<MachineResources, SettingsError> {
    let settings = Settings::read(state.path(), std::env::home_dir().as_deref())?;
    let modes = settings.resource_groups.into_iter().collect();
    Ok(MachineResources::at(project.resources(), modes))
}

/// Removes the unused groups in a directory; what cannot be removed now is left for later.
pub(crate) fn remove_unused(directory: &Path) {
    let Ok(groups) = std::fs::read_dir(directory) else {
        return;
    };
    for group in groups.flatten() {
        if let Err(error) = Group::at(group.path()).remove_unused() {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(error, "An unused resource group stays.");
        }
    }
}
