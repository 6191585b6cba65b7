//! Who wants to know which tracked files jobs change.

use crate::args::{DialectArg, RunArgs};
use crate::failure::Failure;
use std::sync::Arc;
use workstation::{
    BitrabSettings, DeclaredChanges, LocalError, LocalProject, Settings, StateDir, WatchChanges,
};

/// Returns what watches for changes of tracked files, if that is asked for: by an option or a setting,
/// or in bitrab's dialect by the project.
pub(super) fn watch_changes(
    args: &RunArgs,
    project: &LocalProject,
) -> Result<Option<WatchChanges>, Failure> {
    let bitrab = match args.project.dialect {
        DialectArg::Gitlab => BitrabSettings::default(),
        DialectArg::Bitrab => BitrabSettings::read(project.root()).map_err(LocalError::from)?,
    };
    if !args.warn_changes && !bitrab.warn_on_mutation {
        return Ok(None);
    }
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let home = std::env::home_dir();
    let settings = Settings::of_project(project.root(), state.path(), home.as_deref())
        .map_err(LocalError::from)?;
    let declared = DeclaredChanges::new(settings).with_all_jobs(&bitrab.whitelist);
    Ok(Some(WatchChanges::new(Arc::new(declared))))
}
