//! A host that is not root's.

use crate::support::endpoints::socket;
use rustix::fs::Gid;
use rustix::process::{Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::os::unix::fs::MetadataExt;

/// The number of who has no files and no rights.
const NOBODY: u32 = 65534;

/// Takes all rights from this thread; who is not root has none.
///
/// What is left is to use the engine of the tests, as members of its group may.
pub(crate) fn become_nobody() {
    if !geteuid().is_root() {
        return;
    }
    let group = std::fs::metadata(socket()).unwrap().gid();
    set_thread_groups(&[Gid::from_raw(group)]).unwrap();
    let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_res_gid(gid, gid, gid).unwrap();
    set_thread_res_uid(uid, uid, uid).unwrap();
}

/// Runs a test in threads that have no rights.
pub(crate) fn as_nobody<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let testing = std::thread::spawn(|| {
        become_nobody();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .on_thread_start(become_nobody)
            .enable_all()
            .build();
        runtime.unwrap().block_on(test());
    });
    if let Err(panic) = testing.join() {
        std::panic::resume_unwind(panic);
    }
}
