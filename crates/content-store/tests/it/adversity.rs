//! Links, damage, limits and other processes.

use crate::support::{Bench, write};
use content_store::StoreError;
use executor_core::{CancelCause, Cancellation};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

#[test]
fn restore_writes_nothing_outside_the_directory() {
    let bench = Bench::new();
    bench.write("dir/file", "new");
    bench.write("file", "new");
    symlink("target", bench.source().join("link")).expect("linked");
    let kept = bench.keep(&["dir/file", "file", "link"]);
    let outside = bench.root.path().join("outside");
    fs::create_dir(&outside).expect("made");
    let precious = write(&outside.join("precious"), "old");
    // A symbolic or hard link in the place of a file is replaced.
    symlink(&precious, bench.target().join("file")).expect("linked");
    fs::hard_link(&precious, bench.target().join("link")).expect("linked");
    bench.restore(kept.tree()).expect("restored");
    assert_eq!(fs::read_to_string(&precious).expect("read"), "old");
    assert_eq!(
        fs::read_to_string(bench.target().join("file")).expect("read"),
        "new"
    );
    // A link in the place of a directory is not followed, wherever it points.
    for to in [outside.as_path(), Path::new("elsewhere")] {
        fs::create_dir_all(bench.target().join("elsewhere")).expect("made");
        let _ = fs::remove_dir_all(bench.target().join("dir"));
        let _ = fs::remove_file(bench.target().join("dir"));
        symlink(to, bench.target().join("dir")).expect("linked");
        let refused = bench.restore(kept.tree());
        let Err(StoreError::ThroughLink { path }) = &refused else {
            panic!("{refused:?}");
        };
        assert_eq!(path, Path::new("dir"));
        assert!(!outside.join("file").exists());
    }
    let check = |refused: Result<(), StoreError>, path: &str| {
        let Err(StoreError::InTheWay { path: found }) = &refused else {
            panic!("{refused:?}");
        };
        assert_eq!(found, Path::new(path));
    };
    fs::remove_file(bench.target().join("dir")).expect("removed");
    write(&bench.target().join("dir"), "a file");
    check(bench.restore(kept.tree()), "dir");
    fs::remove_file(bench.target().join("dir")).expect("removed");
    fs::create_dir_all(bench.target().join("dir/file")).expect("made");
    check(bench.restore(kept.tree()), "dir/file");
}

#[test]
fn keep_follows_no_link() {
    let bench = Bench::new();
    let outside = bench.root.path().join("outside");
    write(&outside.join("secret"), "x");
    symlink(&outside, bench.source().join("way")).expect("linked");
    let refused = bench.try_keep(&["way/secret"]);
    assert!(
        matches!(&refused, Err(StoreError::ThroughLink { path }) if path == Path::new("way")),
        "{refused:?}"
    );
    for path in ["../outside/secret", "/etc/passwd", "", "a/../b"] {
        let refused = bench.try_keep(&[path]);
        assert!(
            matches!(&refused, Err(StoreError::Path { .. })),
            "{path}: {refused:?}"
        );
    }
    let refused = bench.try_keep(&["missing"]).expect_err("it is missing");
    assert_eq!(refused.to_string(), "read missing");
    assert_eq!(bench.stored_below("trees") + bench.stored_below("tmp"), 0);
}

#[test]
fn missing_paths_are_left_out_on_request() {
    let bench = Bench::new();
    for path in ["dir/file", "a"] {
        bench.write(path, "x");
    }
    let paths = ["a", "b", "dir/file", "dir/gone", "lost/x", "lost/y"].map(PathBuf::from);
    let nobody_stops = Cancellation::new();
    let kept = bench
        .store
        .keep_what_is_there(&bench.source(), &paths, &nobody_stops);
    let kept = kept.expect("kept");
    let names: Vec<_> = kept.tree().entries().iter().map(|it| &it.path).collect();
    assert_eq!(names, ["a", "dir", "dir/file"].map(Path::new));
    let vanished = ["b", "dir/gone", "lost", "lost/x", "lost/y"].map(Path::new);
    assert_eq!(kept.vanished(), vanished);
    // Other errors are still returned.
    symlink("dir", bench.source().join("way")).expect("linked");
    let refused =
        bench
            .store
            .keep_what_is_there(&bench.source(), &["way/file".into()], &nobody_stops);
    assert!(
        matches!(&refused, Err(StoreError::ThroughLink { .. })),
        "{refused:?}"
    );
}

#[test]
fn pipes_are_refused_without_waiting_for_a_writer() {
    let bench = Bench::new();
    let pipe = bench.source().join("pipe");
    let mode = rustix::fs::Mode::RWXU;
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).expect("made");
    let refused = bench.try_keep(&["pipe"]).expect_err("it is a pipe");
    assert_eq!(refused.to_string(), "read pipe");
}

#[test]
fn damaged_objects_and_trees_are_refused() {
    let bench = Bench::new();
    bench.write("a", "content");
    let kept = bench.keep(&["a"]);
    let object = bench
        .stored()
        .into_iter()
        .find(|path| path.starts_with("objects"))
        .expect("an object");
    let object = bench.store.path().join(object);
    fs::write(&object, "cont").expect("written");
    let refused = bench.restore(kept.tree()).expect_err("it is torn");
    assert_eq!(refused.to_string(), "restore a");
    fs::write(&object, "CONTENT").expect("written");
    let refused = bench.store.verify(kept.tree()).expect_err("it is changed");
    assert!(refused.to_string().contains("another digest"), "{refused}");
    // Storing the same content again replaces a torn object.
    fs::write(&object, "").expect("written");
    bench.keep(&["a"]);
    bench.store.verify(kept.tree()).expect("whole again");
    let tree = bench
        .store
        .path()
        .join("trees")
        .join(kept.tree().digest().to_string());
    let text = fs::read_to_string(&tree).expect("read");
    for damage in [
        text.replace(" a\n", " ../a\n"),
        String::new(),
        "\u{0}".to_owned(),
    ] {
        fs::write(&tree, damage).expect("written");
        let refused = bench.store.tree(kept.tree().digest());
        assert!(
            matches!(&refused, Err(StoreError::Damaged { .. })),
            "{refused:?}"
        );
    }
    // A tree with a matching digest, but with invalid paths.
    let forged = text.replace(" a\n", " ../a\n");
    let digest = content_store::Digest::of(forged.as_bytes());
    fs::write(tree.with_file_name(digest.to_string()), forged).expect("written");
    let refused = bench.store.tree(digest);
    assert!(
        matches!(&refused, Err(StoreError::Damaged { .. })),
        "{refused:?}"
    );
}

#[test]
fn cancelled_calls_publish_nothing() {
    let bench = Bench::new();
    bench.write("a", "a");
    let kept = bench.keep(&["a"]);
    let stopped = Cancellation::new();
    stopped.cancel(CancelCause::User);
    let check = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::Stopped)), "{result:?}");
    };
    check(bench.store.restore(kept.tree(), &bench.target(), &stopped));
    check(
        bench
            .store
            .keep(&bench.source(), &["a".into()], &stopped)
            .map(drop),
    );
    check(bench.store.layer(kept.tree(), &stopped).map(drop));
    assert_eq!(bench.stored_below("tmp") + bench.stored_below("layers"), 0);
}

#[test]
fn concurrent_keeps_and_sweeps_succeed() {
    let bench = Bench::new();
    for number in 0..40 {
        bench.write(&format!("f{number}"), format!("{}", number % 10));
    }
    let names: Vec<String> = (0..40).map(|number| format!("f{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    std::thread::scope(|scope| {
        for part in names.chunks(10) {
            let bench = &bench;
            scope.spawn(move || {
                for round in 0..20 {
                    let kept = bench.keep(part);
                    let into = bench.root.path().join(format!("{}{round}", part[0]));
                    fs::create_dir(&into).expect("made");
                    let nobody_stops = Cancellation::new();
                    bench
                        .store
                        .restore(kept.tree(), &into, &nobody_stops)
                        .expect("restored");
                    bench
                        .store
                        .layer(kept.tree(), &nobody_stops)
                        .expect("a layer");
                    bench.store.verify(kept.tree()).expect("whole");
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..50 {
                bench.sweep(&[]);
            }
        });
    });
    bench.sweep(&[]).expect("nobody keeps");
    assert_eq!(bench.stored().len(), 0);
}
