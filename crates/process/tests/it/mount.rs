//! Overlays, and removal of directories with mounts.

use std::fs;
use std::path::{Path, PathBuf};

use process::{Settings, Supervisor, can_mount, remove_job_tree, remove_tree};

use crate::runner::{mounts_below, overlay};
use crate::support::{BOTH, supervisor};

/// Returns whether this process may mount, and prints a notice if not.
fn may_mount() -> bool {
    if !can_mount() {
        executor_testkit::not_tested("mounts", "this process may not mount");
    }
    can_mount()
}

#[tokio::test]
async fn changes_in_an_overlay_do_not_reach_the_lower_layer() {
    if !may_mount() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mount = overlay(&supervisor(BOTH[0]), root.path());
    let target = mount.path().to_owned();
    assert_eq!(
        fs::read_to_string(target.join("old/file")).unwrap(),
        "from below"
    );
    fs::rename(target.join("old"), target.join("new")).unwrap();
    fs::write(target.join("new/file"), "changed").unwrap();
    fs::create_dir(target.join("old")).unwrap();
    assert_eq!(fs::read_dir(target.join("old")).unwrap().count(), 0);
    mount.unmount().await.unwrap();
    let below = root.path().join("lower/old/file");
    assert_eq!(fs::read_to_string(below).unwrap(), "from below");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    remove_tree(root.path()).unwrap();
}

#[tokio::test]
async fn busy_overlay_is_detached_with_its_mounts() {
    if !may_mount() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let supervisor = supervisor(BOTH[0]);
    let mount = overlay(&supervisor, root.path());
    let inner = mount.path().join("old");
    let _busy = fs::File::open(mount.path().join("old/file")).unwrap();
    let _unbind = bind(&root.path().join("scratch"), &inner);
    drop(mount);
    assert_eq!(mounts_below(root.path()), Vec::<String>::new());
    assert!(root.path().join("scratch").is_dir());
}

#[tokio::test]
async fn journal_has_a_mount_while_it_exists() {
    if !may_mount() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let settings = Settings {
        state_dir: Some(state.path().to_owned()),
        ..Settings::default()
    };
    let supervisor = Supervisor::start(settings).unwrap();
    let journal = state.path().join("journal").join(supervisor.id());
    let line = |sign: &str, path: &Path| format!("{sign}mount\t{}\n", path.display());
    let mount = overlay(&supervisor, root.path());
    let path = mount.path().to_owned();
    let text = fs::read_to_string(&journal).unwrap();
    assert!(text.ends_with(&line("", &path)), "{text}");
    mount.unmount().await.unwrap();
    let text = fs::read_to_string(&journal).unwrap();
    assert!(text.ends_with(&line("-", &path)), "{text}");
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn mount_inside_a_tree_is_never_emptied() {
    if !may_mount() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let theirs = root.path().join("theirs");
    let tree = root.path().join("tree");
    fs::create_dir_all(tree.join("point")).unwrap();
    fs::write(tree.join("file"), "x").unwrap();
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("kept"), "x").unwrap();
    // On the same file system, so that only the mount table distinguishes them.
    let _unbind = bind(&theirs, &tree.join("point"));
    assert!(remove_tree(&tree).is_err());
    assert!(remove_tree(&tree.join("point")).is_err());
    assert!(theirs.join("kept").exists());
    assert!(!tree.join("file").exists(), "the rest goes all the same");
}

#[tokio::test]
async fn mounts_on_files_are_detached_with_the_tree_of_a_job() {
    if !may_mount() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let (theirs, tree) = (root.path().join("theirs"), root.path().join("tree"));
    fs::create_dir(&tree).unwrap();
    fs::write(&theirs, "kept").unwrap();
    fs::write(tree.join("point"), "").unwrap();
    let _unbind = bind(&theirs, &tree.join("point"));
    assert!(remove_tree(&tree).is_err());
    remove_job_tree(&tree).unwrap();
    assert!(!tree.exists());
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "kept");
}

/// Mounts a directory or a file a second time until this is dropped.
fn bind(from: &Path, to: &Path) -> Bound {
    rustix::mount::mount_bind(from, to).unwrap();
    Bound(to.to_owned())
}

struct Bound(PathBuf);

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}
