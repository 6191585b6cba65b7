use crate::scratch::{FORMATS, Scratch, text, tree};
use archive::{ArchiveError, Format, Level, Limits, LinkTargets, Packing, pack};
use executor_core::Cancellation;
use executor_core::cancellation::CancelCause;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Creates one entry of each kind.
fn one_of_each(scratch: &Scratch) -> Vec<PathBuf> {
    let paths = vec![
        scratch.write("empty", ""),
        scratch.write("sub/dir/small", "hello"),
        scratch.write("sub/large", text(5_000_000)),
        scratch.write("sub/exactly two pieces", text(2 << 20)),
        scratch.write("umlaut ü.txt", "ä"),
        scratch.write(
            &format!("{}/{}", "long/".repeat(30), "n".repeat(200)),
            "deep",
        ),
        scratch.link("sub/link", "dir/small"),
        scratch.link("dangling", "nowhere"),
        scratch.folder("hollow", 0o755),
        scratch.folder("locked", 0o500),
    ];
    let tool = scratch.project().join("sub/dir/small");
    fs::set_permissions(tool, fs::Permissions::from_mode(0o751)).unwrap();
    paths
}

#[test]
fn packed_entries_round_trip() {
    for format in FORMATS {
        let scratch = Scratch::new();
        let paths = one_of_each(&scratch);
        let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_001);
        let file = File::options()
            .append(true)
            .open(scratch.project().join("empty"));
        file.unwrap().set_modified(past).unwrap();
        let packed = scratch.pack(&paths, format).unwrap();
        assert_eq!((packed.entries, packed.skipped), (10, vec![]), "{format:?}");
        assert_eq!(
            packed.bytes,
            5_000_000 + (2 << 20) + 5 + 2 + 4,
            "{format:?}"
        );
        let size = fs::metadata(scratch.archive()).unwrap();
        assert_eq!(packed.size, size.len());
        assert_eq!(size.permissions().mode() & 0o777, 0o600);

        let unpacked = scratch.unpack().unwrap();
        assert_eq!(
            (unpacked.entries, unpacked.bytes),
            (10, packed.bytes),
            "{format:?}"
        );
        let mut expect = tree(&scratch.project());
        // The owner of a directory can always open it.
        expect.insert(PathBuf::from("locked"), "700".to_owned());
        assert_eq!(tree(&scratch.target()), expect, "{format:?}");
        let modified = fs::metadata(scratch.target().join("empty"))
            .unwrap()
            .modified();
        assert_eq!(modified.unwrap(), past, "{format:?}");
    }
}

#[test]
fn entries_are_sorted_by_path() {
    for format in [Format::Zip, Format::ZipZstd] {
        let scratch = Scratch::new();
        let mut paths = one_of_each(&scratch);
        paths.sort_unstable();
        let expect: Vec<_> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        paths.reverse();
        paths.push(paths[0].clone());
        scratch.pack(&paths, format).unwrap();
        let archive = zip::ZipArchive::new(File::open(scratch.archive()).unwrap()).unwrap();
        let names: Vec<_> = archive
            .file_names()
            .map(|name| name.unwrap().trim_end_matches('/').to_owned())
            .collect();
        assert_eq!(names, expect, "{format:?}");
    }
}

#[test]
fn each_level_of_each_format_can_be_unpacked() {
    let levels = ["fastest", "fast", "default", "slow", "slowest"];
    for format in FORMATS {
        let mut sizes = Vec::new();
        for level in levels {
            let scratch = Scratch::new();
            let paths = [scratch.write("text", text(1_500_000))];
            // Whole seconds, because fractions would change the size of the archive.
            let file = File::open(scratch.project().join("text")).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))
                .unwrap();
            let packing = Packing {
                format,
                level: Level::named(level).unwrap(),
                ..Packing::default()
            };
            let never = Cancellation::new();
            let packed = pack(
                &scratch.project(),
                &paths,
                &scratch.archive(),
                &packing,
                &never,
            );
            sizes.push(packed.unwrap().size);
            scratch.unpack().unwrap();
            assert_eq!(
                tree(&scratch.target()),
                tree(&scratch.project()),
                "{format:?} {level}"
            );
        }
        assert!(
            sizes[0] >= sizes[1] && sizes[1] > sizes[4],
            "{format:?}: {sizes:?}"
        );
    }
    assert_eq!(Level::named("best"), None);
    assert_eq!(Format::named("tarzstd"), Some(Format::TarZstd));
    assert_eq!(Format::named("rar"), None);
}

#[test]
fn existing_entries_are_replaced_and_links_are_not_followed() {
    for format in FORMATS {
        let scratch = Scratch::new();
        let paths = [scratch.write("file", "new"), scratch.link("link", "file")];
        scratch.pack(&paths, format).unwrap();
        let outside = scratch.path().join("precious");
        fs::write(&outside, "old").unwrap();
        std::os::unix::fs::symlink(&outside, scratch.target().join("file")).unwrap();
        fs::write(scratch.target().join("link"), "old").unwrap();
        scratch.unpack().unwrap();
        assert_eq!(
            tree(&scratch.target()),
            tree(&scratch.project()),
            "{format:?}"
        );
        assert_eq!(fs::read(&outside).unwrap(), b"old", "{format:?}");

        // A directory that was replaced by a link is not entered.
        let paths = [scratch.write("sub/file", "new")];
        scratch.pack(&paths, format).unwrap();
        let elsewhere = scratch.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, scratch.target().join("sub")).unwrap();
        let refused = scratch.unpack();
        assert!(
            matches!(refused, Err(ArchiveError::Io { .. })),
            "{format:?}: {refused:?}"
        );
        assert!(tree(&elsewhere).is_empty(), "{format:?}");
    }
}

#[test]
fn special_files_are_left_out_and_listed() {
    // input 27
    for format in FORMATS {
        let scratch = Scratch::new();
        let outside = scratch.path().join("secret");
        fs::write(&outside, "secret").unwrap();
        let link = scratch.link("behind", "..");
        let pipe = scratch.project().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(scratch.project().join("socket"));
        let mut paths = vec![scratch.write("file", "text"), link];
        let skipped = [
            "../secret",
            "/etc/passwd",
            "behind/secret",
            "gone",
            "pipe",
            "socket",
        ];
        paths.extend(skipped.iter().map(PathBuf::from));
        let packed = scratch.pack(&paths, format).unwrap();
        assert_eq!(packed.entries, 2, "{format:?}");
        let told: BTreeSet<&Path> = packed
            .skipped
            .iter()
            .map(|one| one.path.as_path())
            .collect();
        assert_eq!(
            told,
            skipped.map(Path::new).into(),
            "{format:?}: {packed:?}"
        );
    }
}

#[test]
fn cancelled_archive_is_removed() {
    for format in FORMATS {
        let scratch = Scratch::new();
        let paths = [scratch.write("large", text(3_000_000))];
        let cancellation = Cancellation::new();
        cancellation.cancel(CancelCause::User);
        let packing = Packing {
            format,
            ..Packing::default()
        };
        let packed = pack(
            &scratch.project(),
            &paths,
            &scratch.archive(),
            &packing,
            &cancellation,
        );
        assert!(matches!(packed, Err(ArchiveError::Cancelled)), "{packed:?}");
        assert!(!scratch.archive().exists());
    }
}

#[test]
fn failed_archive_is_removed() {
    // fault 22
    for format in FORMATS {
        let scratch = Scratch::new();
        let paths = [scratch.write("large", text(3_000_000))];
        let packing = Packing {
            format,
            ..Packing::default()
        };
        let never = Cancellation::new();
        let full = scratch.path().join("missing/archive");
        let packed = pack(&scratch.project(), &paths, &full, &packing, &never);
        assert!(matches!(packed, Err(ArchiveError::Io { .. })), "{packed:?}");
        // An existing file is neither overwritten nor removed.
        fs::write(scratch.archive(), "other").unwrap();
        let packed = pack(
            &scratch.project(),
            &paths,
            &scratch.archive(),
            &packing,
            &never,
        );
        assert!(packed.is_err());
        assert_eq!(fs::read(scratch.archive()).unwrap(), b"other");
    }
}

#[test]
fn links_lead_out_only_if_allowed() {
    for format in FORMATS {
        let scratch = Scratch::new();
        let paths = [scratch.link("bin/python", "/usr/bin/python3")];
        scratch.pack(&paths, format).unwrap();
        let refused = scratch.unpack();
        assert!(
            matches!(refused, Err(ArchiveError::Refused { .. })),
            "{refused:?}"
        );
        let limits = Limits {
            links: LinkTargets::Anywhere,
            ..Limits::default()
        };
        scratch.unpack_within(&limits).unwrap();
        assert_eq!(
            tree(&scratch.target()),
            tree(&scratch.project()),
            "{format:?}"
        );
    }
}
