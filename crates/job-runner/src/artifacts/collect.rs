use globset::{GlobBuilder, GlobMatcher};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// What the patterns of an artifact found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Collected {
    /// Files, symbolic links and empty directories, relative to the project, sorted.
    pub(crate) paths: Vec<PathBuf>,
    /// How many of them each pattern found, as it was written.
    pub(crate) found: Vec<(String, usize)>,
    /// Patterns that could not be used, and why.
    pub(crate) warnings: Vec<String>,
}

/// Finds the files that `patterns` name below `project`, adds those of `more`, and leaves out what
/// `exclude` names.
///
/// `**` stands for any directories, `*` for a part of one name. A pattern that names a directory
/// takes all of it. Symbolic links are taken as links and never followed; what lies outside of
/// the project is not taken, and neither is the project's own `.git`.
///
/// # Errors
///
/// When a directory cannot be read, and when a pattern of `exclude` cannot be used: what it was to
/// leave out must not be published.
pub(crate) fn collect(
    project: &Path,
    patterns: &[String],
    more: &[PathBuf],
    exclude: &[String],
) -> Result<Collected, CollectError> {
    let mut collected = Collected::default();
    let excluded = exclude.iter().map(|text| {
        Pattern::parse(project, text).map_err(|why| CollectError::Exclude {
            pattern: text.clone(),
            why,
        })
    });
    let excluded = excluded.collect::<Result<Vec<_>, _>>()?;
    let mut all = BTreeSet::new();
    for text in patterns {
        let pattern = match Pattern::parse(project, text) {
            Ok(pattern) => pattern,
            Err(why) => {
                collected.warnings.push(format!("{text}: {why}"));
                continue;
            }
        };
        let mut found = Vec::new();
        pattern.find(project, &mut found)?;
        found.retain(|path| !excluded.iter().any(|pattern| pattern.matches(path)));
        collected.found.push((text.clone(), found.len()));
        all.extend(found);
    }
    let more = more
        .iter()
        .filter(|path| !excluded.iter().any(|pattern| pattern.matches(path)));
    all.extend(more.cloned());
    collected.paths = all.into_iter().collect();
    Ok(collected)
}

/// Why the files of an artifact cannot be found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CollectError {
    /// A pattern that is to keep files out cannot be used.
    #[error("the pattern {pattern:?} of artifacts:exclude {why}")]
    Exclude {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A directory cannot be read.
    #[error("look for artifacts")]
    Directory(#[from] io::Error),
}

/// A pattern, split where its first wildcard stands.
#[derive(Debug)]
struct Pattern {
    /// The directories before the first wildcard.
    base: PathBuf,
    /// All of it, where there is a wildcard.
    matcher: Option<GlobMatcher>,
    /// How many names a path that matches can have at most; `None` where `**` stands for any number.
    depth: Option<usize>,
}

impl Pattern {
    fn parse(project: &Path, text: &str) -> Result<Self, String> {
        let inside = relative(project, text)?;
        let is_wild = |part: &Path| part.to_string_lossy().contains(['*', '?', '[', '{']);
        let base: PathBuf = inside
            .iter()
            .take_while(|part| !is_wild(Path::new(part)))
            .collect();
        let glob = inside.to_string_lossy();
        let matcher = if base == inside {
            None
        } else {
            let built = GlobBuilder::new(&glob).literal_separator(true).build();
            let built = built.map_err(|error| format!("is no pattern: {}", error.kind()))?;
            Some(built.compile_matcher())
        };
        // Each slash ends at most one name, also one between braces.
        let depth = (!glob.contains("**")).then(|| glob.matches('/').count() + 1);
        Ok(Self {
            base,
            matcher,
            depth,
        })
    }

    fn matches(&self, path: &Path) -> bool {
        match &self.matcher {
            Some(matcher) => matcher.is_match(path),
            None => path == self.base,
        }
    }

    fn find(&self, project: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
        // A link on the way would lead out of the project, or to files that have another name.
        let mut way = self.base.ancestors().skip(1);
        if way.any(|parent| project.join(parent).is_symlink() && parent != Path::new("")) {
            return Ok(());
        }
        match &self.matcher {
            None => take_whole(project, &self.base, found),
            Some(matcher) => self.walk(project, &self.base, matcher, found),
        }
    }

    fn walk(
        &self,
        project: &Path,
        directory: &Path,
        matcher: &GlobMatcher,
        found: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        for name in names_in(project, directory)? {
            let path = directory.join(name);
            if matcher.is_match(&path) {
                take_whole(project, &path, found)?;
            } else if self.reaches_below(&path) && is_directory(&project.join(&path)) {
                self.walk(project, &path, matcher, found)?;
            }
        }
        Ok(())
    }

    fn reaches_below(&self, path: &Path) -> bool {
        let names = || path.components().count();
        self.depth.is_none_or(|depth| names() < depth)
    }
}

/// Returns the path below the project that `text` means.
fn relative(project: &Path, text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text);
    let path = if path.is_absolute() {
        path.strip_prefix(project)
            .map_err(|_| "is outside of the project directory")?
    } else {
        path
    };
    let mut inside = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => inside.push(part),
            Component::CurDir => {}
            Component::ParentDir if inside.pop() => {}
            _ => return Err("is outside of the project directory".to_owned()),
        }
    }
    Ok(inside)
}

/// Takes `path`, and all that is in it when it is a directory.
fn take_whole(project: &Path, path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(project.join(path)) else {
        return Ok(());
    };
    if !metadata.is_dir() {
        if metadata.is_file() || metadata.is_symlink() {
            found.push(path.to_owned());
        }
        return Ok(());
    }
    let names = names_in(project, path)?;
    if names.is_empty() && path != Path::new("") {
        found.push(path.to_owned());
    }
    for name in names {
        take_whole(project, &path.join(name), found)?;
    }
    Ok(())
}

fn names_in(project: &Path, directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let path = project.join(directory);
    if !is_directory(&path) {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        // The job's repository says where the user's objects are, and is no result of the job.
        if directory != Path::new("") || name != ".git" {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> tempfile::TempDir {
        let project = tempfile::tempdir().expect("a directory");
        for file in [
            "a.txt",
            "b.bin",
            "dist/x.js",
            "dist/deep/y.js",
            "dist/deep/y.map",
            ".git/HEAD",
        ] {
            let path = project.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, file).expect("written");
        }
        fs::create_dir(project.path().join("dist/empty")).expect("made");
        project
    }

    fn check(patterns: &[&str], exclude: &[&str], expect: &[&str]) {
        let project = project();
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let collected =
            collect(project.path(), &owned(patterns), &[], &owned(exclude)).expect("collected");
        let expect: Vec<PathBuf> = expect.iter().map(PathBuf::from).collect();
        assert_eq!(collected.paths, expect, "{patterns:?} without {exclude:?}");
    }

    #[test]
    fn patterns_take_files_and_whole_directories() {
        check(&["a.txt"], &[], &["a.txt"]);
        check(&["./a.txt", "*.txt"], &[], &["a.txt"]);
        check(&["*.js"], &[], &[]);
        check(&["**/*.js"], &[], &["dist/deep/y.js", "dist/x.js"]);
        check(&["dist/*.js"], &[], &["dist/x.js"]);
        check(
            &["dist/"],
            &[],
            &[
                "dist/deep/y.js",
                "dist/deep/y.map",
                "dist/empty",
                "dist/x.js",
            ],
        );
        check(
            &["di*"],
            &["**/*.map", "dist/empty"],
            &["dist/deep/y.js", "dist/x.js"],
        );
        check(&["{a,b}.*"], &["b.bin"], &["a.txt"]);
        check(&["dist/../a.txt"], &[], &["a.txt"]);
        check(&["{dist/deep/*,b}.map"], &[], &["dist/deep/y.map"]);
        check(&["."], &["dist/**/*"], &["a.txt", "b.bin"]);
    }

    #[test]
    fn nothing_outside_of_the_project_is_taken() {
        let outside = tempfile::tempdir().expect("a directory");
        fs::write(outside.path().join("secret"), "x").expect("written");
        let project = project();
        std::os::unix::fs::symlink(outside.path(), project.path().join("way")).expect("linked");
        let patterns = [
            "../secret",
            "/etc/passwd",
            "way/secret",
            "way/*",
            "way",
            "**/secret",
        ];
        let patterns = patterns.map(str::to_owned);
        let collected = collect(project.path(), &patterns, &[], &[]).expect("collected");
        assert_eq!(collected.paths, [PathBuf::from("way")]);
        assert_eq!(collected.warnings.len(), 2, "{:?}", collected.warnings);
    }

    #[test]
    fn an_exclude_pattern_that_cannot_be_used_is_an_error() {
        let project = project();
        for exclude in ["**/*.{map", "[a", "../secret"] {
            let (all, exclude) = (["**/*".to_owned()], [exclude.to_owned()]);
            let error = collect(project.path(), &all, &[], &exclude).expect_err("refused");
            let text = error.to_string();
            assert!(text.contains(&format!("{:?}", exclude[0])), "{text}");
        }
    }

    #[test]
    fn directories_below_a_pattern_are_not_read() {
        let project = project();
        let pattern = Pattern::parse(project.path(), "*/*.js").expect("a pattern");
        assert!(pattern.reaches_below(Path::new("dist")));
        assert!(!pattern.reaches_below(Path::new("dist/deep")));
        let pattern = Pattern::parse(project.path(), "**/*.js").expect("a pattern");
        assert!(pattern.reaches_below(Path::new("dist/deep")));
    }

    #[test]
    fn absolute_patterns_below_the_project_are_fine() {
        let project = project();
        let pattern = project
            .path()
            .join("dist/*.js")
            .to_string_lossy()
            .into_owned();
        let collected = collect(project.path(), &[pattern], &[], &[]).expect("collected");
        assert_eq!(collected.paths, [PathBuf::from("dist/x.js")]);
    }
}
