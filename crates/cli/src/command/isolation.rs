use crate::failure::Failure;
use workstation::{Isolation, LocalError, SnapshotMethod, can_mount, enter_user_namespace};

/// Gives this process the right to mount overlays, where somebody asked for them and it has not.
///
/// There must be no second thread yet.
pub(super) fn allow_mounts(isolation: Isolation) -> Result<(), Failure> {
    if isolation == Isolation::Snapshot(SnapshotMethod::Overlay) && !can_mount() {
        enter_user_namespace().map_err(LocalError::from)?;
    }
    Ok(())
}
