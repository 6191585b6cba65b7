//! Tests without root privileges.

use crate::support::endpoints::socket;
use rustix::fs::Gid;
use rustix::process::{Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::os::unix::fs::MetadataExt;

/// The id of a user without files and privileges.
const NOBODY: u32 = 65534;

/// Drops all privileges of this thread, if it runs as root.
///
/// The thread may still use the engine of the tests, like a member of its group.
pub(crate) fn drop_privileges() {
    if !geteuid().is_root() {
        return;
    }
    let group = std::fs::metadata(socket()).unwrap().gid();
    set_thread_groups(&[Gid::from_raw(group)]).unwrap();
    let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_res_gid(gid, gid, gid).unwrap();
    set_thread_res_uid(uid, uid, uid).unwrap();
}

/// Runs a test in threads without privileges.
pub(crate) fn run_unprivileged<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let testing = std::thread::spawn(|| {
        drop_privileges();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .on_thread_start(drop_privileges)
            .enable_all()
            .build();
        runtime.unwrap().block_on(test());
    });
    if let Err(panic) = testing.join() {
        std::panic::resume_unwind(panic);
    }
}
