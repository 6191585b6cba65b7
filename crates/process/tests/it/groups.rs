//! Reuse and removal of cgroups.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use process::{Containment, ProcessTree, Supervisor};

use crate::support::{run, run_group, sh, supervisor, until};

/// Returns the cgroup whose leaf a process of the tree is in.
async fn job_group(tree: &ProcessTree, run_group: &Path) -> PathBuf {
    let (_, output) = run(tree, &sh("cat /proc/self/cgroup")).await;
    let mut memberships = output.stdout.lines();
    let member = memberships.find_map(|line| line.strip_prefix("0::"));
    let mut parts = Path::new(member.unwrap()).components().rev();
    run_group.join(parts.nth(1).unwrap())
}

/// Closes a tree after `spoil` changed its cgroup, and asserts that no other tree gets the cgroup.
async fn check_spoiled(supervisor: &Supervisor, run_group: &Path, spoil: impl AsyncFnOnce(&Path)) {
    let tree = supervisor.tree();
    let group = job_group(&tree, run_group).await;
    spoil(&group).await;
    tree.close().await.unwrap();
    let next = supervisor.tree();
    assert_ne!(job_group(&next, run_group).await, group);
    assert!(!group.exists(), "{}", group.display());
    tree.close().await.unwrap();
    next.kill();
    next.close().await.unwrap();
}

#[tokio::test]
async fn cgroup_of_a_closed_tree_is_reused_and_removed_with_the_run() {
    let supervisor = supervisor(Containment::Auto);
    let Some(run_group) = run_group(&supervisor) else {
        return;
    };
    let (first, second) = (supervisor.tree(), supervisor.tree());
    assert!(first.is_contained());
    let group = job_group(&first, &run_group).await;
    assert_ne!(job_group(&second, &run_group).await, group);
    first.close().await.unwrap();
    first.close().await.unwrap();
    let third = supervisor.tree();
    assert_eq!(job_group(&third, &run_group).await, group);
    // A closed tree has no access to its former cgroup.
    first.kill();
    let (outcome, _) = run(&third, &sh("exit 3")).await;
    assert_eq!(outcome.status.to_string(), "exit code 3");
    third.close().await.unwrap();
    supervisor.shutdown().await.unwrap();
    assert!(!run_group.exists());
}

#[tokio::test]
async fn changed_cgroup_is_not_reused() {
    let supervisor = supervisor(Containment::Auto);
    let Some(run_group) = run_group(&supervisor) else {
        return;
    };
    let frozen = async |group: &Path| {
        let leaf = group.join("1");
        fs::write(leaf.join("cgroup.freeze"), "1").unwrap();
        let events = || fs::read_to_string(leaf.join("cgroup.events")).unwrap();
        until("the leaf to freeze", || events().contains("frozen 1")).await;
    };
    check_spoiled(&supervisor, &run_group, frozen).await;
    let killed = supervisor.tree();
    let group = job_group(&killed, &run_group).await;
    killed.kill();
    killed.close().await.unwrap();
    assert!(!group.exists());
    for (file, value) in [
        ("cgroup.max.depth", "1"),
        ("cgroup.max.descendants", "1"),
        ("1/cgroup.max.descendants", "0"),
    ] {
        let limited = async |group: &Path| fs::write(group.join(file), value).unwrap();
        check_spoiled(&supervisor, &run_group, limited).await;
    }
    let of_threads = async |group: &Path| {
        fs::write(group.join("1/cgroup.type"), "threaded").unwrap();
    };
    check_spoiled(&supervisor, &run_group, of_threads).await;
    let closed = async |group: &Path| {
        let mode = fs::Permissions::from_mode(0o400);
        fs::set_permissions(group.join("1/cgroup.procs"), mode).unwrap();
    };
    check_spoiled(&supervisor, &run_group, closed).await;
    let divided = async |group: &Path| fs::create_dir(group.join("1/inner")).unwrap();
    check_spoiled(&supervisor, &run_group, divided).await;
    let more = async |group: &Path| fs::create_dir(group.join("inner")).unwrap();
    check_spoiled(&supervisor, &run_group, more).await;
    supervisor.shutdown().await.unwrap();
    assert!(!run_group.exists());
}

#[tokio::test]
async fn cgroup_changed_while_unused_is_not_reused() {
    let supervisor = supervisor(Containment::Auto);
    let Some(run_group) = run_group(&supervisor) else {
        return;
    };
    let first = supervisor.tree();
    let group = job_group(&first, &run_group).await;
    first.close().await.unwrap();
    assert!(group.exists());
    fs::write(group.join("cgroup.max.depth"), "1").unwrap();
    let next = supervisor.tree();
    assert_ne!(job_group(&next, &run_group).await, group);
    assert!(!group.exists());
    next.close().await.unwrap();
    supervisor.shutdown().await.unwrap();
}
