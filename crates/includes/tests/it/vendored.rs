//! The lock file together with its texts.

use crate::program::records;
use crate::questions::{SHA, body, commit, file, page, tags};
use includes::{
    Answer, ChangedText, Digest, LibraryError, LockFile, Question, Record, VendorReport, Vendored,
    Written,
};
use std::fs;
use std::path::Path;

fn record(question: Question, answer: Answer) -> Record {
    Record {
        question,
        answer: Some(Ok(answer)),
    }
}

fn names(top: &Path) -> Vec<String> {
    let entries = fs::read_dir(top.join(LockFile::TEXTS)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn lock_file_is_readable_and_has_no_secret() {
    let top = tempfile::tempdir().unwrap();
    let answers = [
        record(
            page("https://user:hunter2@example.com/p.yml?hunter2"),
            body("p"),
        ),
        record(file("b.yml"), Answer::Absent),
        record(file("a.yml"), body("a")),
        record(commit("main"), body(SHA)),
        Record {
            question: commit("gone"),
            answer: Some(Err(LibraryError::NoReference("gone".to_owned()))),
        },
        // Temporary failures are not locked.
        Record {
            question: commit("other"),
            answer: Some(Err(LibraryError::Unavailable("asleep".to_owned()))),
        },
    ];
    Vendored::write(top.path(), &answers, None).unwrap();
    let text = fs::read_to_string(top.path().join(LockFile::NAME)).unwrap();
    assert_eq!(
        text,
        r#"# What this project's includes were when `runwright vendor` was run last.
# The texts are in .runwright/vendor; both belong into the repository. Do not edit.

version = 1

[[commit]]
instance = "gitlab.example.com"
project = "group/project"
reference = "gone"
no-reference = true

[[commit]]
instance = "gitlab.example.com"
project = "group/project"
reference = "main"
sha = "0123456789abcdef0123456789abcdef01234567"

[[file]]
instance = "gitlab.example.com"
project = "group/project"
sha = "0123456789abcdef0123456789abcdef01234567"
path = "a.yml"
digest = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
size = 1
text = "ca978112ca1bbdca-a.yml"

[[file]]
instance = "gitlab.example.com"
project = "group/project"
sha = "0123456789abcdef0123456789abcdef01234567"
path = "b.yml"
absent = true

[[page]]
address = "https://example.com/p.yml"
address-digest = "4db87b9ab79f4b0cf42d4d2f2e8f5f6bb4d7b1d2a1d7a2c7b6f9a5d5b1e0c0de"
digest = "148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940"
size = 1
text = "148de9c5a7a44d19-p.yml"
"#
        .replace(
            "4db87b9ab79f4b0cf42d4d2f2e8f5f6bb4d7b1d2a1d7a2c7b6f9a5d5b1e0c0de",
            &Digest::of(b"https://user:hunter2@example.com/p.yml?hunter2").to_string()
        )
    );
    assert_eq!(
        names(top.path()),
        [
            ".gitattributes",
            "148de9c5a7a44d19-p.yml",
            "ca978112ca1bbdca-a.yml"
        ]
    );
}

#[test]
fn second_write_is_equal_and_removes_old_texts() {
    let top = tempfile::tempdir().unwrap();
    let old = records(false);
    let written = Vendored::write(top.path(), &old, None).unwrap();
    let expect = |answers, added, removed, changed| Written {
        answers,
        added,
        removed,
        changed,
    };
    assert_eq!(written, expect(3, 2, 0, true));
    let lock = fs::read(top.path().join(LockFile::NAME)).unwrap();
    let mut turned = old.clone();
    turned.reverse();
    assert_eq!(
        Vendored::write(top.path(), &turned, None).unwrap(),
        expect(3, 0, 0, false)
    );
    assert_eq!(fs::read(top.path().join(LockFile::NAME)).unwrap(), lock);
    // Git may have converted the line ends, and would do so again.
    let dos = fs::read_to_string(top.path().join(LockFile::NAME)).unwrap();
    let dos = dos.replace('\n', "\r\n");
    fs::write(top.path().join(LockFile::NAME), &dos).unwrap();
    assert!(!Vendored::write(top.path(), &old, None).unwrap().changed);
    assert_eq!(
        fs::read_to_string(top.path().join(LockFile::NAME)).unwrap(),
        dos
    );
    // Other files are kept and not reported.
    fs::write(top.path().join(LockFile::TEXTS).join("README"), "").unwrap();
    fs::write(top.path().join(LockFile::TEXTS).join(".new-7"), "").unwrap();
    assert_eq!(
        Vendored::write(top.path(), &records(true), None).unwrap(),
        expect(3, 1, 1, true)
    );
    let names = names(top.path());
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(names.contains(&"README".to_owned()), "{names:?}");
    assert!(Vendored::check(top.path(), None, None).unwrap().is_clean());
}

#[test]
fn check_finds_differences() {
    let top = tempfile::tempdir().unwrap();
    let records = [
        record(file("a.yml"), body("a")),
        record(file("b.yml"), body("b")),
        record(commit("main"), body(SHA)),
    ];
    Vendored::write(top.path(), &records, None).unwrap();
    let questions: Vec<_> = records.iter().map(|it| it.question.clone()).collect();
    let check =
        |questions: Option<&[Question]>| Vendored::check(top.path(), questions, None).unwrap();
    assert!(check(None).is_clean());
    assert_eq!(check(Some(&questions)), VendorReport::default());
    let other = [file("a.yml"), file("b.yml"), tags(), tags()];
    assert_eq!(
        check(Some(&other)),
        VendorReport {
            unlocked: vec!["the tags of https://gitlab.example.com/group/project".to_owned()],
            unasked: vec!["the commit of `main` in gitlab.example.com/group/project".to_owned()],
            ..VendorReport::default()
        }
    );
    let texts = top.path().join(LockFile::TEXTS);
    let [_, b, a] = &names(top.path())[..] else {
        panic!("{:?}", names(top.path()));
    };
    fs::write(texts.join(a), "changed").unwrap();
    fs::remove_file(texts.join(b)).unwrap();
    fs::write(texts.join("0123456789abcdef-c.yml"), "").unwrap();
    let report = check(Some(&questions));
    assert_eq!(
        report,
        VendorReport {
            missing: vec![format!(".runwright/vendor/{b}")],
            changed: vec![ChangedText {
                path: format!(".runwright/vendor/{a}"),
                locked: Digest::of(b"a"),
                found: Some(Digest::of(b"changed")),
            }],
            superfluous: vec![".runwright/vendor/0123456789abcdef-c.yml".to_owned()],
            ..VendorReport::default()
        }
    );
    assert!(!report.is_clean());
    fs::remove_dir_all(&texts).unwrap();
    assert_eq!(check(None).missing.len(), 2);
}

#[test]
fn check_without_a_lock_file_fails_if_there_are_questions() {
    let top = tempfile::tempdir().unwrap();
    for none in [None, Some(&[][..])] {
        assert!(Vendored::check(top.path(), none, None).unwrap().is_clean());
    }
    let error = Vendored::check(top.path(), Some(&[tags()]), None).unwrap_err();
    assert_eq!(error.to_string(), ".runwright.lock: it does not exist");
    assert_eq!(error.help.as_deref(), Some("`runwright vendor` writes it"));
}

#[test]
fn links_are_not_written_through() {
    for link in [".runwright", ".runwright/vendor"] {
        let top = tempfile::tempdir().unwrap();
        let target = tempfile::tempdir().unwrap();
        let link = top.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target.path(), &link).unwrap();
        let error = Vendored::write(top.path(), &records(true), None).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("not a directory of the project itself"),
            "{error}"
        );
        let help = "remove it; then `runwright vendor` writes it anew";
        assert_eq!(error.help.as_deref(), Some(help));
        assert!(!error.is_of_machine);
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
        assert!(!top.path().join(LockFile::NAME).exists());
    }
}

#[test]
fn link_in_place_of_the_lock_file_is_replaced() {
    let top = tempfile::tempdir().unwrap();
    let target = top.path().join("target");
    fs::write(&target, "mine").unwrap();
    std::os::unix::fs::symlink(&target, top.path().join(LockFile::NAME)).unwrap();
    Vendored::write(top.path(), &records(true), None).unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    assert!(Vendored::check(top.path(), None, None).unwrap().is_clean());
}

#[test]
fn concurrent_vendor_is_refused() {
    let top = tempfile::tempdir().unwrap();
    Vendored::write(top.path(), &records(false), None).unwrap();
    let folder = fs::File::open(top.path().join(LockFile::TEXTS)).unwrap();
    folder.lock().unwrap();
    let error = Vendored::write(top.path(), &records(true), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        ".runwright/vendor: another `runwright vendor` writes here"
    );
    assert!(error.is_of_machine);
    // A process that another test starts may hold a copy for a moment.
    folder.unlock().unwrap();
    drop(folder);
    Vendored::write(top.path(), &records(true), None).unwrap();
}
