use crate::bytes::{Member, zip, zip_that_says};
use crate::refused::{check, check_untouched};
use crate::scratch::Scratch;
use archive::{ArchiveError, Limits};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn valid_archive_is_unpacked() {
    let scratch = Scratch::new();
    let mut tool = Member::file("tool");
    tool.mode = 0o106_755;
    let archive = zip(&[Member::new("d/", 0o040_700, b""), tool, Member::file("d/f")]);
    let unpacked = scratch.unpack_bytes(&archive).unwrap();
    assert_eq!(unpacked.entries, 3);
    assert_eq!(fs::read(scratch.target().join("d/f")).unwrap(), b"text");
    // The setuid bit is dropped.
    let mode = fs::metadata(scratch.target().join("tool"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o755);
    let empty = Scratch::new();
    assert_eq!(empty.unpack_bytes(&zip(&[])).unwrap().entries, 0);
}

#[test]
fn names_that_lead_out_are_refused_before_anything_is_written() {
    // input 22
    let check = |name: &str, expect| {
        check_untouched(&zip(&[Member::file("a"), Member::file(name)]), expect);
    };
    check("../../x", "leads out of the directory");
    check("a/../../x", "leads out of the directory");
    check("/abs", "has an absolute name");
    check("C:\\x", "names a drive");
    check("a\\..\\b", "has a backslash in its name");
    check("a\0b", "has a NUL in its name");
    check("", "has no name");
}

#[test]
fn nothing_is_written_through_links_of_the_archive() {
    // input 23
    let outside = Member::link("d", "/tmp");
    let outside = zip(&[outside, Member::file("d/f")]);
    check_untouched(&outside, "leads out of the directory");
    let up = Member::link("d", "a/../..");
    check_untouched(&zip(&[up]), "leads out of the directory");
    let inside = Member::link("d", "e");
    check_untouched(
        &zip(&[inside.clone(), Member::file("d/f")]),
        "lies behind a link",
    );
    check_untouched(
        &zip(&[Member::file("d/f"), inside.clone()]),
        "is there twice",
    );
    let scratch = Scratch::new();
    scratch
        .unpack_bytes(&zip(&[inside, Member::file("e/f")]))
        .unwrap();
    assert_eq!(fs::read(scratch.target().join("d/f")).unwrap(), b"text");
}

#[test]
fn special_files_are_refused() {
    check_untouched(&zip(&[Member::new("p", 0o010_644, b"")]), "is a pipe");
    check_untouched(&zip(&[Member::new("d", 0o020_644, b"")]), "is a device");
    check_untouched(
        &zip(&[Member::file("a"), Member::file("a")]),
        "is there twice",
    );
    check_untouched(
        &zip(&[Member::file("a"), Member::file("./a")]),
        "is there twice",
    );
    check_untouched(
        &zip(&[Member::file("a"), Member::file("a/b")]),
        "below a file",
    );
    check_untouched(
        &zip(&[Member::link("l", &"x".repeat(5_000))]),
        "is a link to nowhere",
    );
}

#[test]
fn contradictory_records_are_refused() {
    // input 26
    let mut wrong = Member::file("a");
    wrong.crc ^= 1;
    check(&zip(&[wrong]), "has a wrong check sum");
    let mut short = Member::file("a");
    short.size = 3;
    check(&zip(&[short]), "is longer than it says");
    let mut long = Member::file("a");
    long.size = 1_000;
    check(&zip(&[long]), "is shorter than it says");
    let mut other = Member::file("a");
    other.local_name = Some(b"b".to_vec());
    check_untouched(&zip(&[other]), "is told of in two ways");
    let mut secret = Member::file("a");
    secret.flags = 1;
    check_untouched(&zip(&[secret]), "an entry with a password");
    let mut strange = Member::file("a");
    strange.method = 97;
    check(&zip(&[strange]), "an entry of the method 97");
    let mut broken = Member::file("a");
    broken.method = 8;
    broken.stored = vec![0xff; 40];
    check(&zip(&[broken]), "cannot be unpacked");
    let mut far = Member::file("a");
    far.at = Some(0x7fff_0000);
    check_untouched(&zip(&[far]), "is not where it says");
}

#[test]
fn overlapping_entries_are_refused() {
    // input 26
    let (one, mut two) = (Member::file("a"), Member::file("a2"));
    two.name = b"a".to_vec();
    two.at = Some(0);
    check_untouched(&zip(&[one, two]), "overlap");
    // Its bytes overlap the central directory.
    let mut greedy = Member::file("a");
    greedy.size = 200;
    let mut archive = zip(&[greedy]);
    let directory = archive
        .windows(4)
        .position(|bytes| bytes == b"PK\x01\x02")
        .unwrap();
    archive[directory + 20..directory + 24].copy_from_slice(&200_u32.to_le_bytes());
    check_untouched(&archive, "overlap");
}

#[test]
fn wrong_central_directory_is_refused() {
    // input 26
    let members = [Member::file("a")];
    check_untouched(
        &zip_that_says(&members, 2, &[]),
        "its directory is not where it says",
    );
    check_untouched(
        &zip_that_says(&members, 0, &[]),
        "has more entries than it says",
    );
    check_untouched(
        &zip_that_says(&members, 1, b"gap"),
        "its directory is not where it says",
    );
    // A large archive whose end record is wrong.
    let record = |entries: u64, size: u64, start: u64| {
        let mut bytes = b"PK\x06\x06".to_vec();
        bytes.extend(44_u64.to_le_bytes());
        bytes.extend([0; 12]);
        for number in [entries, entries, size, start] {
            bytes.extend(number.to_le_bytes());
        }
        let at = zip(&members).len() as u64 - 22;
        bytes.extend(b"PK\x06\x07");
        bytes.extend([0; 4]);
        bytes.extend(at.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes
    };
    let with = |record: Vec<u8>| zip_that_says(&members, u16::MAX, &record);
    check_untouched(
        &with(record(1, u64::MAX, 1)),
        "its directory is not where it says",
    );
    check_untouched(
        &with(record(1, 10, u64::MAX)),
        "its directory is not where it says",
    );
    check_untouched(&with(record(u64::MAX, 47, 35)), "more than 500000 entries");
    for length in [u64::MAX, u64::MAX - 11, 43] {
        let mut wrong = record(1, 47, 35);
        wrong[4..12].copy_from_slice(&length.to_le_bytes());
        check_untouched(&with(wrong), "its end is not where it says");
    }
    check_untouched(&with(b"nothing at all".to_vec()), "not where it says");
    let scratch = Scratch::new();
    scratch.unpack_bytes(&with(record(1, 47, 35))).unwrap();
    // Missing 64-bit sizes, and impossible ones.
    let mut huge = Member::file("a");
    huge.size = u32::MAX;
    check_untouched(&zip(&[huge.clone()]), "unpacks to more than");
    huge.extra = [&[1, 0, 8, 0][..], &[0xff; 8]].concat();
    check_untouched(&zip(&[huge]), "unpacks to more than");
}

#[test]
fn bombs_are_refused() {
    // input 26
    let scratch = Scratch::new();
    let zeros = vec![0; 300 << 20];
    let packed = zstd::encode_all(zeros.as_slice(), 1).unwrap();
    let mut bomb = Member::new("a", 0o100_644, b"");
    bomb.method = 93;
    bomb.size = 300 << 20;
    bomb.crc = crc32fast::hash(&zeros);
    bomb.stored = packed;
    check_untouched(
        &zip(&[bomb.clone()]),
        "unpacks to more than 2000 times its size",
    );
    // A bomb that claims to be small.
    bomb.size = 10;
    check(&zip(&[bomb]), "is longer than it says");

    let many: Vec<Member> = (0..2_000)
        .map(|n| Member::new(format!("{n}"), 0, b""))
        .collect();
    let limits = Limits {
        entries: 1_999,
        ..Limits::default()
    };
    fs::write(scratch.archive(), zip(&many)).unwrap();
    let refused = scratch.unpack_within(&limits);
    assert!(
        matches!(refused, Err(ArchiveError::Entries(1_999))),
        "{refused:?}"
    );
    let limits = Limits { bytes: 3, ..limits };
    fs::write(scratch.archive(), zip(&[Member::file("a")])).unwrap();
    let refused = scratch.unpack_within(&limits);
    assert!(
        matches!(refused, Err(ArchiveError::Bytes(3))),
        "{refused:?}"
    );
}

#[test]
fn other_files_and_truncated_archives_are_refused() {
    for bytes in [&b""[..], b"P", b"hello world", b"\x1f\x8b\x08"] {
        check_untouched(bytes, "neither a zip archive nor a tar archive");
    }
    for bytes in [
        &b"PK\x03\x04"[..],
        b"PK\x05\x06",
        b"PK\x05\x06 and more of no use at all",
    ] {
        check_untouched(bytes, "is damaged");
    }
    let whole = zip(&[Member::file("a")]);
    for length in 4..whole.len() {
        check_untouched(&whole[..length], "is damaged");
    }
}
