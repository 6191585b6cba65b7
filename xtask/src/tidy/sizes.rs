//! A file is short enough to read in one sitting.

use crate::tidy::Problem;
use crate::tidy::files::TextFile;

/// Longer files are reported, as a prompt to check whether they hold one noun.
const LONG: usize = 400;

/// Longer files fail, unless they are listed below.
const TOO_LONG: usize = 600;

/// Files that may be longer, each with the reason.
const EXCUSED: &[(&str, &str)] = &[
    (
        "crates/steps/src/wire/v1.rs",
        "generated from the .proto, nobody reads it",
    ),
    (
        "crates/steps/src/wire/upstream.rs",
        "generated from the .proto, nobody reads it",
    ),
];

/// Returns a line for each file that is long, but not too long.
pub(crate) fn notes(files: &[TextFile]) -> Vec<String> {
    let rust = files
        .iter()
        .filter(|file| file.is("rs"))
        .map(|file| (file, lines(file)));
    let long = rust.filter(|(_, lines)| (LONG + 1..=TOO_LONG).contains(lines));
    long.map(|(file, lines)| format!("{} has {lines} lines", file.path))
        .collect()
}

/// Checks that no Rust file is too long.
pub(crate) fn check(files: &[TextFile]) -> Vec<Problem> {
    check_with(files, EXCUSED)
}

fn check_with(files: &[TextFile], excused: &[(&str, &str)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let is_excused = |path: &str| excused.iter().any(|(file, _)| *file == path);
    for file in files.iter().filter(|file| file.is("rs")) {
        let lines = lines(file);
        if lines > TOO_LONG && !is_excused(&file.path) {
            let message = format!(
                "has {lines} lines, more than {TOO_LONG}: move a noun out, or list it with a reason"
            );
            problems.push(Problem::in_file(&file.path, message));
        }
    }
    for (path, _) in excused {
        let needed = files
            .iter()
            .any(|file| file.path == *path && lines(file) > TOO_LONG);
        if !needed {
            problems.push(Problem::in_file(
                path,
                "is excused for its length, but needs it no more",
            ));
        }
    }
    problems
}

fn lines(file: &TextFile) -> usize {
    file.text.lines().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: usize) -> TextFile {
        TextFile {
            path: path.to_owned(),
            text: "line\n".repeat(lines),
        }
    }

    #[test]
    fn files_above_the_limit_are_rejected() {
        assert_eq!(check_with(&[file("a.rs", TOO_LONG)], &[]), []);
        assert_eq!(check_with(&[file("a.rs", TOO_LONG + 1)], &[]).len(), 1);
    }

    #[test]
    fn only_rust_files_are_measured() {
        assert_eq!(check_with(&[file("docs/long.md", 5000)], &[]), []);
    }

    #[test]
    fn exception_is_rejected_once_unneeded() {
        let excused = [("a.rs", "one table")];
        assert_eq!(check_with(&[file("a.rs", TOO_LONG + 1)], &excused), []);
        assert_eq!(check_with(&[file("a.rs", 10)], &excused).len(), 1);
        assert_eq!(check_with(&[], &excused).len(), 1);
    }

    #[test]
    fn long_files_are_reported() {
        assert_eq!(
            notes(&[
                file("a.rs", LONG),
                file("b.rs", LONG + 1),
                file("c.rs", TOO_LONG + 1)
            ]),
            ["b.rs has 401 lines"]
        );
    }
}
