//! Nothing in the repository depends on the location of a checkout.

use crate::tidy::Problem;
use crate::tidy::files::TextFile;

/// Prefixes of paths that exist on one machine only.
const PLACES: [&str; 5] = ["/workspace/", "/dev/shm", "/root/", "/Users/", "/home/"];

/// Paths that are valid on every machine: the start of the file's path, the prefix, and the reason.
const EXCUSED: &[(&str, &str, &str)] = &[
    ("xtask/src/tidy/paths.rs", "/", "this table"),
    (
        "benches/",
        "/dev/shm",
        "measurements keep the disk out of the figures where a memory file system is there",
    ),
    (
        "crates/cli/tests/it/fail_points/scenario_project.rs",
        "/dev/shm",
        "an export to another file system needs one, and every Linux has this one",
    ),
];

/// Checks that no text contains a path of one machine.
pub(crate) fn check(files: &[TextFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            let places = PLACES
                .iter()
                .filter(|place| names(line, place) && !is_excused(&file.path, place));
            for place in places {
                problems.push(Problem::at(
                    &file.path,
                    index + 1,
                    format!("names {place}, a place of one machine"),
                ));
            }
        }
    }
    problems
}

/// Whether the line contains an absolute path with this prefix; `a/home/b` is a relative one.
fn names(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| {
            c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '}' | ')' | '>' | '*')
        })
    })
}

fn is_excused(path: &str, place: &str) -> bool {
    EXCUSED
        .iter()
        .any(|(file, excused, _)| path.starts_with(file) && place.starts_with(excused))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_line(path: &str, line: &str) -> Vec<String> {
        let file = TextFile {
            path: path.to_owned(),
            text: format!("first\n{line}\n"),
        };
        check(&[file]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn machine_specific_paths_are_found() {
        assert_eq!(
            check_line("a.md", "cd /workspace/main"),
            ["a.md:2: names /workspace/, a place of one machine"]
        );
        assert_eq!(check_line("a.rs", "let home = \"/home/me/x\";").len(), 1);
        assert_eq!(check_line("a.rs", "spool=/dev/shm").len(), 1);
    }

    #[test]
    fn relative_paths_and_urls_are_allowed() {
        for line in [
            "docs/home/x",
            "$HOME/home/x",
            "https://example.com/home/x",
            "${BUILDS}/home/",
            "~/home/",
        ] {
            assert_eq!(check_line("a.md", line), [""; 0], "{line}");
        }
    }

    #[test]
    fn exception_covers_its_file_and_prefix_only() {
        assert_eq!(check_line("benches/speed.rs", "\"/dev/shm\""), [""; 0]);
        assert_eq!(check_line("benches/speed.rs", "\"/home/me\"").len(), 1);
        assert_eq!(check_line("crates/benches.rs", "\"/dev/shm\"").len(), 1);
    }
}
