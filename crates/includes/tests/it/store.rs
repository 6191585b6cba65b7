//! The store on disk, and its checks.

use crate::questions::{at, body, commit, file, kept, page, tagged, tags, tree};
use includes::{Answer, Store, StoreSize};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn folder(dir: &Path, name: &str) -> Vec<PathBuf> {
    files(&dir.join("answers-1").join(name))
}

#[test]
fn stored_answer_is_returned() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path().join("cache"));
    let answers = [
        (commit("main"), tagged("abc", "W/\"1\"")),
        (tags(), body("")),
        (file("a.yml"), body("a\0\u{e4}\r\n")),
        (file("b.yml"), Answer::Absent),
        (tree(), body("a.yml\n")),
        (page("https://example.com/a"), body("a")),
    ];
    for (question, answer) in &answers {
        assert_eq!(store.get(question).unwrap(), None);
        store.put(question, &kept(answer.clone())).unwrap();
    }
    let other = Store::at(dir.path().join("cache"));
    for (question, answer) in answers {
        assert_eq!(other.get(&question).unwrap(), Some(kept(answer)));
    }
    assert_eq!(other.size().unwrap().answers, 6);
}

#[test]
fn equal_bodies_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    for name in ["a", "b", "c"] {
        store.put(&file(name), &kept(body("same"))).unwrap();
    }
    assert_eq!(folder(dir.path(), "bodies").len(), 1);
    assert_eq!(folder(dir.path(), "entries").len(), 3);
}

/// A kind of damage to a file.
type Damage = fn(&Path);

#[test]
fn damaged_body_is_ignored_and_replaced() {
    let question = file("a.yml");
    let damage: [(&str, Damage); 5] = [
        ("changed", |path| fs::write(path, "abd").unwrap()),
        ("cut", |path| fs::write(path, "ab").unwrap()),
        ("longer", |path| fs::write(path, "abcd").unwrap()),
        ("gone", |path| fs::remove_file(path).unwrap()),
        ("a link", |path| {
            let copy = path.with_extension("copy");
            fs::rename(path, &copy).unwrap();
            symlink(copy, path).unwrap();
        }),
    ];
    for (what, damage) in damage {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        store.put(&question, &kept(body("abc"))).unwrap();
        let path = &folder(dir.path(), "bodies")[0];
        damage(path);
        assert_eq!(store.get(&question).unwrap(), None, "{what}");
        assert!(fs::symlink_metadata(path).is_err(), "{what}: it is removed");
        assert_eq!(
            folder(dir.path(), "entries"),
            Vec::<PathBuf>::new(),
            "{what}"
        );
        store.put(&question, &kept(body("abc"))).unwrap();
        assert_eq!(
            store.get(&question).unwrap(),
            Some(kept(body("abc"))),
            "{what}"
        );
    }
}

#[test]
fn damaged_body_is_replaced_by_the_next_answer() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    store.put(&file("a.yml"), &kept(body("abc"))).unwrap();
    fs::write(&folder(dir.path(), "bodies")[0], "abd").unwrap();
    store.put(&file("b.yml"), &kept(body("abc"))).unwrap();
    for name in ["a.yml", "b.yml"] {
        assert_eq!(
            store.get(&file(name)).unwrap(),
            Some(kept(body("abc"))),
            "{name}"
        );
    }
}

#[test]
fn damaged_entry_is_ignored() {
    let question = file("a.yml");
    for text in [
        "",
        "{",
        "[]",
        "{\"key\":1}",
        "\0\0\0\0",
        &"[".repeat(60_000),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        store.put(&question, &kept(body("abc"))).unwrap();
        fs::write(&folder(dir.path(), "entries")[0], text).unwrap();
        assert_eq!(store.get(&question).unwrap(), None, "{text:.9}");
        assert_eq!(store.size().unwrap().answers, 0);
    }
}

#[test]
fn entry_answers_only_its_own_question() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    store.put(&file("a.yml"), &kept(body("a"))).unwrap();
    let entry = folder(dir.path(), "entries").remove(0);
    let text = fs::read(&entry).unwrap();
    store.put(&file("b.yml"), &kept(body("b"))).unwrap();
    let entries = folder(dir.path(), "entries");
    let other = entries.iter().find(|path| **path != entry).unwrap();
    fs::write(other, text).unwrap();
    assert_eq!(store.get(&file("b.yml")).unwrap(), None);
}

#[test]
fn store_is_private_and_has_no_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("state/cache");
    let store = Store::at(&cache);
    for url in [
        "https://user:hunter2@example.com/a.yml",
        "https://example.com/a.yml?token=hunter2",
        "https://example.com/a.yml#hunter2",
    ] {
        store
            .put(&page(url), &kept(body(url.split('/').next().unwrap())))
            .unwrap();
        assert!(store.get(&page(url)).unwrap().is_some());
    }
    let found = files(&cache);
    assert!(found.len() > 4, "{found:?}");
    for path in found {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        let parent = fs::metadata(path.parent().unwrap()).unwrap();
        assert_eq!(parent.mode() & 0o777, 0o700, "{}", path.display());
        let text = fs::read(&path).unwrap();
        let all = [path.to_string_lossy().into_owned().into_bytes(), text].concat();
        assert!(
            !all.windows(7).any(|it| it == b"hunter2"),
            "{}",
            path.display()
        );
    }
    assert!(!format!("{store:?}").contains("hunter2"));
}

#[test]
fn directory_of_another_user_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let check = |path: &Path, words: &str| {
        let store = Store::at(path);
        let question = file("a.yml");
        for refused in [
            store.get(&question).err(),
            store.put(&question, &kept(body("a"))).err(),
            store.forget(&question).err(),
            store.size().err(),
            store.clean().err(),
        ] {
            let refused = refused.unwrap().to_string();
            assert!(refused.contains(words), "{refused}");
            assert!(refused.contains(path.to_str().unwrap()), "{refused}");
        }
    };
    let link = dir.path().join("link");
    let target = dir.path().join("target");
    fs::create_dir(&target).unwrap();
    symlink(&target, &link).unwrap();
    check(&link, "it is a symbolic link");
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    check(&file, "it is not a directory");
    let inner = dir.path().join("inner");
    fs::create_dir(&inner).unwrap();
    symlink(&target, inner.join("answers-1")).unwrap();
    let refused = Store::at(&inner).get(&commit("main")).unwrap_err();
    assert!(refused.to_string().contains("symbolic link"), "{refused}");
    if rustix::process::geteuid().is_root() {
        let other = dir.path().join("other");
        fs::create_dir(&other).unwrap();
        std::os::unix::fs::chown(&other, Some(1234), None).unwrap();
        check(&other, "it belongs to another user");
    }
    assert_eq!(files(&target), Vec::<PathBuf>::new());
}

#[test]
fn permissive_directory_is_made_private() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let store = Store::at(dir.path());
    store.put(&commit("main"), &kept(body("a"))).unwrap();
    assert_eq!(fs::metadata(dir.path()).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn least_recently_used_answers_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let budget = 800 << 10;
    let store = Store::at(dir.path()).with_budget(budget);
    let text = |number: usize| format!("{number:04}").repeat(2_500);
    for number in 0..100 {
        let question = file(&number.to_string());
        store.put(&question, &kept(body(&text(number)))).unwrap();
        // The answers are an hour apart, and the first is used each time.
        let age = |path: &Path, hours: u64| {
            let time = SystemTime::now() - Duration::from_secs(3600 * hours);
            fs::File::open(path).unwrap().set_modified(time).unwrap();
        };
        for folder_name in ["bodies", "entries"] {
            for path in folder(dir.path(), folder_name) {
                let modified = fs::metadata(&path).unwrap().modified().unwrap();
                let hours = modified.elapsed().unwrap_or_default().as_secs() / 3600;
                age(&path, hours + 2);
            }
        }
        store
            .get(&file("0"))
            .unwrap()
            .expect("it is used each time");
    }
    let blocks: u64 = ["bodies", "entries"]
        .iter()
        .flat_map(|name| folder(dir.path(), name))
        .map(|path| fs::metadata(path).unwrap().len().div_ceil(4096) * 4096)
        .sum();
    assert!(blocks <= budget, "{blocks}");
    assert!(blocks > budget / 2, "{blocks}");
    assert_eq!(store.get(&file("1")).unwrap(), None);
    assert!(store.get(&file("99")).unwrap().is_some());
    let growth = fs::metadata(dir.path().join("answers-1/growth")).unwrap();
    assert!(growth.len() * 4096 <= budget / 4, "{}", growth.len());
}

#[test]
fn too_large_answer_is_not_stored() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path().join("cache")).with_budget(1000);
    store
        .put(&commit("main"), &kept(body(&"a".repeat(501))))
        .unwrap();
    assert_eq!(store.get(&commit("main")).unwrap(), None);
}

#[test]
fn clean_removes_everything() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let store = Store::at(&cache);
    assert_eq!(store.clean().unwrap(), StoreSize::default());
    assert!(!cache.exists());
    store.put(&file("a"), &kept(body("a"))).unwrap();
    store.put(&file("b"), &kept(body("b"))).unwrap();
    let size = store.size().unwrap();
    assert_eq!(size.answers, 2);
    assert!(size.bytes > 2, "{size:?}");
    assert_eq!(store.clean().unwrap(), size);
    assert_eq!(files(&cache), Vec::<PathBuf>::new());
    assert_eq!(store.size().unwrap(), StoreSize::default());
    store.put(&file("a"), &kept(body("a"))).unwrap();
    assert!(store.get(&file("a")).unwrap().is_some());
}

#[test]
fn files_of_dead_writers_are_removed_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    Store::at(dir.path())
        .put(&file("a"), &kept(body("a")))
        .unwrap();
    let temp = dir.path().join("answers-1/temp");
    let old = SystemTime::now() - Duration::from_secs(61);
    let make = |name: &str| {
        let file = fs::File::create(temp.join(name)).unwrap();
        (name == "old").then(|| file.set_modified(old).unwrap());
        file
    };
    // No process has such an id.
    let (_dead, _foreign) = (make("4194999-0-0"), make("old"));
    let _new = make(&format!("{}-9-1", std::process::id()));
    let at_work = make("4194998-0-0");
    at_work.lock().unwrap();
    Store::at(dir.path())
        .put(&file("b"), &kept(body("b")))
        .unwrap();
    let names = files(&temp);
    let names: Vec<_> = names.iter().map(|it| it.file_name().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(
        names.contains(&std::ffi::OsStr::new("4194998-0-0")),
        "{names:?}"
    );
}

#[test]
fn times_survive_to_the_millisecond() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    let mut answer = kept(body("a"));
    answer.checked = at(5) + Duration::from_millis(7);
    store.put(&file("a"), &answer).unwrap();
    assert_eq!(
        store.get(&file("a")).unwrap().unwrap().checked,
        answer.checked
    );
}
