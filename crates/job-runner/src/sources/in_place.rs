use executor_core::{BuildError, Retryability};
use std::path::Path;

/// Sees that the tree a job shall run in is there: it is somebody's own, and is never made anew.
///
/// # Errors
///
/// A permanent system failure when it is not, or not any more.
pub(crate) fn check(tree: &Path) -> Result<(), BuildError> {
    if tree.is_dir() {
        return Ok(());
    }
    Err(BuildError::System {
        backend: "runner",
        message: format!("the working tree {} is gone", tree.display()),
        source: None,
        retry: Retryability::Permanent,
    })
}
