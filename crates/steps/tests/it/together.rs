//! Scripts that end only if they run concurrently.

use std::path::Path;

/// Returns a script that waits, for a limited time, until it and all others have started.
pub(crate) fn until_all_there(directory: &Path, number: usize, all: usize) -> String {
    let directory = directory.display();
    format!(
        "touch '{directory}/there-{number}'; n=0; set -- '{directory}'/*; \
         while [ $# -lt {all} ]; do n=$((n+1)); [ $n -lt 6000 ] || exit 1; sleep 0.05; set -- '{directory}'/*; done"
    )
}
