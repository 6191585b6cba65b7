use crate::args::ReportFile;
use crate::failure::Failure;
use anyhow::Context;
use fail_point::fail_point;
use scheduler::PipelineReport;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::{Builder, NamedTempFile};

/// The suffix of a report's name while it is written.
const PARTIAL: &str = ".partial";
/// After this time, no process writes a partial report any more.
const STALE: Duration = Duration::from_mins(1);

/// The files to write the report of a run to.
#[derive(Debug)]
pub(super) struct ReportFiles<'a>(&'a [ReportFile]);

impl<'a> ReportFiles<'a> {
    /// Checks the requested report files.
    ///
    /// # Errors
    ///
    /// When one cannot be written: better before the run than after an hour.
    pub(super) fn check(files: &'a [ReportFile]) -> Result<Self, Failure> {
        for (at, file) in files.iter().enumerate() {
            check(&file.path)
                .and_then(|()| check_alone(file, &files[..at]))
                .with_context(|| format!("write the report {}", file.path.display()))
                .map_err(Failure::usage)?;
        }
        Ok(Self(files))
    }

    /// Writes all files, even if one of them cannot be written.
    ///
    /// # Errors
    ///
    /// The error of the first file that could not be written.
    pub(super) fn write(&self, report: &PipelineReport) -> anyhow::Result<()> {
        let mut written = Ok(());
        for file in self.0 {
            let result = write(&file.path, &file.format.write(report))
                .with_context(|| format!("write the report {}", file.path.display()));
            written = written.and(result);
        }
        written
    }
}

fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => return Ok(()),
        _ => {}
    }
    let target = target_of(path);
    remove_stale(&target);
    partial_file(&target).map(drop)
}

/// Fails if a report of another format goes to the same file, since the last one would overwrite it.
fn check_alone(file: &ReportFile, others: &[ReportFile]) -> io::Result<()> {
    if fs::metadata(&file.path).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(());
    }
    let target = target_of(&file.path);
    let mut others = others.iter().filter(|it| it.format != file.format);
    match others.find(|it| target_of(&it.path) == target) {
        Some(other) => Err(io::Error::other(format!(
            "the report `{}` is written to the same file",
            other.format.name()
        ))),
        None => Ok(()),
    }
}

/// Creates or replaces a file atomically.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        // A pipe or a device cannot be replaced.
        return fs::OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all(text.as_bytes());
    }
    let target = target_of(path);
    let replace = || {
        let mut file = partial_file(&target)?;
        file.write_all(text.as_bytes())?;
        file.persist(&target).map_err(|error| error.error)?;
        Ok(())
    };
    fail_point!("cli::report_files::replace", replace())
}

/// Returns the file to write for a path: links are followed, so that their target is replaced.
fn target_of(path: &Path) -> PathBuf {
    let of_new = || {
        Some(
            fs::canonicalize(directory(path))
                .ok()?
                .join(path.file_name()?),
        )
    };
    let target = fs::canonicalize(path).ok().or_else(of_new);
    target.unwrap_or_else(|| path.to_owned())
}

fn partial_file(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    let prefix = prefix(target);
    builder.prefix(&prefix).suffix(PARTIAL);
    // The user's umask applies, as to any other file. Errors do not name the temporary file.
    builder.make_in(directory(target), |path| {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o666).open(path)
    })
}

/// Returns whether a file is a partial report that is to become `target`.
pub(super) fn is_partial(file: &Path, target: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    directory(file) == directory(target)
        && name.starts_with(&prefix(target))
        && name.ends_with(PARTIAL)
}

fn prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}.")
}

fn directory(target: &Path) -> &Path {
    let parent = target.parent();
    parent
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Removes partial reports of killed runs.
fn remove_stale(target: &Path) {
    let directory = directory(target);
    let target = directory.join(target.file_name().unwrap_or_default());
    let entries = fs::read_dir(directory).into_iter().flatten();
    for entry in entries.flatten() {
        let file = directory.join(entry.file_name());
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_partial(&file, &target) && age().is_some_and(|age| age > STALE) {
            // A file that cannot be removed does no harm.
            let _ = fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scheduler::ReportFormat;
    use std::fs::{File, FileTimes};
    use std::time::SystemTime;

    #[test]
    fn recognizes_partial_reports() {
        let check = |file: &str, target: &str, expect: bool| {
            let is_one = is_partial(Path::new(file), Path::new(target));
            assert_eq!(is_one, expect, "{file} of {target}");
        };
        check(".end.json.a1B2c3.partial", "end.json", true);
        check("out/.end.json.a1B2c3.partial", "out/end.json", true);
        check("out/.end.json.a1B2c3.partial", "end.json", false);
        check(".other.json.a1B2c3.partial", "end.json", false);
        check(".end.json.a1B2c3", "end.json", false);
        check("end.json", "end.json", false);
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_checked_first_and_replaced_atomically() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        let missing = check(&path("none/a.xml")).unwrap_err().to_string();
        assert_eq!(missing, "No such file or directory (os error 2)");
        assert!(check(root.path()).is_err());
        assert!(check(Path::new("/dev/null")).is_ok());
        assert!(write(Path::new("/dev/null"), "x").is_ok());

        check(&path("a.xml")).unwrap();
        assert!(names(root.path()).is_empty(), "a check leaves nothing");
        write(&path("a.xml"), "one").unwrap();
        std::os::unix::fs::symlink("a.xml", path("link")).unwrap();
        check(&path("link")).unwrap();
        write(&path("link"), "two").unwrap();
        assert_eq!(fs::read_to_string(path("a.xml")).unwrap(), "two");
        assert!(path("link").is_symlink());
        assert_eq!(names(root.path()), ["a.xml", "link"]);
    }

    #[test]
    fn one_file_holds_one_format() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("sub")).unwrap();
        let file = |format, name: &str| ReportFile {
            format,
            path: root.path().join(name),
        };
        let check = |other, name: &str, expect: bool| {
            let files = [file(ReportFormat::Json, "a.json"), file(other, name)];
            assert_eq!(ReportFiles::check(&files).is_ok(), expect, "{name}");
        };
        check(ReportFormat::Junit, "a.json", false);
        check(ReportFormat::Junit, "sub/../a.json", false);
        check(ReportFormat::Junit, "b.json", true);
        check(ReportFormat::Json, "a.json", true);
        fs::write(root.path().join("a.json"), "old").unwrap();
        std::os::unix::fs::symlink("a.json", root.path().join("link")).unwrap();
        check(ReportFormat::Text, "link", false);
        let null = [ReportFormat::Json, ReportFormat::Text].map(|format| ReportFile {
            format,
            path: PathBuf::from("/dev/null"),
        });
        assert!(ReportFiles::check(&null).is_ok());
    }

    #[test]
    fn next_run_removes_partial_reports_of_a_killed_run() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for name in [
            ".a.xml.old.partial",
            ".a.xml.new.partial",
            ".b.xml.old.partial",
        ] {
            let file = File::create(path(name)).unwrap();
            if name.contains("old") {
                let past = SystemTime::now() - Duration::from_hours(1);
                file.set_times(FileTimes::new().set_modified(past)).unwrap();
            }
        }
        check(&path("a.xml")).unwrap();
        let expect = [".a.xml.new.partial", ".b.xml.old.partial"];
        assert_eq!(names(root.path()), expect);
    }
}
