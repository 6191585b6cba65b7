//! Rules that the compiler and clippy cannot check, each in its own file.

mod code;
mod doctests;
mod edges;
mod files;
mod manifests;
mod orphans;
mod paths;
mod sizes;

use std::fmt;
use std::path::Path;

use anyhow::bail;

use crate::requirements;
use crate::tidy::files::{TextFile, text_files};
use crate::workspace::Workspace;

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    file: String,
    line: Option<usize>,
    message: String,
}

impl Problem {
    fn in_file(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            message: message.into(),
        }
    }

    fn at(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::in_file(file, message)
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.file, self.message),
            None => write!(formatter, "{}: {}", self.file, self.message),
        }
    }
}

/// Checks the workspace against every rule.
///
/// # Errors
///
/// Fails when a file cannot be read or a rule is broken, after printing every problem.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let files = text_files(&workspace.root)?;
    for note in sizes::notes(&files) {
        println!("note: {note}");
    }
    let problems = problems(workspace, &files);
    for problem in &problems {
        println!("{problem}");
    }
    if !problems.is_empty() {
        bail!("tidy found {} problems", problems.len());
    }
    println!(
        "tidy: {} files and {} crates are in order",
        files.len(),
        workspace.packages.len()
    );
    Ok(())
}

fn problems(workspace: &Workspace, files: &[TextFile]) -> Vec<Problem> {
    let mut problems = edges::check(&workspace.packages);
    problems.extend(sizes::check(files));
    problems.extend(paths::check(files));
    problems.extend(orphans::check(files));
    for file in files.iter().filter(|file| file.is("rs")) {
        problems.extend(code::check(file));
        problems.extend(doctests::check(file));
    }
    for package in &workspace.packages {
        let manifest = workspace
            .relative(&package.manifest_path)
            .display()
            .to_string();
        problems.extend(
            files
                .iter()
                .filter(|file| file.path == manifest)
                .flat_map(manifests::check),
        );
    }
    if let Err(error) = requirements::load(workspace) {
        problems.push(Problem::in_file(requirements::LIST, format!("{error:#}")));
    }
    problems.extend(missing_files(&workspace.root));
    problems
}

/// The files that readers of the project expect at its root.
const EXPECTED: [&str; 8] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    ".ci/run",
];

fn missing_files(root: &Path) -> Vec<Problem> {
    let missing = EXPECTED.iter().filter(|name| !root.join(name).is_file());
    missing
        .map(|name| Problem::in_file(name, "is missing"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executors_are_used_through_traits_only() {
        // R-EXEC-03: only the places of assembly name an executor, and nothing casts one.
        let workspace = Workspace::load().unwrap();
        assert_eq!(edges::check(&workspace.packages), []);
        let files = text_files(&workspace.root).unwrap();
        let casts = files
            .iter()
            .filter(|file| file.is("rs"))
            .flat_map(code::check);
        let casts: Vec<_> = casts
            .filter(|problem| problem.message.contains("downcast"))
            .collect();
        assert_eq!(casts, []);
    }

    #[test]
    fn problem_states_its_location() {
        assert_eq!(
            Problem::at("a.rs", 3, "is wrong").to_string(),
            "a.rs:3: is wrong"
        );
        assert_eq!(
            Problem::in_file("a.rs", "is long").to_string(),
            "a.rs: is long"
        );
    }

    #[test]
    fn empty_folder_lacks_the_expected_files() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(missing_files(folder.path()).len(), EXPECTED.len());
        std::fs::write(folder.path().join("README.md"), "").unwrap();
        assert_eq!(missing_files(folder.path()).len(), EXPECTED.len() - 1);
    }
}
