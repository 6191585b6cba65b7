use crate::artifacts::Pattern;
use std::path::Path;

/// The files that a job declares to change.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    patterns: Vec<Pattern>,
}

impl Declared {
    /// Reads the patterns of a job whose scripts call their directory `project`. Invalid patterns are ignored; their users
    /// report them.
    pub(crate) fn new(project: &Path, patterns: &[String]) -> Self {
        let patterns = patterns.iter();
        let patterns = patterns.filter_map(|text| Pattern::parse(project, text).ok());
        Self {
            patterns: patterns.collect(),
        }
    }

    /// Returns whether a file or a directory above it is declared.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        let means = |path: &Path| self.patterns.iter().any(|it| it.matches(path));
        !self.patterns.is_empty() && path.ancestors().any(means)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_covers_all_files_below_it() {
        let check = |patterns: &[&str], path: &str, expect| {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            let declared = Declared::new(Path::new("/builds/p"), &patterns);
            assert_eq!(
                declared.covers(Path::new(path)),
                expect,
                "{patterns:?} {path}"
            );
        };
        check(&[], "a", false);
        check(&["docs"], "docs/a/b.md", true);
        check(&["docs/"], "docs/a/b.md", true);
        check(&["./docs/*.md"], "docs/a.md", true);
        check(&["docs/*.md"], "docs/a/b.md", false);
        check(&["docs/**/*.md"], "docs/a/b.md", true);
        check(&["/builds/p/a"], "a", true);
        check(&["../a", "", "/a"], "a", false);
        check(&["."], "any/thing", true);
    }
}
