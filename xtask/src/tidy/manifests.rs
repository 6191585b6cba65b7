//! Every crate inherits its metadata and lints from the workspace.

use crate::tidy::Problem;
use crate::tidy::files::TextFile;

/// The fields that each crate inherits from the root.
const INHERITED: [&str; 4] = ["edition", "license", "rust-version", "version"];

/// The additional fields of a published crate, for its page on the registry.
const PUBLISHED: [&str; 4] = ["categories", "keywords", "publish", "readme"];

/// Checks one manifest.
pub(crate) fn check(manifest: &TextFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    let package = section(&manifest.text, "package");
    let is_published = !package.contains(&"publish=false".to_owned());
    let keys = INHERITED.into_iter();
    for key in keys.chain(PUBLISHED.into_iter().filter(|_| is_published)) {
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

/// Returns the lines of one section, without blank ones.
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
        readme.workspace = true\nkeywords.workspace = true\ncategories.workspace = true\n\
        publish.workspace = true\n\n[lints]\nworkspace = true\n\n[dependencies]\nversion.workspace = true\n";

    fn check_text(text: &str) -> Vec<String> {
        let manifest = TextFile {
            path: "a/Cargo.toml".to_owned(),
            text: text.to_owned(),
        };
        check(&manifest).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn inheriting_manifest_is_accepted() {
        assert_eq!(check_text(GOOD), [""; 0]);
    }

    #[test]
    fn field_that_is_not_inherited_is_found() {
        let own = GOOD.replacen("version.workspace = true", "version = \"2.0.0\"", 1);
        assert_eq!(
            check_text(&own),
            ["a/Cargo.toml: lacks `version.workspace = true`"]
        );
    }

    #[test]
    fn unpublished_crate_needs_no_registry_fields() {
        let inner = GOOD.replace("publish.workspace = true", "publish = false");
        assert_eq!(
            check_text(&inner.replace("readme.workspace = true\n", "")),
            [""; 0]
        );
        assert_eq!(
            check_text(&GOOD.replace("readme.workspace = true\n", "")),
            ["a/Cargo.toml: lacks `readme.workspace = true`"]
        );
    }

    #[test]
    fn missing_lints_and_description_are_found() {
        let bare = GOOD
            .replace("[lints]\nworkspace = true\n", "")
            .replace("description", "homepage");
        assert_eq!(
            check_text(&bare),
            [
                "a/Cargo.toml: lacks a description",
                "a/Cargo.toml: lacks `[lints] workspace = true`"
            ]
        );
    }
}
