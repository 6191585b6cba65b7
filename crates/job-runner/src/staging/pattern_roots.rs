use crate::artifacts::Pattern;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns the paths below which all matches of `patterns` are: those before the first wildcards, none below
/// another. The whole job directory, `project` in scripts, is `.`.
///
/// Invalid patterns are ignored; their users report them.
pub(crate) fn pattern_roots(project: &Path, patterns: &[String]) -> Vec<String> {
    let read = patterns.iter();
    let read = read.filter_map(|text| Pattern::parse(project, text).ok());
    let paths: BTreeSet<PathBuf> = read.map(|it| it.root().to_owned()).collect();
    if paths.contains(Path::new("")) {
        return vec![".".to_owned()];
    }
    let is_covered = |path: &Path| path.ancestors().skip(1).any(|it| paths.contains(it));
    let uncovered = paths.iter().filter(|path| !is_covered(path));
    uncovered
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_end_before_wildcards_without_duplicates() {
        let check = |patterns: &[&str], expect: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            let found = pattern_roots(Path::new("/builds/p"), &patterns);
            assert_eq!(found, expect, "{patterns:?}");
        };
        check(&[], &[]);
        check(&["dist"], &["dist"]);
        check(&["dist/", "./dist", "dist/a", "dist/*.js"], &["dist"]);
        check(&["dist/a/*.js", "dist/b"], &["dist/a", "dist/b"]);
        check(&["dist", "dist-2/x"], &["dist", "dist-2/x"]);
        check(&["/builds/p/out/**/*.o"], &["out"]);
        check(&["*.txt", "dist"], &["."]);
        check(&["**/*.js"], &["."]);
        check(&["."], &["."]);
        check(&["a{b,c}/d"], &["."]);
        check(&["../x", "/etc/passwd", ""], &[]);
        check(&["a/../b/c"], &["b/c"]);
    }
}
