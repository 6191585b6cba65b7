use crate::scratch::{Scratch, text, tree};
use archive::Format;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use zip::write::SimpleFileOptions;

/// Runs a shell script, or returns false if a program that it needs is missing.
#[expect(
    clippy::disallowed_methods,
    reason = "tests of this crate may not import the crate process"
)]
fn sh(directory: &Path, tools: &[&str], script: &str) -> bool {
    let is_there = |tool: &&str| {
        let search = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&search).any(|folder| folder.join(tool).is_file())
    };
    if let Some(missing) = tools.iter().find(|tool| !is_there(tool)) {
        executor_testkit::not_tested(
            "archives of other programs",
            &format!("{missing} is missing"),
        );
        return false;
    }
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{script}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    true
}

fn files(scratch: &Scratch) -> Vec<PathBuf> {
    vec![
        scratch.write("sub/small", "hello"),
        scratch.write("large", text(3_000_000)),
        scratch.write("empty", ""),
        scratch.write(
            &format!("{}/{}", "long/".repeat(30), "n".repeat(200)),
            "deep",
        ),
        scratch.link("link", "sub/small"),
        scratch.folder("hollow", 0o755),
    ]
}

#[test]
fn other_tools_unpack_our_archives() {
    let check = |format, tools: &[&str], script: &str| {
        let scratch = Scratch::new();
        // The archives do not hold these folders, so the other tool makes them by its own umask.
        scratch.folder("sub", 0o755);
        for depth in 1..=30 {
            scratch.folder(&"long/".repeat(depth), 0o755);
        }
        scratch.pack(&files(&scratch), format).unwrap();
        if sh(&scratch.target(), tools, &format!("umask 022; {script}")) {
            assert_eq!(
                tree(&scratch.target()),
                tree(&scratch.project()),
                "{script}"
            );
        }
    };
    let archive = "../../../archive";
    check(Format::Zip, &["unzip"], &format!("unzip -q {archive}"));
    check(
        Format::TarZstd,
        &["tar", "zstd"],
        &format!("zstd -dcq {archive} | tar x"),
    );
    check(
        Format::TarZstd,
        &["zstd"],
        &format!("zstd -tq {archive}; cp -a ../../../project/. ."),
    );
    // Python's zipfile creates no links, so it only tests the archive.
    let test =
        format!("python3 -m zipfile -t {archive} | grep -q Done; cp -a ../../../project/. .");
    check(Format::Zip, &["python3"], &test);
}

#[test]
fn archives_of_other_tools_are_unpacked() {
    let check = |tools: &[&str], script: &str| {
        let scratch = Scratch::new();
        files(&scratch);
        if sh(&scratch.project(), tools, script) {
            scratch.unpack().unwrap();
            assert_eq!(
                tree(&scratch.target()),
                tree(&scratch.project()),
                "{script}"
            );
        }
    };
    check(
        &["zip"],
        "zip -qry ../archive.zip . && mv ../archive.zip ../archive",
    );
    // To a pipe, so that the sizes follow the bytes; zip cannot do that for uncompressed members.
    check(
        &["zip"],
        "rm -r hollow empty link; zip -qrD - . | cat > ../archive",
    );
    for format in ["gnu", "posix"] {
        let script = format!("tar c --format={format} . | zstd -qo ../archive");
        check(&["tar", "zstd"], &script);
    }
}

#[test]
fn another_library_reads_our_archives() {
    for format in [Format::Zip, Format::ZipZstd] {
        let scratch = Scratch::new();
        scratch.pack(&files(&scratch), format).unwrap();
        let mut archive = zip::ZipArchive::new(File::open(scratch.archive()).unwrap()).unwrap();
        assert_eq!(archive.len(), 6);
        let mut large = archive.by_name("large").unwrap();
        let mut read = Vec::new();
        std::io::copy(&mut large, &mut read).unwrap();
        assert!(read == text(3_000_000), "{format:?}");
        drop(large);
        let link = archive.by_name("link").unwrap();
        assert_eq!(
            link.unix_mode().map(|mode| mode & 0o170_000),
            Some(0o120_000)
        );
    }
}

#[test]
fn archives_of_another_library_are_read() {
    let scratch = Scratch::new();
    let mut archive = zip::ZipWriter::new(File::create(scratch.archive()).unwrap());
    let methods = [
        zip::CompressionMethod::Deflated,
        zip::CompressionMethod::Zstd,
    ];
    for (number, method) in methods.into_iter().enumerate() {
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .large_file(number == 1);
        archive
            .start_file(format!("file{number}"), options)
            .unwrap();
        archive.write_all(&text(100_000)).unwrap();
    }
    archive.finish().unwrap();
    scratch.unpack().unwrap();
    for number in 0..2 {
        let read = fs::read(scratch.target().join(format!("file{number}"))).unwrap();
        assert!(read == text(100_000), "{number}");
    }
}
