//! Every crate takes its facts and its lints from the workspace.

use crate::tidy::Problem;
use crate::tidy::files::TextFile;

/// What stands once at the root and is inherited by each crate.
const INHERITED: [&str; 5] = ["edition", "license", "publish", "rust-version", "version"];

/// Checks one manifest.
pub(crate) fn check(manifest: &TextFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    let package = section(&manifest.text, "package");
    for key in INHERITED {
        if !package.contains(&format!("{key}.workspace=true")) {
            problems.push(Problem::in_file(
                &manifest.path,
                format!("lacks `{key}.workspace = true`"),
            ));
        }
    }
    if !package
        .iter()
        .any(|line| line.starts_with("description=\""))
    {
        problems.push(Problem::in_file(&manifest.path, "lacks a description"));
    }
    if !section(&manifest.text, "lints").contains(&"workspace=true".to_owned()) {
        problems.push(Problem::in_file(
            &manifest.path,
            "lacks `[lints] workspace = true`",
        ));
    }
    problems
}

/// Returns the lines of one section, without blanks.
fn section(text: &str, name: &str) -> Vec<String> {
    let header = format!("[{name}]");
    let lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != header)
        .skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .map(|line| line.replace(' ', ""))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"a\"\ndescription = \"A crate\"\nversion.workspace = true\n\
        edition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n\
        publish.workspace = true\n\n[lints]\nworkspace = true\n\n[dependencies]\nversion.workspace = true\n";

    fn check_text(text: &str) -> Vec<String> {
        let manifest = TextFile {
            path: "a/Cargo.toml".to_owned(),
            text: text.to_owned(),
        };
        check(&manifest).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_manifest_that_inherits_is_fine() {
        assert_eq!(check_text(GOOD), [""; 0]);
    }

    #[test]
    fn a_fact_of_its_own_is_found() {
        let own = GOOD.replacen("version.workspace = true", "version = \"2.0.0\"", 1);
        assert_eq!(
            check_text(&own),
            ["a/Cargo.toml: lacks `version.workspace = true`"]
        );
    }

    #[test]
    fn missing_lints_and_description_are_found() {
        let bare = GOOD
            .replace("[lints]\nworkspace = true\n", "")
            .replace("description", "readme");
        assert_eq!(
            check_text(&bare),
            [
                "a/Cargo.toml: lacks a description",
                "a/Cargo.toml: lacks `[lints] workspace = true`"
            ]
        );
    }
}
