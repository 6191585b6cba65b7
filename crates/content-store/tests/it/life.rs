//! Storing, restoring, layers and sweeps.

use crate::support::{Bench, files_below, write};
use content_store::StoreError;
use executor_core::Cancellation;
use std::fs::{self, FileTimes, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

fn set(path: &Path, mode: u32) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(981_173_106, 123_456_789);
    let file = fs::File::open(path).expect("opened");
    file.set_times(FileTimes::new().set_modified(time))
        .expect("set");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
}

fn look(path: &Path) -> (u32, i64, i64) {
    let metadata = fs::symlink_metadata(path).expect("there");
    (
        metadata.mode() & 0o7777,
        metadata.mtime(),
        metadata.mtime_nsec(),
    )
}

/// Creates one entry of each kind, and returns their names.
fn one_of_everything(bench: &Bench) -> [&'static str; 6] {
    let plain = bench.write("dir/plain", "plain");
    bench.write("dir/same", "plain");
    let closed = bench.write("closed/file", vec![7; 600_000]);
    fs::create_dir(bench.source().join("empty")).expect("made");
    symlink("/nowhere/at all", bench.source().join("dir/link")).expect("linked");
    bench.write("dir/unasked", "not kept");
    set(&plain, 0o4751);
    set(&closed, 0o600);
    set(closed.parent().expect("a parent"), 0o500);
    set(&bench.source().join("empty"), 0o711);
    [
        "dir/plain",
        "dir/same",
        "closed/file",
        "empty",
        "dir/link",
        "dir",
    ]
}

fn check_everything(at: &Path) {
    assert_eq!(
        look(&at.join("dir/plain")),
        (0o751, 981_173_106, 123_456_789)
    );
    assert_eq!(
        look(&at.join("closed/file")),
        (0o600, 981_173_106, 123_456_789)
    );
    assert_eq!(look(&at.join("closed")), (0o500, 981_173_106, 123_456_789));
    assert_eq!(look(&at.join("empty")), (0o711, 981_173_106, 123_456_789));
    assert_eq!(fs::read(at.join("dir/same")).expect("read"), b"plain");
    assert_eq!(
        fs::read(at.join("closed/file")).expect("read"),
        vec![7; 600_000]
    );
    let link = fs::read_link(at.join("dir/link")).expect("a link");
    assert_eq!(link, Path::new("/nowhere/at all"));
    assert!(!at.join("dir/unasked").exists());
}

#[test]
fn restored_tree_equals_the_stored_one() {
    let bench = Bench::new();
    let names = one_of_everything(&bench);
    let kept = bench.keep(&names);
    assert_eq!((kept.tree().files(), kept.tree().bytes()), (4, 600_010));
    let read = bench.store.tree(kept.tree().digest()).expect("read");
    assert_eq!(&read, kept.tree());
    // Twice: a directory that the first restore made read-only must accept the same files again.
    for _ in 0..2 {
        bench.restore(&read).expect("restored");
        check_everything(&bench.target());
    }
    bench.store.verify(&read).expect("whole");
    fs::set_permissions(bench.target().join("closed"), Permissions::from_mode(0o700)).expect("set");
    fs::set_permissions(bench.source().join("closed"), Permissions::from_mode(0o700)).expect("set");
}

#[test]
fn holes_stay_holes_in_the_store_and_when_restored() {
    let bench = Bench::new();
    let size = 60_000_000;
    for (name, text) in [("end", "x"), ("image", "data")] {
        let path = bench.source().join(name);
        let file = fs::File::create(&path).expect("made");
        file.set_len(size).expect("made long");
        file.write_all_at(text.as_bytes(), size / 2)
            .expect("written");
        if name == "end" {
            file.write_all_at(text.as_bytes(), size).expect("written");
        }
    }
    let kept = bench.keep(&["end", "image"]);
    bench.restore(kept.tree()).expect("restored");
    let room = 4 << 20;
    let whole = bench.target().join("image");
    let found = fs::metadata(&whole).expect("there");
    assert_eq!(found.len(), size);
    let mut read = [0; 6];
    let file = fs::File::open(&whole).expect("there");
    file.read_exact_at(&mut read, size / 2 - 1).expect("read");
    assert_eq!(&read, b"\0data\0");
    let end = fs::metadata(bench.target().join("end")).expect("there");
    assert_eq!(end.len(), size + 1);
    for (at, what) in [
        (bench.target(), "restored"),
        (bench.store.path().to_owned(), "kept"),
    ] {
        let blocks = room_below(&at);
        assert!(blocks < room, "{what}: {blocks}");
    }
    bench.store.verify(kept.tree()).expect("whole");
}

/// Returns the disk usage of a directory in bytes.
fn room_below(path: &Path) -> u64 {
    let found = fs::symlink_metadata(path).expect("there");
    let own = found.blocks() * 512;
    if !found.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path)
        .expect("read")
        .map(|it| it.expect("read"));
    own + entries.map(|it| room_below(&it.path())).sum::<u64>()
}

#[test]
fn equal_content_is_stored_once() {
    let bench = Bench::new();
    for number in 0..200 {
        bench.write(
            &format!("d{}/f{number}", number % 7),
            format!("{}", number % 3),
        );
    }
    bench.write("large", vec![1; 1_000_000]);
    bench.write("large too", vec![1; 1_000_000]);
    let all: Vec<String> = files_below(&bench.source())
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let first = bench.keep(&all);
    let second = bench.keep(&all[..50]);
    assert_eq!(first.tree().files(), 202);
    assert_ne!(first.tree().digest(), second.tree().digest());
    assert_eq!(bench.stored_below("objects"), 4);
    assert_eq!(bench.stored_below("trees"), 2);
    assert_eq!(bench.stored_below("tmp"), 0);
    for path in bench.stored() {
        let (mode, ..) = look(&bench.store.path().join(&path));
        assert_eq!(mode, 0o600, "{}", path.display());
    }
    assert_eq!(look(bench.store.path()).0, 0o700);
}

#[test]
fn layers_match_their_trees_and_stay_while_in_use() {
    let bench = Bench::new();
    let names = one_of_everything(&bench);
    let kept = bench.keep(&names);
    let layer = bench
        .store
        .layer(kept.tree(), &Cancellation::new())
        .expect("a layer");
    check_everything(layer.path());
    // Files with equal content have separate inodes.
    let inode = |name: &str| fs::metadata(layer.path().join(name)).expect("there").ino();
    assert_ne!(inode("dir/plain"), inode("dir/same"));
    let again = bench
        .store
        .layer(kept.tree(), &Cancellation::new())
        .expect("a layer");
    assert_eq!(again.path(), layer.path());
    // Equal content with other permissions: each layer has its own copy.
    let plain = bench.source().join("dir/plain");
    fs::set_permissions(&plain, Permissions::from_mode(0o600)).expect("set");
    let changed = bench.keep(&["dir/plain"]);
    let other = bench
        .store
        .layer(changed.tree(), &Cancellation::new())
        .expect("a layer");
    assert_eq!(look(&other.path().join("dir/plain")).0, 0o600);
    check_everything(layer.path());
    bench.store.verify(kept.tree()).expect("whole");
    // A sweep leaves layers that are in use.
    let digest = kept.tree().digest();
    drop((kept, changed, other));
    let swept = bench.sweep(&[]).expect("nobody keeps");
    assert_eq!((swept.layers, swept.trees, swept.objects), (1, 2, 2));
    check_everything(layer.path());
    drop((layer, again));
    assert_eq!(bench.sweep(&[digest]).expect("nobody keeps").layers, 1);
    assert_eq!(bench.stored(), Vec::<PathBuf>::new());
    fs::set_permissions(bench.source().join("closed"), Permissions::from_mode(0o700)).expect("set");
}

#[test]
fn sweep_removes_trees_and_objects_that_are_not_live() {
    let bench = Bench::new();
    bench.write("a", "a");
    bench.write("b", "b");
    bench.write("both", "both");
    let first = bench.keep(&["a", "both"]);
    let second = bench.keep(&["b", "both"]);
    let [first, second] = [first, second].map(|kept| kept.tree().clone());
    let swept = bench.sweep(&[second.digest()]).expect("nobody keeps");
    assert_eq!((swept.trees, swept.objects, swept.bytes), (1, 1, 1));
    bench.restore(&second).expect("restored");
    let gone = bench.store.tree(first.digest());
    assert!(matches!(gone, Err(StoreError::NoTree(_))), "{gone:?}");
    assert!(bench.restore(&first).is_err());
    bench.sweep(&[]).expect("nobody keeps");
    assert_eq!(bench.stored(), Vec::<PathBuf>::new());
}

#[test]
fn sweep_does_nothing_while_a_tree_is_held() {
    let bench = Bench::new();
    bench.write("a", "a");
    let kept = bench.keep(&["a"]);
    assert_eq!(bench.sweep(&[]), None);
    bench.restore(kept.tree()).expect("restored");
    drop(kept);
    assert_eq!(bench.sweep(&[]).expect("nobody keeps").trees, 1);
    let store = content_store::ContentStore::at(bench.root.path().join("none"));
    let swept = store.sweep(|| unreachable!("there is nothing to ask for"));
    assert_eq!(swept.expect("swept"), Some(content_store::Swept::default()));
}

#[test]
fn leftovers_of_killed_writers_are_removed() {
    let bench = Bench::new();
    bench.write("a", "a");
    let kept = bench.keep(&["a"]);
    let left = write(&bench.store.path().join("tmp/9-9/half/layer"), "x");
    bench.store.recover().expect("nothing to do now");
    assert!(left.exists(), "another process may be writing it");
    let digest = kept.tree().digest();
    drop(kept);
    bench.store.recover().expect("recovered");
    assert_eq!(bench.stored_below("tmp"), 0);
    write(&bench.store.path().join("tmp/9-9"), "x");
    bench.sweep(&[digest]).expect("nobody keeps");
    assert_eq!(bench.stored_below("tmp"), 0);
    bench
        .restore(&bench.store.tree(digest).expect("read"))
        .expect("restored");
}
