//! Scripts that end only if they run at the same time.

use std::path::Path;

/// Returns a script that waits until it and all others of so many run; the patience of each has an end.
pub(crate) fn until_all_there(directory: &Path, number: usize, all: usize) -> String {
    let directory = directory.display();
    format!(
        "touch '{directory}/there-{number}'; n=0; set -- '{directory}'/*; \
         while [ $# -lt {all} ]; do n=$((n+1)); [ $n -lt 6000 ] || exit 1; sleep 0.05; set -- '{directory}'/*; done"
    )
}
