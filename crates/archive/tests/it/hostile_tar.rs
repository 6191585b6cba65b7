use crate::bytes::{entry, more, tar, tar_file};
use crate::refused::{check, check_untouched};
use crate::scratch::{Scratch, tree};
use archive::{ArchiveError, Limits};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn folder(name: &str) -> Vec<u8> {
    entry(b'5', name.as_bytes(), "", 0, b"")
}

fn link(name: &str, target: &str) -> Vec<u8> {
    entry(b'2', name.as_bytes(), target, 0, b"")
}

#[test]
fn valid_archive_is_unpacked() {
    let scratch = Scratch::new();
    let archive = [
        folder("./"),
        folder("d"),
        tar_file("d/f", "text"),
        link("l", "d/f"),
        entry(b'1', b"same", "d/f", 0, b""),
        more(b'x', "path", "another/name"),
        tar_file("x", "more"),
    ];
    scratch.unpack_bytes(&tar(&archive)).unwrap();
    assert_eq!(fs::read(scratch.target().join("l")).unwrap(), b"text");
    assert_eq!(fs::read(scratch.target().join("same")).unwrap(), b"text");
    assert_eq!(
        fs::read(scratch.target().join("another/name")).unwrap(),
        b"more"
    );
    // The setuid bit is dropped.
    let mode = fs::metadata(scratch.target().join("d/f"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o755);
}

#[test]
fn names_that_lead_out_are_refused() {
    // input 22
    let check = |name: &str, expect| check_untouched(&tar(&[tar_file(name, "text")]), expect);
    check("../../x", "leads out of the directory");
    check("/abs", "has an absolute name");
    check("C:\\x", "names a drive");
    check_untouched(
        &tar(&[more(b'x', "path", "../x"), tar_file("a", "")]),
        "leads out",
    );
    check_untouched(
        &tar(&[more(b'x', "path", "a\0b"), tar_file("a", "")]),
        "has a NUL",
    );
    let long = entry(b'L', b"././@LongLink", "", 5, b"../x\0");
    check_untouched(&tar(&[long, tar_file("a", "")]), "leads out");
}

#[test]
fn links_of_the_archive_are_not_followed() {
    // input 23
    check_untouched(
        &tar(&[link("d", "/tmp"), tar_file("d/f", "x")]),
        "leads out",
    );
    check_untouched(
        &tar(&[link("d", "e"), tar_file("d/f", "x")]),
        "lies behind a link",
    );
    // input 24
    let scratch = check(&tar(&[link("d", ".."), folder("d")]), "leads out");
    let before = fs::metadata(scratch.path().join("outside/a"))
        .unwrap()
        .permissions();
    assert_ne!(before.mode() & 0o7777, 0o4755);
    check_untouched(&tar(&[link("d", "e"), folder("d")]), "is there twice");
    check(&tar(&[folder("d"), link("d", "e")]), "is there twice");
    // A link that existed before is not followed either.
    let scratch = Scratch::new();
    let outside = scratch.path().join("precious");
    fs::create_dir(&outside).unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o711)).unwrap();
    std::os::unix::fs::symlink(&outside, scratch.target().join("d")).unwrap();
    let refused = scratch.unpack_bytes(&tar(&[folder("d")]));
    assert!(
        matches!(refused, Err(ArchiveError::Io { .. })),
        "{refused:?}"
    );
    let mode = fs::metadata(&outside).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o711);
}

#[test]
fn special_files_are_refused() {
    for (kind, expect) in [
        (b'3', "device"),
        (b'4', "device"),
        (b'6', "pipe"),
        (b'Z', "unknown kind"),
    ] {
        check_untouched(&tar(&[entry(kind, b"a", "", 0, b"")]), expect);
    }
    check_untouched(
        &tar(&[entry(b'1', b"a", "/etc/passwd", 0, b"")]),
        "absolute name",
    );
    check_untouched(
        &tar(&[entry(b'1', b"a", "b", 0, b"")]),
        "another name of what is no file",
    );
    check_untouched(
        &tar(&[link("l", "f"), entry(b'1', b"a", "l", 0, b"")]),
        "what is no file",
    );
    check(
        &tar(&[tar_file("a", "x"), tar_file("a", "y")]),
        "is there twice",
    );
    check_untouched(&tar(&[entry(b'S', b"a", "", 0, b"")]), "files with holes");
}

#[test]
fn contradictory_sizes_are_refused() {
    // input 25
    let hidden = tar_file("hidden", "x");
    let size = hidden.len().to_string();
    // The longer size counts: the bytes in it are content, not an entry.
    let scratch = Scratch::new();
    let file = [entry(b'0', b"a", "", 0, b""), hidden.clone()].concat();
    scratch
        .unpack_bytes(&tar(&[more(b'x', "size", &size), file]))
        .unwrap();
    assert_eq!(tree(&scratch.target()).len(), 1);
    assert_eq!(fs::read(scratch.target().join("a")).unwrap(), hidden);
    let file = [entry(b'0', b"a", "", 7, b"1234567"), hidden].concat();
    check_untouched(&tar(&[more(b'x', "size", &size), file]), "has two sizes");
    let folder = entry(b'5', b"d", "", 512, &[0; 512]);
    check_untouched(&tar(&[folder]), "has bytes, but is no file");
    check_untouched(
        &tar(&[more(b'x', "size", "1e9"), tar_file("a", "")]),
        "no number",
    );
    check_untouched(
        &tar(&[more(b'g', "size", "5"), tar_file("a", "")]),
        "all its entries alike",
    );
}

#[test]
fn damaged_archives_are_refused() {
    let mut wrong = tar_file("a", "text");
    wrong[0] = b'b';
    check_untouched(&tar(&[wrong]), "check sum");
    let whole = tar(&[tar_file("a", "text"), tar_file("b", "more")]);
    for length in 4..whole.len() {
        check(&whole[..length], "is damaged");
    }
    let no_end = zstd::encode_all(tar_file("a", "text").as_slice(), 1).unwrap();
    check(&no_end, "it ends too early");
    let endless = entry(b'L', b"././@LongLink", "", 1 << 30, b"");
    check_untouched(&tar(&[endless]), "what is said of an entry is too long");
}

#[test]
fn bombs_are_refused() {
    // input 26
    let mut bytes = entry(b'0', b"a", "", 300 << 20, b"");
    bytes.resize(bytes.len() + (300 << 20) + 1024, 0);
    let bomb = zstd::encode_all(bytes.as_slice(), 1).unwrap();
    check_untouched(&bomb, "unpacks to more than 2000 times its size");
    // A bomb after the end of the archive.
    let zeros = vec![0; 300 << 20];
    let bomb = zstd::encode_all(zeros.as_slice(), 1).unwrap();
    check_untouched(&bomb, "continues after its end");
    let scratch = Scratch::new();
    let limits = Limits {
        entries: 9,
        ..Limits::default()
    };
    let many: Vec<_> = (0..10)
        .map(|number| tar_file(&number.to_string(), ""))
        .collect();
    fs::write(scratch.archive(), tar(&many)).unwrap();
    let refused = scratch.unpack_within(&limits);
    assert!(
        matches!(refused, Err(ArchiveError::Entries(9))),
        "{refused:?}"
    );
}
