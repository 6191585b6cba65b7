//! One store in many processes.

use crate::program::program;
use crate::questions::{body, kept, page};
use includes::Store;
use std::fs;

#[test]
fn concurrent_readers_see_complete_files() {
    let dir = tempfile::tempdir().unwrap();
    let crowd: Vec<_> = (0..6)
        .map(|_| {
            program("crowd", dir.path())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut one in crowd {
        assert!(one.wait().unwrap().success());
    }
    let error = fs::read_to_string(dir.path().join("error"));
    assert!(error.is_err(), "{error:?}");
    let cache = dir.path().join("cache");
    // The last writer may have left the removal to another process that had listed the files before.
    let store = Store::at(&cache).with_budget(1 << 20);
    let last = kept(body(&"last;".repeat(50_000)));
    store.put(&page("https://example.com/last"), &last).unwrap();
    let size = store.size().unwrap();
    assert!((1..=21).contains(&size.answers), "{size:?}");
    assert!(size.bytes <= 1 << 20, "{size:?}");
    let temp = fs::read_dir(cache.join("answers-1/temp")).unwrap();
    assert_eq!(temp.count(), 0);
}
