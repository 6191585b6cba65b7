use crate::bytes::{Member, tar, tar_file, zip};
use crate::scratch::{FORMATS, Scratch, text};
use archive::Limits;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use std::fs;
use std::path::PathBuf;

/// Returns valid archives of all kinds.
fn honest() -> Vec<Vec<u8>> {
    let mut all = vec![zip(&[
        Member::file("a/b"),
        Member::link("l", "a/b"),
        Member::new("d/", 0o040_755, b""),
    ])];
    for format in FORMATS {
        let scratch = Scratch::new();
        let paths = [
            scratch.write("a/b", text(2_000)),
            scratch.link("l", "a/b"),
            scratch.folder("d", 0o755),
        ];
        scratch.pack(&paths, format).unwrap();
        all.push(fs::read(scratch.archive()).unwrap());
    }
    all
}

fn mutate(bytes: &mut [u8], changes: &[(usize, u8)]) {
    for (at, byte) in changes {
        let length = bytes.len();
        bytes[at % length] = *byte;
    }
}

fn stays_inside(bytes: &[u8]) -> bool {
    let scratch = Scratch::new();
    fs::write(scratch.archive(), bytes).unwrap();
    let limits = Limits {
        bytes: 1 << 20,
        entries: 100,
        ..Limits::default()
    };
    // Success and failure are both fine, but unpacking must return and write nothing outside.
    let _ = scratch.unpack_within(&limits);
    scratch.outside() == Vec::<PathBuf>::new()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn mutated_archives_write_nothing_outside(
        which in 0_usize..4,
        changes in vec((any::<usize>(), any::<u8>()), 1..12),
        cut in any::<Option<u16>>(),
    ) {
        let mut bytes = honest().swap_remove(which);
        mutate(&mut bytes, &changes);
        if let Some(cut) = cut {
            bytes.truncate(usize::from(cut) % bytes.len());
        }
        prop_assert!(stays_inside(&bytes));
    }

    /// Entries are changed before compression: otherwise the checksum would fail before any entry is read.
    #[test]
    fn generated_tar_archives_write_nothing_outside(
        changes in vec((any::<usize>(), any::<u8>()), 0..4),
        name in "[./a-c]{1,9}",
        target in "[./a-c]{1,9}",
        kind in 0_u8..8,
    ) {
        let link = crate::bytes::entry(b'0' + kind, name.as_bytes(), &target, 0, b"");
        let mut entries = vec![link, tar_file("a/b", "text"), tar_file(&format!("{name}/x"), "")];
        mutate(&mut entries[1], &changes);
        prop_assert!(stays_inside(&tar(&entries)));
    }

    #[test]
    fn generated_zip_archives_write_nothing_outside(
        name in "[./\\\\a-c]{1,9}",
        target in "[./a-c]{1,9}",
        mode in any::<u16>(),
    ) {
        let odd = Member::new(&name, u32::from(mode), target.as_bytes());
        let members = [Member::link(&name, &target), odd, Member::file(format!("{name}/x"))];
        prop_assert!(stays_inside(&zip(&members[..2])));
        prop_assert!(stays_inside(&zip(&members[1..])));
        prop_assert!(stays_inside(&zip(&[members[0].clone(), members[2].clone()])));
    }
}
