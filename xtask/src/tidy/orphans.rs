//! Source files that no module declares, which the compiler never reads.

use std::collections::BTreeMap;

use crate::tidy::Problem;
use crate::tidy::files::TextFile;

/// Where packages are; elsewhere, a file may be data of an example.
const OURS: [&str; 2] = ["crates/", "xtask/"];

/// Finds the Rust files that neither `mod` nor a path in another file names.
pub(super) fn check(files: &[TextFile]) -> Vec<Problem> {
    let sources: BTreeMap<&str, &str> = files
        .iter()
        .filter(|file| file.is("rs") && OURS.iter().any(|it| file.path.starts_with(it)))
        .map(|file| (file.path.as_str(), file.text.as_str()))
        .collect();
    let orphans = sources.keys().filter(|path| is_orphan(path, &sources));
    orphans
        .map(|path| Problem::in_file(path, "no module declares it"))
        .collect()
}

fn is_orphan(path: &str, sources: &BTreeMap<&str, &str>) -> bool {
    let Some((folder, file)) = path.rsplit_once('/') else {
        return false;
    };
    // Cargo finds these by their place.
    let below = folder.rsplit('/').next().unwrap_or_default();
    let is_root = matches!(file, "lib.rs" | "main.rs" | "build.rs")
        || matches!(
            below,
            "bin" | "benches" | "tests" | "examples" | "fuzz_targets"
        );
    if is_root {
        return false;
    }
    let (home, module) = match (file, folder.rsplit_once('/')) {
        ("mod.rs", Some((home, module))) => (home, module),
        _ => (folder, file.trim_end_matches(".rs")),
    };
    let declares = |parent: String| {
        let text = sources.get(parent.as_str());
        text.is_some_and(|text| text.contains(&format!("mod {module};")))
    };
    let parents = ["mod.rs", "lib.rs", "main.rs"].map(|root| format!("{home}/{root}"));
    let is_declared = parents.into_iter().any(declares) || declares(format!("{home}.rs"));
    let named = format!("{file}\"");
    !is_declared && !sources.values().any(|text| text.contains(&named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_a_declaration_is_found() {
        let file = |path: &str, text: &str| TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            file(
                "crates/a/src/lib.rs",
                "mod b;\npub mod room;\n#[path = \"x/y.rs\"]\nmod z;",
            ),
            file("crates/a/src/b.rs", "mod c;"),
            file("crates/a/src/b/c.rs", ""),
            file("crates/a/src/room/mod.rs", "mod d;"),
            file("crates/a/src/room/d.rs", ""),
            file("crates/a/src/room/e.rs", ""),
            file("crates/a/src/d.rs", ""),
            file("crates/a/src/x/y.rs", ""),
            file("crates/a/tests/it/main.rs", ""),
        ];
        let found: Vec<_> = check(&files).into_iter().map(|it| it.file).collect();
        assert_eq!(found, ["crates/a/src/d.rs", "crates/a/src/room/e.rs"]);
    }
}
